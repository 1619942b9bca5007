//! What does the agent ask a person? Permissions and questions that wait for an answer.
//!
//! Source: `GET /permission`, `GET /question` and the events `permission.asked` and
//! `question.asked` of `opencode-ai` 1.18.33, by its own `/doc` and as recorded.

use receipts::{MessageId, ThreadId};
use serde::Deserialize;
use verbatim::RawValue;

use crate::event::{EventError, Object};

/// Something that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// `per_…` or `que_…`, opaque.
    pub id: Box<str>,
    /// The session that waits.
    pub thread: ThreadId,
    /// The answer message whose tool waits, where one does.
    pub message: Option<MessageId>,
    /// What is asked.
    pub what: What,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Whether a tool may run.
    Permission {
        /// The kind of permission: `bash`, `edit`, `webfetch`, …
        permission: Box<str>,
        /// What it wants to do, such as the command line.
        patterns: Vec<Box<str>>,
    },
    /// Something that the model wants to know.
    Questions(Vec<Question>),
}

/// One question with its choices.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Question {
    /// The whole question.
    pub question: Box<str>,
    /// A short label.
    #[serde(default)]
    pub header: Box<str>,
    /// What may be chosen.
    #[serde(default)]
    pub options: Vec<Choice>,
    /// Whether several choices may be taken.
    #[serde(default)]
    pub multiple: bool,
    /// Whether an answer outside the choices is taken.
    #[serde(default)]
    pub custom: Option<bool>,
}

/// One choice.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Choice {
    /// The text that stands for it in the answer.
    pub label: Box<str>,
    /// What it means.
    #[serde(default)]
    pub description: Box<str>,
}

impl Asked {
    /// Decodes one permission request.
    ///
    /// # Errors
    ///
    /// [`EventError`] when it has no id, session or permission.
    pub fn permission(raw: &RawValue) -> Result<Self, EventError> {
        let object = Object::decode("permission.asked", raw)?;
        let what = What::Permission {
            permission: object.text("permission")?,
            patterns: object.value("patterns", "a list of strings")?.unwrap_or_default(),
        };
        Self::with(&object, what)
    }

    /// Decodes one question request.
    ///
    /// # Errors
    ///
    /// [`EventError`] when it has no id or session, or the questions have another shape.
    pub fn question(raw: &RawValue) -> Result<Self, EventError> {
        let object = Object::decode("question.asked", raw)?;
        let questions = object.value("questions", "a list of questions")?.unwrap_or_default();
        Self::with(&object, What::Questions(questions))
    }

    fn with(object: &Object<'_>, what: What) -> Result<Self, EventError> {
        let message = match object.object("tool")? {
            Some(tool) => Some(tool.message("messageID")?),
            None => None,
        };
        let thread = object.thread("sessionID")?;
        Ok(Self { id: object.text("id")?, thread, message, what })
    }
}
