//! What does the configuration of a tested OpenCode say?
//!
//! Source: the fields of `opencode.json` that opencode-ai 1.18.33 reads.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{MODEL, PROVIDER, SMALL_MODEL};

/// What OpenCode does when a tool wants to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It runs.
    Allow,
    /// It waits for an answer.
    Ask,
    /// It is refused.
    Deny,
}

/// A verdict for every tool, with exceptions by permission name (`bash`, `edit`, `webfetch`…).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Permissions(BTreeMap<String, Verdict>);

impl Permissions {
    /// The same verdict for every tool.
    #[must_use]
    pub fn all(verdict: Verdict) -> Self {
        // OpenCode takes the last rule that matches, and `*` sorts before every name.
        Self(BTreeMap::from([("*".to_owned(), verdict)]))
    }

    /// The same, but `verdict` for `tool`.
    #[must_use]
    pub fn except(mut self, tool: &str, verdict: Verdict) -> Self {
        self.0.insert(tool.to_owned(), verdict);
        self
    }
}

/// `opencode.json`.
#[derive(Debug, Serialize)]
pub(super) struct Config<'a> {
    autoupdate: Off,
    share: &'static str,
    model: String,
    small_model: String,
    permission: &'a Permissions,
    provider: BTreeMap<&'static str, Provider<'a>>,
    enabled_providers: [&'static str; 1],
    lsp: Off,
    formatter: Off,
}

/// The JSON value `false`.
#[derive(Debug)]
struct Off;

impl Serialize for Off {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(false)
    }
}

#[derive(Debug, Serialize)]
struct Provider<'a> {
    npm: &'static str,
    name: &'static str,
    options: Options<'a>,
    models: BTreeMap<&'static str, ModelEntry>,
}

#[derive(Debug, Serialize)]
struct Options<'a> {
    #[serde(rename = "baseURL")]
    base_url: &'a str,
    #[serde(rename = "apiKey")]
    api_key: &'a str,
}

#[derive(Debug, Serialize)]
struct ModelEntry {
    name: &'static str,
    tool_call: On,
    reasoning: On,
    limit: Limit,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<Cost>,
}

/// The JSON value `true`.
#[derive(Debug)]
struct On;

impl Serialize for On {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(true)
    }
}

/// In tokens.
#[derive(Debug, Serialize)]
struct Limit {
    context: u32,
    output: u32,
}

/// In dollars for a million tokens.
#[derive(Debug, Serialize)]
struct Cost {
    input: f32,
    output: f32,
    cache_read: f32,
    cache_write: f32,
}

/// The text of the configuration file.
pub(super) fn text(base_url: &str, api_key: &str, permissions: &Permissions) -> String {
    let models = BTreeMap::from([
        (
            MODEL,
            ModelEntry {
                name: "Scripted",
                tool_call: On,
                reasoning: On,
                limit: Limit { context: 200_000, output: 8_192 },
                cost: Some(Cost { input: 1.0, output: 2.0, cache_read: 0.5, cache_write: 1.25 }),
            },
        ),
        (
            SMALL_MODEL,
            ModelEntry {
                name: "Scripted, small",
                tool_call: On,
                reasoning: On,
                limit: Limit { context: 10_000, output: 1_000 },
                cost: None,
            },
        ),
    ]);
    let provider = Provider {
        npm: "@ai-sdk/openai-compatible",
        name: "Scripted model",
        options: Options { base_url, api_key },
        models,
    };
    let config = Config {
        autoupdate: Off,
        share: "disabled",
        model: format!("{PROVIDER}/{MODEL}"),
        small_model: format!("{PROVIDER}/{MODEL}"),
        permission: permissions,
        provider: BTreeMap::from([(PROVIDER, provider)]),
        enabled_providers: [PROVIDER],
        lsp: Off,
        formatter: Off,
    };
    serde_json::to_string_pretty(&config).expect("plain structs with string keys become JSON")
}
