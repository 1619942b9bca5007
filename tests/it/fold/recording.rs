//! The recorded histories and their right answers, as they lie in `tests/fixtures/opencode`.

use std::{collections::BTreeMap, fs, path::PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/opencode")
}

/// The right answer of one recording.
#[derive(Debug, Deserialize)]
pub(super) struct Expected {
    pub(super) receipts: Option<BTreeMap<String, Right>>,
    #[serde(default)]
    pub(super) inherited: Vec<String>,
    #[serde(default)]
    pub(super) children: BTreeMap<String, BTreeMap<String, Right>>,
    pub(super) fork_full: Option<Fork>,
}

/// The right answer of a forked session.
#[derive(Debug, Deserialize)]
pub(super) struct Fork {
    pub(super) receipts: BTreeMap<String, Right>,
    pub(super) inherited: Vec<String>,
}

/// A right receipt, in OpenCode's own terms.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Right {
    pub(super) kind: String,
    pub(super) status: String,
    /// Absent where the recording does not tell them.
    #[serde(default)]
    pub(super) messages: Option<Vec<String>>,
    #[serde(default)]
    pub(super) generated_user_messages: Vec<String>,
    pub(super) usage: Usage,
    #[serde(default)]
    pub(super) conflicting_answers: Vec<String>,
    #[serde(default)]
    pub(super) absorbed_by: Option<String>,
    #[serde(default)]
    pub(super) error: Option<String>,
    #[serde(default)]
    pub(super) finish: Option<String>,
    #[serde(default)]
    pub(super) output: Option<Output>,
    #[serde(default)]
    pub(super) message_id: Option<String>,
}

/// Counters as OpenCode has them: `output` is without reasoning.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Usage {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) reasoning: u64,
    pub(super) cache_read: u64,
    pub(super) cache_write: u64,
    pub(super) unknown_steps: u64,
}

/// A text or a value, and whether it is whole.
#[expect(clippy::struct_excessive_bools, reason = "the shape of the recorded answers")]
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Output {
    #[serde(default)]
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) value: Option<Box<RawValue>>,
    #[serde(default)]
    pub(super) partial: bool,
    #[serde(default)]
    pub(super) truncated: bool,
}

impl PartialEq for Output {
    fn eq(&self, other: &Self) -> bool {
        let without_space = |value: &Option<Box<RawValue>>| {
            value.as_ref().map(|raw| raw.get().replace([' ', '\n'], ""))
        };
        (&self.text, self.partial, self.truncated) == (&other.text, other.partial, other.truncated)
            && without_space(&self.value) == without_space(&other.value)
    }
}

/// Leaves out of the printed receipts what the right answers do not tell of two requests whose
/// answers were overwritten or deleted after they were recorded.
pub(super) fn told(
    mut printed: BTreeMap<String, Right>,
    right: &BTreeMap<String, Right>,
) -> BTreeMap<String, Right> {
    for (request, receipt) in &mut printed {
        if let Some(right) = right.get(request)
            && right.messages.as_ref().is_none_or(Vec::is_empty)
        {
            receipt.finish.clone_from(&right.finish);
        }
        if let Some(Right { messages: None, .. }) = right.get(request) {
            receipt.messages = None;
        }
        if let Some(Right { message_id: None, .. }) = right.get(request) {
            receipt.message_id = None;
        }
    }
    printed
}

