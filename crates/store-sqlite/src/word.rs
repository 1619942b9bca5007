//! Which types are texts that are checked when they are read?

use receipts::{CallKey, ExecId, InputKey, MessageId, RequestId, SessionId, ThreadId, TurnId};
use store::{Endpoint, FlowName, HarnessName, Work};

/// An id or word.
pub(crate) trait Word: Sized {
    /// Takes a text; `None` where it cannot be one.
    fn of(text: &str) -> Option<Self>;
}

macro_rules! words {
    ($($name:ty),* $(,)?) => {
        $(impl Word for $name {
            fn of(text: &str) -> Option<Self> {
                Self::new(text).ok()
            }
        })*
    };
}

words![
    CallKey,
    Endpoint,
    ExecId,
    FlowName,
    HarnessName,
    InputKey,
    MessageId,
    RequestId,
    SessionId,
    ThreadId,
    TurnId,
    Work,
];

/// A word of a harness, which may be anything.
impl Word for Box<str> {
    fn of(text: &str) -> Option<Self> {
        Some(text.into())
    }
}
