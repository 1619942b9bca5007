//! What does an agent report? Observations, and hints about what to read.

use std::fmt;

use receipts::{MessageId, Observation, Owner, ThreadId, UnixMillis};

use crate::{
    ask::{Ask, AskId},
    process::ProcessIdentity,
};

/// The process that serves an agent, as it was reached.
///
/// Two that differ in the process are two epochs: what the first one ran, the second does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// The version that it tells.
    pub version: Box<str>,
    /// Where it is reached, without credentials.
    pub endpoint: Box<str>,
    /// The process behind it; `None` where it cannot be told, as on another machine.
    pub process: Option<ProcessIdentity>,
}

/// What is known of a conversation beside its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadInfo {
    /// The harness's id.
    pub thread: ThreadId,
    /// The conversation that started it as a subagent.
    pub parent: Option<ThreadId>,
    /// Where it works.
    pub directory: Option<Box<str>>,
    /// Its title; redacted.
    pub title: Option<Box<str>>,
    /// When it was created, by the harness's clock.
    pub created: Option<UnixMillis>,
}

/// What an observation was read from: the harness's own words, redacted, whole.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Evidence(Box<str>);

impl Evidence {
    /// Takes a text that is redacted already.
    #[must_use]
    pub fn redacted(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// Gives the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Evidence({} bytes)", self.0.len())
    }
}

/// One observation with what it was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// What was seen.
    pub observation: Observation,
    /// What it was read from; `None` for what was no message.
    pub evidence: Option<Evidence>,
}

/// Where a page goes on; opaque, and good only for the harness and thread that it came from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cursor(Box<str>);

impl Cursor {
    /// Takes the harness's text.
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

/// Who gave a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// The running agent.
    Live,
    /// The agent's own files, because the agent did not answer or cannot give this.
    Files,
}

/// A bounded piece of a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// What was seen, the oldest first.
    pub seen: Vec<Seen>,
    /// Where the older messages go on; `None` when there are none.
    pub older: Option<Cursor>,
    /// Who gave it.
    pub source: Source,
}

/// What kind of text is streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PartKind {
    /// The answer.
    Text,
    /// The model's reasoning.
    Reasoning,
    /// Something else, or not known.
    Other,
}

/// Numbers the wishes to [`crate::Reports::settle`] of one subscription, from 1; 0 before the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Ticket(pub u64);

/// One thing that an agent reports while it is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// The stream of reports stands, now or again. What happened before is not told: read back.
    Connected(Provider),
    /// The stream broke; it is being connected again. Nothing is concluded from it.
    Disconnected {
        /// What went wrong; redacted.
        why: String,
    },
    /// The process that was followed is proven gone (rule L12).
    Exited(ProcessIdentity),
    /// Something was seen in a history.
    Seen {
        /// The history.
        thread: ThreadId,
        /// What was seen.
        seen: Vec<Seen>,
    },
    /// Reports of a thread were missed, or its messages could not be read: read back.
    Missed {
        /// The thread.
        thread: ThreadId,
        /// What happened; redacted.
        why: String,
    },
    /// What is known of the run of a thread. Idle is reported only when nothing can still be
    /// written by the run that ended.
    Owner {
        /// The thread.
        thread: ThreadId,
        /// What is known.
        owner: Owner,
        /// The ticket of the last wish that was heard before the thread was looked at.
        ticket: Ticket,
    },
    /// A thread was made or changed.
    Thread(ThreadInfo),
    /// A thread was deleted by somebody, with its history.
    ThreadDeleted(ThreadId),
    /// Text was streamed; not stored anywhere yet, for showing only. Redacted as far as one piece
    /// shows.
    Text {
        /// The thread.
        thread: ThreadId,
        /// The message.
        message: MessageId,
        /// What kind of text.
        kind: PartKind,
        /// The piece.
        delta: Box<str>,
    },
    /// A tool began to run, for showing only.
    ToolStarted {
        /// The thread.
        thread: ThreadId,
        /// The message.
        message: MessageId,
        /// The tool.
        tool: Box<str>,
    },
    /// Something waits for an answer.
    Asked(Ask),
    /// Something no longer waits for an answer.
    Answered {
        /// The thread.
        thread: ThreadId,
        /// What was asked.
        ask: AskId,
    },
    /// Something failed. It belongs to no message by itself.
    Failed {
        /// The thread, where it is one's.
        thread: Option<ThreadId>,
        /// The native name.
        name: Box<str>,
        /// A sentence; redacted.
        message: Box<str>,
    },
    /// The agent told something in a shape that this build does not read; redacted.
    Unreadable {
        /// What was expected and what came.
        problem: String,
    },
}
