//! What do we mean to send, and what is known of its way? (rules L3 to L5)

use receipts::{ExecId, InputKey, RequestId, SessionId, ThreadId, TurnId, UnixMillis};

use crate::{
    driver::{Generation, ProviderGeneration},
    error::StoreError,
    event::Seq,
    text::Labels,
};

/// Whether a request asks for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reply {
    /// It does.
    Expected,
    /// The harness is only to store it.
    NotAsked,
}

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Purpose {
    /// It asks for a turn of its own.
    Prompt,
    /// It steers a turn that runs; it can never satisfy a turn selection.
    Steer,
}

/// A request that is about to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewIntent {
    /// Its name, ours.
    pub request: RequestId,
    /// The session.
    pub session: SessionId,
    /// The harness's conversation that it goes to.
    pub thread: ThreadId,
    /// The harness's id of the request, where we mint it; else learned from its echo.
    pub turn: Option<TurnId>,
    /// What it is for.
    pub purpose: Purpose,
    /// Whether it asks for an answer.
    pub reply: Reply,
    /// The caller's labels for the work.
    pub labels: Labels,
    /// When it was intended, by our clock.
    pub created_at: UnixMillis,
}

/// Who a turn belongs to; frozen when it is intended (rule L5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The session's input at that moment.
    pub input: Option<InputKey>,
    /// The run that drove.
    pub exec: ExecId,
    /// The fencing token that it was intended under.
    pub generation: Generation,
    /// The provider that it was meant for.
    pub provider_generation: ProviderGeneration,
    /// The caller's labels for the work.
    pub labels: Labels,
}

/// What is known of the way of the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// Nothing was tried, or the trier died before it could say.
    Intended,
    /// The attempt to send ended.
    Dispatched(Dispatch),
}

/// How an attempt to send ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dispatch {
    /// The harness took it; only its history admits it.
    Sent,
    /// It is proven that the harness did not and will not store it.
    NotSent {
        /// A sentence for people, redacted.
        why: Box<str>,
    },
    /// It may have been stored; the history says (rule L4).
    Uncertain {
        /// A sentence for people, redacted.
        why: Box<str>,
    },
}

/// A request as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// Its name, ours.
    pub request: RequestId,
    /// The session.
    pub session: SessionId,
    /// The harness's conversation that it goes to.
    pub thread: ThreadId,
    /// The harness's id of the request, once it is known.
    pub turn: Option<TurnId>,
    /// What it is for.
    pub purpose: Purpose,
    /// Whether it asks for an answer.
    pub reply: Reply,
    /// Who it belongs to.
    pub origin: Origin,
    /// When it was intended, by our clock.
    pub created_at: UnixMillis,
    /// The event that recorded it.
    pub seq: Seq,
    /// What is known of its way.
    pub delivery: Delivery,
    /// The event by which the harness's own history admitted it.
    pub admitted: Option<Seq>,
}

impl Intent {
    /// Tells whether it still has to be settled: neither admitted nor proven absent.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.admitted.is_none()
            && !matches!(self.delivery, Delivery::Dispatched(Dispatch::NotSent { .. }))
    }

    /// Says that a second attempt to intend the request means the same.
    ///
    /// # Errors
    ///
    /// [`StoreError::Conflict`] with the first field that differs.
    pub fn check_equal(&self, new: &NewIntent, origin: &Origin) -> Result<(), StoreError> {
        let field = if self.session != new.session {
            "session"
        } else if self.thread != new.thread {
            "thread"
        } else if new.turn.is_some() && self.turn != new.turn {
            "turn"
        } else if self.purpose != new.purpose {
            "purpose"
        } else if self.reply != new.reply {
            "reply"
        } else if self.origin != *origin {
            "origin"
        } else {
            return Ok(());
        };
        Err(StoreError::conflict(format_args!("request {}", self.request), field))
    }
}
