//! Does one odd field cost more than itself? Every field of real messages, made odd in every way
//! (rule F10).

#![expect(clippy::disallowed_types, reason = "a message is taken apart here without its types")]
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a recorded message has what is asked for"
)]

use std::{collections::BTreeSet, fs, path::Path};

use opencode_wire::observe;
use receipts::{Gap, Message, Observation, ThreadId};
use serde_json::{Value, json};
use verbatim::RawValue;

/// The fields that are read, with the type of each; any other may hold anything (rule F9).
const READ: [&str; 47] = [
    "info.id",
    "info.sessionID",
    "info.role",
    "info.time",
    "info.time.created",
    "info.time.completed",
    "info.parentID",
    "info.modelID",
    "info.providerID",
    "info.cost",
    "info.tokens",
    "info.tokens.total",
    "info.tokens.input",
    "info.tokens.output",
    "info.tokens.reasoning",
    "info.tokens.cache",
    "info.tokens.cache.read",
    "info.tokens.cache.write",
    "info.finish",
    "info.error",
    "info.error.name",
    "info.error.data",
    "info.error.data.message",
    "info.summary",
    "parts",
    "parts[]",
    "parts[].type",
    "parts[].text",
    "parts[].synthetic",
    "parts[].metadata",
    "parts[].mime",
    "parts[].filename",
    "parts[].ignored",
    "parts[].metadata.compaction_continue",
    "parts[].metadata.providerExecuted",
    "parts[].state",
    "parts[].state.status",
    "parts[].state.error",
    "parts[].state.output",
    "parts[].state.metadata",
    "parts[].state.metadata.sessionId",
    "parts[].state.metadata.interrupted",
    "parts[].cost",
    "parts[].tokens",
    "parts[].auto",
    "parts[].overflow",
    "info",
];

/// Where `null`, which is the same as nothing, is odd too.
const NEEDED: [&str; 8] = [
    "info.id",
    "info.role",
    "info",
    "parts",
    "parts[]",
    "parts[].type",
    "parts[].text of text",
    "parts[].state of tool",
];

/// Messages with all kinds of parts and ends.
fn messages() -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/opencode");
    let recordings = [
        "multi_step_tool_turn",
        "compaction_auto_mid_turn",
        "subagent_task_tool",
        "subagent_abort_parent",
        "provider_http401",
        "abort_mid_tool",
    ];
    let list = |name: &&str| {
        let text = fs::read_to_string(folder.join(name).with_extension("json")).unwrap();
        let recording: Value = serde_json::from_str(&text).unwrap();
        recording["snapshots"]["final"]["messages"].as_array().unwrap().clone()
    };
    let mut messages: Vec<Value> = recordings.iter().flat_map(list).collect();
    // What these recordings do not show, and is read all the same.
    messages.push(json!({
        "info": {"id": "msg_o", "sessionID": "ses_o", "role": "user", "time": {"created": 1}},
        "parts": [
            {"type": "file", "mime": "image/png", "filename": "a.png", "url": "data:"},
            {"type": "compaction", "auto": true, "overflow": true},
        ],
    }));
    messages.push(json!({
        "info": {"id": "msg_i", "sessionID": "ses_o", "role": "assistant", "parentID": "msg_o",
            "time": {"created": 2}},
        "parts": [
            {"type": "text", "text": "not for the model", "ignored": true},
            {"type": "tool", "metadata": {"providerExecuted": true},
                "state": {"status": "error", "metadata": {"interrupted": true}}},
        ],
    }));
    messages
}

/// A way to a value: names, and numbers of elements.
type Way = Vec<Step>;

#[derive(Clone)]
enum Step {
    Name(String),
    At(usize),
}

