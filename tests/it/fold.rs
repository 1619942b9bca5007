//! `turnbook fold opencode` on every recorded history, against its right answers.
//!
//! `tests/fixtures/opencode` holds recordings of a real OpenCode 1.18.33 and `expected.json`, in
//! OpenCode's own terms: its output is without reasoning, and a counter that is not known is 0.

mod recording;

use std::{collections::BTreeMap, io::Write as _, process::Stdio};

use recording::{Expected, Recording, Right};
use serde::Deserialize;
use serde_json::value::RawValue;

/// What the program prints; unknown fields are ignored here and pinned by the snapshots.
#[derive(Debug, Deserialize)]
struct Printed {
    thread: Option<String>,
    receipts: Vec<Receipt>,
    inherited: Vec<String>,
    children: Vec<Self>,
    totals: Usage,
    inclusive: Usage,
    gaps: Vec<Gap>,
}

#[derive(Debug, Deserialize)]
struct Gap {
    code: String,
    text: String,
}

#[expect(clippy::struct_excessive_bools, reason = "the shape of the printed JSON")]
#[derive(Debug, Deserialize)]
struct Receipt {
    request: String,
    kind: String,
    status: String,
    output: Option<recording::Output>,
    partial: bool,
    usage: Usage,
    error: Option<String>,
    finish: Option<String>,
    truncated: bool,
    conflicting_answers: Vec<String>,
    absorbed_by: Option<String>,
    message_id: Option<String>,
    messages: Vec<String>,
    generated: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Usage {
    input: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    output: Option<u64>,
    reasoning: Option<u64>,
    calls: u64,
    unknown_calls: u64,
}

/// A receipt in the terms of `expected.json`.
impl From<&Receipt> for Right {
    fn from(receipt: &Receipt) -> Self {
        let known = |counter: Option<u64>| counter.unwrap_or(0);
        let usage = &receipt.usage;
        Self {
            kind: receipt.kind.clone(),
            status: receipt.status.clone(),
            messages: Some(receipt.messages.clone()),
            generated_user_messages: receipt.generated.clone(),
            usage: recording::Usage {
                input: known(usage.input),
                output: known(usage.output) - known(usage.reasoning),
                reasoning: known(usage.reasoning),
                cache_read: known(usage.cache_read),
                cache_write: known(usage.cache_write),
                unknown_steps: usage.unknown_calls,
            },
            conflicting_answers: receipt.conflicting_answers.clone(),
            absorbed_by: receipt.absorbed_by.clone(),
            error: receipt.error.clone(),
            finish: receipt.finish.clone(),
            output: receipt.output.clone().map(|output| recording::Output {
                partial: receipt.partial,
                truncated: receipt.truncated,
                ..output
            }),
            message_id: receipt.message_id.clone(),
        }
    }
}

pub(crate) fn turnbook(args: &[&str], input: &[u8]) -> std::process::Output {
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_turnbook"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program was built for this test");
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_vec();
    // The program may print before it has read everything.
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    // A program that refuses its input early closes the pipe.
    let _written = writer.join().unwrap();
    output
}

