//! Who is answered with what, what was served, and who waits for it?
//!
//! One [`watch`] channel holds the whole state: each change wakes every waiter, who looks for what
//! it waits for.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    time::{SystemTime, UNIX_EPOCH},
};

use tokio::sync::watch;

use super::{
    ask::{Asked, CallKind, Request},
    marker::{self, Choice, Key},
    script::{Finish, Gate, Reply, Then},
    served::{Ending, Served},
    usage::Usage,
};

/// The state of one server, shared by its handlers and the test.
#[derive(Debug, Default)]
pub(super) struct Book(watch::Sender<State>);

#[derive(Debug, Default)]
struct State {
    scripts: HashMap<(CallKind, Option<Key>), Progress>,
    inline: HashMap<Inline, Progress>,
    served: Vec<Served>,
    open: HashSet<Gate>,
    held: HashMap<Gate, usize>,
}

/// Which run of which inline script: the same text sent as a later turn is another run.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Inline {
    session: Option<String>,
    user_messages: usize,
    prompt: String,
}

/// What is left of a script.
#[derive(Debug)]
struct Progress {
    left: VecDeque<Reply>,
    then: Then,
}

impl Progress {
    fn next(&mut self) -> Option<Reply> {
        match (self.then, self.left.len()) {
            (Then::Repeat, 1) => self.left.front().cloned(),
            (Then::Repeat | Then::Default, _) => self.left.pop_front(),
        }
    }
}

/// Names one call in the book.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call(usize);

impl Call {
    /// The place in the order of arrival, from 1.
    pub(super) fn number(self) -> u64 {
        u64::try_from(self.0).unwrap_or(u64::MAX).saturating_add(1)
    }
}

/// A call that has been entered, and the answer chosen for it.
#[derive(Debug)]
pub(super) struct Entered {
    pub(super) call: Call,
    pub(super) asked: Asked,
    pub(super) reply: Reply,
}

impl Book {
    pub(super) fn set_script(
        &self,
        kind: CallKind,
        key: Option<&Key>,
        replies: Vec<Reply>,
        then: Then,
    ) {
        let progress = Progress { left: replies.into(), then };
        self.0.send_modify(|state| {
            state.scripts.insert((kind, key.cloned()), progress);
        });
    }

    /// Enters a call and chooses its answer, in one step: two calls never get the same reply.
    pub(super) fn enter(&self, request: Request, session: Option<String>) -> Entered {
        let prompt = request.prompt();
        let user_messages = request.user_messages();
        let asked = request.asked(session);
        let choice = Choice::of(&prompt);
        let started_ms = now_ms();
        let mut entered = None;
        self.0.send_modify(|state| {
            let inline =
                Inline { session: asked.session.clone(), user_messages, prompt: prompt.clone() };
            let key = match &choice {
                Choice::Key(key) => Some(key.clone()),
                Choice::Inline(_) | Choice::Default => None,
            };
            let reply = state.choose(asked.kind, choice, inline);
            let call = Call(state.served.len());
            let marks = marker::marks(&prompt);
            state.served.push(Served {
                sequence: call.number(),
                key,
                marks,
                prompt,
                asked: asked.clone(),
                status: match &reply {
                    Reply::Stream(_) => 200,
                    Reply::Refuse(refusal) => refusal.status,
                },
                finish: None,
                usage: Vec::new(),
                bytes: 0,
                ending: Ending::Open,
                started_ms,
                ended_ms: None,
            });
            entered = Some(Entered { call, asked, reply });
        });
        entered.expect("`send_modify` runs its closure")
    }

    pub(super) fn count_bytes(&self, call: Call, bytes: usize) {
        self.change(call, |served| {
            served.bytes = served.bytes.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        });
    }

    pub(super) fn finished(&self, call: Call, finish: Finish) {
        self.change(call, |served| served.finish = Some(finish));
    }

    pub(super) fn used(&self, call: Call, usage: Usage) {
        self.change(call, |served| served.usage.push(usage));
    }

