//! What can be sent to an agent, and how did sending it end?

use receipts::{MessageId, ThreadId};

use crate::error::ReachError;

/// A conversation that is to be made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewThread {
    /// Where the agent is to work; the agent's own default without it.
    pub directory: Option<Box<str>>,
    /// A title for people. One that names the maker makes the thread recognisable when the answer
    /// to its making is lost.
    pub title: Option<Box<str>>,
}

/// One prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The conversation that it goes to.
    pub thread: ThreadId,
    /// The harness's id of the request, minted by [`crate::Harness::mint`] and stored before the
    /// send; never used twice.
    pub message: Option<MessageId>,
    /// What is asked.
    pub text: Box<str>,
    /// What it is for.
    pub mode: PromptMode,
    /// Which of the agent's agents is to answer; its own default without it.
    pub agent: Option<Box<str>>,
    /// Which model is to answer; the agent's own default without it.
    pub model: Option<ModelName>,
}

/// What a prompt is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PromptMode {
    /// It asks for a turn of its own.
    Turn,
    /// It goes into the turn that runs.
    Steer,
    /// It is only to be stored.
    NoReply,
}

/// A model and who serves it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelName {
    /// The provider's id.
    pub provider: Box<str>,
    /// The model's id at the provider.
    pub model: Box<str>,
}

impl ModelName {
    /// Reads `provider/model`; the model's part may hold further slashes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (provider, model) = text.split_once('/')?;
        (!provider.is_empty() && !model.is_empty())
            .then(|| Self { provider: provider.into(), model: model.into() })
    }
}

/// How one attempt to send ended (rule L4).
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Dispatch<T = ()> {
    /// The harness took it; only its history admits it.
    Sent(T),
    /// It is proven that the harness did not and will not store it.
    NotSent(ReachError),
    /// It may have been stored; only the history says. It is never sent again.
    Uncertain(ReachError),
}
