//! What came of a request? The receipt, and the facts that the ledger records of it.

use std::fmt;

use crate::{
    gap::Gap,
    id::{CallKey, MessageId, ThreadId, TurnId, UnixMillis},
    observation::{Failure, Finish, Kind},
    usage::{Counters, Usage},
};

/// How a turn stands (ledger.md 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// Admitted, not ended.
    Pending,
    /// The harness clearly said so.
    Completed,
    /// Ended with an error that is no abort.
    Failed,
    /// Ended by an abort, which need not be the user's.
    Interrupted,
    /// The run ended without an answer: a permission or question was rejected.
    Stopped,
    /// Answered under a later request.
    Absorbed,
    /// Stored by the harness and never run.
    Unanswered,
    /// Stored without asking for an answer.
    NoReply,
    /// Its owner is gone, or runs nothing of this thread, with a step that will never be closed.
    Lost,
}

impl Status {
    /// Every status, in the order of the documentation.
    pub const ALL: [Self; 9] = [
        Self::Pending,
        Self::Completed,
        Self::Failed,
        Self::Interrupted,
        Self::Stopped,
        Self::Absorbed,
        Self::Unanswered,
        Self::NoReply,
        Self::Lost,
    ];

    /// Gives the stable name, as printed and stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::Stopped => "stopped",
            Self::Absorbed => "absorbed",
            Self::Unanswered => "unanswered",
            Self::NoReply => "no_reply",
            Self::Lost => "lost",
        }
    }

    /// Reads the stable name back.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a turn answered.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Output {
    /// Text, whole.
    Text(Box<str>),
    /// The text of a turn that did not complete.
    Partial(Box<str>),
    /// A structured value, as canonical JSON.
    Value(Box<str>),
}

/// How an attempt ended; never changes once it is recorded (rule F5).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Completion {
    /// The answer that ended the attempt; `None` when nothing was answered.
    pub message: Option<MessageId>,
    /// How.
    pub status: Status,
    /// The native error, of an attempt that failed or was interrupted.
    pub failure: Option<Failure>,
    /// Why the model stopped, of the last answer.
    pub finish: Option<Finish>,
    /// The later request that answered this one.
    pub absorbed_by: Option<TurnId>,
    /// Created time of the first answer, by the harness's clock.
    pub started_at: Option<UnixMillis>,
    /// Closing time of the last answer, by the harness's clock.
    pub completed_at: Option<UnixMillis>,
    /// What was answered.
    pub output: Option<Output>,
}

impl Completion {
    /// Tells whether a length limit or a filter cut the answer short.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.status == Status::Completed
            && matches!(self.finish, Some(Finish::Length | Finish::ContentFilter))
    }
}

/// The fold of everything that a harness's history says about one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The request, by the harness's id.
    pub turn: TurnId,
    /// What was asked for.
    pub kind: Kind,
    /// How its last attempt ended; with [`Status::Pending`] while that is open.
    pub completion: Completion,
    /// How often the harness ran it; a retry after an end is a new attempt.
    pub attempts: u32,
    /// What all its attempts used, without subagents.
    pub usage: Usage,
    /// Two or more whole answers to one prompt, in order; empty when there is one or none.
    pub conflicting_answers: Vec<MessageId>,
    /// The answers, in order.
    pub answers: Vec<MessageId>,
    /// The prompts that the harness itself put in, in order.
    pub generated: Vec<MessageId>,
    /// Threads that it started.
    pub children: Vec<ThreadId>,
    /// What did not fit.
    pub gaps: Vec<Gap>,
}

/// One thing that the fold is willing to record of a turn.
///
/// Facts are named by (turn, [`FactBody::kind`], [`FactBody::key`]); recording the same fact again
/// changes nothing (rule L1). A later fact of the same name with other content is a contradiction,
/// except for [`FactBody::Call`], whose counters rise to the maximum (rule U1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// The request that it is about, by the harness's id.
    pub turn: TurnId,
    /// What is the case.
    pub body: FactBody,
}

/// What is the case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FactBody {
    /// The harness stored the request.
    Admitted {
        /// What was asked for.
        kind: Kind,
        /// When, by the harness's clock.
        at: Option<UnixMillis>,
    },
    /// The harness began to answer.
    Started {
        /// The first answer.
        message: MessageId,
        /// When, by the harness's clock.
        at: Option<UnixMillis>,
    },
    /// A model call is over.
    Call {
        /// The global key.
        key: CallKey,
        /// The answer that it is in.
        message: MessageId,
        /// When that answer was created, by the harness's clock.
        at: Option<UnixMillis>,
        /// What it used; [`Counters::UNKNOWN`] when the harness never stored it.
        counters: Counters,
        /// Who served the model.
        provider: Option<Box<str>>,
        /// Which model.
        model: Option<Box<str>>,
    },
    /// The turn started another thread.
    Child {
        /// That thread.
        thread: ThreadId,
    },
    /// The harness put a prompt of its own into the run of this turn.
    Generated {
        /// That prompt.
        message: MessageId,
    },
    /// An attempt ended. Its calls were given before, in the same or an earlier batch (rule L8).
    Completed(Completion),
    /// Something did not fit.
    Gap(Gap),
}

impl FactBody {
    /// Gives the stable name of this kind of fact, as printed and stored.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Admitted { .. } => "admitted",
            Self::Started { .. } => "started",
            Self::Call { .. } => "usage",
            Self::Child { .. } | Self::Generated { .. } => "lineage",
            Self::Completed(_) => "completed",
            Self::Gap(_) => "gap",
        }
    }

    /// Gives what tells facts of one kind and turn apart.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::Admitted { .. } | Self::Started { .. } => String::new(),
            Self::Call { key, .. } => key.as_str().to_owned(),
            Self::Child { thread } => format!("child {thread}"),
            Self::Generated { message } => format!("generated {message}"),
            // Without an answer there is no attempt: what is known then (unanswered, absorbed, no
            // reply) may be followed by a different fact when the harness does run the prompt.
            Self::Completed(Completion { message: None, status, .. }) => status.as_str().to_owned(),
            Self::Completed(Completion { message: Some(message), .. }) => {
                message.as_str().to_owned()
            }
            Self::Gap(gap) => format!("{} {gap}", gap.code()),
        }
    }
}
