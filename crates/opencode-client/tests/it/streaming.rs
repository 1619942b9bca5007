//! Does a subscription survive what happens to streams?

use harness::{Harness as _, Provider, Report, Reports, Scope};
use opencode_client::OpenCode;
use receipts::ThreadId;

use crate::scripted::{Reply, Request, Scripted};

const CONNECTED: &str = "data: {\"payload\":{\"type\":\"server.connected\",\"properties\":{}}}\n\n";

/// A server whose event streams are these, one for each connection; the last one repeats.
async fn server(streams: Vec<Reply>) -> Scripted {
    let next = std::sync::atomic::AtomicUsize::new(0);
    Scripted::start(move |request: &Request, _| match &*request.line {
        "GET /global/event" => {
            let at = next.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            streams[at.min(streams.len() - 1)].clone()
        }
        _ => Reply::json(r#"{"healthy":true,"version":"1.18.33"}"#),
    })
    .await
}

async fn subscribe(client: &OpenCode) -> Box<dyn Reports> {
    client.subscribe(Scope::Everything).await.unwrap()
}

fn is_connected(report: Option<Report>) -> bool {
    matches!(report, Some(Report::Connected(Provider { version, .. })) if &*version == "1.18.33")
}

fn why(report: Option<Report>) -> String {
    match report {
        Some(Report::Disconnected { why }) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_silent_stream_is_connected_again() {
    let server = server(vec![Reply::Stream(CONNECTED.to_owned())]).await;
    let client = server.client();
    let mut reports = subscribe(&client).await;
    for _ in 0..2 {
        assert!(is_connected(reports.next().await));
        let found = why(reports.next().await);
        assert_eq!(found, "GET /global/event: no answer within 300 ms");
    }
}

#[tokio::test]
async fn a_stream_that_ends_is_told_once_and_connected_again() {
    let refused = Reply::status(503, "");
    let server = server(vec![
        Reply::StreamThenClose(CONNECTED.to_owned()),
        refused.clone(),
        refused,
        Reply::Stream(CONNECTED.to_owned()),
    ])
    .await;
    let client = server.client();
    let mut reports = subscribe(&client).await;
    assert!(is_connected(reports.next().await));
    let expected = "GET /global/event: cannot be reached: the server ended the stream";
    assert_eq!(why(reports.next().await), expected);
    assert!(is_connected(reports.next().await), "two vain attempts are no news");
}

#[tokio::test]
async fn what_cannot_be_read_is_told_and_does_not_stop_the_rest() {
    let idle = r#"data: {"payload":{"type":"session.idle","properties":{"sessionID":7}}}"#;
    let error = r#"data: {"payload":{"type":"session.error","properties":{"sessionID":"ses_1","error":{"name":"APIError","data":{"message":"key=abc"}}}}}"#;
    let stream = format!("{CONNECTED}data: noise\n\n{idle}\n\n: comment\n\n{error}\n\n");
    let server = server(vec![Reply::Stream(stream)]).await;
    let client = server.client();
    let mut reports = subscribe(&client).await;
    assert!(is_connected(reports.next().await));
    let problem = |problem: &str| Some(Report::Unreadable { problem: problem.to_owned() });
    let expected = problem("event ?: $: expected an object with a `payload`, found something else");
    assert_eq!(reports.next().await, expected);
    let expected = problem("event session.idle: sessionID: expected a string, found a number");
    assert_eq!(reports.next().await, expected);
    let failed = Report::Failed {
        thread: Some(ThreadId::new("ses_1").unwrap()),
        name: "APIError".into(),
        message: "key=abc".into(),
    };
    assert_eq!(reports.next().await, Some(failed));
}

#[tokio::test]
async fn an_event_that_is_too_large_ends_the_stream() {
    let stream = format!("{CONNECTED}data: {}\n\n", "x".repeat(5000));
    let server = server(vec![Reply::Stream(stream)]).await;
    let mut config = server.config();
    config.limits.event_bytes_max = 1000;
    let client = OpenCode::new(&config).unwrap();
    let mut reports = subscribe(&client).await;
    // The limit is found in the same bytes in which the first event stands.
    let mut found = reports.next().await;
    if is_connected(found.clone()) {
        found = reports.next().await;
    }
    assert_eq!(why(found), "GET /global/event: an event is larger than 1000 bytes");
}

#[tokio::test]
async fn a_first_connection_that_fails_is_an_error() {
    let server = Scripted::start(|_, _| Reply::status(401, "")).await;
    let error = server.client().subscribe(Scope::Everything).await.unwrap_err();
    let expected = "GET /global/event: the password or user name was not accepted";
    assert_eq!(error.to_string(), expected);
}
