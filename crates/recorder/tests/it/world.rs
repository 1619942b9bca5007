//! A store that fails when it is told to, a folder of locks, an agent, and what a test reads.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use harness::{PromptMode, Scope};
use receipts::{
    Completion, ExecId, Fact, FactBody, IdError, RequestId, SessionId, Status, ThreadId, TurnId,
    UnixMillis, Usage,
};
use recorder::{Adopt, Depth, Drive, Follow, Following, LiveEvent, Locks, Recorder, Request, Told};
use store::{
    Access as _, Event, EventBody, HarnessName, Intent, Labels, LedgerWrite, MemoryStore, NewExec,
    NewSession, Provider, ReadWork, Result, Seq, Store, StoreError, TurnReport, WriteWork, Writer,
};
use tempfile::TempDir;

use crate::fake::Fake;

/// The longest time that the bytes of one send may take.
pub(crate) const DISPATCH: Duration = Duration::from_secs(10);
/// The conversation of most tests.
pub(crate) const TALK: &str = "talk";

pub(crate) fn id<T: TryFrom<String, Error = IdError>>(text: &str) -> T {
    T::try_from(text.to_owned()).unwrap()
}

#[derive(Debug, thiserror::Error)]
#[error("as scripted")]
struct Scripted;

/// How a write ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Write {
    Succeeds,
    Fails,
    /// It is stored, and nobody learns so.
    IsStoredUnknown,
    /// It is not stored, and nobody learns so.
    IsNotStoredUnknown,
    /// This process has died: it writes nothing any more.
    Dead,
}

/// A store whose next writes end as the test says.
#[derive(Debug, Clone)]
pub(crate) struct Flaky {
    memory: MemoryStore,
    writes: Arc<Mutex<VecDeque<Write>>>,
}

impl Flaky {
    fn next(&self) -> Write {
        let mut writes = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
        match writes.front() {
            Some(Write::Dead) => Write::Dead,
            Some(_) | None => writes.pop_front().unwrap_or(Write::Succeeds),
        }
    }
}

fn dead() -> StoreError {
    StoreError::Corrupt { what: "the process has died".to_owned(), place: "test".to_owned() }
}

impl Store for Flaky {
    fn read(&self, work: &mut ReadWork<'_>) -> Result<()> {
        self.memory.read(work)
    }

    fn write(&self, work: &mut WriteWork<'_>) -> Result<()> {
        match self.next() {
            Write::Succeeds => self.memory.write(work),
            Write::Fails => Err(StoreError::unavailable(Scripted)),
            Write::IsStoredUnknown => {
                self.memory.write(work)?;
                Err(StoreError::outcome_unknown(Scripted))
            }
            Write::IsNotStoredUnknown => Err(StoreError::outcome_unknown(Scripted)),
            Write::Dead => Err(dead()),
        }
    }
}

pub(crate) struct World {
    pub(crate) fake: Fake,
    pub(crate) memory: MemoryStore,
    locks: Arc<TempDir>,
}

/// One process: its own writer on the store that all share.
pub(crate) struct Process {
    pub(crate) recorder: Recorder,
    writes: Arc<Mutex<VecDeque<Write>>>,
}

impl Process {
    /// The next writes end like this, those after them succeed.
    pub(crate) fn writes_go(&self, writes: impl IntoIterator<Item = Write>) {
        self.writes.lock().unwrap().extend(writes);
    }

    pub(crate) async fn claim(&self) -> Drive {
        let session = id(TALK);
        let current = self.recorder.writer().view(|ledger| ledger.session(&session)).unwrap();
        let driver = current.unwrap().driver;
        self.recorder.claim(&session, driver, Provider::Replace).await.unwrap()
    }

    pub(crate) async fn follow(&self, depth: Depth) -> Following {
        let scope = Scope::Thread(id(TALK));
        self.recorder.follow(Follow { scope, adopt: Adopt::Known, depth }).await.unwrap()
    }

    pub(crate) async fn follow_all(&self, adopt: Adopt) -> Following {
        let what = Follow { scope: Scope::Everything, adopt, depth: Depth::Open };
        self.recorder.follow(what).await.unwrap()
    }
}

impl World {
    /// A session with the conversation [`TALK`].
    pub(crate) fn new() -> Self {
        let world = Self::without_talk();
        world.fake.talk(TALK, None, None);
        world.write(|ledger| ledger.attach_thread(&id(TALK), &id(TALK)));
        world
    }

    /// A session that has no conversation yet.
    pub(crate) fn without_talk() -> Self {
        Self::of(Fake::new())
    }

    /// Another, empty store beside the same agent.
    pub(crate) fn of(fake: Fake) -> Self {
        let (memory, locks) = (MemoryStore::new(), Arc::new(tempfile::tempdir().unwrap()));
        let world = Self { fake, memory, locks };
        let session = NewSession {
            id: id(TALK),
            harness: HarnessName::new("fake").unwrap(),
            created_at: UnixMillis(0),
            workdir: None,
            title: None,
            labels: Labels::none(),
        };
        world.write(move |ledger| ledger.create_session(&session).map(drop));
        world
    }

    pub(crate) fn write<T>(&self, work: impl FnOnce(&mut dyn LedgerWrite) -> Result<T>) -> T {
        self.memory.update(work).unwrap()
    }

