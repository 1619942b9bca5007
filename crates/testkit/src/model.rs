//! What does the language model say, and what did it serve?
//!
//! [`Model`] is a real HTTP server on a loopback port, with `POST /v1/chat/completions` (streamed or
//! whole) and `GET /v1/models` as an OpenAI-compatible provider has them. It runs on a thread of its
//! own, so that tests may block.
//!
//! # How an answer is chosen
//!
//! | last user message of the request | answer |
//! | --- | --- |
//! | has the marker `KEY=name` | the next [`Reply`] of the script registered under that [`Key`]; the default reply when they are used up; HTTP 400 when no script has that key |
//! | has the marker `SCRIPT=[…]` | the next reply of the script written there, see below |
//! | has neither | the default reply: text `default reply`, finish `stop`, usage 50 and 5 |
//!
//! Calls that the agent makes for itself carry the user's words too. They are recognised by their
//! system prompt, answered apart ([`Model::title`], [`Model::compaction`]) and recorded with another
//! [`CallKind`], so that they never use up a script. A further marker, `MARK=word`, chooses nothing:
//! it is copied to [`Served::marks`], to find a prompt again.
//!
//! # Scripts in the prompt
//!
//! `SCRIPT=` is followed by a JSON list of replies in the form that serde gives [`Reply`] and
//! [`Step`]; anything may follow the list:
//!
//! ```text
//! SCRIPT=[{"stream": [{"tool": {"name": "bash", "arguments": "{\"command\":\"ls\"}"}},
//!                     {"finish": "tool_calls"},
//!                     {"usage": {"prompt_tokens": 100, "completion_tokens": 10}}]},
//!         {"refuse": {"status": 429, "headers": [["retry-after", "1"]], "body": "{}"}},
//!         {"stream": [{"text": "done"}, {"hold": "gate"}, {"finish": "stop"}]}] Please list the files.
//! ```
//!
//! The position in such a script is kept for the pair of conversation and prompt: a retry of the same
//! request and the next step of the same turn move on, the same text sent as a new turn starts anew.
//! With it the binary `scripted-model` is driven by prompts alone. `GET /served` prints what was
//! served, `POST /release/{gate}` opens a gate.

mod ask;
mod book;
mod http;
mod marker;
mod play;
mod script;
mod served;
mod usage;
mod wire;

use std::{io, net::SocketAddr, sync::Arc, thread};

use tokio::sync::oneshot;

pub use ask::{Asked, CallKind, Delivery};
pub use marker::Key;
pub use script::{Finish, Gate, Refusal, Reply, Step, Then, ToolCall};
pub use served::{Ending, Served, Tally};
pub use usage::{CachedTokens, Count, Details, ReasoningTokens, Usage};

use book::Book;

/// A running scripted model; dropping it stops the server and breaks its open connections.
#[derive(Debug)]
pub struct Model {
    address: SocketAddr,
    book: Arc<Book>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<io::Result<()>>>,
}

impl Model {
    /// Starts a server on a free loopback port; it answers as soon as this returns.
    ///
    /// # Errors
    ///
    /// When no port or no thread can be had.
    pub fn start() -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let book = Arc::new(Book::default());
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let served = Arc::clone(&book);
        let thread = thread::Builder::new().name("scripted-model".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    result = http::serve(listener, served) => result,
                    _ = stopped => Ok(()),
                }
            })
        })?;
        Ok(Self { address, book, stop: Some(stop), thread: Some(thread) })
    }

    /// The server's root, such as `http://127.0.0.1:40123`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What a provider is configured with: the root and `/v1`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.url())
    }

    /// Sets the replies to chat calls under `key`, in place of any earlier script of that key.
    ///
    /// When they are used up, further calls get the default reply.
    pub fn script(&self, key: &Key, replies: impl IntoIterator<Item = Reply>) {
        self.script_then(key, replies, Then::Default);
    }

    /// Sets the replies to chat calls under `key` and what follows when they are used up.
    pub fn script_then(&self, key: &Key, replies: impl IntoIterator<Item = Reply>, then: Then) {
        self.book.set_script(CallKind::Chat, Some(key), replies.into_iter().collect(), then);
    }

    /// Sets the reply to every title call; without it, text `A title` with usage 33 and 3.
    pub fn title(&self, reply: Reply) {
        self.book.set_script(CallKind::Title, None, vec![reply], Then::Repeat);
    }

    /// Sets the replies to compaction calls whose last key is `key`; the last one repeats.
    ///
    /// Without it, a summary text with usage 300 and 40.
    pub fn compaction(&self, key: &Key, replies: impl IntoIterator<Item = Reply>) {
        let replies = replies.into_iter().collect();
        self.book.set_script(CallKind::Compaction, Some(key), replies, Then::Repeat);
    }

    /// Every call so far in order of arrival, of every kind, with what is known of it by now.
    #[must_use]
    pub fn served(&self) -> Vec<Served> {
        self.book.served()
    }

    /// The chat calls under `key` so far, in order of arrival.
    #[must_use]
    pub fn served_for(&self, key: &Key) -> Vec<Served> {
        self.served().into_iter().filter(|call| call.is_chat_of(key)).collect()
    }

    /// Returns what `find` finds among the calls of every kind, once it finds something.
    pub async fn until<T>(&self, find: impl Fn(&[Served]) -> Option<T>) -> T {
        self.book.until(find).await
    }

    /// Returns once `count` chat calls have ended, with all calls served by then.
    pub async fn served_reaches(&self, count: usize) -> Vec<Served> {
        self.book
            .until(|calls| {
                let ended = calls.iter().filter(|call| {
                    call.asked.kind == CallKind::Chat && call.ending != Ending::Open
                });
                (ended.count() >= count).then(|| calls.to_vec())
            })
            .await
    }

    /// Returns the `nth` chat call under `key`, counted from 1, once it has arrived.
    ///
    /// Its answer may still be running.
    pub async fn wait_for_call(&self, key: &Key, nth: usize) -> Served {
        self.wait_for(key, nth, |_| true).await
    }

    /// Returns the `nth` chat call under `key`, counted from 1, once it has ended, however it ended.
    pub async fn wait_for_end(&self, key: &Key, nth: usize) -> Served {
        self.wait_for(key, nth, |call| call.ending != Ending::Open).await
    }

    async fn wait_for(&self, key: &Key, nth: usize, ready: impl Fn(&Served) -> bool) -> Served {
        assert!(nth > 0, "calls are counted from 1");
        self.book
            .until(|calls| {
                let call = calls.iter().filter(|call| call.is_chat_of(key)).nth(nth - 1)?;
                ready(call).then(|| call.clone())
            })
            .await
    }

    /// Returns once a stream is held at `gate`; at once if one is held now.
    pub async fn held_at(&self, gate: &Gate) {
        self.book.until_held(gate).await;
    }

    /// Opens `gate` for good: streams held there go on, and later ones pass.
    pub fn release(&self, gate: &Gate) {
        self.book.open(gate.clone());
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // The receiver is gone only if the server thread has ended by itself.
            let _already_stopped = stop.send(());
        }
        if let Some(thread) = self.thread.take()
            && !matches!(thread.join(), Ok(Ok(())))
            && !thread::panicking()
        {
            panic!("the scripted model stopped serving before it was dropped");
        }
    }
}
