//! What can go wrong, by what the caller can do next?

use std::{error::Error, fmt, sync::Arc};

use receipts::{InputKey, RequestId, SessionId, TurnId};

use crate::{driver::Driver, effect::Effect, input::Capture, selection::Position};

/// The engine's own error, kept for people and never matched on.
pub type Source = Arc<dyn Error + Send + Sync>;

/// Why an operation did not happen, or why it is not known whether it did.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Somebody else moved first; nothing was written. Read `current` and decide anew.
    #[error("the expected {current} is no longer current")]
    Stale {
        /// What is current now.
        current: Current,
    },
    /// The same identity was stored before with other content; the first stays.
    #[error("{what} is already stored with another {field}")]
    Conflict {
        /// The thing, with its id.
        what: String,
        /// The first field that differs.
        field: &'static str,
    },
    /// A rule of the ledger forbids it; asking again changes nothing.
    #[error(transparent)]
    Refused {
        /// The rule.
        #[from]
        why: Refusal,
    },
    /// The thing that was named is not in the store.
    #[error("there is no {what} {id}")]
    NotFound {
        /// The kind of thing.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// The engine could not do it now (busy, full, no permission); nothing was written. Retry.
    #[error("the store is unavailable")]
    Unavailable {
        /// What the engine said.
        source: Source,
    },
    /// The commit failed in a way that leaves its effect open. Read back before anything else
    /// (rule L4); writing the same facts again is safe (rule L1).
    #[error("it is not known whether the commit reached the store")]
    OutcomeUnknown {
        /// What the engine said.
        source: Source,
    },
    /// Stored bytes are not what was written. Stop; nothing is deleted or repaired.
    #[error("{place} is corrupt: {what}")]
    Corrupt {
        /// What does not fit.
        what: String,
        /// The file, or the table with its row.
        place: String,
    },
    /// A newer version wrote the store; it was left untouched.
    #[error("the store has format {found}, this program knows formats up to {supported}")]
    TooNew {
        /// The format found.
        found: i64,
        /// The newest format that this build writes.
        supported: i64,
    },
    /// The file belongs to another program; it was left untouched.
    #[error("{place} is not a turnbook store")]
    Foreign {
        /// The file.
        place: String,
    },
    /// One value is larger than the store keeps.
    #[error("{what} has {bytes} bytes, at most {limit} are kept")]
    TooLarge {
        /// The value.
        what: &'static str,
        /// Its size, in bytes.
        bytes: u64,
        /// The limit, in bytes.
        limit: u64,
    },
}

impl StoreError {
    /// Wraps an engine error after which nothing was written.
    pub fn unavailable(source: impl Error + Send + Sync + 'static) -> Self {
        Self::Unavailable { source: Arc::new(source) }
    }

    /// Wraps an engine error of a commit whose effect is open.
    pub fn outcome_unknown(source: impl Error + Send + Sync + 'static) -> Self {
        Self::OutcomeUnknown { source: Arc::new(source) }
    }

    /// Says that a named thing is not in the store.
    pub fn not_found(what: &'static str, id: impl fmt::Display) -> Self {
        Self::NotFound { what, id: id.to_string() }
    }

    /// Says that a named thing is stored with another value of a field.
    pub fn conflict(what: impl fmt::Display, field: &'static str) -> Self {
        Self::Conflict { what: what.to_string(), field }
    }
}

/// What is current where an expectation did not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Current {
    /// The session's driver; `None` when it was never driven.
    Driver(Option<Box<Driver>>),
    /// The session's capture; `None` when it has no input.
    Capture(Option<Capture>),
    /// The position version that a turn selection was made for.
    Position(Position),
}

impl fmt::Display for Current {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Driver(_) => "driver",
            Self::Capture(_) => "capture",
            Self::Position(_) => "position",
        })
    }
}

/// A rule that forbids an operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The session is closed.
    #[error("session {session} is closed")]
    SessionClosed {
        /// The session.
        session: SessionId,
    },
    /// The session belongs to a thread already, or the thread to another session.
    #[error("the thread belongs to session {session}")]
    ThreadTaken {
        /// The session that has it.
        session: SessionId,
    },
    /// A driver without an exec cannot send.
    #[error("the driver of session {session} has no exec and cannot send")]
    DriverWithoutExec {
        /// The session.
        session: SessionId,
    },
    /// An input key is captured once in its life.
    #[error("input {input} was captured before")]
    InputCaptured {
        /// The input.
        input: InputKey,
    },
    /// The session is bound to other work.
    #[error("session {session} is bound to other work")]
    WorkDiffers {
        /// The session.
        session: SessionId,
    },
    /// The dispatch contradicts what is proven already.
    #[error("request {request} is settled already")]
    RequestSettled {
        /// The request.
        request: RequestId,
    },
    /// What happens once was tried before and may have reached the harness.
    #[error("{} was tried before and may have reached the agent", effect.name())]
    EffectTried {
        /// The effect.
        effect: Effect,
    },
    /// A turn that ended is not lost.
    #[error("turn {turn} has ended")]
    TurnEnded {
        /// The turn.
        turn: TurnId,
    },
    /// Evidence must be kept before facts may name it.
    #[error("the evidence is not in the store")]
    UnknownEvidence,
    /// The turn cannot satisfy the selection.
    #[error("request {request} cannot be selected: {why}")]
    NotSelectable {
        /// The request.
        request: RequestId,
        /// The reason.
        why: NotSelectable,
    },
    /// The selection has no turn, or that turn has not ended.
    #[error("the turn selection of input {input} is not ready")]
    SelectionNotReady {
        /// The input.
        input: InputKey,
    },
    /// The selection was consumed before.
    #[error("the turn selection of input {input} is spent")]
    SelectionSpent {
        /// The input.
        input: InputKey,
    },
}

/// Why a turn cannot satisfy a selection (ledger.md 7, case 13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotSelectable {
    /// It was requested for another session or input.
    #[error("it belongs to another session or input")]
    Foreign,
    /// It is not a prompt of its own.
    #[error("it steers another turn")]
    Steer,
    /// It started before the selection was made.
    #[error("it is older than the selection")]
    Older,
    /// It has not started.
    #[error("it has not started")]
    NotStarted,
    /// Another turn is selected and did not fail.
    #[error("another turn is selected")]
    Taken,
}
