//! An agent that does what a test says: a small, honest machine with histories, pages and reports.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use harness::{
    Answer as Reply, Ask, AskBody, AskId, Cursor, Dispatch, Evidence, Harness, NewThread, Page,
    Pass, Place, ProcessIdentity, Prompt, Provider, ReachError, Report, Reports, Scope, Seen,
    Source, ThreadInfo, Ticket,
};
use receipts::{
    Answer, AnswerRole, Author, Body, Call, CallKey, CallUsage, Clock, Counters, Ending, Failure,
    Finish, Kind, Lineage, Message, MessageId, Observation, Owner, ThreadId, Tools, UnixMillis,
};
use tokio::sync::{Semaphore, mpsc};

use crate::world::id;

/// Long before every test, so that no message is younger than an intent.
const BEGINNING: i64 = 1_600_000_000_000;

/// How the next send goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Stored and answered.
    Taken,
    /// Proven not stored.
    Refused,
    /// Stored, and the answer is lost.
    StoredAndLost,
    /// Neither stored nor answered.
    Lost,
    /// Stored and its bytes are out; the answer waits for [`Fake::release`].
    Withheld,
    /// No byte is out before [`Fake::release`]; then as the pass says.
    Stalled,
}

/// How the next read goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    Fails,
    /// It waits for [`Fake::release`].
    Hangs,
}

/// What was asked of the agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) prompts: Vec<String>,
    pub(crate) answers: usize,
    pub(crate) aborts: usize,
    pub(crate) created: usize,
    pub(crate) pages: usize,
    pub(crate) wishes: usize,
}

#[derive(Debug)]
struct Talk {
    info: ThreadInfo,
    messages: Vec<Message>,
    owner: Owner,
    asks: Vec<Ask>,
}

#[derive(Debug, Default)]
struct State {
    talks: BTreeMap<ThreadId, Talk>,
    listeners: Vec<mpsc::UnboundedSender<Report>>,
    ways: VecDeque<Way>,
    reads: VecDeque<Read>,
    counts: Counts,
    tickets: BTreeMap<ThreadId, Ticket>,
    minted: u32,
    ticks: i64,
    page: usize,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// One permit lets one thing go on that waits.
    released: Semaphore,
    /// One permit for each thing that began to wait.
    waiting: Semaphore,
}

#[derive(Clone)]
pub(crate) struct Fake(Arc<Shared>);

impl fmt::Debug for Fake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fake")
    }
}

fn place() -> Place {
    Place::new("fake")
}

pub(crate) fn unreachable() -> ReachError {
    ReachError::Unreachable { place: place(), why: "as scripted".to_owned() }
}

pub(crate) fn provider() -> Provider {
    Provider { version: "1".into(), endpoint: "fake:".into(), process: None }
}

/// A step of the agent's loop, before it is shown.
#[derive(Debug, Clone)]
pub(crate) struct Step(Message);

impl Step {
    fn answer(mut self, change: impl FnOnce(&mut Answer)) -> Self {
        if let Body::Answer(answer) = &mut self.0.body {
            change(answer);
        }
        self
    }

    pub(crate) fn into_message(self) -> Message {
        self.0
    }

    /// Ends it, with a known usage.
    pub(crate) fn ended(self, finish: Finish) -> Self {
        let at = self.0.created;
        self.answer(|answer| {
            answer.completed = at;
            answer.finish = Some(finish);
            for call in &mut answer.calls {
                let (input, output) = (Some(10), Some(5));
                call.usage = CallUsage::Known(Counters { input, output, ..Counters::UNKNOWN });
            }
        })
    }

    pub(crate) fn aborted(self) -> Self {
        let at = self.0.created;
        let failure = Failure { name: "Aborted".into(), message: "it was aborted".into() };
        self.answer(|answer| {
            answer.completed = at;
            answer.ending = Ending::Aborted(failure);
            answer.calls.iter_mut().for_each(|call| call.usage = CallUsage::Unknown);
        })
    }

    pub(crate) fn saying(self, text: &str) -> Self {
        self.answer(|answer| answer.text = Some(text.into()))
    }

    pub(crate) fn starting(self, child: &str) -> Self {
        self.answer(|answer| answer.children.push(id(child)))
    }
}

impl Fake {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Shared {
            state: Mutex::new(State { page: 200, ..State::default() }),
            released: Semaphore::new(0),
            waiting: Semaphore::new(0),
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn counts(&self) -> Counts {
        self.state().counts.clone()
    }

