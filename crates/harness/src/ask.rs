//! What does an agent ask a person, and what can be answered?

use std::fmt;

use receipts::{IdError, MessageId, ThreadId};

/// Names one thing that waits for an answer; the harness's own id, opaque.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AskId(Box<str>);

impl AskId {
    /// Takes the harness's id.
    ///
    /// # Errors
    ///
    /// [`IdError::Empty`] when it is empty.
    pub fn new(text: impl Into<Box<str>>) -> Result<Self, IdError> {
        let text = text.into();
        if text.is_empty() {
            return Err(IdError::Empty { what: "ask id" });
        }
        Ok(Self(text))
    }

    /// Gives the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Something that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// Its id.
    pub id: AskId,
    /// The conversation that waits.
    pub thread: ThreadId,
    /// The answer message that waits, where the harness tells; it leads to the request.
    pub message: Option<MessageId>,
    /// What is asked.
    pub body: AskBody,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskBody {
    /// Whether a tool may run.
    Permission {
        /// The kind of permission, such as `bash`.
        permission: Box<str>,
        /// What it wants to do, such as the command line; redacted.
        patterns: Vec<Box<str>>,
    },
    /// Something that the model wants to know.
    Questions(Vec<Question>),
}

/// One question with its choices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The whole question.
    pub text: Box<str>,
    /// What may be chosen.
    pub choices: Vec<Choice>,
    /// Whether several choices may be taken.
    pub multiple: bool,
}

/// One choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The text that stands for it in the answer.
    pub label: Box<str>,
    /// What it means.
    pub description: Box<str>,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// To a permission.
    Permission(Verdict),
    /// To questions: for each, in order, the labels that are chosen.
    Questions(Vec<Vec<Box<str>>>),
    /// No answer to the questions; the run stops.
    Decline,
}

/// Whether a tool may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// This time.
    Once,
    /// From now on, as long as the agent remembers.
    Always,
    /// No; the run stops.
    Reject,
}
