//! What does a request ask for?

use serde::{Deserialize, Serialize};

/// What a call asked for, as far as tests need it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// For whom the agent called.
    pub kind: CallKind,
    /// The model's name.
    pub model: String,
    /// Streamed or whole.
    pub delivery: Delivery,
    /// The number of messages in the conversation.
    pub messages: usize,
    /// The names of the tools on offer, in the request's order.
    pub tools: Vec<String>,
    /// `auto`, `required`, `none` or the name of a function; `None` if not said.
    pub tool_choice: Option<String>,
    /// The conversation by the agent's own name: OpenCode's session id, from the header
    /// `x-session-id`.
    ///
    /// Source: observed on opencode-ai 1.18.33.
    pub session: Option<String>,
}

/// For whom the agent called the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// A step of a turn.
    Chat,
    /// The agent wants a title for the conversation.
    Title,
    /// The agent wants a summary of the conversation.
    Compaction,
}

/// How the answer is to be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// As server-sent events.
    Stream,
    /// As one JSON object.
    Whole,
}

/// The body of `POST /v1/chat/completions`, as far as it is looked at.
#[derive(Debug, Deserialize)]
pub(super) struct Request {
    model: String,
    #[serde(default)]
    stream: bool,
    messages: Vec<Message>,
    #[serde(default)]
    tools: Vec<Tool>,
    tool_choice: Option<ToolChoice>,
}

#[derive(Debug, Deserialize)]
struct Message {
    role: String,
    content: Option<Content>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Debug, Deserialize)]
struct Part {
    text: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Tool {
    function: Function,
}

#[derive(Debug, Deserialize)]
struct Function {
    name: String,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ToolChoice {
    Word(String),
    Named { function: Function },
}

impl Message {
    fn text(&self) -> String {
        match &self.content {
            None => String::new(),
            Some(Content::Text(text)) => text.clone(),
            Some(Content::Parts(parts)) => {
                parts.iter().filter_map(|part| part.text.as_deref()).collect::<Vec<_>>().join("\n")
            }
        }
    }
}

impl Request {
    /// The text of the last user message, empty without one.
    pub(super) fn prompt(&self) -> String {
        self.users().next_back().map(Message::text).unwrap_or_default()
    }

    /// How many user messages the conversation has.
    pub(super) fn user_messages(&self) -> usize {
        self.users().count()
    }

    fn users(&self) -> impl DoubleEndedIterator<Item = &Message> {
        self.messages.iter().filter(|message| message.role == "user")
    }

    /// What was asked; `session` is what the headers say of the conversation.
    pub(super) fn asked(self, session: Option<String>) -> Asked {
        Asked {
            kind: self.kind(),
            messages: self.messages.len(),
            model: self.model,
            delivery: if self.stream { Delivery::Stream } else { Delivery::Whole },
            tools: self.tools.into_iter().map(|tool| tool.function.name).collect(),
            tool_choice: self.tool_choice.map(|choice| match choice {
                ToolChoice::Word(word) => word,
                ToolChoice::Named { function } => function.name,
            }),
            session,
        }
    }

    /// Recognises the agent's own calls by the first words of their system prompt.
    ///
    /// Source: observed on opencode-ai 1.18.33.
    fn kind(&self) -> CallKind {
        let system = self.messages.iter().find(|message| message.role == "system");
        let system = system.map(Message::text).unwrap_or_default();
        if system.starts_with("You are a title generator") {
            CallKind::Title
        } else if system.starts_with("You are a context summarization agent") {
            CallKind::Compaction
        } else {
            CallKind::Chat
        }
    }
}
