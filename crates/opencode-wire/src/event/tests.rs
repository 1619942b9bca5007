//! Are the recorded events read, and wrong ones told?

use receipts::{MessageId, ThreadId, UnixMillis};

use super::{Delta, Event, PartChange, RunStatus, ToolChange, ToolStatus};
use crate::{Asked, Choice, Question, SessionRow, What};

fn thread(id: &str) -> ThreadId {
    ThreadId::new(id).unwrap()
}

fn message(id: &str) -> MessageId {
    MessageId::new(id).unwrap()
}

fn decode(kind: &str, properties: &str) -> Result<Event, String> {
    let data = format!(
        r#"{{"directory":"/repo","payload":{{"id":"evt_1","type":"{kind}","properties":{properties}}}}}"#
    );
    Event::decode(&data).map_err(|error| error.to_string())
}

#[test]
fn recorded_events_are_read() {
    let cases = [
        ("server.connected", "{}", Event::Connected),
        ("server.heartbeat", "{}", Event::Heartbeat),
        (
            "session.status",
            r#"{"sessionID":"ses_1","status":{"type":"retry","attempt":1,"message":"m","next":5}}"#,
            Event::Status {
                thread: thread("ses_1"),
                status: RunStatus::Retry { attempt: Some(1), message: Some("m".into()) },
            },
        ),
        ("session.idle", r#"{"sessionID":"ses_1"}"#, Event::Idle { thread: thread("ses_1") }),
        (
            "message.removed",
            r#"{"sessionID":"ses_1","messageID":"msg_1"}"#,
            Event::MessageRemoved { thread: thread("ses_1"), message: message("msg_1") },
        ),
        (
            "message.part.delta",
            r#"{"sessionID":"ses_1","messageID":"msg_1","partID":"prt_1","field":"text","delta":"hi"}"#,
            Event::Delta(Delta {
                thread: thread("ses_1"),
                message: message("msg_1"),
                part: "prt_1".into(),
                field: "text".into(),
                delta: "hi".into(),
            }),
        ),
        (
            "message.part.updated",
            r#"{"sessionID":"ses_1","part":{"id":"prt_1","messageID":"msg_1","type":"tool","tool":"bash","state":{"status":"napping"}}}"#,
            Event::Part(PartChange {
                thread: thread("ses_1"),
                message: message("msg_1"),
                part: "prt_1".into(),
                kind: "tool".into(),
                tool: Some(ToolChange {
                    name: "bash".into(),
                    status: ToolStatus::Unknown("napping".into()),
                }),
            }),
        ),
        (
            "session.error",
            r#"{"error":{"name":"MessageAbortedError","data":{"message":"Aborted"}}}"#,
            Event::Error {
                thread: None,
                name: "MessageAbortedError".into(),
                message: "Aborted".into(),
            },
        ),
        (
            "session.created",
            r#"{"sessionID":"ses_1","info":{"id":"ses_1","directory":"/repo","parentID":"ses_0","title":"t","version":"1.18.33","time":{"created":5}}}"#,
            Event::Session(SessionRow {
                thread: thread("ses_1"),
                parent: Some(thread("ses_0")),
                directory: Some("/repo".into()),
                title: Some("t".into()),
                version: Some("1.18.33".into()),
                created: Some(UnixMillis(5)),
            }),
        ),
        ("session.diff", r#"{"x":1}"#, Event::Unknown { kind: "session.diff".into() }),
    ];
    for (kind, properties, expected) in cases {
        assert_eq!(decode(kind, properties), Ok(expected));
    }
}

#[test]
fn a_durable_event_tells_its_number() {
    let data = r#"{"payload":{"type":"sync","syncEvent":{"id":"evt_1","type":"message.updated.1","seq":7,"aggregateID":"ses_1","data":{}}}}"#;
    assert_eq!(Event::decode(data), Ok(Event::Sync { thread: thread("ses_1"), seq: 7 }));
}

#[test]
fn what_waits_for_an_answer_is_read() {
    let permission = r#"{"id":"per_1","sessionID":"ses_1","permission":"bash","patterns":["echo hi"],"metadata":{},"always":["echo *"],"tool":{"messageID":"msg_1","callID":"c"}}"#;
    let question = r#"{"id":"que_1","sessionID":"ses_1","questions":[{"question":"Which?","header":"h","options":[{"label":"A","description":"a"}]}]}"#;
    let asked = |id: &str, message, what| {
        Event::Asked(Asked { id: id.into(), thread: thread("ses_1"), message, what })
    };
    let what = What::Permission { permission: "bash".into(), patterns: vec!["echo hi".into()] };
    let expected = asked("per_1", Some(message("msg_1")), what);
    assert_eq!(decode("permission.asked", permission), Ok(expected));
    let what = What::Questions(vec![Question {
        question: "Which?".into(),
        header: "h".into(),
        options: vec![Choice { label: "A".into(), description: "a".into() }],
        multiple: false,
        custom: None,
    }]);
    assert_eq!(decode("question.asked", question), Ok(asked("que_1", None, what)));
}

#[test]
fn an_event_of_another_shape_is_told_with_its_place() {
    let cases = [
        (
            "session.idle",
            r#"{"sessionID":5}"#,
            "event session.idle: sessionID: expected a string, found a number",
        ),
        (
            "session.idle",
            r#"{"sessionID":""}"#,
            "event session.idle: sessionID: expected a session id, found a string (thread id is empty)",
        ),
        ("message.updated", "{}", "event message.updated: info: expected an object, found nothing"),
        ("session.status", "[]", "event session.status: $: expected an object, found an array"),
    ];
    for (kind, properties, expected) in cases {
        assert_eq!(decode(kind, properties), Err(expected.to_owned()));
    }
    let text = Event::decode("not json").unwrap_err().to_string();
    assert_eq!(text, "event ?: $: expected an object with a `payload`, found something else");
}
