//! Is a read that fails an error, and never an empty history?

use harness::{Cursor, Harness as _, Page, ReachError, Source};
use receipts::{MessageId, ThreadId};

use crate::scripted::{Reply, Request, Scripted};

fn thread() -> ThreadId {
    ThreadId::new("ses_1").unwrap()
}

const SESSION: &str = r#"{"id":"ses_1","directory":"/repo","time":{"created":1,"updated":9}}"#;
const MESSAGE: &str =
    r#"{"info":{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":5}},"parts":[]}"#;

/// Answers for the session itself, and as `script` says for everything else.
async fn server(script: impl Fn(&Request, usize) -> Reply + Send + Sync + 'static) -> Scripted {
    Scripted::start(move |request, before| match &*request.line {
        "GET /session/ses_1" => Reply::json(SESSION),
        _ => script(request, before),
    })
    .await
}

fn lines(server: &Scripted) -> Vec<String> {
    server.requests().into_iter().map(|request| request.line).collect()
}

fn evidence(page: &Page) -> Vec<&str> {
    page.seen.iter().map(|seen| seen.evidence.as_ref().unwrap().as_str()).collect()
}

#[tokio::test]
async fn a_page_has_its_messages_and_says_where_older_ones_are() {
    let server = server(|request, _| match request.line.ends_with("before=next") {
        true => Reply::json("[]"),
        false => Reply::Answer(200, "x-next-cursor: next\r\n".to_owned(), format!("[{MESSAGE}]")),
    })
    .await;
    let client = server.client();
    let page = client.read_page(&thread(), None).await.unwrap();
    assert_eq!(evidence(&page), [MESSAGE]);
    assert_eq!((&page.older, page.source), (&Some(Cursor::new("next")), Source::Live));
    let last = client.read_page(&thread(), page.older.as_ref()).await.unwrap();
    assert_eq!(last, Page { seen: vec![], older: None, source: Source::Live });
    let expected = [
        "GET /session/ses_1",
        "GET /session/ses_1/message?limit=200",
        "GET /session/ses_1/message?limit=200&before=next",
    ];
    assert_eq!(lines(&server), expected);
}

#[tokio::test]
async fn a_read_that_times_out_is_tried_again_with_less() {
    let server = server(|request, _| match request.line.contains("limit=12") {
        true => Reply::json(&format!("[{MESSAGE}]")),
        false => Reply::Silence,
    })
    .await;
    let page = server.client().read_page(&thread(), None).await.unwrap();
    assert_eq!(evidence(&page), [MESSAGE]);
    let limits: Vec<_> = lines(&server)
        .iter()
        .filter_map(|line| line.split_once("limit="))
        .map(|(_, limit)| limit.to_owned())
        .collect();
    assert_eq!(limits, ["200", "50", "12"]);
}

