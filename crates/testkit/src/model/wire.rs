//! How is an answer written in the chat-completions protocol?
//!
//! Source: the chat-completions and streaming references; `reasoning_content` as OpenAI-compatible
//! providers write it and `@ai-sdk/openai-compatible` reads it.

use serde::Serialize;

use super::{
    script::{Finish, ToolCall},
    usage::Usage,
};

/// The last line of a stream.
pub(super) const DONE: &str = "data: [DONE]\n\n";

/// What every chunk of one answer begins with.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Head {
    pub(super) id: String,
    pub(super) object: &'static str,
    pub(super) created: u64,
    pub(super) model: String,
}

/// What one choice adds to the answer so far; as `message`, the answer itself.
#[derive(Debug, Default, Serialize)]
pub(super) struct Delta {
    pub(super) role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_calls: Vec<WireToolCall>,
}

/// A tool call as it is written.
#[derive(Debug, Serialize)]
pub(super) struct WireToolCall {
    index: usize,
    id: String,
    r#type: &'static str,
    function: ToolCall,
}

impl WireToolCall {
    pub(super) fn new(answer: &str, index: usize, function: ToolCall) -> Self {
        Self { index, id: format!("call_{answer}_{index}"), r#type: "function", function }
    }
}

#[derive(Debug, Serialize)]
struct Chunk<'a> {
    #[serde(flatten)]
    head: &'a Head,
    choices: &'a [ChunkChoice<'a>],
    #[serde(skip_serializing_if = "UsageField::is_absent")]
    usage: UsageField<'a>,
}

/// The field `usage` of a chunk.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum UsageField<'a> {
    Absent,
    Sent(Option<&'a Usage>),
}

impl UsageField<'_> {
    fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }
}

#[derive(Debug, Serialize)]
struct ChunkChoice<'a> {
    index: u8,
    delta: &'a Delta,
    finish_reason: Option<&'a Finish>,
}

/// The event that adds `delta`, or with `finish` says why the answer ends.
pub(super) fn choice_event(head: &Head, delta: &Delta, finish: Option<&Finish>) -> String {
    let choices = [ChunkChoice { index: 0, delta, finish_reason: finish }];
    event(&Chunk { head, choices: &choices, usage: UsageField::Absent })
}

/// The event with usage, or with `null` in its place.
pub(super) fn usage_event(head: &Head, usage: Option<&Usage>) -> String {
    event(&Chunk { head, choices: &[], usage: UsageField::Sent(usage) })
}

/// The event that an error takes the place of a chunk.
pub(super) fn error_event(message: &str) -> String {
    data_event(&error_body(message))
}

/// An event with `data` as it stands.
pub(super) fn data_event(data: &str) -> String {
    format!("data: {data}\n\n")
}

fn event(body: &impl Serialize) -> String {
    data_event(&json(body))
}

#[derive(Debug, Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    head: &'a Head,
    choices: [WholeChoice<'a>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<&'a Usage>,
}

#[derive(Debug, Serialize)]
struct WholeChoice<'a> {
    index: u8,
    message: &'a Delta,
    finish_reason: Option<&'a Finish>,
}

/// The body of an answer that is not streamed.
pub(super) fn whole_body(
    head: &Head,
    message: &Delta,
    finish: Option<&Finish>,
    usage: Option<&Usage>,
) -> String {
    let choices = [WholeChoice { index: 0, message, finish_reason: finish }];
    json(&Whole { head, choices, usage })
}

#[derive(Debug, Serialize)]
struct ErrorBody<'a> {
    error: ErrorObject<'a>,
}

#[derive(Debug, Serialize)]
struct ErrorObject<'a> {
    message: &'a str,
    r#type: &'static str,
}

/// The body of an HTTP error.
pub(super) fn error_body(message: &str) -> String {
    json(&ErrorBody { error: ErrorObject { message, r#type: "scripted_error" } })
}

#[derive(Debug, Serialize)]
struct Models<'a> {
    object: &'static str,
    data: Vec<ModelEntry<'a>>,
}

#[derive(Debug, Serialize)]
struct ModelEntry<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    owned_by: &'static str,
}

/// The body of `GET /v1/models`.
pub(super) fn models_body(names: &[&str]) -> String {
    let data =
        names.iter().map(|id| ModelEntry { id, object: "model", created: 0, owned_by: "testkit" });
    json(&Models { object: "list", data: data.collect() })
}

fn json(body: &impl Serialize) -> String {
    serde_json::to_string(body).expect("plain structs with string keys become JSON")
}
