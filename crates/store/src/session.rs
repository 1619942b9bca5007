//! What is a session? One durable conversation with an agent.

use receipts::{InputKey, SessionId, ThreadId, UnixMillis};

use crate::{
    driver::Driver,
    error::StoreError,
    input::Capture,
    text::{HarnessName, Labels},
};

/// What is said of a session once, when it is created; never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    /// Its name in our store.
    pub id: SessionId,
    /// The agent program behind it.
    pub harness: HarnessName,
    /// When it was created, by our clock.
    pub created_at: UnixMillis,
    /// Where the agent works.
    pub workdir: Option<Box<str>>,
    /// What it was called at first, for people.
    pub title: Option<Box<str>>,
    /// The creator's labels.
    pub labels: Labels,
}

impl NewSession {
    /// Says that both are the same session; the time of a second attempt to create it is no
    /// difference.
    ///
    /// # Errors
    ///
    /// [`StoreError::Conflict`] with the first field that differs.
    pub fn check_equal(&self, other: &Self) -> Result<(), StoreError> {
        let field = if self.harness != other.harness {
            "harness"
        } else if self.workdir != other.workdir {
            "workdir"
        } else if self.title != other.title {
            "title"
        } else if self.labels != other.labels {
            "labels"
        } else {
            return Ok(());
        };
        Err(StoreError::conflict(format_args!("session {}", self.id), field))
    }
}

/// A session as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// What never changes.
    pub fixed: NewSession,
    /// The harness's own conversation; `None` until it is known, then never another.
    pub thread: Option<ThreadId>,
    /// The current input.
    pub input: Option<CurrentInput>,
    /// Who may write to the harness; `None` when it was never driven.
    pub driver: Option<Driver>,
    /// When it was closed, by our clock.
    pub closed_at: Option<UnixMillis>,
}

impl Session {
    /// Gives its name.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.fixed.id
    }

    /// Gives the number of the current capture.
    #[must_use]
    pub fn capture(&self) -> Option<Capture> {
        self.input.as_ref().map(|input| input.capture)
    }
}

/// Which input a session points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentInput {
    /// The input.
    pub key: InputKey,
    /// The how manieth input of the session it is.
    pub capture: Capture,
}
