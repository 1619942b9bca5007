//! What can a caller do when an agent cannot be asked?

use std::fmt;

/// Where something failed: a route with the ids in it, or a file. Never a credential.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place(Box<str>);

impl Place {
    /// Takes a text that names the place, such as `GET /session/ses_1/message`.
    #[must_use]
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// Gives the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Says why an agent could not be asked, by what the caller can do next.
///
/// All sentences in it are redacted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReachError {
    /// Nothing is reached there; start the agent, or try again later.
    #[error("{place}: cannot be reached: {why}")]
    Unreachable {
        /// What was tried.
        place: Place,
        /// What went wrong.
        why: String,
    },
    /// The credentials are missing or wrong; ask the user for others.
    #[error("{place}: the password or user name was not accepted")]
    Unauthorized {
        /// What was tried.
        place: Place,
    },
    /// The agent understood and refused; the same again will be refused again.
    #[error("{place}: refused with status {status}: {why}")]
    Refused {
        /// What was tried.
        place: Place,
        /// The status of the answer.
        status: u16,
        /// What the agent said.
        why: String,
    },
    /// What was asked for is not there.
    #[error("{place}: not found")]
    NotFound {
        /// What was tried.
        place: Place,
    },
    /// This build does not work with that agent; use another version of either.
    #[error("{place}: {why}")]
    Unsupported {
        /// What was looked at.
        place: Place,
        /// What is not supported.
        why: String,
    },
    /// The agent failed on its side; a read may be tried again.
    #[error("{place}: failed with status {status}: {why}")]
    Failed {
        /// What was tried.
        place: Place,
        /// The status of the answer.
        status: u16,
        /// What the agent said.
        why: String,
    },
    /// The answer has another shape than the agent's own protocol says; report it.
    #[error("{place}: {why}")]
    Protocol {
        /// What was tried.
        place: Place,
        /// What was expected and what came.
        why: String,
    },
    /// No answer came in time; a read may be tried again.
    #[error("{place}: no answer within {after_ms} ms")]
    TimedOut {
        /// What was tried.
        place: Place,
        /// How long it was waited for, in milliseconds.
        after_ms: u64,
    },
    /// The fence was closed before the first byte left: another driver may write now.
    #[error("{place}: nothing was sent, the leave to send had ended")]
    Fenced {
        /// What was to be sent.
        place: Place,
    },
    /// The client was closed.
    #[error("{place}: the client is closed")]
    Closed {
        /// What was tried.
        place: Place,
    },
}

impl ReachError {
    /// Tells whether the same read may succeed when it is tried again.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Failed { .. } | Self::TimedOut { .. } => true,
            Self::Unauthorized { .. }
            | Self::Refused { .. }
            | Self::NotFound { .. }
            | Self::Unsupported { .. }
            | Self::Protocol { .. }
            | Self::Fenced { .. }
            | Self::Closed { .. } => false,
        }
    }
}