fn ways(value: &Value, way: &Way, found: &mut Vec<Way>) {
    let children: Vec<(Step, &Value)> = match value {
        Value::Object(members) => {
            members.iter().map(|(name, value)| (Step::Name(name.clone()), value)).collect()
        }
        Value::Array(elements) => {
            elements.iter().enumerate().map(|(at, value)| (Step::At(at), value)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    for (step, child) in children {
        let way = [way.clone(), vec![step]].concat();
        found.push(way.clone());
        ways(child, &way, found);
    }
}

fn at<'v>(value: &'v mut Value, way: &Way) -> &'v mut Value {
    way.iter().fold(value, |value, step| match step {
        Step::Name(name) => &mut value[name],
        Step::At(at) => &mut value[at],
    })
}

/// The path as a gap has it, and as [`READ`] has it.
fn paths(way: &Way) -> (String, String) {
    let mut exact = String::new();
    let mut general = String::new();
    for step in way {
        match step {
            Step::Name(name) => {
                for path in [&mut exact, &mut general] {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(name);
                }
            }
            Step::At(at) => {
                exact = format!("{exact}[{at}]");
                general.push_str("[]");
            }
        }
    }
    (exact, general)
}

/// Tells whether the field is read; a few are only in one kind of message or part.
fn is_read(message: &Value, path: &str) -> bool {
    let tokens = path.starts_with("parts[].tokens.");
    let is_user = message["info"]["role"] == "user";
    (READ.contains(&path) || tokens) && !(is_user && path == "info.summary")
}

fn observed(message: &Value, text: &str) -> Observation {
    let thread = ThreadId::new(message["info"]["sessionID"].as_str().unwrap()).unwrap();
    let raw: &RawValue = serde_json::from_str(text).unwrap();
    observe(&thread, raw)
}

/// The paths of what could not be read, and the message without them.
fn told(observation: Observation) -> (BTreeSet<String>, Option<Message>) {
    let path = |gap| {
        let Gap::Unreadable { path, .. } = gap else { panic!("it can be read: {gap}") };
        path
    };
    if let Observation::Message(mut message) = observation {
        return (message.gaps.drain(..).map(path).collect(), Some(message));
    }
    let Observation::Gap(gap) = observation else { panic!("a message makes no {observation:?}") };
    (BTreeSet::from([path(gap)]), None)
}

/// What stands for a text that [`Value`] cannot hold.
const MARK: &str = "@@";

/// Calls `check` with each message, each of its ways, and its text with a mark there.
fn everywhere(mut check: impl FnMut(&Value, &Way, &Value, &str)) {
    for message in messages() {
        let mut found = Vec::new();
        ways(&message, &Way::new(), &mut found);
        for way in found {
            let mut marked = message.clone();
            let was = std::mem::replace(at(&mut marked, &way), MARK.into());
            check(&message, &way, &was, &marked.to_string());
        }
    }
}

fn kind(text: &str) -> &'static str {
    match text.as_bytes()[0] {
        b'"' => "string",
        b'{' => "object",
        b'[' => "array",
        b't' | b'f' => "bool",
        b'n' => "null",
        _ => "number",
    }
}

#[test]
fn f10_a_wrong_type_in_any_field_is_told_by_its_path() {
    let replaced = ["5", "1e400", "\"text\"", "[]", "[{}]", "{}", "true"];
    let mut tried = BTreeSet::new();
    everywhere(|message, way, was, marked| {
        let (path, general) = paths(way);
        let (expected, whole) = told(observed(message, &message.to_string()));
        assert_eq!(expected, BTreeSet::new(), "a recorded message is sound");
        for text in replaced {
            // The other numbers are of the right type, if not of the right size.
            if kind(text) == kind(&was.to_string()) && text != "1e400" {
                continue;
            }
            let is_money = general.ends_with(".cost") && text == "1e400";
            let (gaps, found) =
                told(observed(message, &marked.replace(&format!("\"{MARK}\""), text)));
            if is_read(message, &general) && !is_money {
                // Without an object no id can be found in it.
                let told = if path == "info" { "info.id" } else { &path };
                assert!(gaps.contains(told), "{path}: {text}: {gaps:?}");
                tried.insert(general.clone());
            } else if !is_money {
                assert_eq!((gaps, found), (expected.clone(), whole.clone()), "{path}: {text}");
            }
        }
    });
    let missed: Vec<_> = READ.iter().filter(|path| !tried.contains(**path)).collect();
    assert_eq!(missed, [&""; 0], "each field stands in a message");
}

#[test]
fn f10_nothing_where_something_must_be_is_told_by_its_path() {
    everywhere(|message, way, _, marked| {
        let (path, general) = paths(way);
        let (gaps, _) = told(observed(message, &marked.replace(&format!("\"{MARK}\""), "null")));
        let of = match way.get(1) {
            Some(Step::At(part)) => {
                format!("{general} of {}", message["parts"][part]["type"].as_str().unwrap())
            }
            Some(Step::Name(_)) | None => general.clone(),
        };
        let is_needed = NEEDED.contains(&&*general)
            || NEEDED.contains(&&*of)
            || general == "parts[].state.status";
        let told = if path == "info" { "info.id" } else { &path };
        assert_eq!(gaps.contains(told), is_needed, "{path}: {gaps:?}");
    });
}

