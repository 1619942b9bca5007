//! What is one answer of the scripted model made of?

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use super::usage::Usage;

/// One answer to one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// HTTP 200 and these steps in order; `data: [DONE]` follows the last one, unless the answer was
    /// cut or ended before.
    Stream(Vec<Step>),
    /// Another HTTP status and a body.
    Refuse(Refusal),
}

/// A provider's refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// The HTTP status, 100 to 999.
    pub status: u16,
    /// Further headers, such as `retry-after`; `content-type` is JSON unless named here.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// The body as it is sent.
    #[serde(default)]
    pub body: String,
}

/// One thing that happens in a streamed answer.
///
/// Every chunk is flushed to the connection before the next step begins, so that a cut never takes
/// back what was sent before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// A chunk of answer text.
    Text(String),
    /// A chunk of reasoning (`reasoning_content`, as OpenAI-compatible providers name it).
    Reasoning(String),
    /// A whole tool call in one chunk.
    Tool(ToolCall),
    /// The chunk with the finish reason.
    Finish(Finish),
    /// A chunk with usage and no choice; may be repeated.
    Usage(Usage),
    /// A chunk with `"usage": null` and no choice.
    UsageNull,
    /// An error object in the stream in place of a chunk, with this message.
    Error(String),
    /// One `data:` line as it stands, whatever it is.
    Data(String),
    /// Waits this many milliseconds.
    PauseMs(u64),
    /// Waits until the gate is open.
    Hold(Gate),
    /// Ends the response properly but without `[DONE]`.
    End,
    /// Breaks the connection in the middle of the response.
    Cut,
}

/// A call of one of the agent's tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// The tool's name.
    pub name: String,
    /// The arguments as the model writes them: JSON text, or what a bad model takes for it.
    pub arguments: String,
}

/// Why the model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It had said everything.
    Stop,
    /// It reached its output limit.
    Length,
    /// It waits for tools.
    ToolCalls,
    /// The provider's filter stopped it.
    ContentFilter,
    /// Any other word.
    #[serde(untagged)]
    Unknown(String),
}

impl Finish {
    /// The word on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolCalls => "tool_calls",
            Self::ContentFilter => "content_filter",
            Self::Unknown(word) => word,
        }
    }
}

/// Names a point where streams are held until the test releases it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Gate(String);

impl Gate {
    /// Takes `name` as a gate.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(name.to_owned())
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What follows when a script's replies are used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The default reply.
    Default,
    /// The last reply again, for ever.
    Repeat,
}

impl Default for Reply {
    /// The default reply: text `default reply`, finish `stop`, usage 50 and 5.
    fn default() -> Self {
        Self::text("default reply").stop(Usage::of(50, 5))
    }
}

impl Reply {
    /// A reply without a step yet; as it stands, an empty answer.
    #[must_use]
    pub fn new() -> Self {
        Self::Stream(Vec::new())
    }

    /// A reply that begins with one chunk of text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::new().and_text(text)
    }

    /// A reply that begins with a tool call; `arguments` is JSON text.
    #[must_use]
    pub fn tool(name: &str, arguments: &str) -> Self {
        Self::new().and_tool(name, arguments)
    }

    /// A reply with a structured value, as OpenCode asks for it: a call of its tool
    /// `StructuredOutput` with the value as arguments.
    ///
    /// Source: observed on opencode-ai 1.18.33 for `format: {type: "json_schema"}`, which offers that
    /// tool and sets `tool_choice` to `required`.
    #[must_use]
    pub fn structured(value: &str) -> Self {
        Self::tool("StructuredOutput", value)
    }

    /// A refusal with the body that OpenAI-compatible providers send.
    #[must_use]
    pub fn refuse(status: u16, message: &str) -> Self {
        let body = super::wire::error_body(message);
        Self::Refuse(Refusal { status, headers: Vec::new(), body })
    }

    /// The same with a further step.
    ///
    /// # Panics
    ///
    /// When this is a refusal: it has no steps.
    #[must_use]
    pub fn step(mut self, step: Step) -> Self {
        match &mut self {
            Self::Stream(steps) => steps.push(step),
            Self::Refuse(refusal) => {
                panic!("a refusal with status {} has no steps", refusal.status)
            }
        }
        self
    }

    /// The same with a header on the refusal.
    ///
    /// # Panics
    ///
    /// When this is no refusal.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        match &mut self {
            Self::Refuse(refusal) => refusal.headers.push((name.to_owned(), value.to_owned())),
            Self::Stream(_) => panic!("only a refusal carries headers of its own, not {name}"),
        }
        self
    }

    /// The same with a further chunk of text.
    #[must_use]
    pub fn and_text(self, text: &str) -> Self {
        self.step(Step::Text(text.to_owned()))
    }

    /// The same with the words of `text` as one chunk each, `gap` apart.
    #[must_use]
    pub fn and_words(self, text: &str, gap: Duration) -> Self {
        let gap = u64::try_from(gap.as_millis()).unwrap_or(u64::MAX);
        text.split_inclusive(' ')
            .fold(self, |reply, word| reply.and_text(word).step(Step::PauseMs(gap)))
    }

    /// The same with a further chunk of reasoning.
    #[must_use]
    pub fn and_reasoning(self, text: &str) -> Self {
        self.step(Step::Reasoning(text.to_owned()))
    }

    /// The same with a further tool call; `arguments` is JSON text.
    #[must_use]
    pub fn and_tool(self, name: &str, arguments: &str) -> Self {
        let (name, arguments) = (name.to_owned(), arguments.to_owned());
        self.step(Step::Tool(ToolCall { name, arguments }))
    }

    /// The same, held until `gate` is open.
    #[must_use]
    pub fn hold(self, gate: &Gate) -> Self {
        self.step(Step::Hold(gate.clone()))
    }

    /// The same with a finish reason, and usage after it.
    #[must_use]
    pub fn finish(self, finish: Finish, usage: Usage) -> Self {
        self.step(Step::Finish(finish)).step(Step::Usage(usage))
    }

    /// The same, finished with `stop`.
    #[must_use]
    pub fn stop(self, usage: Usage) -> Self {
        self.finish(Finish::Stop, usage)
    }

    /// The same, finished with `tool_calls`.
    #[must_use]
    pub fn tool_calls(self, usage: Usage) -> Self {
        self.finish(Finish::ToolCalls, usage)
    }

    /// The same, with the connection broken here.
    #[must_use]
    pub fn cut(self) -> Self {
        self.step(Step::Cut)
    }
}
