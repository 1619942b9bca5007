//! With which code does the program end, and what does it say then?

use std::{fmt::Write as _, io::Write as _, path::PathBuf, process::ExitCode};

use harness::ReachError;
use opencode_client::ServeError;
use receipts::Status;
use recorder::DriveError;
use store::{Current, Refusal, StoreError};

use crate::{config::ConfigError, print::clean};

/// How the program ends, for scripts. The numbers are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Code {
    /// What was asked for is done; a turn that was driven completed.
    Completed,
    /// A fault of ours.
    Internal,
    /// The arguments make no sense.
    Usage,
    /// The turn failed.
    Failed,
    /// The turn was interrupted.
    Interrupted,
    /// The turn stopped: something was rejected.
    Stopped,
    /// The turn was never run, or was answered under a later one.
    Unanswered,
    /// The agent is gone with the turn open.
    Lost,
    /// The turn has not ended, or it is not known whether it was sent.
    Pending,
    /// The agent cannot be asked.
    Harness,
    /// The store is not there, or cannot be used now.
    StoreUnavailable,
    /// The store is corrupt, too new, or no store.
    StoreUnreadable,
    /// Another driver has the session.
    Stale,
    /// The budget is spent.
    Budget,
    /// The input, a name or the configuration cannot be used.
    BadInput,
    /// The store breaks its own laws.
    Violations,
}

impl Code {
    /// All codes, by number.
    pub(crate) const ALL: [Self; 16] = [
        Self::Completed,
        Self::Internal,
        Self::Usage,
        Self::Failed,
        Self::Interrupted,
        Self::Stopped,
        Self::Unanswered,
        Self::Lost,
        Self::Pending,
        Self::Harness,
        Self::StoreUnavailable,
        Self::StoreUnreadable,
        Self::Stale,
        Self::Budget,
        Self::BadInput,
        Self::Violations,
    ];

    /// Gives the number and what it means.
    fn row(self) -> (u8, &'static str) {
        match self {
            Self::Completed => (0, "done; a driven turn completed"),
            Self::Internal => (1, "an error inside turnbook"),
            Self::Usage => (2, "wrong usage"),
            Self::Failed => (10, "the turn failed"),
            Self::Interrupted => (11, "the turn was interrupted"),
            Self::Stopped => (12, "the turn stopped: a permission or question was rejected"),
            Self::Unanswered => (13, "the turn was unanswered, or absorbed by a later one"),
            Self::Lost => (14, "the turn is lost: the agent is gone"),
            Self::Pending => (15, "the turn is pending, or its sending uncertain"),
            Self::Harness => (20, "the agent cannot be asked"),
            Self::StoreUnavailable => (21, "the store is not there, or unavailable"),
            Self::StoreUnreadable => (22, "the store is corrupt, too new, or no store"),
            Self::Stale => (23, "another driver has the session"),
            Self::Budget => (24, "the budget is spent"),
            Self::BadInput => (25, "the input, a name or the configuration is bad"),
            Self::Violations => (26, "the store breaks its own laws"),
        }
    }

    /// Gives the number.
    pub(crate) fn number(self) -> u8 {
        self.row().0
    }
}

/// How a verb ends that drove one turn.
impl From<Status> for Code {
    fn from(status: Status) -> Self {
        match status {
            // Nothing was asked for beside storing it.
            Status::Completed | Status::NoReply => Self::Completed,
            Status::Failed => Self::Failed,
            Status::Interrupted => Self::Interrupted,
            Status::Stopped => Self::Stopped,
            Status::Unanswered | Status::Absorbed => Self::Unanswered,
            Status::Lost => Self::Lost,
            Status::Pending => Self::Pending,
        }
    }
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code.number())
    }
}

/// Lists the exit codes, for the help.
pub(crate) fn help() -> String {
    let mut help = "Exit codes:".to_owned();
    for (number, meaning) in Code::ALL.map(Code::row) {
        // Writing to a text cannot fail.
        let _written = write!(help, "\n  {number:<3} {meaning}");
    }
    help
}