pub(super) fn expected() -> BTreeMap<String, Expected> {
    let text = fs::read_to_string(folder().join("expected.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// One recording.
#[derive(Debug, Deserialize)]
pub(super) struct Recording {
    #[serde(default)]
    session: Option<Box<RawValue>>,
    #[serde(default)]
    snapshots: BTreeMap<String, Snapshot>,
    #[serde(default)]
    children: Vec<Box<RawValue>>,
    #[serde(default)]
    child_messages: BTreeMap<String, Box<RawValue>>,
    #[serde(default)]
    fork_full_session_after_prompt: Option<Box<RawValue>>,
    #[serde(default)]
    fork_full_messages_after_prompt: Option<Box<RawValue>>,
}

#[derive(Debug, Deserialize)]
struct Snapshot {
    #[serde(default)]
    t_ms: u64,
    #[serde(default)]
    messages: Option<Box<RawValue>>,
}

/// The file form that the program reads.
#[derive(Serialize)]
struct History<'a> {
    session: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    snapshots: Vec<&'a RawValue>,
    intents: Vec<Intent<'a>>,
    children: Vec<Self>,
}

#[derive(Serialize)]
struct Intent<'a> {
    request: &'a str,
    no_reply: bool,
}

impl<'a> History<'a> {
    fn of(session: Option<&'a RawValue>, messages: Option<&'a RawValue>) -> Self {
        let (snapshots, intents, children) = (Vec::new(), Vec::new(), Vec::new());
        Self { session, messages, snapshots, intents, children }
    }

    fn text(&self) -> String {
        serde_json::to_string(self).unwrap()
    }
}

impl Recording {
    pub(super) fn read(name: &str) -> Self {
        let text = fs::read_to_string(folder().join(name).with_extension("json")).unwrap();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// All that the recording shows of the session: its snapshots in order, its subagents, and
    /// the requests that were sent with the wish for no answer.
    pub(super) fn history(&self, right: &BTreeMap<String, Right>) -> String {
        self.snapshots_as(right, self.in_order())
    }

    /// The same, last snapshot first.
    pub(super) fn history_backwards(&self, right: &BTreeMap<String, Right>) -> String {
        self.snapshots_as(right, self.in_order().into_iter().rev().collect())
    }

    fn in_order(&self) -> Vec<&RawValue> {
        let mut snapshots: Vec<&Snapshot> = self.snapshots.values().collect();
        snapshots.sort_by_key(|snapshot| snapshot.t_ms);
        snapshots.into_iter().filter_map(|snapshot| snapshot.messages.as_deref()).collect()
    }

    fn snapshots_as<'a>(
        &'a self,
        right: &'a BTreeMap<String, Right>,
        snapshots: Vec<&'a RawValue>,
    ) -> String {
        let no_reply = right.iter().filter(|(_, right)| right.status == "no_reply");
        History {
            snapshots,
            intents: no_reply.map(|(request, _)| Intent { request, no_reply: true }).collect(),
            children: self.children.iter().map(|session| self.child(session)).collect(),
            ..History::of(self.session.as_deref(), None)
        }
        .text()
    }

    fn child<'a>(&'a self, session: &'a RawValue) -> History<'a> {
        #[derive(Deserialize)]
        struct Named {
            id: String,
        }
        let named: Named = serde_json::from_str(session.get()).unwrap();
        History::of(Some(session), Some(&self.child_messages[&named.id]))
    }

    /// The last message list alone.
    pub(super) fn final_list(&self) -> &str {
        self.snapshots["final"].messages.as_ref().unwrap().get()
    }

    /// The forked session after a prompt of its own.
    pub(super) fn fork(&self) -> String {
        let session = self.fork_full_session_after_prompt.as_deref();
        History::of(session, self.fork_full_messages_after_prompt.as_deref()).text()
    }
}

/// Gives the object once for each of its fields, at any depth, and each replacement of it.
pub(super) fn with_each_field_replaced(object: &str, odd: &[&str]) -> Vec<(String, String)> {
    let mut all = Vec::new();
    if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(object) {
        for (at, item) in items.iter().enumerate() {
            let write = |new: &str| {
                let list: Vec<&str> = items
                    .iter()
                    .enumerate()
                    .map(|(n, item)| if n == at { new } else { item.get() })
                    .collect();
                format!("[{}]", list.join(","))
            };
            replace(&format!("[{at}]"), item.get(), odd, write, &mut all);
        }
    } else if let Ok(fields) = serde_json::from_str::<BTreeMap<&str, &RawValue>>(object) {
        for (name, value) in &fields {
            let write = |new: &str| {
                let list: Vec<String> = fields
                    .iter()
                    .map(|(n, value)| {
                        format!("\"{n}\":{}", if n == name { new } else { value.get() })
                    })
                    .collect();
                format!("{{{}}}", list.join(","))
            };
            replace(&format!(".{name}"), value.get(), odd, write, &mut all);
        }
    }
    all
}

fn replace(
    step: &str,
    value: &str,
    odd: &[&str],
    write: impl Fn(&str) -> String,
    all: &mut Vec<(String, String)>,
) {
    all.extend(odd.iter().map(|odd| (step.to_owned(), write(odd))));
    let deeper = with_each_field_replaced(value, odd);
    all.extend(deeper.into_iter().map(|(path, new)| (format!("{step}{path}"), write(&new))));
}
