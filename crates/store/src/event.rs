//! What is in a session's event log?

use std::fmt;

use receipts::{
    CallKey, Counters, ExecId, FactBody, InputKey, RequestId, SessionId, ThreadId, TurnId,
    UnixMillis,
};

use crate::{
    driver::Generation,
    effect::{Attempt, Effect, Stage},
    exec::ExecOutcome,
    input::Capture,
};

/// The place of an event in the store, from 1; grows with every event, never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(pub u64);

impl Seq {
    /// Before every event.
    pub const START: Self = Self(0);
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The content address of kept evidence: its BLAKE3 digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EvidenceDigest(pub [u8; 32]);

impl EvidenceDigest {
    /// Computes the address of a content.
    #[must_use]
    pub fn of(content: &[u8]) -> Self {
        Self(*blake3::hash(content).as_bytes())
    }
}

impl fmt::Debug for EvidenceDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for EvidenceDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// One event; never changed once it is stored (rule L1).
///
/// Its identity is (session, thread, turn, kind, key).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its place.
    pub seq: Seq,
    /// The session.
    pub session: SessionId,
    /// The harness's conversation; `None` for what concerns the session alone.
    pub thread: Option<ThreadId>,
    /// The harness's turn.
    pub turn: Option<TurnId>,
    /// When it was recorded, by our clock.
    pub recorded_at: UnixMillis,
    /// What it was read from.
    pub evidence: Option<EvidenceDigest>,
    /// What happened.
    pub body: EventBody,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventBody {
    /// An input became the session's current one.
    Captured {
        /// The input.
        input: InputKey,
        /// Its number in the session.
        capture: Capture,
    },
    /// A request was intended.
    Requested {
        /// The request.
        request: RequestId,
    },
    /// Something read from the harness's history.
    Fact(FactBody),
    /// A model call was seen again with counters that raise what was known (rule U1).
    Raised {
        /// The call.
        call: CallKey,
        /// What was seen.
        counters: Counters,
    },
    /// A fact was seen again with other content; the first holds (rule L9), except that a turn
    /// started when its earliest start says (rule L11).
    Contradicted {
        /// The event that holds.
        first: Seq,
        /// What was seen later.
        latest: FactBody,
    },
    /// A turn's provider is proven dead; ours, never a provider's status (rule L12).
    Exited,
    /// A driver finished.
    DriverFinished {
        /// The run that drove.
        exec: Option<ExecId>,
        /// The token that it held.
        generation: Generation,
        /// How it ended.
        outcome: ExecOutcome,
    },
    /// Something that is no prompt was meant, or sent, to the harness (rule L3).
    Effect {
        /// What.
        effect: Effect,
        /// Which attempt.
        attempt: Attempt,
        /// How far it got.
        stage: Stage,
    },
    /// The session was closed.
    Closed,
    /// An event of a newer program (rule L13).
    Unknown {
        /// Its kind.
        kind: Box<str>,
        /// Its key.
        key: Box<str>,
    },
}

impl EventBody {
    /// Gives the stable name of this kind of event, as printed and stored.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Self::Captured { .. } => "captured",
            Self::Requested { .. } => "requested",
            Self::Fact(fact) => fact.kind(),
            Self::Raised { .. } => "raised",
            Self::Contradicted { .. } => "contradicted",
            Self::Exited | Self::DriverFinished { .. } => "exited",
            Self::Effect { .. } => "effect",
            Self::Closed => "closed",
            Self::Unknown { kind, .. } => kind,
        }
    }

    /// Gives what tells events of one kind and turn apart.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::Captured { input, .. } => input.as_str().to_owned(),
            Self::Requested { request } => request.as_str().to_owned(),
            Self::Fact(fact) => fact.key(),
            Self::Raised { call, counters } => format!("{call} {}", fingerprint(counters)),
            Self::Contradicted { first, latest } => {
                format!("{first} {}", fingerprint(latest))
            }
            Self::Exited | Self::Closed => String::new(),
            Self::DriverFinished { generation, .. } => format!("driver {}", generation.0),
            Self::Effect { effect, attempt, stage } => {
                Self::effect_key(effect, *attempt, stage.as_str())
            }
            Self::Unknown { key, .. } => key.as_ref().to_owned(),
        }
    }

    /// Gives the key of one stage of an attempt.
    pub(crate) fn effect_key(effect: &Effect, attempt: Attempt, stage: &str) -> String {
        format!("{} {} {stage}", effect.name(), attempt.0)
    }
}

/// Tells contents apart within one key; only ever compared with its own kind.
fn fingerprint(content: &impl fmt::Debug) -> String {
    let hash = blake3::hash(format!("{content:?}").as_bytes());
    let mut hex = hash.to_hex().to_string();
    hex.truncate(16);
    hex
}

/// What became of one fact in an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Recorded {
    /// It is new.
    Appended(Seq),
    /// It was stored before, with equal content; nothing was written.
    Known(Seq),
    /// It is a sighting of a known call, which raised or lowered a counter, or of a known turn,
    /// which started earlier than was known.
    Raised {
        /// The first sighting.
        first: Seq,
        /// The last event written for it.
        seq: Seq,
    },
    /// It contradicts a stored event, which stays (rule L9).
    Contradicted {
        /// The event that stays.
        first: Seq,
        /// The event that says so.
        seq: Seq,
    },
}

impl Recorded {
    /// Gives the first event that holds the fact.
    #[must_use]
    pub fn first(self) -> Seq {
        match self {
            Self::Appended(seq) | Self::Known(seq) => seq,
            Self::Raised { first, .. } | Self::Contradicted { first, .. } => first,
        }
    }
}
