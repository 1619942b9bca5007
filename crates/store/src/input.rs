//! What was asked of a session? Inputs, captured one after the other.

use receipts::{InputKey, SessionId, UnixMillis};

use crate::text::{Labels, Work};

/// The number of an input within its session, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Capture(pub u64);

/// One piece of work; immutable once captured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Its public name; captured at most once in the whole store.
    pub key: InputKey,
    /// What the agent is asked, as far as it is known at capture.
    pub prompt: Option<Box<str>>,
    /// The skill that it is asked with.
    pub skill: Option<Box<str>>,
    /// Where it is to work.
    pub cwd: Option<Box<str>>,
    /// The model that is wished for.
    pub model: Option<Box<str>>,
    /// The work that it belongs to; a session that is bound to work takes no other.
    pub work: Option<Work>,
    /// The caller's labels.
    pub labels: Labels,
}

/// An input with its place in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// The session that it was fed to.
    pub session: SessionId,
    /// Its number there.
    pub capture: Capture,
    /// When it was captured, by our clock.
    pub at: UnixMillis,
    /// The input.
    pub input: Input,
}