fn fold(history: &str) -> Printed {
    let args = ["fold", "opencode", "-", "--owner", "idle", "--json"];
    let output = turnbook(&args, history.as_bytes());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn rights(printed: &Printed) -> BTreeMap<String, Right> {
    printed.receipts.iter().map(|receipt| (receipt.request.clone(), receipt.into())).collect()
}

#[test]
fn every_recording_gives_its_right_receipts() {
    let mut checked = 0;
    for (name, expected) in recording::expected() {
        let Some(right) = expected.receipts else { continue };
        let recording = Recording::read(&name);
        let printed = fold(&recording.history(&right));
        let comparable = |printed: &Printed, right: &BTreeMap<String, Right>| {
            recording::told(rights(printed), right)
        };
        assert_eq!(comparable(&printed, &right), right, "{name}");
        assert_eq!(printed.inherited, expected.inherited, "{name}");
        let children: BTreeMap<String, BTreeMap<String, Right>> = printed
            .children
            .iter()
            .map(|child| {
                let thread = child.thread.clone().unwrap();
                let right = &expected.children[&thread];
                (thread, comparable(child, right))
            })
            .collect();
        assert_eq!(children, expected.children, "{name}");
        checked += 1;
    }
    assert_eq!(checked, 69);
}

/// What a bare final list cannot tell, by the request; the rest of it is right all the same.
const NEEDS_EARLIER_SNAPSHOTS: [(&str, &str); 3] = [
    // That no answer was asked for is known from the intent alone; the list reads as absorbed.
    ("no_reply", "msg_client_noreply_0000001"),
    // The first answer's row was overwritten by a prompt with the same id.
    ("message_id_equal_to_assistant_id", "msg_22e4364e4001TeLJfurQn8CC7n"),
    // The second request was reverted, and the next prompt deleted it.
    ("revert_then_prompt", "msg_client_rev_000000002"),
];

#[test]
fn a_bare_final_list_gives_the_same_where_it_can() {
    for (name, expected) in recording::expected() {
        let Some(mut right) = expected.receipts else { continue };
        let recording = Recording::read(&name);
        let mut printed = rights(&fold(recording.final_list()));
        for (_, request) in NEEDS_EARLIER_SNAPSHOTS.iter().filter(|(of, _)| *of == name) {
            let told = printed.remove(*request);
            assert_ne!(told.as_ref(), right.remove(*request).as_ref(), "{name}: {request}");
        }
        if name == "invalid_message_ids" {
            // Seven prompts without the wish for an answer, as the intents alone tell.
            for right in right.values_mut() {
                "unanswered".clone_into(&mut right.status);
            }
        }
        assert_eq!(recording::told(printed, &right), right, "{name}");
    }
}

/// Rule F8: the messages of a fork are inherited, in no receipt and no total.
#[test]
fn f8_a_fork_counts_only_its_own_messages() {
    let Expected { fork_full: Some(right), .. } = recording::expected().remove("fork").unwrap()
    else {
        panic!("the fork's right answers are recorded")
    };
    let recording = Recording::read("fork");
    let printed = fold(&recording.fork());
    assert_eq!(recording::told(rights(&printed), &right.receipts), right.receipts);
    let (mut found, mut expected) = (printed.inherited, right.inherited);
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    assert_eq!((printed.totals.input, printed.totals.output), (Some(130), Some(13)));
}

/// Rule F8: a child's usage is in the child and in the inclusive total, once.
#[test]
fn f8_inclusive_totals_add_each_child_once() {
    let right = recording::expected().remove("subagent_task_tool").unwrap().receipts.unwrap();
    let printed = fold(&Recording::read("subagent_task_tool").history(&right));
    assert_eq!((printed.totals.input, printed.totals.calls), (Some(250), 2));
    assert_eq!((printed.inclusive.input, printed.inclusive.calls), (Some(400), 4));
}

/// Rule L11, on real input: the last snapshot alone, all of them, and all of them twice agree.
#[test]
fn l11_snapshots_in_any_number_and_order_agree() {
    for (name, expected) in recording::expected() {
        let Some(right) = expected.receipts else { continue };
        let recording = Recording::read(&name);
        let forward = rights(&fold(&recording.history(&right)));
        let backward = rights(&fold(&recording.history_backwards(&right)));
        assert_eq!(forward, backward, "{name}");
    }
}

fn refused(input: &[u8]) -> (Option<i32>, String) {
    let output = turnbook(&["fold", "opencode", "-", "--json"], input);
    assert_eq!(output.stdout, b"");
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn bad_input_is_refused_with_its_place() {
    let recorded = Recording::read("single_text_turn");
    let cut = &recorded.final_list().as_bytes()[..2_000];
    let (code, message) = refused(cut);
    assert_eq!(code, Some(25));
    assert!(message.contains("the text ends too early"), "{message}");
    let cases: [(&[u8], &str); 6] = [
        (
            b"",
            "turnbook: -: this is no OpenCode history: line 1, column 0: the text ends too early\n",
        ),
        (
            b"hello",
            "turnbook: -: this is no OpenCode history: line 1, column 1: this is not valid JSON\n",
        ),
        (
            b"\"hello\"",
            "turnbook: -: this is no OpenCode history: $: expected a message list, or an object \
             with `messages` or `snapshots`, found a string\n",
        ),
        (
            b"{\"messages\": 5}",
            "turnbook: -: this is no OpenCode history: $.messages: expected a list, found a number\n",
        ),
        (
            b"{}",
            "turnbook: -: this is no OpenCode history: $: expected `messages` or `snapshots` in \
             the object, found an object\n",
        ),
        (b"[\"\xff\"]", "turnbook: -: byte 2 is not UTF-8: expected a JSON text\n"),
    ];
    for (input, expected) in cases {
        assert_eq!(refused(input), (Some(25), expected.to_owned()));
    }
    let (code, message) = refused("[".repeat(1_000_000).as_bytes());
    assert_eq!(code, Some(25), "{message}");
}

/// Rule F10: whatever one field holds, the message is told of and the others are folded.
#[test]
fn f10_a_wrong_type_in_any_field_becomes_a_gap() {
    let recorded = Recording::read("multi_step_tool_turn");
    let messages: Vec<&RawValue> = serde_json::from_str(recorded.final_list()).unwrap();
    let odd = ["null", "true", "-1", "1e400", "\"\\ud83d\"", "[]", "{}", "\"text\"", "1.5"];
    let mut tried = 0;
    for (at, message) in messages.iter().enumerate() {
        for (field, replaced) in recording::with_each_field_replaced(message.get(), &odd) {
            let mut list: Vec<&str> = messages.iter().map(|message| message.get()).collect();
            list[at] = &replaced;
            let printed = fold(&format!("[{}]", list.join(",")));
            assert!(!printed.receipts.is_empty(), "message {at}, {field}: {replaced}");
            tried += 1;
        }
    }
    assert!(tried > 100, "{tried}");
}

/// Rule F10: what is no message is told of by its place, and the messages beside it are folded.
#[test]
fn f10_what_is_no_message_is_told_of_by_its_place() {
    let list = r#"[5, {"info":{"id":"","role":"user"}},
        {"info":{"id":"msg_1","role":"user","time":{"created":1}},"parts":null}]"#;
    let printed = fold(list);
    let gaps: Vec<_> = printed.gaps.iter().map(|gap| (&*gap.code, &*gap.text)).collect();
    let expected = [
        ("unreadable", "messages[0].info.id: expected a message id, found nothing"),
        ("unreadable", "messages[1].info.id: message id is empty"),
    ];
    assert_eq!(gaps, expected);
    let [receipt] = printed.receipts.try_into().expect("one message can be read");
    assert_eq!((&*receipt.request, &*receipt.status), ("msg_1", "unanswered"));
}

fn told(printed: &Printed) -> Vec<&str> {
    printed.gaps.iter().map(|gap| &*gap.text).collect()
}

/// Rule F10: an odd session row costs what is odd in it; the messages are folded all the same.
#[test]
fn f10_an_odd_session_row_is_repaired_with_a_gap() {
    let message = r#"{"info":{"id":"msg_1","sessionID":"ses_1","role":"user",
        "time":{"created":5}},"parts":[]}"#;
    let cases: [(&str, &[&str]); 6] = [
        ("null", &[]),
        ("7", &["session: expected an object, found a whole number"]),
        (r#"["ses_2"]"#, &["session: expected an object, found an array"]),
        (
            r#"{"id":5,"time":[]}"#,
            &[
                "session.id: expected a session id, found a whole number",
                "session.time: expected an object, found an array",
            ],
        ),
        (
            r#"{"id":"ses_1","title":"\ud800","time":{"created":1,"created":"2"}}"#,
            &[
                "session.time.created: expected milliseconds, found a string",
                "session.time.created: the name stands twice, and the last holds",
                "session.title: half of a surrogate pair, read as U+FFFD",
            ],
        ),
        (
            r#"{"id":"ses_2","id":"ses_1","time":{"created":1}}"#,
            &["session.id: the name stands twice, and the last holds"],
        ),
    ];
    for (session, expected) in cases {
        let printed = fold(&format!(r#"{{"session":{session},"messages":[{message}]}}"#));
        assert_eq!((told(&printed), printed.thread.as_deref()), (expected.to_vec(), Some("ses_1")));
        assert_eq!(printed.receipts.len(), 1, "{session}");
    }
}

/// Rule F10: so do odd intents, and members of the file that stand twice.
#[test]
fn f10_odd_intents_and_doubled_members_are_told_of() {
    let printed = fold(
        r#"{"messages":5,"messages":[],"\ud800":1,
            "intents":[5,{"request":"msg_1","no_reply":"yes"},{"request":"m\ud800"}]}"#,
    );
    let expected = [
        "intents[0]: expected an object, found a whole number",
        "intents[1].no_reply: expected a boolean, found a string",
        "intents[2].request: half of a surrogate pair, read as U+FFFD",
        "messages: the name stands twice, and the last holds",
        "\u{fffd}: half of a surrogate pair, read as U+FFFD",
    ];
    assert_eq!(told(&printed), expected);
}

/// A bare list says by its messages which session it is: by most of them, not by the first.
#[test]
fn a_bare_list_is_of_the_session_that_most_of_its_messages_name() {
    let message = |id: &str, session: &str| {
        let info = format!(
            r#"{{"id":"{id}","sessionID":"{session}","role":"user","time":{{"created":1}}}}"#
        );
        format!(r#"{{"info":{info},"parts":[]}}"#)
    };
    let list = [message("msg_1", "ses_x"), message("msg_2", "ses_1"), message("msg_3", "ses_1")];
    let printed = fold(&format!("[{}]", list.join(",")));
    assert_eq!(printed.thread.as_deref(), Some("ses_1"));
    let requests: Vec<_> = printed.receipts.iter().map(|receipt| &*receipt.request).collect();
    assert_eq!(requests, ["msg_2", "msg_3"]);
    assert_eq!(
        told(&printed),
        ["messages[0].info.sessionID: message msg_1 belongs to another session"]
    );
}

#[test]
fn the_readable_form_is_readable() {
    let right = recording::expected().remove("subagent_task_tool").unwrap().receipts.unwrap();
    for (name, args) in [("table", vec![]), ("json", vec!["--json"])] {
        let args = [vec!["fold", "opencode", "-", "--owner", "idle"], args].concat();
        let history = Recording::read("subagent_task_tool").history(&right);
        let output = turnbook(&args, history.as_bytes());
        insta::assert_snapshot!(name, String::from_utf8(output.stdout).unwrap());
    }
}
