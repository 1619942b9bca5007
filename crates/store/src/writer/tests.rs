//! What do callers see who write at the same time?

use std::{
    panic::{self, AssertUnwindSafe},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, Receiver, Sender},
    },
    thread,
};

use receipts::{SessionId, UnixMillis};

use super::{Limits, Writer, lock};
use crate::{
    Access as _, HarnessName, Labels, LedgerWrite, MemoryStore, NewSession, ReadWork, Result, Seq,
    Store, StoreError, WriteWork,
};

#[derive(Debug, thiserror::Error)]
#[error("the disk is full")]
struct Full;

/// How the next commit goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Commit {
    Succeeds,
    Fails,
    IsUnknown,
    Panics,
}

/// A store whose first transaction waits for the test, and whose commits go as the test says.
#[derive(Debug)]
struct Staged {
    memory: MemoryStore,
    transactions: AtomicUsize,
    begun: Mutex<Sender<()>>,
    go_on: Mutex<Receiver<()>>,
    /// Of the transactions after the first.
    commit: Mutex<Commit>,
}

struct Stage {
    store: Arc<Staged>,
    writer: Writer,
    begun: Receiver<()>,
    go_on: Sender<()>,
}

fn stage(limits: Limits) -> Stage {
    let (begun_in, begun) = mpsc::channel();
    let (go_on, go_on_out) = mpsc::channel();
    let store = Arc::new(Staged {
        memory: MemoryStore::new(),
        transactions: AtomicUsize::new(0),
        begun: Mutex::new(begun_in),
        go_on: Mutex::new(go_on_out),
        commit: Mutex::new(Commit::Succeeds),
    });
    let writer = Writer::with_limits(Arc::<Staged>::clone(&store), limits);
    Stage { store, writer, begun, go_on }
}

impl Store for Staged {
    fn read(&self, work: &mut ReadWork<'_>) -> Result<()> {
        self.memory.read(work)
    }

    fn write(&self, work: &mut WriteWork<'_>) -> Result<()> {
        if self.transactions.fetch_add(1, Ordering::SeqCst) == 0 {
            lock(&self.begun).send(()).unwrap();
            lock(&self.go_on).recv().unwrap();
            return self.memory.write(work);
        }
        let commit = *lock(&self.commit);
        self.memory.write(&mut |ledger| {
            work(ledger)?;
            match commit {
                Commit::Succeeds => Ok(()),
                Commit::Fails => Err(StoreError::unavailable(Full)),
                Commit::IsUnknown => Err(StoreError::outcome_unknown(Full)),
                Commit::Panics => panic!("the engine broke"),
            }
        })
    }
}

impl Stage {
    /// Lets one caller commit, queues the works behind it in order, and gives what each got.
    fn run<const N: usize>(self, works: [Work; N]) -> ([Outcome; N], Arc<Staged>) {
        let first = self.writer.clone();
        let first = thread::spawn(move || first.update(|ledger| create(ledger, "first")));
        self.begun.recv().unwrap();
        let mut queued = 0;
        let callers = works.map(|mut work| {
            let writer = self.writer.clone();
            let caller = thread::spawn(move || {
                panic::catch_unwind(AssertUnwindSafe(|| writer.update(move |l| work(l))))
            });
            queued += 1;
            wait_for(&self.writer, queued);
            caller
        });
        self.go_on.send(()).unwrap();
        first.join().unwrap().unwrap();
        let outcomes = callers.map(|caller| match caller.join().unwrap() {
            Ok(Ok(())) => Outcome::Written,
            Ok(Err(StoreError::NotFound { .. })) => Outcome::NotFound,
            Ok(Err(StoreError::Unavailable { .. })) => Outcome::Unavailable,
            Ok(Err(StoreError::OutcomeUnknown { .. })) => Outcome::Unknown,
            Ok(Err(other)) => panic!("unexpected: {other}"),
            Err(_) => Outcome::Panicked,
        });
        (outcomes, self.store)
    }
}

type Work = Box<dyn FnMut(&mut dyn LedgerWrite) -> Result<()> + Send>;

#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Written,
    NotFound,
    Unavailable,
    Unknown,
    Panicked,
}

/// Waits until so many works are queued; nothing can take them away meanwhile.
fn wait_for(writer: &Writer, waiting: usize) {
    while lock(&writer.shared.queue).waiting.len() < waiting {
        thread::yield_now();
    }
}