    /// The next sends go these ways, those after them are taken.
    pub(crate) fn sends_go(&self, ways: impl IntoIterator<Item = Way>) {
        self.state().ways.extend(ways);
    }

    /// The next send is taken.
    pub(crate) fn sends_go_as_usual(&self) {
        self.state().ways.clear();
    }

    /// Gives a step as it stands.
    pub(crate) fn again(&self, thread: &str, answer: &str) -> Step {
        let find = |talk: &Talk| talk.messages.iter().find(|it| it.id.as_str() == answer).cloned();
        Step(self.get(&id(thread), find).unwrap().unwrap())
    }

    /// The next pages are read like this, those after them are given.
    pub(crate) fn reads_go(&self, reads: impl IntoIterator<Item = Read>) {
        self.state().reads.extend(reads);
    }

    pub(crate) fn pages_of(&self, messages: usize) {
        self.state().page = messages;
    }

    /// Lets one thing go on that waits, now or later.
    pub(crate) fn release(&self) {
        self.0.released.add_permits(1);
    }

    /// Waits until one more thing waits.
    pub(crate) async fn waits(&self) {
        self.0.waiting.acquire().await.unwrap().forget();
    }

    async fn wait_for_release(&self) {
        self.0.waiting.add_permits(1);
        self.0.released.acquire().await.unwrap().forget();
    }

    pub(crate) fn tell(&self, report: Report) {
        self.state().listeners.retain(|listener| listener.send(report.clone()).is_ok());
    }

    pub(crate) fn connect(&self) {
        self.tell(Report::Connected(provider()));
    }

    /// Says that the process is gone.
    pub(crate) fn exit(&self) {
        self.tell(Report::Exited(ProcessIdentity { pid: 1, start_time: 1 }));
    }

    pub(crate) fn missed(&self, thread: &str) {
        self.tell(Report::Missed { thread: id(thread), why: "as scripted".to_owned() });
    }

    /// Closes all subscriptions.
    pub(crate) fn close(&self) {
        self.state().listeners.clear();
    }

    /// Makes a conversation, unseen.
    pub(crate) fn talk(&self, thread: &str, parent: Option<&str>, title: Option<&str>) {
        let info = ThreadInfo {
            thread: id(thread),
            parent: parent.map(id),
            directory: None,
            title: title.map(Into::into),
            created: None,
        };
        let talk = Talk { info, messages: Vec::new(), owner: Owner::Unknown, asks: Vec::new() };
        self.state().talks.insert(id(thread), talk);
    }

    pub(crate) fn delete(&self, thread: &str) {
        self.state().talks.remove(&id::<ThreadId>(thread));
    }

    /// Takes a message out of a history, unseen.
    pub(crate) fn remove(&self, thread: &str, message: &str) {
        let mut state = self.state();
        let talk = state.talks.get_mut(&id::<ThreadId>(thread)).unwrap();
        talk.messages.retain(|stored| stored.id.as_str() != message);
    }

    /// What the agent says when it is asked for the run, and does not report.
    pub(crate) fn is(&self, thread: &str, owner: Owner) {
        if let Some(talk) = self.state().talks.get_mut(&id::<ThreadId>(thread)) {
            talk.owner = owner;
        }
    }

    /// Reports what is known of the run.
    pub(crate) fn owned(&self, thread: &str, owner: Owner) {
        self.is(thread, owner);
        let thread: ThreadId = id(thread);
        let ticket = self.state().tickets.get(&thread).copied().unwrap_or_default();
        self.tell(Report::Owner { thread, owner, ticket });
    }

    fn tick(&self) -> UnixMillis {
        let mut state = self.state();
        state.ticks += 1000;
        UnixMillis(BEGINNING + state.ticks)
    }

    /// Stores a prompt that somebody posted, unseen.
    pub(crate) fn store_prompt(&self, thread: &str, prompt: &str) -> Message {
        self.store_prompt_of(thread, prompt, Author::Client)
    }

    pub(crate) fn store_prompt_of(&self, thread: &str, prompt: &str, author: Author) -> Message {
        let body = Body::Prompt(receipts::Prompt {
            kind: Kind::Prompt,
            author,
            content: Some(1),
            parts: 1,
            clock: Clock::Plausible,
        });
        let message = Message {
            id: id(prompt),
            created: Some(self.tick()),
            lineage: Lineage::Own,
            body,
            gaps: Vec::new(),
        };
        self.store(thread, message)
    }

