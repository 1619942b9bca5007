//! Is a prompt sent at most once, never too late, and its fate told honestly?

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt as _;
use harness::{Dispatch, Fence, Harness as _, Pass, Prompt, PromptMode, ReachError};
use opencode_client::{Config, OpenCode};
use receipts::{MessageId, ThreadId};
use tokio::sync::Notify;

use crate::scripted::{Reply, Request, Scripted, Whole};

fn prompt() -> Prompt {
    Prompt {
        thread: ThreadId::new("ses_1").unwrap(),
        message: Some(MessageId::new("msg_1").unwrap()),
        text: "say hello".into(),
        mode: PromptMode::Turn,
        agent: None,
        model: None,
    }
}

const BODY: &str = r#"{"messageID":"msg_1","parts":[{"type":"text","text":"say hello"}]}"#;

fn whole() -> Request {
    Request {
        line: "POST /session/ses_1/prompt_async".to_owned(),
        body: BODY.to_owned(),
        whole: Whole::Yes,
    }
}

/// What became of a dispatch, for comparing.
fn fate(dispatch: &Dispatch) -> String {
    match dispatch {
        Dispatch::Sent(()) => "sent".to_owned(),
        Dispatch::NotSent(error) => format!("not sent: {error}"),
        Dispatch::Uncertain(error) => format!("uncertain: {error}"),
    }
}

async fn check(reply: Reply, expected: &str) {
    let server = Scripted::start(move |_, _| reply.clone()).await;
    let found = server.client().prompt(&prompt(), Pass::unfenced()).await;
    assert_eq!(fate(&found), expected);
    assert_eq!(server.requests(), [whole()], "one POST and no other request");
}

#[tokio::test]
async fn each_answer_says_what_became_of_the_prompt() {
    let place = "POST /session/ses_1/prompt_async";
    check(Reply::status(204, ""), "sent").await;
    let body = r#"{"name":"BadRequest","data":{"message":"Missing key","kind":"Payload"}}"#;
    let expected = format!("not sent: {place}: refused with status 400: BadRequest: Missing key");
    check(Reply::status(400, body), &expected).await;
    let expected = format!("not sent: {place}: the password or user name was not accepted");
    check(Reply::status(401, ""), &expected).await;
    check(Reply::status(404, "{}"), &format!("not sent: {place}: not found")).await;
    let said = "the server said nothing about it";
    let expected = format!("uncertain: {place}: failed with status 500: {said}");
    check(Reply::status(500, "<html>"), &expected).await;
    let expected = format!("uncertain: {place}: refused with status 408: {said}");
    check(Reply::status(408, ""), &expected).await;
    check(Reply::Silence, &format!("uncertain: {place}: no answer within 500 ms")).await;
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let reply = Reply::Answer(307, "location: /elsewhere\r\n".to_owned(), String::new());
    let why = "it sends on to another place, and no redirect is followed";
    let place = "POST /session/ses_1/prompt_async";
    check(reply, &format!("not sent: {place}: refused with status 307: {why}")).await;
}

#[tokio::test]
async fn a_closed_connection_leaves_the_fate_open() {
    let server = Scripted::start(|_, _| Reply::Close).await;
    let found = server.client().prompt(&prompt(), Pass::unfenced()).await;
    assert!(matches!(&found, Dispatch::Uncertain(ReachError::Unreachable { .. })), "{found:?}");
    assert_eq!(server.requests(), [whole()]);
}

#[tokio::test]
async fn nothing_is_sent_where_nobody_listens() {
    let client = OpenCode::new(&Config::new("http://127.0.0.1:1")).unwrap();
    let found = client.prompt(&prompt(), Pass::unfenced()).await;
    assert!(matches!(&found, Dispatch::NotSent(ReachError::Unreachable { .. })), "{found:?}");
}

/// A fence that closes when it was asked so often, and tells when it is let go.
#[derive(Debug)]
struct Counted {
    asked: AtomicUsize,
    closes_after: usize,
    freed: Arc<Freed>,
}

#[derive(Debug, Default)]
struct Freed {
    is_freed: AtomicBool,
    told: Notify,
}

impl Counted {
    fn pass(closes_after: usize) -> (Pass, Arc<Freed>) {
        let freed = Arc::new(Freed::default());
        let fence = Self { asked: AtomicUsize::new(0), closes_after, freed: Arc::clone(&freed) };
        (Pass::new(fence), freed)
    }
}

impl Fence for Counted {
    fn remaining(&self) -> Duration {
        match self.asked.fetch_add(1, Ordering::SeqCst) < self.closes_after {
            true => Duration::from_secs(10),
            false => Duration::ZERO,
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.freed.is_freed.store(true, Ordering::SeqCst);
        self.freed.told.notify_one();
    }
}

/// Ledger rule L6, counterexample 8: a stale reader is refused before any byte leaves.
#[tokio::test]
async fn case_8_a_stale_driver_is_refused_before_any_byte() {
    let server = Scripted::start(|_, _| Reply::status(204, "")).await;
    let (pass, _) = Counted::pass(0);
    let found = server.client().prompt(&prompt(), pass).await;
    let expected =
        "not sent: POST /session/ses_1/prompt_async: nothing was sent, the leave to send had ended";
    assert_eq!(fate(&found), expected);
    assert_eq!(server.requests(), []);
}

#[tokio::test]
async fn past_the_deadline_the_body_yields_nothing_more() {
    let server = Scripted::start(|_, _| Reply::status(204, "")).await;
    // Asked before the send, for its time, and before the first piece; shut before the second.
    let (pass, freed) = Counted::pass(3);
    let found = server.client().prompt(&prompt(), pass).await;
    assert!(matches!(&found, Dispatch::NotSent(_)), "{found:?}");
    // Whatever of it had left, it is no whole request; a later one is.
    let _other_answer = server.client().probe().await;
    let whole: Vec<_> =
        server.requests().into_iter().filter(|request| request.whole == Whole::Yes).collect();
    let lines: Vec<_> = whole.iter().map(|request| &*request.line).collect();
    assert_eq!(lines, ["GET /global/health"]);
    assert!(freed.is_freed.load(Ordering::SeqCst));
}

/// Counterexample 8: a withheld response does not delay a takeover.
#[tokio::test]
async fn case_8_a_withheld_response_frees_the_fence() {
    let server = Scripted::start(|_, _| Reply::Silence).await;
    let client = server.client();
    let (pass, freed) = Counted::pass(usize::MAX);
    let sending = tokio::spawn(async move { client.prompt(&prompt(), pass).await });
    freed.told.notified().await;
    assert!(!sending.is_finished(), "the answer is still waited for");
    assert_eq!(server.requests(), [whole()]);
    let found = fate(&sending.await.unwrap());
    assert_eq!(found, "uncertain: POST /session/ses_1/prompt_async: no answer within 500 ms");
}

/// Counterexample 8: a cancelled caller keeps its fence until its write ended.
#[tokio::test]
async fn case_8_a_cancelled_caller_does_not_stop_its_send() {
    let server = Scripted::start(|_, _| Reply::status(204, "")).await;
    let client = server.client();
    let (pass, freed) = Counted::pass(usize::MAX);
    let prompt = prompt();
    {
        let mut send = client.prompt(&prompt, pass);
        // Polled once, so that it has begun, and dropped.
        assert!((&mut send).now_or_never().is_none());
    }
    assert!(!freed.is_freed.load(Ordering::SeqCst));
    freed.told.notified().await;
    assert_eq!(server.requests(), [whole()]);
}
