//! Who owns a model call, and what did it use? (rule L14)

use receipts::{
    CallKey, Counters, ExecId, InputKey, MessageId, SessionId, ThreadId, TurnId, UnixMillis,
};

use crate::event::Seq;

/// One model call; there is one row for it in the whole store, whatever sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The global key.
    pub key: CallKey,
    /// What it used: of each counter the maximum that any sighting showed.
    pub counters: Counters,
    /// Who served the model, by the owning sighting.
    pub provider: Option<Box<str>>,
    /// Which model, by the owning sighting.
    pub model: Option<Box<str>>,
    /// When its message was created, by the harness's clock and the owning sighting.
    pub at: Option<UnixMillis>,
    /// Whose it is.
    pub owner: CallOwner,
}

/// Whose a model call is; derived from all its sightings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallOwner {
    /// The owning sighting.
    pub seq: Seq,
    /// The session.
    pub session: SessionId,
    /// The harness's conversation.
    pub thread: ThreadId,
    /// The harness's turn.
    pub turn: TurnId,
    /// The input of the turn's origin; `None` for a turn without one.
    ///
    /// A turn that nobody here intended, in a conversation that another turn started, has the origin
    /// of that one, or of the nearest turn above it that was intended.
    pub input: Option<InputKey>,
    /// The run of that origin.
    pub exec: Option<ExecId>,
}

/// One sighting of a model call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    /// The event.
    pub seq: Seq,
    /// The session.
    pub session: SessionId,
    /// The harness's conversation.
    pub thread: ThreadId,
    /// The harness's turn.
    pub turn: TurnId,
    /// The message that it is in.
    pub message: MessageId,
    /// When that was created, by the harness's clock.
    pub at: Option<UnixMillis>,
    /// What was seen.
    pub counters: Counters,
    /// Who served the model.
    pub provider: Option<Box<str>>,
    /// Which model.
    pub model: Option<Box<str>>,
}

/// Which calls are asked for.
#[derive(Debug, Clone, Copy)]
pub enum Scope<'a> {
    /// All.
    All,
    /// Those owned in one session.
    Session(&'a SessionId),
    /// Those owned by the turns of one input, and by the conversations that these started.
    Input(&'a InputKey),
    /// Those owned by the turns of one run, and by the conversations that these started.
    Exec(&'a ExecId),
    /// Those owned by one turn: the harness's conversation and turn.
    Turn(&'a SessionId, &'a ThreadId, &'a TurnId),
}
