//! What can a harness tell us? The input vocabulary of the fold.
//!
//! Each `*-wire` crate translates its harness's own messages to these. A message is observed whole
//! and as often as it is seen; the fold merges the sightings.

use crate::{
    gap::Gap,
    id::{CallKey, MessageId, ThreadId, UnixMillis},
    usage::Counters,
};

/// One thing seen in, or known about, one thread.
#[expect(clippy::large_enum_variant, reason = "nearly all observations are messages")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observation {
    /// A message as it stands now.
    Message(Message),
    /// A message is gone from the history (reverted, deleted or pruned).
    Removed(MessageId),
    /// The request was sent with the wish for no answer; known from the intent alone.
    NoReply(MessageId),
    /// What is known of the process that runs this thread.
    Owner(Owner),
    /// Something in the history could not be read at all.
    Gap(Gap),
}

/// What is known of the process that runs a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Owner {
    /// It runs something in this thread now.
    Busy,
    /// It is there and runs nothing in this thread.
    Idle,
    /// It is proven gone (rule L12).
    Dead,
    /// Nothing is known; unknown authorises nothing.
    Unknown,
}

/// One message of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The harness's id of the message.
    pub id: MessageId,
    /// When it was created, by the harness's clock.
    pub created: Option<UnixMillis>,
    /// Whether this thread earned it, or got it from another by a fork (rule F8).
    pub lineage: Lineage,
    /// What it is.
    pub body: Body,
    /// What in it could not be read.
    pub gaps: Vec<Gap>,
}

/// Where a message was first made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lineage {
    /// In this thread.
    Own,
    /// In the thread that this one was forked from; in no receipt and no total here.
    Inherited,
}

/// What a message is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Something asked of the agent.
    Prompt(Prompt),
    /// What the agent made of it: one step of its loop.
    Answer(Answer),
    /// A role that this build does not know.
    Unknown,
}

/// A user-side message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prompt {
    /// What was asked for.
    pub kind: Kind,
    /// Who put it there.
    pub author: Author,
    /// Digest of what the parts say; equal digests mean an equal prompt. `None` when the parts
    /// are not stored yet.
    pub content: Option<u64>,
    /// How many parts are stored; a prompt with more parts was seen later.
    pub parts: u32,
    /// Whether its time can be true.
    pub clock: Clock,
}

/// Whether the time of a message can be true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Clock {
    /// Nothing speaks against it.
    Plausible,
    /// It is older than its own thread: the clock had stepped back before it was made, so that it
    /// stands after everything that is not older than the thread.
    SteppedBack,
}

/// What a request asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// An answer.
    Prompt,
    /// A compaction of the conversation.
    Summarize,
    /// One command in a shell, without the model.
    Shell,
    /// Nothing that the history tells: only answers to it are stored.
    Orphan,
}

impl Kind {
    /// Gives the stable name, as printed and stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Summarize => "summarize",
            Self::Shell => "shell",
            Self::Orphan => "orphan",
        }
    }
}

/// Who put a prompt into the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Author {
    /// A client; the prompt is a request.
    Client,
    /// The harness itself, inside a run that a client's request drives (rule F1).
    Harness(Generated),
}

/// Why a harness put a prompt into its own history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Generated {
    /// The conversation came near the model's limit and is summarised.
    Compaction,
    /// The model refused the conversation as too long; it is summarised and the prompt that was
    /// refused is replayed, without a mark, right after the summary.
    OverflowCompaction,
    /// The loop goes on after a compaction.
    Continue,
    /// The loop goes on after a sub-command.
    FollowUp,
}

/// An agent-side message: one step of its loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The prompt that drove it, as the harness names it.
    pub parent: Option<MessageId>,
    /// When it was closed, by the harness's clock.
    pub completed: Option<UnixMillis>,
    /// Why the model stopped, as the harness stored it; may be stale where `ending` says more.
    pub finish: Option<Finish>,
    /// What beside the model's reason ended it.
    pub ending: Ending,
    /// Its tool calls.
    pub tools: Tools,
    /// Whether it is the summary of a compaction rather than an answer.
    pub role: AnswerRole,
    /// The model calls in it, in order.
    pub calls: Vec<Call>,
    /// The text after the last step start in it, which may be empty; `None` when no step began.
    pub text: Option<Box<str>>,
    /// Who served the model.
    pub provider: Option<Box<str>>,
    /// Which model.
    pub model: Option<Box<str>>,
    /// Threads that it started (subagents).
    pub children: Vec<ThreadId>,
    /// How many parts are stored; a later sighting has no fewer.
    pub parts: u32,
}

/// What an answer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AnswerRole {
    /// It answers.
    Answer,
    /// It summarises the conversation for a compaction.
    Summary,
}

/// What beside the model's own reason ended an answer; it beats that reason (rule F4).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ending {
    /// Nothing else.
    Plain,
    /// A value in the shape that was asked for, as canonical JSON.
    Structured(Box<str>),
    /// It was aborted.
    Aborted(Failure),
    /// It failed.
    Failed(Failure),
}

/// Why the model stopped.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Finish {
    /// It had said all.
    Stop,
    /// It ran into a length limit.
    Length,
    /// A filter cut it.
    ContentFilter,
    /// The provider's own reason, known to be an end.
    Other,
    /// The provider reported an error as the reason.
    Error,
    /// It wants tools; the loop goes on.
    ToolCalls,
    /// A word that says nothing, or that this build does not know.
    Unknown(Box<str>),
}

impl Finish {
    /// Gives the harness-neutral word, or the harness's own where it is unknown.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ContentFilter => "content-filter",
            Self::Other => "other",
            Self::Error => "error",
            Self::ToolCalls => "tool-calls",
            Self::Unknown(word) => word,
        }
    }
}

/// What went wrong, in the harness's words, redacted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Failure {
    /// The native name of the error.
    pub name: Box<str>,
    /// A sentence for people.
    pub message: Box<str>,
}

/// The tool calls of one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Tools {
    /// Those that are over, in whatever way.
    pub closed: u32,
    /// Those that are pending or running, or in a state that this build does not know.
    pub open: u32,
    /// Those that the client executes and that therefore make the loop go on.
    pub client: u32,
    /// Those that a person or policy refused.
    pub rejected: u32,
    /// Those that were cut short by an abort.
    pub aborted: u32,
}

/// One model call inside an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The global key of the call (rule L14).
    pub key: CallKey,
    /// What is known of its usage.
    pub usage: CallUsage,
}

/// What is known of a call's usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallUsage {
    /// The call is under way; nothing counts yet (rule F7).
    Open,
    /// The harness stored these counters.
    Known(Counters),
    /// The call is over and the harness stored nothing.
    Unknown,
}