    /// Begins a step.
    pub(crate) fn step(&self, answer: &str, prompt: &str) -> Step {
        let call = Call { key: CallKey::new(answer).unwrap(), usage: CallUsage::Open };
        Step(Message {
            id: id(answer),
            created: Some(self.tick()),
            lineage: Lineage::Own,
            body: Body::Answer(Answer {
                parent: Some(id(prompt)),
                completed: None,
                finish: None,
                ending: Ending::Plain,
                tools: Tools::default(),
                role: AnswerRole::Answer,
                calls: vec![call],
                text: Some("".into()),
                provider: None,
                model: None,
                children: Vec::new(),
                parts: 1,
            }),
            gaps: Vec::new(),
        })
    }

    fn store(&self, thread: &str, message: Message) -> Message {
        let mut state = self.state();
        let talk = state.talks.get_mut(&id::<ThreadId>(thread)).unwrap();
        match talk.messages.iter_mut().find(|stored| stored.id == message.id) {
            Some(stored) => *stored = message.clone(),
            None => talk.messages.push(message.clone()),
        }
        message
    }

    fn report(&self, thread: &str, message: Message) {
        self.tell(Report::Seen { thread: id(thread), seen: vec![seen(&message)] });
    }

    /// Stores a step, unseen.
    pub(crate) fn store_step(&self, thread: &str, step: Step) {
        self.store(thread, step.0);
    }

    /// Stores a step and reports it.
    pub(crate) fn show(&self, thread: &str, step: Step) {
        let message = self.store(thread, step.0);
        self.report(thread, message);
    }

    /// Somebody else posts a prompt.
    pub(crate) fn post(&self, thread: &str, prompt: &str) {
        let message = self.store_prompt(thread, prompt);
        self.report(thread, message);
    }

    /// Something in an answer waits for leave.
    pub(crate) fn ask(&self, thread: &str, ask: &str, answer: &str) -> Ask {
        let body = AskBody::Permission { permission: "bash".into(), patterns: Vec::new() };
        let id_of = AskId::new(ask).unwrap();
        let ask = Ask { id: id_of, thread: id(thread), message: Some(id(answer)), body };
        let mut state = self.state();
        state.talks.get_mut(&id::<ThreadId>(thread)).unwrap().asks.push(ask.clone());
        ask
    }

    async fn send<T>(&self, pass: Pass, store: impl FnOnce(&Self) -> T + Send) -> Dispatch<T> {
        let way = self.state().ways.pop_front().unwrap_or(Way::Taken);
        if !pass.is_open() {
            return Dispatch::NotSent(ReachError::Fenced { place: place() });
        }
        match way {
            Way::Taken => Dispatch::Sent(store(self)),
            Way::Refused => Dispatch::NotSent(unreachable()),
            Way::Lost => Dispatch::Uncertain(unreachable()),
            Way::StoredAndLost => {
                let _lost = store(self);
                Dispatch::Uncertain(unreachable())
            }
            Way::Withheld => {
                let stored = store(self);
                drop(pass);
                self.wait_for_release().await;
                Dispatch::Sent(stored)
            }
            Way::Stalled => {
                self.wait_for_release().await;
                match pass.is_open() {
                    true => Dispatch::Sent(store(self)),
                    false => Dispatch::NotSent(ReachError::Fenced { place: place() }),
                }
            }
        }
    }

    fn get<T>(&self, thread: &ThreadId, get: impl FnOnce(&Talk) -> T) -> Result<T, ReachError> {
        let state = self.state();
        state.talks.get(thread).map(get).ok_or(ReachError::NotFound { place: place() })
    }
}

pub(crate) fn seen(message: &Message) -> Seen {
    let evidence = Evidence::redacted(format!("{message:?}"));
    Seen { observation: Observation::Message(message.clone()), evidence: Some(evidence) }
}

#[derive(Debug)]
struct Listening(Fake, mpsc::UnboundedReceiver<Report>);

#[async_trait]
impl Reports for Listening {
    async fn next(&mut self) -> Option<Report> {
        self.1.recv().await
    }

