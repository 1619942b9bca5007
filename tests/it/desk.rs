//! A person's desk: the real program, a real OpenCode, the scripted model, a home of their own.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde::Deserialize;
use testkit::{
    agents,
    model::{Model, Tally},
    opencode::{Home, MODEL, OpenCode, PROVIDER, Setup},
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
    pub(crate) status: String,
    pub(crate) owner: Option<Owner>,
    pub(crate) usage: Option<Counters>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Owner {
    pub(crate) labels: std::collections::BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Request {
    pub(crate) owner: Owner,
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

impl From<&Counters> for Tally {
    fn from(counters: &Counters) -> Self {
        Self {
            calls: counters.calls,
            unknown_calls: counters.unknown_calls,
            input: counters.input.unwrap_or(0),
            cache_read: counters.cache_read.unwrap_or(0),
            output: counters.output.unwrap_or(0),
            reasoning: counters.reasoning.unwrap_or(0),
        }
    }
}

/// A desk with a server that runs already, as a person's own does.
pub(crate) struct Attached {
    pub(crate) server: Option<OpenCode>,
    pub(crate) url: String,
    pub(crate) desk: Desk,
}

impl Attached {
    /// Starts the server, and tells the program its password as a person would.
    pub(crate) fn new() -> Outcome<Self> {
        let desk = Desk::new()?;
        let server = OpenCode::start(&agents::opencode()?, &desk.home)?;
        let (url, password) = (server.url(), server.password().to_owned());
        let folder = desk.home.project().with_file_name("user").join("config/turnbook");
        std::fs::create_dir_all(&folder)?;
        let config = format!(
            "[[opencode.servers]]\nurl = \"{url}\"\nusername = \"opencode\"\npassword = \"{password}\"\n"
        );
        std::fs::write(folder.join("config.toml"), config)?;
        Ok(Self { server: Some(server), url, desk })
    }

    /// Starts the server again, at the same address.
    pub(crate) fn start_again(&mut self) -> Outcome {
        self.server = Some(OpenCode::start(&agents::opencode()?, &self.desk.home)?);
        Ok(())
    }

    /// Kills the server as a crash would.
    pub(crate) fn kill(&mut self) -> Outcome {
        self.server.take().ok_or("the server runs")?.kill()?;
        Ok(())
    }

    /// `turnbook run` on this server.
    pub(crate) fn run(&self, session: &str, round: &str, prompt: &str) -> Command {
        let label = format!("round={round}");
        let args = ["run", "--attach", &self.url, "--session", session, "--label", &label];
        let mut args = args.to_vec();
        args.extend(["--json", prompt]);
        self.desk.turnbook(&args)
    }

    /// Recovers until nothing is open any more, and says how often that took.
    pub(crate) fn recover(&self) -> Outcome<usize> {
        // What was never sent is proven so after some seconds, and each look takes some.
        for times in 1..60 {
            let ran = self.desk.run(&["recover", "--json"])?;
            if ran.code != 0 {
                return Err(format!("{ran:?}").into());
            }
            let lines = ran.stdout.lines().map(serde_json::from_str::<Recovered>);
            let found = lines.collect::<Result<Vec<_>, _>>()?;
            if found.iter().all(|found| found.uncertain.is_empty() && found.pending_turns == 0) {
                return Ok(times);
            }
        }
        Err("something stays open".into())
    }
}

/// What `recover --json` prints of a session, as far as the tests look at it.
#[derive(Debug, Deserialize)]
pub(crate) struct Recovered {
    pub(crate) uncertain: Vec<String>,
    pub(crate) pending_turns: usize,
}

/// Numbers that are the same for the same seed; `TURNBOOK_SEED` gives another.
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new() -> Self {
        Self(number("TURNBOOK_SEED", 7))
    }

    /// A number below `sides`.
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// How often something is tried; the long runs say more.
#[expect(clippy::disallowed_methods, reason = "the long runs set it for the whole process")]
pub(crate) fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
