//! What does a part of a message look like? The fields of all part types in one flat view.
//!
//! A flat struct decodes in one pass over the text, where a tagged enum would buffer it. Fields
//! that a type does not have are absent; a type that this build does not know keeps its name.

use serde::Deserialize;
use verbatim::{Field, RawValue, Text};

use crate::message::Tokens;

/// One part of a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Part<'a> {
    /// `text`, `reasoning`, `tool`, `step-start`, `step-finish`, `compaction`, …
    #[serde(borrow, rename = "type")]
    pub kind: Field<Text<'a>>,
    /// Of a `text` or `reasoning` part.
    #[serde(borrow)]
    pub text: Field<Text<'a>>,
    /// The harness wrote this text, not the user.
    pub synthetic: Field<bool>,
    /// The model does not see this text.
    pub ignored: Field<bool>,
    /// Of a `file` part: the media type.
    #[serde(borrow)]
    pub mime: Field<Text<'a>>,
    /// Of a `file` part: its name, where it has one.
    #[serde(borrow)]
    pub filename: Field<Text<'a>>,
    /// Marks.
    #[serde(deserialize_with = "Field::object")]
    pub metadata: Field<PartMetadata>,
    /// Of a `tool` part: how it stands.
    #[serde(borrow, deserialize_with = "Field::object")]
    pub state: Field<ToolState<'a>>,
    /// Of a `step-finish` part: dollars, as JSON text, to stay exact.
    #[serde(borrow)]
    pub cost: Option<&'a RawValue>,
    /// Of a `step-finish` part.
    #[serde(deserialize_with = "Field::object")]
    pub tokens: Field<Tokens>,
    /// Of a `compaction` part: whether the harness itself asked for it.
    pub auto: Field<bool>,
    /// Of a `compaction` part: whether the model had refused the conversation as too long.
    pub overflow: Field<bool>,
}

/// Marks of a part.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct PartMetadata {
    /// The text makes the loop go on after a compaction.
    pub compaction_continue: Field<bool>,
    /// The provider ran the tool itself.
    #[serde(rename = "providerExecuted")]
    pub provider_executed: Field<bool>,
}

/// How a tool call stands.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ToolState<'a> {
    /// `pending`, `running`, `completed` or `error`.
    #[serde(borrow)]
    pub status: Field<Text<'a>>,
    /// Why it failed.
    #[serde(borrow)]
    pub error: Field<Text<'a>>,
    /// What it gave, as JSON text.
    #[serde(borrow)]
    pub output: Option<&'a RawValue>,
    /// Marks.
    #[serde(borrow, deserialize_with = "Field::object")]
    pub metadata: Field<ToolMetadata<'a>>,
}

/// Marks of a tool call.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ToolMetadata<'a> {
    /// The session that the tool started.
    #[serde(borrow, rename = "sessionId")]
    pub session_id: Field<Text<'a>>,
    /// An abort cut it short.
    pub interrupted: Field<bool>,
}