#[tokio::test]
async fn a_read_that_fails_is_never_an_empty_history() {
    let cases = [
        (Reply::Silence, "no answer within 300 ms"),
        (Reply::status(500, "[]"), "failed with status 500: the server said nothing about it"),
        (Reply::status(401, "[]"), "the password or user name was not accepted"),
        (Reply::status(404, "[]"), "not found"),
        (Reply::status(400, r#"{"_tag":"BadRequest"}"#), "refused with status 400: BadRequest"),
        (Reply::json(""), "line 1, column 0: the text ends too early"),
        (Reply::json("[{}"), "line 1, column 3: the text ends too early"),
        (Reply::json("{}"), "$: expected a list, found an object"),
        (Reply::json("null"), "$: expected a list, found null"),
    ];
    for (reply, expected) in cases {
        let server = server(move |_, _| reply.clone()).await;
        let error = server.client().read_page(&thread(), None).await.unwrap_err();
        assert_eq!(error.to_string(), format!("GET /session/ses_1/message: {expected}"));
    }
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_asked_for_in_halves() {
    let large = format!("[{MESSAGE},{MESSAGE},{MESSAGE}]");
    let server = server(move |request, _| match request.line.contains("limit=25") {
        true => Reply::json(&format!("[{MESSAGE}]")),
        false => Reply::json(&large),
    })
    .await;
    let mut config = server.config();
    config.limits.body_bytes_max = 200;
    let client = opencode_client::OpenCode::new(&config).unwrap();
    let page = client.read_page(&thread(), None).await.unwrap();
    assert_eq!(evidence(&page), [MESSAGE]);
}

#[tokio::test]
async fn a_message_is_there_or_not_or_cannot_be_read() {
    let server = server(|request, _| match request.line.rsplit('/').next() {
        Some("msg_1") => Reply::json(MESSAGE),
        Some("msg_2") => Reply::status(404, ""),
        _ => Reply::status(503, ""),
    })
    .await;
    let client = server.client();
    let read = async |id: &str| client.read_message(&thread(), &MessageId::new(id).unwrap()).await;
    let found = read("msg_1").await.unwrap().unwrap();
    assert_eq!(found.evidence.unwrap().as_str(), MESSAGE);
    assert_eq!(read("msg_2").await, Ok(None));
    assert!(matches!(read("msg_3").await, Err(ReachError::Failed { status: 503, .. })));
}

#[tokio::test]
async fn secrets_are_taken_out_before_anything_is_told() {
    let message = MESSAGE.replace(
        "\"parts\":[]",
        r#""parts":[{"type":"text","text":"sesame-open and Bearer abcdefghijk"}]"#,
    );
    let server = server(move |_, _| Reply::json(&format!("[{message}]"))).await;
    let page = server.client().read_page(&thread(), None).await.unwrap();
    let told = format!("{page:?} {:?}", evidence(&page));
    assert!(told.contains("[redacted] and Bearer [redacted]"), "{told}");
    assert!(!told.contains("sesame-open") && !told.contains("abcdefghijk"), "{told}");
}

#[tokio::test]
async fn other_servers_and_versions_are_refused_with_words() {
    let cases = [
        (
            Reply::json(r#"{"healthy":true,"version":"2.0.3"}"#),
            "OpenCode 2.0.3 is not supported: only 1.x is; its API and tables differ",
        ),
        (
            Reply::json(r#"{"healthy":true}"#),
            "\"\" is no version of OpenCode that is known; only 1.x is supported",
        ),
        (Reply::status(404, ""), "what answers there is no OpenCode 1.x"),
        (Reply::json("<html>"), "what answers there is no OpenCode: its health is no JSON object"),
        (Reply::status(401, ""), "the password or user name was not accepted"),
    ];
    for (reply, expected) in cases {
        let server = Scripted::start(move |_, _| reply.clone()).await;
        let error = server.client().probe().await.unwrap_err();
        assert_eq!(error.to_string(), format!("GET /global/health: {expected}"));
    }
}

/// A server of another build: every read that touches the user message of time 50 is refused.
mod poisoned {
    use harness::Harness as _;
    use receipts::{Gap, MessageId, Observation};

    use super::{Reply, Request, SESSION, Scripted, evidence, thread};

    const REFUSAL: &str = r#"{"name":"BadRequest","data":{"message":"Expected OutputFormatJsonSchema, got {}","kind":"Body"}}"#;

    /// Id, time and prompt of each message, the oldest first.
    const MESSAGES: [(&str, i64, &str); 5] = [
        ("msg_1", 10, ""),
        ("msg_2", 11, "msg_1"),
        ("msg_3", 50, ""),
        ("msg_4", 57, "msg_3"),
        ("msg_5", 58, "msg_3"),
    ];

    fn message((id, time, parent): (&str, i64, &str)) -> String {
        let role = if parent.is_empty() { "user" } else { "assistant" };
        format!(
            r#"{{"info":{{"id":"{id}","sessionID":"ses_1","role":"{role}","parentID":"{parent}","time":{{"created":{time},"completed":{time}}}}},"parts":[]}}"#
        )
    }

    /// The cursors of this server are the real one's: base64url of `{"id","time"}`.
    fn cursor(id: &str, time: i64) -> String {
        use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
        URL_SAFE_NO_PAD.encode(format!(r#"{{"id":"{id}","time":{time}}}"#))
    }

    #[derive(serde::Deserialize)]
    struct Key {
        id: String,
        time: i64,
    }

    fn answer(line: &str) -> Reply {
        use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
        if line == "GET /session/ses_1" {
            return Reply::json(SESSION);
        }
        if let Some((_, id)) = line.split_once("/message/") {
            return match MESSAGES.iter().find(|(other, ..)| *other == id) {
                Some(("msg_3", ..)) => Reply::status(400, REFUSAL),
                Some(found) => Reply::json(&message(*found)),
                None => Reply::status(404, ""),
            };
        }
        let (_, query) = line.split_once("?limit=").unwrap();
        let (limit, before) = query.split_once("&before=").unwrap_or((query, ""));
        let key: Option<Key> =
            URL_SAFE_NO_PAD.decode(before).ok().and_then(|json| serde_json::from_slice(&json).ok());
        let older: Vec<_> = MESSAGES
            .iter()
            .filter(|(id, time, _)| {
                key.as_ref().is_none_or(|key| (*time, *id) < (key.time, &*key.id))
            })
            .collect();
        let from = older.len().saturating_sub(limit.parse().unwrap());
        let page = &older[from..];
        if page.iter().any(|(id, ..)| *id == "msg_3") {
            return Reply::status(400, REFUSAL);
        }
        let body: Vec<_> = page.iter().map(|found| message(**found)).collect();
        let next = match page.first() {
            Some((id, time, _)) if from > 0 => format!("x-next-cursor: {}\r\n", cursor(id, *time)),
            _ => String::new(),
        };
        Reply::Answer(200, next, format!("[{}]", body.join(",")))
    }

    #[tokio::test]
    async fn a_message_that_cannot_be_read_is_read_around() {
        let server = Scripted::start(|request: &Request, _| answer(&request.line)).await;
        let client = server.client();
        let mut pages = vec![client.read_page(&thread(), None).await.unwrap()];
        while let Some(older) = pages.last().and_then(|page| page.older.clone()) {
            pages.push(client.read_page(&thread(), Some(&older)).await.unwrap());
        }
        let [newest, newer, unreadable, oldest] = &pages[..] else { panic!("{pages:?}") };
        // Halved until what can be read is read; below that message pages are whole again.
        assert_eq!(evidence(newest), [message(MESSAGES[4])]);
        assert_eq!(evidence(newer), [message(MESSAGES[3])]);
        assert_eq!(evidence(oldest), [message(MESSAGES[0]), message(MESSAGES[1])]);
        let [seen] = &unreadable.seen[..] else { panic!("{unreadable:?}") };
        let Observation::Message(found) = &seen.observation else { panic!("{seen:?}") };
        let id = MessageId::new("msg_3").unwrap();
        let gap = Gap::Unreadable {
            message: Some(id.clone()),
            path: "$".to_owned(),
            problem: "the server cannot give the message of 50: GET /session/ses_1/message: refused with status 400: BadRequest: Expected OutputFormatJsonSchema, got {}".to_owned(),
        };
        assert_eq!((&found.id, found.created.map(|time| time.0)), (&id, Some(50)));
        assert_eq!((&found.gaps[..], &seen.evidence), (&[gap][..], &None));
    }
}