    async fn settle(&mut self, thread: &ThreadId, ticket: Ticket) {
        self.0.state().counts.wishes += 1;
        self.0.state().tickets.insert(thread.clone(), ticket);
        let owner = self.0.get(thread, |talk| talk.owner).unwrap_or(Owner::Unknown);
        if owner != Owner::Unknown {
            self.0.tell(Report::Owner { thread: thread.clone(), owner, ticket });
        }
    }
}

#[async_trait]
impl Harness for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn mint(&self, _: UnixMillis, _: Option<&MessageId>) -> Option<MessageId> {
        let mut state = self.state();
        state.minted += 1;
        Some(id(&format!("minted-{}", state.minted)))
    }

    async fn probe(&self) -> Result<Provider, ReachError> {
        Ok(provider())
    }

    async fn subscribe(&self, _: Scope) -> Result<Box<dyn Reports>, ReachError> {
        let (sender, receiver) = mpsc::unbounded_channel();
        sender.send(Report::Connected(provider())).unwrap();
        self.state().listeners.push(sender);
        Ok(Box::new(Listening(self.clone(), receiver)))
    }

    async fn thread(&self, thread: &ThreadId) -> Result<ThreadInfo, ReachError> {
        self.get(thread, |talk| talk.info.clone())
    }

    async fn threads(&self, _: Option<&str>, limit: usize) -> Result<Vec<ThreadInfo>, ReachError> {
        Ok(self.state().talks.values().take(limit).map(|talk| talk.info.clone()).collect())
    }

    async fn children(&self, thread: &ThreadId) -> Result<Vec<ThreadInfo>, ReachError> {
        let state = self.state();
        let infos = state.talks.values().map(|talk| &talk.info);
        Ok(infos.filter(|info| info.parent.as_ref() == Some(thread)).cloned().collect())
    }

    async fn read_page(
        &self,
        thread: &ThreadId,
        before: Option<&Cursor>,
    ) -> Result<Page, ReachError> {
        let read = {
            let mut state = self.state();
            state.counts.pages += 1;
            state.reads.pop_front()
        };
        match read {
            Some(Read::Fails) => return Err(unreachable()),
            Some(Read::Hangs) => self.wait_for_release().await,
            None => {}
        }
        let size = self.state().page;
        self.get(thread, |talk| {
            let end = before.map_or(talk.messages.len(), |it| it.as_str().parse().unwrap());
            let start = end.saturating_sub(size);
            Page {
                seen: talk.messages[start..end].iter().map(seen).collect(),
                older: (start > 0).then(|| Cursor::new(start.to_string())),
                source: Source::Live,
            }
        })
    }

    async fn read_message(
        &self,
        thread: &ThreadId,
        message: &MessageId,
    ) -> Result<Option<Seen>, ReachError> {
        self.get(thread, |talk| talk.messages.iter().find(|it| it.id == *message).map(seen))
    }

    async fn owner(&self, thread: &ThreadId) -> Result<Owner, ReachError> {
        self.get(thread, |talk| talk.owner)
    }

    async fn create_thread(&self, new: &NewThread, pass: Pass) -> Dispatch<ThreadInfo> {
        self.state().counts.created += 1;
        self.send(pass, |fake| {
            let name = format!("made-{}", fake.state().talks.len());
            fake.talk(&name, None, new.title.as_deref());
            fake.get(&id(&name), |talk| talk.info.clone()).unwrap()
        })
        .await
    }

    async fn prompt(&self, prompt: &Prompt, pass: Pass) -> Dispatch {
        self.state().counts.prompts.push(prompt.text.to_string());
        self.send(pass, |fake| {
            fake.post(prompt.thread.as_str(), prompt.message.as_ref().unwrap().as_str());
        })
        .await
    }

    async fn abort(&self, _: &ThreadId, pass: Pass) -> Dispatch {
        self.state().counts.aborts += 1;
        self.send(pass, |_| ()).await
    }

    async fn asks(&self, thread: &ThreadId) -> Result<Vec<Ask>, ReachError> {
        self.get(thread, |talk| talk.asks.clone())
    }

    async fn answer(&self, ask: &Ask, _: &Reply, pass: Pass) -> Dispatch {
        self.state().counts.answers += 1;
        self.send(pass, |fake| {
            let mut state = fake.state();
            let talk = state.talks.get_mut(&ask.thread).unwrap();
            talk.asks.retain(|waiting| waiting.id != ask.id);
        })
        .await
    }
}
