//! Is OpenCode installed, do its servers answer, and can its database be read?

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
    process::Stdio,
    time::Duration,
};

use opencode_client::{OpenCode, database_in};
use tokio::{process::Command, time::timeout};

use super::{Check, State, Topic, failed};
use crate::{
    agent,
    config::{Config, Environment, Server},
    exit::Code,
    print::clean,
};

/// How long a program may take to tell its version.
const VERSION_WITHIN: Duration = Duration::from_secs(10);
/// The major version that is worked with.
const MAJOR: &str = "1";
/// How every SQLite file begins.
const SQLITE: &[u8; 16] = b"SQLite format 3\0";

/// Looks for the program and asks for its version.
pub(super) async fn program(config: &Config, environment: &Environment) -> Check {
    let name = &config.program.value;
    let wrong = |found: String, advice: &str| Check {
        topic: Topic::Program,
        subject: name.display().to_string(),
        state: State::Wrong(Code::Harness),
        found,
        advice: Some(advice.to_owned()),
    };
    let Some(path) = environment.find_program(name) else {
        return wrong(
            "OpenCode is not there".to_owned(),
            "install it with `npm install -g opencode-ai@1`, or name it as `program` under \
             [opencode] in the configuration",
        );
    };
    match version(&path).await {
        Ok(version) if version.split('.').next() == Some(MAJOR) => Check {
            topic: Topic::Program,
            subject: path.display().to_string(),
            state: State::Good,
            found: format!("OpenCode {version}"),
            advice: None,
        },
        Ok(version) => wrong(
            format!("its version is {version:?}, and turnbook works with OpenCode 1.x"),
            "install that, or name another program under [opencode] in the configuration",
        ),
        Err(error) => wrong(
            format!("{} does not tell its version: {error}", path.display()),
            "try `opencode --version` yourself",
        ),
    }
}

async fn version(path: &Path) -> io::Result<String> {
    let mut command = Command::new(path);
    command.arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let output = match timeout(VERSION_WITHIN, command.output()).await {
        Ok(output) => output?,
        Err(_) => {
            let within = VERSION_WITHIN.as_secs();
            return Err(io::Error::other(format!("it did not answer within {within} s")));
        }
    };
    if !output.status.success() {
        return Err(io::Error::other(output.status.to_string()));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(clean(text.trim()))
}

/// Asks a configured server who it is.
pub(super) async fn server(server: &Server, config: &Config) -> Check {
    let subject = server.url.as_str().to_owned();
    let mut client = agent::attached(server, config);
    // Somebody waits for the answer.
    client.limits.read_attempts = 1;
    match OpenCode::attach(&client).await {
        Ok((_, provider)) => {
            let process = match provider.process {
                Some(process) => format!(", process {}", process.pid),
                None => String::new(),
            };
            let found = format!("OpenCode {}{process}", clean(&provider.version));
            Check { topic: Topic::Server, subject, state: State::Good, found, advice: None }
        }
        Err(error) => failed(Topic::Server, subject, &error.into()),
    }
}

/// Looks whether OpenCode's own database can be read; opens nothing for writing.
pub(super) fn database(data: &Path) -> Check {
    let path = database_in(data);
    let (state, found, advice) = match begins_as_sqlite(&path) {
        Ok(true) => (State::Good, "it can be read", None),
        Ok(false) => (
            State::Wrong(Code::Harness),
            "it is no SQLite file",
            Some("OpenCode itself cannot read it either: ask `opencode` what happened".to_owned()),
        ),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            (State::Absent, "OpenCode has not kept anything here yet", None)
        }
        Err(error) => (
            State::Wrong(Code::Harness),
            "it cannot be read, so that nothing can be recovered when the server is gone",
            Some(format!("make it readable for this user: {error}")),
        ),
    };
    let subject = path.display().to_string();
    Check { topic: Topic::Database, subject, state, found: found.to_owned(), advice }
}

fn begins_as_sqlite(path: &Path) -> io::Result<bool> {
    let mut begin = Vec::with_capacity(SQLITE.len());
    File::open(path)?.take(16).read_to_end(&mut begin)?;
    Ok(begin == SQLITE)
}