    /// Records how a call ended; the first ending stays.
    pub(super) fn ended(&self, call: Call, ending: Ending) {
        let ended_ms = now_ms();
        self.change(call, |served| {
            if served.ending == Ending::Open {
                served.ending = ending;
                served.ended_ms = Some(ended_ms);
            }
        });
    }

    fn change(&self, call: Call, change: impl FnOnce(&mut Served)) {
        self.0.send_modify(|state| {
            change(state.served.get_mut(call.0).expect("a call is entered once and never removed"));
        });
    }

    pub(super) fn served(&self) -> Vec<Served> {
        self.0.borrow().served.clone()
    }

    /// Returns what `find` finds among the calls, once it finds something.
    pub(super) async fn until<T>(&self, find: impl Fn(&[Served]) -> Option<T>) -> T {
        let mut changes = self.0.subscribe();
        loop {
            if let Some(found) = find(&changes.borrow_and_update().served) {
                return found;
            }
            changes.changed().await.expect("this book holds the sender");
        }
    }

    /// Waits at `gate` until it is open, and counts as held there meanwhile.
    pub(super) async fn hold(&self, gate: &Gate) {
        let _held = Held::at(self, gate);
        self.wait(|state| state.open.contains(gate)).await;
    }

    pub(super) async fn until_held(&self, gate: &Gate) {
        self.wait(|state| state.held.get(gate).is_some_and(|count| *count > 0)).await;
    }

    pub(super) fn open(&self, gate: Gate) {
        self.0.send_modify(|state| {
            state.open.insert(gate);
        });
    }

    async fn wait(&self, condition: impl Fn(&State) -> bool) {
        let mut changes = self.0.subscribe();
        changes.wait_for(condition).await.expect("this book holds the sender");
    }
}

impl State {
    fn choose(&mut self, kind: CallKind, choice: Choice, inline: Inline) -> Reply {
        match (kind, choice) {
            (CallKind::Title, _) => self.next(kind, None).unwrap_or_else(default_title),
            (CallKind::Compaction, Choice::Key(key)) => {
                self.next(kind, Some(key)).unwrap_or_else(default_summary)
            }
            (CallKind::Compaction, Choice::Inline(_) | Choice::Default) => default_summary(),
            (CallKind::Chat, Choice::Default) => Reply::default(),
            (CallKind::Chat, Choice::Key(key)) => {
                match self.scripts.get_mut(&(kind, Some(key.clone()))) {
                    Some(progress) => progress.next().unwrap_or_default(),
                    None => Reply::refuse(400, &format!("no script has the key {key}")),
                }
            }
            (CallKind::Chat, Choice::Inline(Err(error))) => {
                Reply::refuse(400, &format!("the script in the prompt is none: {error}"))
            }
            (CallKind::Chat, Choice::Inline(Ok(replies))) => self
                .inline
                .entry(inline)
                .or_insert_with(|| Progress { left: replies.into(), then: Then::Default })
                .next()
                .unwrap_or_default(),
        }
    }

    fn next(&mut self, kind: CallKind, key: Option<Key>) -> Option<Reply> {
        self.scripts.get_mut(&(kind, key))?.next()
    }
}

/// One stream's stay at a gate; it ends when the stream goes on or is dropped.
#[derive(Debug)]
struct Held<'a> {
    book: &'a Book,
    gate: &'a Gate,
}

impl<'a> Held<'a> {
    fn at(book: &'a Book, gate: &'a Gate) -> Self {
        book.0.send_modify(|state| *state.held.entry(gate.clone()).or_default() += 1);
        Self { book, gate }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.book.0.send_modify(|state| *state.held.entry(self.gate.clone()).or_default() -= 1);
    }
}

fn default_title() -> Reply {
    Reply::text("A title").stop(Usage::of(33, 3))
}

fn default_summary() -> Reply {
    Reply::text("## Goal\nA summary").stop(Usage::of(300, 40))
}

#[expect(clippy::disallowed_methods, reason = "the model's own clock, to compare with the agent's")]
fn now_ms() -> u64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX)
}
