//! What did not fit? Everything odd in a history, kept as data (rules F10 and U4).

use std::fmt;

use crate::{
    id::{CallKey, MessageId},
    usage::{Counter, Decrease},
};

/// One thing in a native history that is missing, unreadable or contradicts another.
///
/// A gap never stops the fold; it says how far the result can be trusted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Gap {
    /// A message has no readable time; it sorts before all others (rule F2).
    MissingTime {
        /// The message.
        message: MessageId,
    },
    /// A message was completed before it was created: a clock stepped.
    ClockStep {
        /// The message.
        message: MessageId,
    },
    /// A field or part could not be read; the rest of the message was.
    Unreadable {
        /// The message, where its id could be read.
        message: Option<MessageId>,
        /// Where in the message, as a JSON path.
        path: String,
        /// What was expected and what stood there; never the value itself.
        problem: String,
    },
    /// A finish reason that this build does not know, taken as an end once nothing ran any more.
    UnknownFinish {
        /// The message.
        message: MessageId,
        /// The harness's word.
        word: String,
    },
    /// An answer whose prompt is not in the history (rule F1).
    DanglingParent {
        /// The answer.
        message: MessageId,
    },
    /// An answer that names no prompt.
    NoParent {
        /// The answer.
        message: MessageId,
    },
    /// A call whose usage the harness never stored (rule F7).
    UnknownUsage {
        /// The call.
        call: CallKey,
    },
    /// A counter was seen lower than before; the peak is kept (rule U1).
    Decrease {
        /// The call.
        call: CallKey,
        /// The counter with both values.
        decrease: Decrease,
    },
    /// A sum no longer fits its counter, which is therefore unknown (rule U3).
    Overflow {
        /// The counter.
        counter: Counter,
    },
    /// An answer that the harness will never close, before one that it did close.
    NeverClosed {
        /// The answer.
        message: MessageId,
    },
    /// A closed answer was seen in another final state; the first is kept (rules L9 and F5).
    Contradiction {
        /// The answer.
        message: MessageId,
    },
    /// A message is gone from the history; what was recorded stays (rule F11).
    Removed {
        /// The message.
        message: MessageId,
    },
    /// An answer's row was overwritten by a prompt with the same id.
    Overwritten {
        /// The message.
        message: MessageId,
    },
}

impl Gap {
    /// Gives the stable name of this kind of gap, as printed and stored.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::MissingTime { .. } => "missing_time",
            Self::ClockStep { .. } => "clock_step",
            Self::Unreadable { .. } => "unreadable",
            Self::UnknownFinish { .. } => "unknown_finish",
            Self::DanglingParent { .. } => "dangling_parent",
            Self::NoParent { .. } => "no_parent",
            Self::UnknownUsage { .. } => "unknown_usage",
            Self::Decrease { .. } => "decrease",
            Self::Overflow { .. } => "overflow",
            Self::NeverClosed { .. } => "never_closed",
            Self::Contradiction { .. } => "contradiction",
            Self::Removed { .. } => "removed",
            Self::Overwritten { .. } => "overwritten",
        }
    }
}

/// A plain sentence for people.
impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingTime { message } => write!(f, "message {message} has no readable time"),
            Self::ClockStep { message } => {
                write!(f, "message {message} was completed before it was created")
            }
            Self::Unreadable { message: Some(message), path, problem } => {
                write!(f, "message {message}: {path}: {problem}")
            }
            Self::Unreadable { message: None, path, problem } => write!(f, "{path}: {problem}"),
            Self::UnknownFinish { message, word } => {
                write!(f, "message {message} ended with the unknown reason {word:?}")
            }
            Self::DanglingParent { message } => {
                write!(f, "message {message} answers a prompt that is not in the history")
            }
            Self::NoParent { message } => write!(f, "message {message} names no prompt"),
            Self::UnknownUsage { call } => {
                write!(f, "the usage of the model call {call} was never stored")
            }
            Self::Decrease { call, decrease } => write!(
                f,
                "the {} of the model call {call} went down from {} to {}",
                decrease.counter.as_str(),
                decrease.from,
                decrease.to
            ),
            Self::Overflow { counter } => {
                write!(f, "the sum of {} is too large to keep", counter.as_str())
            }
            Self::NeverClosed { message } => {
                write!(f, "message {message} was left open and will never be closed")
            }
            Self::Contradiction { message } => {
                write!(f, "message {message} was later seen in another final state")
            }
            Self::Removed { message } => {
                write!(f, "message {message} was removed from the history")
            }
            Self::Overwritten { message } => {
                write!(f, "message {message} was overwritten by a prompt with the same id")
            }
        }
    }
}
