//! How is something sent at most once, and never too late?
//!
//! A send runs in a task of its own, which no caller can cancel. Its body is handed on in two
//! pieces, and before each the pass is asked: past its deadline the body yields nothing more, so
//! that a stalled sender leaves a truncated request, which no server admits. What the body has not
//! yielded in full is proven not sent; what it has, is sent, refused or uncertain.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use futures_util::Stream;
use harness::{Dispatch, Pass, Place, ReachError};
use opencode_wire::Refusal;
use reqwest::{
    Body, Response, StatusCode,
    header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue},
};
use tokio::sync::oneshot;

use crate::http::{Http, Route, timed_out};

/// How long the pass is kept after the body was handed on in full and no answer came: time for the
/// bytes to leave this process.
const FLUSH: Duration = Duration::from_millis(200);

/// The statuses by which OpenCode says that it looked at a request and stored nothing of it.
const PROVEN: [StatusCode; 9] = [
    StatusCode::BAD_REQUEST,
    StatusCode::UNAUTHORIZED,
    StatusCode::FORBIDDEN,
    StatusCode::NOT_FOUND,
    StatusCode::METHOD_NOT_ALLOWED,
    StatusCode::CONFLICT,
    StatusCode::PAYLOAD_TOO_LARGE,
    StatusCode::UNSUPPORTED_MEDIA_TYPE,
    StatusCode::UNPROCESSABLE_ENTITY,
];

/// Whether the last byte may still be yielded; moves away from `OPEN` once.
#[derive(Debug, Default)]
struct Gate(AtomicU8);

const OPEN: u8 = 0;
const DONE: u8 = 1;
const SHUT: u8 = 2;

impl Gate {
    /// Claims the right to yield the last byte.
    fn finish(&self) -> bool {
        self.0.compare_exchange(OPEN, DONE, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Takes that right away; `false` when the last byte was yielded before.
    fn shut(&self) -> bool {
        match self.0.compare_exchange(OPEN, SHUT, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => true,
            Err(state) => state == SHUT,
        }
    }
}

/// A body that stops when its pass ends.
struct FencedBody {
    pass: Pass,
    gate: Arc<Gate>,
    /// All but the last byte, then the last byte.
    head: Option<Vec<u8>>,
    tail: Option<Vec<u8>>,
    /// Told when the body is done with, in whatever way.
    over: Option<oneshot::Sender<()>>,
}

impl Stream for FencedBody {
    type Item = io::Result<Vec<u8>>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.head.is_none() && self.tail.is_none() {
            return Poll::Ready(None);
        }
        if !self.pass.is_open() && self.gate.shut() {
            return Poll::Ready(Some(Err(io::Error::other("the leave to send has ended"))));
        }
        if let Some(head) = self.head.take() {
            return Poll::Ready(Some(Ok(head)));
        }
        if !self.gate.finish() {
            return Poll::Ready(Some(Err(io::Error::other("the send was given up"))));
        }
        Poll::Ready(self.tail.take().map(Ok))
    }
}

impl Drop for FencedBody {
    fn drop(&mut self) {
        if let Some(over) = self.over.take() {
            // Nobody waits for it once the answer is there.
            let _gone = over.send(());
        }
    }
}

/// What a send came to, before it is judged.
enum Outcome {
    Answered { status: StatusCode, body: Result<String, ReachError> },
    Failed(ReachError),
}

impl Http {
    /// Sends one request, once; a body is sent as JSON. Gives the body of a successful answer.
    pub(crate) async fn send(
        self: Arc<Self>,
        route: Route,
        body: String,
        pass: Pass,
    ) -> Dispatch<Result<String, ReachError>> {
        let place = route.place();
        let task = tokio::spawn(async move { self.send_here(&route, body, pass).await });
        match task.await {
            Ok(dispatch) => dispatch,
            // The runtime was shut down under it, or it has a bug; bytes may have left.
            Err(_) => Dispatch::Uncertain(ReachError::Closed { place }),
        }
    }

