//! What does a driver do to a harness beside prompting, and what is known of its way? (rule L3)

use crate::intent::Dispatch;

/// Something that is sent to a harness and is no prompt.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// Makes the harness's conversation; known again by its title when the answer is lost.
    CreateThread {
        /// The title that it is made with.
        title: Box<str>,
    },
    /// Asks for what runs to be aborted; may be asked again at any time.
    Abort,
    /// Answers what the agent asked; once.
    Answer {
        /// The harness's id of what was asked.
        ask: Box<str>,
        /// What is answered, in short, for people.
        answer: Box<str>,
    },
}

impl Effect {
    /// Gives the stable name of what is the same effect when it is tried again.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::CreateThread { .. } => "create_thread".to_owned(),
            Self::Abort => "abort".to_owned(),
            Self::Answer { ask, .. } => format!("answer {ask}"),
        }
    }
}

/// Tells attempts at one effect in one session apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attempt(pub u64);

/// How far an attempt got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// It is meant; nothing was sent yet, or the sender died before it could say.
    Meant,
    /// The attempt to send ended.
    Dispatched(Dispatch),
}

impl Stage {
    /// Gives the stable name, as printed and stored.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Meant => "meant",
            Self::Dispatched(_) => "dispatched",
        }
    }
}