fn id(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

fn create(ledger: &mut dyn LedgerWrite, name: &str) -> Result<()> {
    ledger.create_session(&NewSession {
        id: id(name),
        harness: HarnessName::new("opencode").unwrap(),
        created_at: UnixMillis(0),
        workdir: None,
        title: None,
        labels: Labels::none(),
    })?;
    Ok(())
}

fn creates(name: &'static str) -> Work {
    Box::new(move |ledger| create(ledger, name))
}

/// Fails without having written.
fn is_refused() -> Work {
    Box::new(|ledger| ledger.close_session(&id("nobody"), UnixMillis(0)))
}

/// Fails after it wrote.
fn fails_late(name: &'static str) -> Work {
    Box::new(move |ledger| {
        create(ledger, name)?;
        ledger.close_session(&id("nobody"), UnixMillis(0))
    })
}

fn panics(name: &'static str) -> Work {
    Box::new(move |ledger| {
        create(ledger, name)?;
        panic!("a work panics")
    })
}

fn sessions(store: &Staged) -> Vec<String> {
    let sessions = store.memory.view(|ledger| ledger.sessions(None, 100)).unwrap();
    sessions.iter().map(|session| session.id().as_str().to_owned()).collect()
}

fn commits(store: &Staged) -> usize {
    store.transactions.load(Ordering::SeqCst)
}

/// Who comes while another commits is committed with all others that came meanwhile.
#[test]
fn works_that_wait_share_one_commit() {
    let (outcomes, store) =
        stage(Limits::USUAL).run([creates("a"), creates("b"), creates("c"), creates("d")]);
    assert_eq!(outcomes, [const { Outcome::Written }; 4]);
    assert_eq!(sessions(&store), ["first", "a", "b", "c", "d"]);
    assert_eq!(commits(&store), 2);
}

#[test]
fn a_refused_work_leaves_no_trace_in_its_group() {
    let (outcomes, store) = stage(Limits::USUAL).run([creates("a"), is_refused(), creates("b")]);
    assert_eq!(outcomes, [Outcome::Written, Outcome::NotFound, Outcome::Written]);
    assert_eq!(sessions(&store), ["first", "a", "b"]);
    assert_eq!(commits(&store), 2);
}

/// The group is undone, run again without the work, and the work by itself.
#[test]
fn a_work_that_fails_after_it_wrote_is_taken_out_of_its_group() {
    let (outcomes, store) =
        stage(Limits::USUAL).run([creates("a"), fails_late("late"), creates("b")]);
    assert_eq!(outcomes, [Outcome::Written, Outcome::NotFound, Outcome::Written]);
    assert_eq!(sessions(&store), ["first", "a", "b"]);
    assert_eq!(commits(&store), 4);
}

/// What it failed on was never committed: it may be true no more.
#[test]
fn an_error_that_came_from_a_neighbour_is_found_anew() {
    let closes: Work = Box::new(|ledger| {
        create(ledger, "b")?;
        match ledger.session(&id("late"))? {
            Some(_) => ledger.close_session(&id("nobody"), UnixMillis(0)),
            None => Ok(()),
        }
    });
    let (outcomes, store) = stage(Limits::USUAL).run([creates("a"), fails_late("late"), closes]);
    assert_eq!(outcomes, [Outcome::Written, Outcome::NotFound, Outcome::Written]);
    assert_eq!(sessions(&store), ["first", "a", "b"]);
}

#[test]
fn a_failed_commit_fails_all_of_its_group() {
    for (commit, outcome) in
        [(Commit::Fails, Outcome::Unavailable), (Commit::IsUnknown, Outcome::Unknown)]
    {
        let stage = stage(Limits::USUAL);
        *lock(&stage.store.commit) = commit;
        let (outcomes, store) = stage.run([is_refused(), creates("a"), creates("b"), is_refused()]);
        // The first saw nothing of the others, so that its answer holds; the last may have.
        let [first, rest @ ..] = outcomes;
        assert_eq!(first, Outcome::NotFound);
        assert!(rest.iter().all(|each| *each == outcome), "{rest:?}");
        assert_eq!(sessions(&store), ["first"]);
    }
}

#[test]
fn a_panic_of_one_work_reaches_its_caller_alone() {
    let (outcomes, store) = stage(Limits::USUAL).run([creates("a"), panics("p"), creates("b")]);
    assert_eq!(outcomes, [Outcome::Written, Outcome::Panicked, Outcome::Written]);
    assert_eq!(sessions(&store), ["first", "a", "b"]);
}

/// The leader learns of the panic itself, the others that nobody knows what was written.
#[test]
fn a_panic_of_the_store_wedges_nobody() {
    let stage = stage(Limits { group: 2, queue: 8 });
    *lock(&stage.store.commit) = Commit::Panics;
    let writer = stage.writer.clone();
    let (outcomes, store) = stage.run([creates("a"), creates("b"), creates("c")]);
    assert_eq!(outcomes, [Outcome::Panicked, Outcome::Unknown, Outcome::Panicked]);
    *lock(&store.commit) = Commit::Succeeds;
    writer.update(|ledger| create(ledger, "later")).unwrap();
    assert_eq!(sessions(&store), ["first", "later"]);
}

#[test]
fn a_group_is_bounded() {
    let (outcomes, store) = stage(Limits { group: 2, queue: 8 }).run([
        creates("a"),
        creates("b"),
        creates("c"),
        creates("d"),
        creates("e"),
    ]);
    assert_eq!(outcomes, [const { Outcome::Written }; 5]);
    assert_eq!(commits(&store), 1 + 3);
}

/// Who finds the queue full waits for room, and is served all the same.
#[test]
fn a_full_queue_holds_its_callers_back() {
    let stage = stage(Limits { group: 2, queue: 2 });
    let longest = Arc::new(AtomicUsize::new(0));
    let update = |name: String| {
        let (writer, longest) = (stage.writer.clone(), Arc::clone(&longest));
        thread::spawn(move || {
            let queue = Arc::clone(&writer.shared);
            writer.update(move |ledger| {
                longest.fetch_max(lock(&queue.queue).waiting.len(), Ordering::SeqCst);
                create(ledger, &name)
            })
        })
    };
    let mut callers = vec![update("first".to_owned())];
    stage.begun.recv().unwrap();
    callers.extend((0..16).map(|number| update(number.to_string())));
    wait_for(&stage.writer, 2);
    stage.go_on.send(()).unwrap();
    for caller in callers {
        caller.join().unwrap().unwrap();
    }
    assert_eq!(sessions(&stage.store).len(), 17);
    assert!(longest.load(Ordering::SeqCst) <= 2);
}

#[test]
fn a_lone_caller_commits_in_its_own_thread() {
    let writer = Writer::new(Arc::new(MemoryStore::new()));
    let ran_in = writer
        .update(|ledger| {
            create(ledger, "a")?;
            Ok(thread::current().id())
        })
        .unwrap();
    assert_eq!(ran_in, thread::current().id());
    let seen = writer.view(|ledger| ledger.events(&id("a"), Seq::START, 10)).unwrap();
    assert_eq!(seen, []);
}