/// Why the program ends without having done what it was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The input is missing, unreadable or no history, or a name means nothing.
    BadInput(anyhow::Error),
    /// The configuration is not understood.
    Config(ConfigError),
    /// There is no store; reading makes none.
    NoStore(PathBuf),
    /// The store could not do it.
    Store(StoreError),
    /// The agent cannot be asked.
    Harness(ReachError),
    /// No server of our own could be started.
    Serve(ServeError),
    /// Something was not done to the agent.
    Drive(DriveError),
    /// The session was never driven, so that no server of it is known.
    NoServer,
    /// The agent was closed while it was followed.
    Gone,
    /// Nothing that the user did: standard output is closed or full, or a fault of ours.
    Internal(anyhow::Error),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<ReachError> for Failure {
    fn from(error: ReachError) -> Self {
        Self::Harness(error)
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        Self::Serve(error)
    }
}

impl From<DriveError> for Failure {
    fn from(error: DriveError) -> Self {
        match error {
            DriveError::Store(error) => Self::Store(error),
            DriveError::Reach(error) => Self::Harness(error),
            error @ (DriveError::Locked(_)
            | DriveError::NoThread { .. }
            | DriveError::ThreadUncertain { .. }
            | DriveError::NotOurs { .. }
            | DriveError::AnswerUncertain
            | DriveError::Interrupted
            | _) => Self::Drive(error),
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl Failure {
    /// Gives the exit code.
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::Internal(_) => Code::Internal,
            Self::BadInput(_) | Self::Config(_) => Code::BadInput,
            Self::NoStore(_) => Code::StoreUnavailable,
            Self::Store(error) => store_code(error),
            Self::Harness(_) | Self::Serve(_) | Self::Gone | Self::NoServer => Code::Harness,
            Self::Drive(error) => drive_code(error),
        }
    }

    /// Says what went wrong, as one line.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Internal(error) | Self::BadInput(error) => format!("{error:#}"),
            Self::Config(error) => chain(error),
            Self::NoStore(path) => format!("{}: there is no store yet", path.display()),
            Self::Store(error) => chain(error),
            Self::Harness(error) => chain(error),
            Self::Serve(error) => chain(error),
            Self::Drive(error) => chain(error),
            Self::NoServer => "no server of this session is known".to_owned(),
            Self::Gone => "the agent was closed while it was followed".to_owned(),
        }
    }

    /// Says what to do now, as a sentence.
    pub(crate) fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Internal(_) | Self::BadInput(_) => None,
            Self::Config(_) => {
                Some("correct it there; `turnbook config path` tells which file is read")
            }
            Self::NoStore(_) => Some(
                "`turnbook run PROMPT` makes it; another is named with --store PATH or \
                 TURNBOOK_STORE",
            ),
            Self::Store(error) => store_advice(error),
            Self::Harness(error) => Some(harness_advice(error)),
            Self::Serve(_) => Some(
                "`turnbook doctor` tells whether OpenCode is installed; its program can be named in the \
                 configuration",
            ),
            Self::Drive(error) => drive_advice(error),
            Self::NoServer => Some("`turnbook run --session NAME PROMPT` drives it"),
            Self::Gone => Some("`turnbook recover` tells what became of the turn"),
        }
    }

    fn is_closed_pipe(&self) -> bool {
        let (Self::BadInput(error) | Self::Internal(error)) = self else { return false };
        error
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    }
}

fn drive_code(error: &DriveError) -> Code {
    match error {
        DriveError::Locked(_) => Code::Stale,
        DriveError::AnswerUncertain | DriveError::ThreadUncertain { .. } => Code::Pending,
        DriveError::NotOurs { .. } | DriveError::NoThread { .. } => Code::BadInput,
        DriveError::Store(_) | DriveError::Reach(_) | DriveError::Interrupted | _ => Code::Internal,
    }
}

fn drive_advice(error: &DriveError) -> Option<&'static str> {
    Some(match error {
        DriveError::Locked(_) => "that process may be stopped: continue or end it, then try again",
        DriveError::ThreadUncertain { .. } => {
            "look for that title in the agent; go on in a new session"
        }
        DriveError::AnswerUncertain => "answer it in the agent itself, or abort the turn",
        DriveError::NotOurs { .. } => "whoever started that turn can answer it",
        DriveError::NoThread { .. } => "`turnbook run --session NAME PROMPT` makes one",
        DriveError::Store(_) | DriveError::Reach(_) | DriveError::Interrupted | _ => return None,
    })
}