    async fn send_here(
        &self,
        route: &Route,
        body: String,
        pass: Pass,
    ) -> Dispatch<Result<String, ReachError>> {
        let place = route.place();
        let gate = Arc::new(Gate::default());
        if !pass.is_open() {
            return Dispatch::NotSent(ReachError::Fenced { place });
        }
        let outcome = self.exchange(route, body, pass, &gate).await;
        match outcome {
            Outcome::Answered { status, body } if status.is_success() => Dispatch::Sent(body),
            Outcome::Answered { status, body } => {
                let refusal = Refusal::decode(&body.unwrap_or_default());
                let error = self.refused(&place, status, &refusal);
                let is_proven = PROVEN.contains(&status) || status.is_redirection();
                // The refusal to write an answer out says nothing about what was stored.
                match is_proven && !refusal.is_poisoned_read() {
                    true => Dispatch::NotSent(error),
                    false => Dispatch::Uncertain(error),
                }
            }
            Outcome::Failed(error) if gate.shut() => Dispatch::NotSent(error),
            Outcome::Failed(error) => Dispatch::Uncertain(error),
        }
    }

    /// Hands the bytes on and waits for the answer, keeping the pass until the bytes are out.
    async fn exchange(&self, route: &Route, body: String, pass: Pass, gate: &Arc<Gate>) -> Outcome {
        let place = route.place();
        let limit =
            pass.remaining().map_or(self.limits.dispatch, |left| left.min(self.limits.dispatch));
        let (over, is_over) = oneshot::channel();
        let request = self.request(route);
        let request = with_body(request, body, pass.clone(), gate, over);
        let mut pass = Some(pass);
        let send = request.send();
        let flushed = async {
            // The sender is dropped with the body, whether or not it was told before.
            let _told = is_over.await;
            tokio::time::sleep(FLUSH).await;
        };
        let closing = tokio::time::sleep(limit);
        let answering = tokio::time::sleep(self.limits.dispatch);
        tokio::pin!(send, flushed, closing, answering);
        let mut is_closed = false;
        let response = loop {
            tokio::select! {
                response = &mut send => break response,
                () = &mut flushed, if pass.is_some() => pass = None,
                () = &mut closing, if !is_closed => {
                    is_closed = true;
                    if gate.shut() {
                        return Outcome::Failed(timed_out(&place, limit));
                    }
                }
                () = &mut answering => {
                    return Outcome::Failed(timed_out(&place, self.limits.dispatch));
                }
            }
        };
        drop(pass);
        match response {
            Ok(response) => self.answered(&place, response).await,
            Err(error) => Outcome::Failed(self.unreachable(&place, &error)),
        }
    }

    async fn answered(&self, place: &Place, response: Response) -> Outcome {
        let status = response.status();
        let limit = self.limits.dispatch;
        let body = match tokio::time::timeout(limit, self.body(place, response)).await {
            Ok(body) => body.map_err(crate::http::GetError::into_reach),
            Err(_) => Err(timed_out(place, limit)),
        };
        Outcome::Answered { status, body }
    }
}

fn with_body(
    request: reqwest::RequestBuilder,
    body: String,
    pass: Pass,
    gate: &Arc<Gate>,
    over: oneshot::Sender<()>,
) -> reqwest::RequestBuilder {
    // An empty JSON object stands for no body: something has to be withheld past the deadline.
    let mut head = if body.is_empty() { b"{}".to_vec() } else { body.into_bytes() };
    let length = HeaderValue::from(head.len());
    let tail = head.split_off(head.len() - 1);
    let gate = Arc::clone(gate);
    let body = FencedBody { pass, gate, head: Some(head), tail: Some(tail), over: Some(over) };
    request
        .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
        // With a length, a truncated body is no whole request, whatever stands in it.
        .header(CONTENT_LENGTH, length)
        .body(Body::wrap_stream(body))
}
