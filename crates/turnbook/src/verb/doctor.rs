//! `turnbook doctor`: what is installed, reachable and readable, what is wrong, and what to do?

mod agent;
mod store;

#[cfg(unix)]
use std::fs;
use std::path::Path;

use clap::Args as ClapArgs;

use crate::{
    args::{Format, FormatArgs},
    config::{Config, Folders, Presence},
    context::Start,
    exit::{Code, Failure},
    print,
    runtime::block_on,
};

/// Looks at everything that turnbook needs; changes nothing.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    format: FormatArgs,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Check {
    /// What kind of thing.
    pub(crate) topic: Topic,
    /// Which one, where there may be several.
    pub(crate) subject: String,
    /// How it is.
    pub(crate) state: State,
    /// What was found, as a sentence.
    pub(crate) found: String,
    /// What to do, as a sentence.
    pub(crate) advice: Option<String>,
}

/// What kind of thing was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Topic {
    /// The configuration file.
    Configuration,
    /// The program of an agent.
    Program,
    /// A running server of an agent.
    Server,
    /// An agent's own database.
    Database,
    /// Our store.
    Store,
}

impl Topic {
    /// Gives the stable word for it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Program => "program",
            Self::Server => "server",
            Self::Database => "database",
            Self::Store => "store",
        }
    }
}

/// How a thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// All is well.
    Good,
    /// It is not there, and need not be.
    Absent,
    /// It is wrong; with the code by which the program ends.
    Wrong(Code),
}

impl State {
    /// Gives the stable word for it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Absent => "absent",
            Self::Wrong(_) => "wrong",
        }
    }
}

/// Looks, prints, and ends with the code of the first thing that is wrong.
pub(crate) fn run(args: &Args, start: &Start) -> Result<Code, Failure> {
    let checks = block_on(look(start))?;
    print::text_out(&match args.format.format() {
        Format::Human => print::doctor_human(&checks, start.paint),
        Format::Json => print::doctor_json(&checks),
    })?;
    let wrong = checks.iter().find_map(|check| match check.state {
        State::Wrong(code) => Some(code),
        State::Good | State::Absent => None,
    });
    Ok(wrong.unwrap_or(Code::Completed))
}

async fn look(start: &Start) -> Vec<Check> {
    let config = match start.context() {
        Ok(context) => context.config,
        // Nothing else is known to be meant.
        Err(error) => return vec![failed(Topic::Configuration, String::new(), &error.into())],
    };
    let mut checks =
        vec![configuration(&config), agent::program(&config, &start.environment).await];
    for server in &config.servers.value {
        checks.push(agent::server(server, &config).await);
    }
    if let Ok(folders) = Folders::of_platform() {
        checks.push(agent::database(&folders.data));
    }
    checks.push(store::check(&config.store.value));
    checks
}

fn configuration(config: &Config) -> Check {
    let path = &config.file.value;
    let mut check = Check {
        topic: Topic::Configuration,
        subject: path.display().to_string(),
        state: match config.presence {
            Presence::Read => State::Good,
            Presence::Absent => State::Absent,
        },
        found: config.presence.as_str().to_owned(),
        advice: None,
    };
    let has_secrets = config.servers.value.iter().any(|server| server.password.is_some());
    if has_secrets && is_open_to_others(path) {
        check.found.push_str(", and others can read the passwords in it");
        check.advice = Some(format!("`chmod 600 {}`", path.display()));
    }
    check
}

#[cfg(unix)]
fn is_open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).is_ok_and(|data| data.permissions().mode() & 0o077 != 0)
}

/// Elsewhere the folder of a user is for that user alone.
#[cfg(not(unix))]
fn is_open_to_others(_: &Path) -> bool {
    false
}

/// Says what a failure says, in the form of a check.
fn failed(topic: Topic, subject: String, failure: &Failure) -> Check {
    Check {
        topic,
        subject,
        state: State::Wrong(failure.code()),
        found: print::clean(&failure.message()),
        advice: failure.advice().map(str::to_owned),
    }
}