    pub(crate) fn process(&self, exec: &str) -> Process {
        let exec: ExecId = id(exec);
        let new = NewExec {
            id: exec.clone(),
            parent: None,
            argv: Vec::new(),
            cwd: None,
            started_at: UnixMillis(0),
        };
        self.write(|ledger| ledger.start_exec(&new));
        let writes = Arc::default();
        let store = Flaky { memory: self.memory.clone(), writes: Arc::clone(&writes) };
        let locks = Locks::new(self.locks.path(), Duration::from_secs(60));
        let writer = Writer::new(Arc::new(store));
        let harness = Arc::new(self.fake.clone());
        Process { recorder: Recorder::new(writer, harness, locks, exec, DISPATCH), writes }
    }

    pub(crate) fn intent(&self, request: &str) -> Option<Intent> {
        self.memory.view(|ledger| ledger.intent(&id(request))).unwrap()
    }

    /// The native id of a request.
    pub(crate) fn turn_of(&self, request: &str) -> String {
        self.intent(request).unwrap().turn.unwrap().as_str().to_owned()
    }

    pub(crate) fn turn(&self, turn: &str) -> Option<TurnReport> {
        self.memory.view(|ledger| ledger.turn(&id(TALK), &id(TALK), &id(turn))).unwrap()
    }

    pub(crate) fn status(&self, turn: &str) -> Option<Status> {
        self.turn(turn).map(|report| report.status)
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.memory.view(|ledger| ledger.events(&id(TALK), Seq::START, usize::MAX)).unwrap()
    }

    /// Gives what was recorded, as `kind turn`, in order.
    pub(crate) fn log(&self) -> Vec<String> {
        let line = |event: Event| {
            let turn = event.turn.map_or(String::new(), |turn| format!(" {turn}"));
            format!("{}{turn}", event.body.kind())
        };
        self.events().into_iter().map(line).collect()
    }

    /// Gives every event, in an order that does not depend on who came first.
    pub(crate) fn set(&self) -> Vec<(Option<TurnId>, String, EventBody)> {
        let mut all: Vec<_> = self
            .events()
            .into_iter()
            .map(|event| (event.turn, format!("{:?}", event.body), event.body))
            .collect();
        all.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
        all
    }

    /// Gives how each turn stands, without the sequence numbers.
    pub(crate) fn turns(&self) -> Vec<Stand> {
        let turns = self.memory.view(|ledger| ledger.turns(&id(TALK))).unwrap();
        let mut stands: Vec<Stand> = turns
            .into_iter()
            .map(|turn| Stand {
                thread: turn.thread,
                turn: turn.turn,
                request: turn.request,
                exec: turn.origin.map(|origin| origin.exec),
                status: turn.status,
                started_at: turn.started_at,
                completion: turn.completion,
                usage: turn.usage,
                children: turn.children,
                contradictions: turn.contradictions,
            })
            .collect();
        stands.sort_by(|a, b| (&a.thread, &a.turn).cmp(&(&b.thread, &b.turn)));
        stands
    }
}

/// How a turn stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stand {
    pub(crate) thread: ThreadId,
    pub(crate) turn: TurnId,
    pub(crate) request: Option<RequestId>,
    pub(crate) exec: Option<ExecId>,
    pub(crate) status: Status,
    pub(crate) started_at: Option<UnixMillis>,
    pub(crate) completion: Option<Completion>,
    pub(crate) usage: Option<Usage>,
    pub(crate) children: Vec<ThreadId>,
    pub(crate) contradictions: u64,
}

pub(crate) fn request(name: &str) -> Request {
    request_in(name, PromptMode::Turn)
}

pub(crate) fn request_in(name: &str, mode: PromptMode) -> Request {
    Request {
        id: id(name),
        text: name.into(),
        mode,
        agent: None,
        model: None,
        labels: Labels::none(),
        input: None,
    }
}

/// Listens until something is told, and gives all that was told with it as the last.
pub(crate) async fn until(following: &mut Following, is_it: impl Fn(&Told) -> bool) -> Vec<Told> {
    let mut all = Vec::new();
    loop {
        let told = following.next().await.expect("it is told before the end");
        let is_last = is_it(&told);
        all.push(told);
        if is_last {
            return all;
        }
    }
}

pub(crate) async fn caught_up(following: &mut Following) -> Vec<Told> {
    until(following, |told| matches!(told, Told::CaughtUp)).await
}

/// Listens until a turn's end is durable, whoever's it is.
pub(crate) async fn ended(following: &mut Following, turn: &str) -> Vec<Told> {
    let is_end = |told: &Told| matches!(told, Told::Recorded { facts, .. } if facts.iter().any(|fact| ends(fact, turn)));
    until(following, is_end).await
}

fn ends(fact: &Fact, turn: &str) -> bool {
    fact.turn.as_str() == turn && matches!(fact.body, FactBody::Completed(_))
}

/// Gives what was announced, in words.
pub(crate) fn announced(told: &[Told]) -> Vec<String> {
    let word = |told: &Told| {
        let Told::Turn { event, .. } = told else { return None };
        Some(match event {
            LiveEvent::TurnStarted { turn } => format!("{turn} started"),
            LiveEvent::Error { turn, failure } => {
                let name = failure.as_ref().map_or("nothing", |failure| &failure.name);
                format!("{turn} failed with {name}")
            }
            LiveEvent::TurnCompleted { turn, status } => format!("{turn} {status}"),
        })
    };
    told.iter().filter_map(word).collect()
}

pub(crate) fn session() -> SessionId {
    id(TALK)
}
