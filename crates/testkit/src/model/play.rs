//! How is a reply played into a response?
//!
//! The steps run inside the response body: when the connection wants more, the next step is made.
//! A body that is dropped before its end therefore means that the agent has gone away.

use std::{collections::VecDeque, io, sync::Arc, time::Duration};

use axum::body::{Body, Bytes};
use futures_util::stream;
use tokio::{task, time};

use super::{
    book::{Book, Call},
    script::{Finish, Step},
    served::Ending,
    usage::Usage,
    wire::{self, Delta, Head, WireToolCall},
};

/// One answer on its way.
#[derive(Debug)]
pub(super) struct Player {
    book: Arc<Book>,
    call: Call,
    head: Head,
    left: VecDeque<Step>,
    tools: usize,
    /// Whether the last bytes of the body have been handed over.
    over: bool,
}

/// What one step does to the response.
enum Effect {
    /// Nothing is sent.
    Nothing,
    /// These bytes are sent.
    Send(String),
    /// The body ends here.
    End,
    /// The connection breaks here.
    Cut,
}

impl Player {
    pub(super) fn new(book: Arc<Book>, call: Call, head: Head, steps: Vec<Step>) -> Self {
        Self { book, call, head, left: steps.into(), tools: 0, over: false }
    }

    /// The answer as server-sent events.
    pub(super) fn stream(self) -> Body {
        Body::from_stream(stream::unfold(self, |mut player| async move {
            player.next().await.map(|chunk| (chunk, player))
        }))
    }

    /// The next bytes of the stream, or the break in it.
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        if self.over {
            return None;
        }
        // The connection flushes what it has when its body has nothing ready, so this step begins
        // only after the chunk before it is on its way.
        task::yield_now().await;
        while let Some(step) = self.left.pop_front() {
            match self.play(step).await {
                Effect::Nothing => {}
                Effect::Send(text) => return Some(Ok(self.counted(text))),
                Effect::End => {
                    self.end(Ending::Completed);
                    return None;
                }
                Effect::Cut => {
                    self.end(Ending::Cut);
                    return Some(Err(io::Error::other("the script breaks the connection")));
                }
            }
        }
        // Whoever has read the end must find it recorded.
        let last = self.counted(wire::DONE.to_owned());
        self.end(Ending::Completed);
        Some(Ok(last))
    }

    async fn play(&mut self, step: Step) -> Effect {
        match step {
            Step::Text(text) => self.send(Delta { content: Some(text), ..assistant() }),
            Step::Reasoning(text) => {
                self.send(Delta { reasoning_content: Some(text), ..assistant() })
            }
            Step::Tool(call) => {
                let call = WireToolCall::new(&self.head.id, self.tools, call);
                self.tools += 1;
                self.send(Delta { tool_calls: vec![call], ..assistant() })
            }
            Step::Finish(reason) => {
                let event = wire::choice_event(&self.head, &assistant(), Some(&reason));
                self.book.finished(self.call, reason);
                Effect::Send(event)
            }
            Step::Usage(usage) => {
                let event = wire::usage_event(&self.head, Some(&usage));
                self.book.used(self.call, usage);
                Effect::Send(event)
            }
            Step::UsageNull => Effect::Send(wire::usage_event(&self.head, None)),
            Step::Error(message) => Effect::Send(wire::error_event(&message)),
            Step::Data(data) => Effect::Send(wire::data_event(&data)),
            Step::PauseMs(pause) => {
                time::sleep(Duration::from_millis(pause)).await;
                Effect::Nothing
            }
            Step::Hold(gate) => {
                self.book.hold(&gate).await;
                Effect::Nothing
            }
            Step::End => Effect::End,
            Step::Cut => Effect::Cut,
        }
    }

    fn send(&self, delta: Delta) -> Effect {
        Effect::Send(wire::choice_event(&self.head, &delta, None))
    }

    /// The answer as one object.
    ///
    /// What a stream alone can carry is left out: raw lines, `null` usage, an error object.
    pub(super) async fn whole(mut self) -> Body {
        let mut message = assistant();
        let mut finish: Option<Finish> = None;
        let mut usage: Option<Usage> = None;
        while let Some(step) = self.left.pop_front() {
            match step {
                Step::Text(text) => message.content.get_or_insert_default().push_str(&text),
                Step::Reasoning(text) => {
                    message.reasoning_content.get_or_insert_default().push_str(&text);
                }
                Step::Tool(call) => {
                    let index = message.tool_calls.len();
                    message.tool_calls.push(WireToolCall::new(&self.head.id, index, call));
                }
                Step::Finish(reason) => finish = Some(reason),
                Step::Usage(counts) => usage = Some(counts),
                Step::PauseMs(pause) => time::sleep(Duration::from_millis(pause)).await,
                Step::Hold(gate) => self.book.hold(&gate).await,
                Step::UsageNull | Step::Error(_) | Step::Data(_) => {}
                Step::End => break,
                Step::Cut => {
                    self.left.clear();
                    self.left.push_back(Step::Cut);
                    return self.stream();
                }
            }
        }
        let body = wire::whole_body(&self.head, &message, finish.as_ref(), usage.as_ref());
        if let Some(reason) = finish {
            self.book.finished(self.call, reason);
        }
        if let Some(usage) = usage {
            self.book.used(self.call, usage);
        }
        let body = self.counted(body);
        self.end(Ending::Completed);
        Body::from(body)
    }

    fn counted(&self, text: String) -> Bytes {
        self.book.count_bytes(self.call, text.len());
        Bytes::from(text)
    }

    fn end(&mut self, ending: Ending) {
        self.over = true;
        self.book.ended(self.call, ending);
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        if !self.over {
            self.book.ended(self.call, Ending::ClientGone);
        }
    }
}

fn assistant() -> Delta {
    Delta { role: "assistant", ..Delta::default() }
}