/// Half of a surrogate pair is valid JSON and no text: it is read as U+FFFD.
#[test]
fn f10_a_lone_surrogate_in_any_string_costs_only_itself() {
    let mut tried = 0;
    everywhere(|message, way, was, marked| {
        if !was.is_string() {
            return;
        }
        let (path, general) = paths(way);
        let odd = marked.replace(MARK, "x\\ud83dy");
        let (gaps, found) = told(observed(message, &odd));
        if general == "info.sessionID" {
            assert_eq!(gaps, BTreeSet::from([path]), "it is another session's");
            return;
        }
        let (_, expected) = told(observed(message, &marked.replace(MARK, "x\u{fffd}y")));
        assert_eq!(found, expected, "{path}");
        let is_raw = general == "parts[].state.output";
        assert_eq!(gaps.contains(&path), is_read(message, &general) && !is_raw, "{path}");
        tried += 1;
    });
    assert!(tried > 100, "{tried}");
}

/// A name with half of a surrogate pair is one that this build does not know.
#[test]
fn f10_a_lone_surrogate_in_a_name_costs_nothing() {
    everywhere(|message, way, was, marked| {
        if !was.is_object() {
            return;
        }
        let (path, _) = paths(way);
        let more = was.to_string().replacen('{', "{\"\\udc00\":[1],", 1).replace(",}", "}");
        let odd = marked.replace(&format!("\"{MARK}\""), &more);
        let (_, found) = told(observed(message, &odd));
        let (_, expected) = told(observed(message, &message.to_string()));
        assert_eq!(found, expected, "{path}");
    });
}

/// A name that stands twice is valid JSON: the last holds, as where OpenCode itself reads it.
#[test]
fn f10_the_last_of_two_members_of_one_name_holds() {
    let mut tried = 0;
    everywhere(|message, way, was, marked| {
        let Some(Step::Name(name)) = way.last() else { return };
        let (path, general) = paths(way);
        let odd = marked.replace(
            &format!("\"{name}\":\"{MARK}\""),
            &format!("\"{name}\":[5],\"{name}\":{was}"),
        );
        let (gaps, found) = told(observed(message, &odd));
        let (_, expected) = told(observed(message, &message.to_string()));
        assert_eq!(found, expected, "{path}");
        if is_read(message, &general) {
            assert_eq!(gaps, BTreeSet::from([path]));
            tried += 1;
        }
    });
    assert!(tried > 100, "{tried}");
}

/// Serde takes an array for a struct, member by member; here it is none.
#[test]
fn f10_an_array_is_no_message_and_no_part() {
    let thread = ThreadId::new("ses_1").unwrap();
    let raw: &RawValue = serde_json::from_str(r#"[{"id":"msg_1","role":"user"},[]]"#).unwrap();
    let (gaps, message) = told(observe(&thread, raw));
    assert_eq!((gaps.into_iter().collect::<Vec<_>>(), message), (vec!["info.id".to_owned()], None));
    let raw = r#"{"info":{"id":"msg_1","role":"user","time":[1]},"parts":[["text","hello"]]}"#;
    let (gaps, message) = told(observe(&thread, serde_json::from_str(raw).unwrap()));
    assert_eq!(gaps.into_iter().collect::<Vec<_>>(), ["info.time", "parts[0]"]);
    assert_eq!(message.unwrap().created, None);
}

/// Rule F9: words that this build does not know are shown without secrets, and not at any length.
#[test]
fn f9_unknown_words_are_redacted_and_not_longer_than_a_word() {
    let thread = ThreadId::new("ses_1").unwrap();
    let message = |role: &str, rest: Value| {
        let info =
            json!({"id": "msg_1", "role": role, "parentID": "msg_0", "time": {"created": 1}});
        let Value::Object(mut info) = info else { unreachable!("it is an object") };
        let Value::Object(rest) = rest else { unreachable!("it is an object") };
        info.extend(rest);
        let text = json!({"info": info, "parts": []}).to_string();
        format!("{:?}", observe(&thread, serde_json::from_str(&text).unwrap()))
    };
    let secret = "token=verysecret";
    let long = "z".repeat(10_000);
    for word in [secret, &long] {
        for seen in [
            message(word, json!({})),
            message("assistant", json!({"finish": word})),
            message("assistant", json!({"error": {"name": word, "data": {}}})),
        ] {
            assert!(!seen.contains("verysecret"), "{seen}");
            assert!(seen.len() < 1_500, "{}", seen.len());
        }
    }
}