fn store_code(error: &StoreError) -> Code {
    match error {
        StoreError::Stale { .. } => Code::Stale,
        StoreError::Conflict { .. }
        | StoreError::Refused { .. }
        | StoreError::NotFound { .. }
        | StoreError::TooLarge { .. } => Code::BadInput,
        StoreError::Unavailable { .. } | StoreError::OutcomeUnknown { .. } => {
            Code::StoreUnavailable
        }
        StoreError::Corrupt { .. } | StoreError::TooNew { .. } | StoreError::Foreign { .. } => {
            Code::StoreUnreadable
        }
        _ => Code::Internal,
    }
}

fn store_advice(error: &StoreError) -> Option<&'static str> {
    Some(match error {
        StoreError::Stale { current: Current::Driver(_) } => {
            "somebody else drives the session now; `turnbook show SESSION` tells who"
        }
        StoreError::Stale { .. } => "somebody else moved first; look again and decide anew",
        StoreError::Conflict { .. } => {
            "what is stored stays; use another name, or the same content"
        }
        StoreError::Refused { why: Refusal::SessionClosed { .. } } => "go on in another session",
        StoreError::Refused { .. } => "asking again changes nothing",
        StoreError::NotFound { .. } => "`turnbook sessions` lists what is there",
        StoreError::TooLarge { .. } => "nothing was stored; make it smaller",
        StoreError::Unavailable { .. } => {
            "nothing was written; try again, and ask `turnbook doctor` when it stays so"
        }
        StoreError::OutcomeUnknown { .. } => {
            "run `turnbook recover`: it reads back what happened, and writing again is safe"
        }
        StoreError::Corrupt { .. } => {
            "nothing was changed; keep the file, take a copy of it, and restore a backup"
        }
        StoreError::TooNew { .. } => "nothing was changed; use a newer turnbook",
        StoreError::Foreign { .. } => {
            "nothing was changed; name a turnbook store with --store PATH or TURNBOOK_STORE"
        }
        _ => return None,
    })
}

fn harness_advice(error: &ReachError) -> &'static str {
    match error {
        ReachError::Unreachable { .. } => "start it with `opencode serve`, or correct its address",
        ReachError::Unauthorized { .. } => {
            "give the server's user name and password under `servers` in the configuration"
        }
        ReachError::TimedOut { .. } | ReachError::Failed { .. } => {
            "look at what the server says, and start it again when it stays so"
        }
        ReachError::Unsupported { .. } => "run OpenCode 1.x there, or use a newer turnbook",
        ReachError::NotFound { .. } => "see whether it was deleted there",
        ReachError::Refused { .. } => "asking the same again will be refused again",
        ReachError::Protocol { .. } => "see whether that is an OpenCode server at all",
        ReachError::Fenced { .. } => {
            "nothing was sent; `turnbook show SESSION` tells who drives now"
        }
        ReachError::Closed { .. } | _ => "ask the server itself",
    }
}

/// Joins an error and what caused it to one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        // Some errors repeat what caused them.
        if !text.ends_with(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = error.source();
    }
    text
}

/// Prints what was wrong with the arguments, or the help that they asked for.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    // Nothing is left to be done when even the message cannot be written.
    let _printed = error.print();
    if error.use_stderr() { Code::Usage.into() } else { Code::Completed.into() }
}

/// Prints a failure on standard error: what went wrong, and what to do.
pub(crate) fn failure(failure: &Failure) -> ExitCode {
    if failure.is_closed_pipe() {
        // The reader has seen enough.
        return ExitCode::SUCCESS;
    }
    let mut err = std::io::stderr().lock();
    // It may quote what an agent said.
    let _written = writeln!(err, "turnbook: {}", clean(&failure.message()));
    if let Some(advice) = failure.advice() {
        let _written = writeln!(err, "  what to do: {advice}");
    }
    failure.code().into()
}

#[cfg(test)]
mod tests {
    use std::io;

    use harness::{Place, ReachError};
    use opencode_client::ServeError;
    use receipts::{SessionId, Status, ThreadId};
    use recorder::{DriveError, LockError};
    use store::{Refusal, StoreError};

    use super::{Code, Failure, help};

