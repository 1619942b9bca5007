//! A person's desk: the real program, a real OpenCode, the scripted model, a home of their own.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde::Deserialize;
use testkit::{
    agents,
    model::Model,
    opencode::{Home, MODEL, PROVIDER, Setup},
};

use crate::server::Outcome;

/// Dropped in this order: what still runs in the home is killed with it.
pub(crate) struct Desk {
    pub(crate) home: Home,
    pub(crate) model: Model,
    program: PathBuf,
}

impl Desk {
    pub(crate) fn new() -> Outcome<Self> {
        Self::with(|setup| setup)
    }

    pub(crate) fn with(setup: impl FnOnce(Setup) -> Setup) -> Outcome<Self> {
        let model = Model::start()?;
        let home = Home::create(&setup(Setup::new(&model.base_url())))?;
        Ok(Self { home, model, program: agents::opencode()?.path })
    }

    /// The store's file.
    pub(crate) fn store(&self) -> PathBuf {
        self.home.project().with_file_name("ledger.sqlite")
    }

    /// The program with arguments, in the project.
    pub(crate) fn turnbook(&self, args: &[&str]) -> Command {
        let mut command = self.home.command(Path::new(env!("CARGO_BIN_EXE_turnbook")));
        command
            .env("TURNBOOK_STORE", self.store())
            .env("TURNBOOK_TIMEZONE", "UTC")
            .env("TURNBOOK_OPENCODE_PROGRAM", &self.program)
            .env("TURNBOOK_OPENCODE_MODEL", format!("{PROVIDER}/{MODEL}"))
            .env("XDG_RUNTIME_DIR", self.home.project().with_file_name("runtime"))
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Outcome<Ran> {
        Ok(Ran::of(self.turnbook(args).output()?))
    }

    /// What the ledger says of a session.
    pub(crate) fn shown(&self, session: &str) -> Outcome<Shown> {
        let ran = self.run(&["show", session, "--json"])?;
        if ran.code != 0 {
            return Err(ran.stderr.into());
        }
        Ok(serde_json::from_str(&ran.stdout)?)
    }
}

/// What the program printed, and how it ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// What `show --json` prints, as far as the tests look at it.
#[derive(Debug, Deserialize)]
pub(crate) struct Shown {
    pub(crate) turns: Vec<Turn>,
    pub(crate) requests: Vec<Request>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Turn {
    pub(crate) turn: String,
    pub(crate) request: Option<String>,
    pub(crate) status: String,
    pub(crate) owner: Option<Owner>,
    pub(crate) usage: Option<Counters>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Owner {
    pub(crate) exec: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Request {
    pub(crate) request: String,
    pub(crate) delivery: Delivery,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Delivery {
    pub(crate) state: String,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Counters {
    pub(crate) input: Option<u64>,
    pub(crate) cache_read: Option<u64>,
    pub(crate) output: Option<u64>,
    pub(crate) reasoning: Option<u64>,
    pub(crate) calls: u64,
    pub(crate) unknown_calls: u64,
}