    #[test]
    fn every_code_has_a_number_of_its_own_in_the_order_of_the_list() {
        let numbers = Code::ALL.map(Code::number);
        let expected = [0, 1, 2, 10, 11, 12, 13, 14, 15, 20, 21, 22, 23, 24, 25, 26];
        assert_eq!(numbers, expected);
    }

    #[test]
    fn the_help_lists_every_code() {
        insta::assert_snapshot!(help());
    }

    #[test]
    fn every_way_a_turn_ends_has_a_code() {
        let told = Status::ALL.map(|status| (status.as_str(), Code::from(status).number()));
        let expected = [
            ("pending", 15),
            ("completed", 0),
            ("failed", 10),
            ("interrupted", 11),
            ("stopped", 12),
            ("absorbed", 13),
            ("unanswered", 13),
            ("no_reply", 0),
            ("lost", 14),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn an_agent_that_cannot_be_asked_has_a_code_and_says_what_to_do() {
        let place = Place::new("GET /global/health");
        let failure = Failure::from(ReachError::Unauthorized { place });
        let told = (failure.code(), failure.message(), failure.advice());
        let message = "GET /global/health: the password or user name was not accepted".to_owned();
        let advice =
            "give the server's user name and password under `servers` in the configuration";
        assert_eq!(told, (Code::Harness, message, Some(advice)));
    }

    #[test]
    fn whatever_was_not_done_to_an_agent_has_a_code_and_says_what_to_do() {
        let (session, thread) = (SessionId::new("s").unwrap(), ThreadId::new("t").unwrap());
        let held = LockError::Held {
            session: session.clone(),
            holder: "process 7".to_owned(),
            after_ms: 15_000,
        };
        let driven = [
            DriveError::Locked(held),
            DriveError::NoThread { session: session.clone() },
            DriveError::ThreadUncertain { session, title: "turnbook s".into(), found: 2 },
            DriveError::NotOurs { thread },
            DriveError::AnswerUncertain,
        ];
        let program = || "opencode".into();
        let served = [
            ServeError::Start { program: program(), source: io::ErrorKind::NotFound.into() },
            ServeError::NotReady {
                program: program(),
                how: "not within 30 s".to_owned(),
                said: "loading".to_owned(),
            },
        ];
        let failures = driven.map(Failure::from).into_iter().chain(served.map(Failure::from));
        let told = failures.chain([Failure::NoServer, Failure::Gone]).map(|failure| {
            let (number, advice) = (failure.code().number(), failure.advice().unwrap());
            format!("{number} {}\n   {advice}", failure.message())
        });
        insta::assert_snapshot!(told.collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn what_the_store_or_the_agent_said_while_driving_is_told_as_theirs() {
        let place = Place::new("POST /session/t/abort");
        let failures = [
            DriveError::Store(StoreError::Stale { current: store::Current::Driver(None) }),
            DriveError::Reach(ReachError::TimedOut { place, after_ms: 10_000 }),
            DriveError::Interrupted,
        ]
        .map(Failure::from);
        assert_eq!(failures.map(|failure| failure.code().number()), [23, 20, 1]);
    }

    #[test]
    fn every_store_error_has_a_code_and_says_what_to_do() {
        let session = SessionId::new("s").unwrap();
        let io = || io::Error::other("the disk is full");
        let errors = [
            StoreError::Stale { current: store::Current::Driver(None) },
            StoreError::Stale { current: store::Current::Capture(None) },
            StoreError::conflict("session s", "title"),
            StoreError::Refused { why: Refusal::SessionClosed { session } },
            StoreError::not_found("session", "s"),
            StoreError::unavailable(io()),
            StoreError::outcome_unknown(io()),
            StoreError::Corrupt { what: "a checksum differs".into(), place: "event 7".into() },
            StoreError::TooNew { found: 9, supported: 0 },
            StoreError::Foreign { place: "a.sqlite".into() },
            StoreError::TooLarge { what: "output", bytes: 9, limit: 8 },
        ];
        let told = errors.map(|error| {
            let failure = Failure::from(error);
            let (number, advice) = (failure.code().number(), failure.advice().unwrap());
            format!("{number} {}\n   {advice}", failure.message())
        });
        insta::assert_snapshot!(told.join("\n"));
    }
}
