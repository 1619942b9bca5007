//! How do many writers share one commit? Group commit, above every backend.

use std::{
    any::Any,
    collections::VecDeque,
    fmt,
    ops::ControlFlow,
    panic::{self, AssertUnwindSafe},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use crate::{
    error::StoreError,
    ledger::{Access as _, Ledger, LedgerWrite, Result, Store},
};

/// How many works are taken together, and how many may wait for it.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Works in one commit.
    group: usize,
    /// Works that wait; who comes then waits for room.
    queue: usize,
}

impl Limits {
    const USUAL: Self = Self { group: 256, queue: 1024 };
}

/// Writes for many threads at once, with one commit for all that came together.
///
/// A clone writes to the same store. There is no thread behind it: who finds nobody at work commits
/// in its own thread, so that a lone caller pays for no hand-over; who comes while another commits
/// waits, and is committed with all others that came meanwhile.
///
/// Works are independent of each other: one that fails leaves no trace, and the others go on.
#[derive(Clone)]
pub struct Writer {
    shared: Arc<Shared>,
}

struct Shared {
    store: Arc<dyn Store>,
    limits: Limits,
    queue: Mutex<Queue>,
    /// Told when works were taken from a full queue.
    room: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Job>,
    leader: Leader,
    /// How many works the last commit had.
    last: usize,
}

#[derive(Default, PartialEq, Eq)]
enum Leader {
    /// Nobody commits, and nothing waits.
    #[default]
    Nobody,
    /// The caller of some work commits, or is about to.
    Somebody,
}

type Work = Box<dyn FnMut(&mut dyn LedgerWrite) -> Result<()> + Send>;

/// A work that waits, with the caller who waits for it.
struct Job {
    work: Work,
    ticket: Arc<Ticket>,
}

/// What the caller of a work waits for.
struct Ticket {
    progress: Mutex<Progress>,
    changed: Condvar,
}

enum Progress {
    Waiting,
    /// Nobody commits any more: this caller is next.
    Lead,
    Ended(End),
}

/// How a work ended.
enum End {
    Done(Result<()>),
    /// It panicked, in whichever thread ran it; its own caller goes on with the panic.
    Panicked(Box<dyn Any + Send>),
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("store", &self.shared.store).finish_non_exhaustive()
    }
}

impl Writer {
    /// Makes the one writer of a store in this process.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self::with_limits(store, Limits::USUAL)
    }

    fn with_limits(store: Arc<dyn Store>, limits: Limits) -> Self {
        let queue = Mutex::new(Queue::default());
        Self { shared: Arc::new(Shared { store, limits, queue, room: Condvar::new() }) }
    }

    /// Reads a value from one state; never waits for a writer.
    ///
    /// # Errors
    ///
    /// As [`Store::read`].
    pub fn view<T>(&self, work: impl FnOnce(&dyn Ledger) -> Result<T>) -> Result<T> {
        self.shared.store.view(work)
    }

    /// Writes, and gives the value once it is durable. Blocks until then.
    ///
    /// The work runs in a transaction with others, in the thread of any caller, and may be run more
    /// than once: only its last run counts. It must not call the writer itself.
    ///
    /// # Errors
    ///
    /// What the work gives; then nothing of it was written. Else as [`Store::write`], for each work
    /// whose commit failed.
    ///
    /// # Panics
    ///
    /// When the work does; the works of others go on without it.
    pub fn update<T: Send + 'static>(
        &self,
        mut work: impl FnMut(&mut dyn LedgerWrite) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let value = Arc::new(Mutex::new(None));
        let filled = Arc::clone(&value);
        let work: Work = Box::new(move |ledger| {
            let value = work(ledger)?;
            *lock(&filled) = Some(value);
            Ok(())
        });
        match self.shared.run(work) {
            End::Done(result) => result?,
            End::Panicked(payload) => panic::resume_unwind(payload),
        }
        let value = lock(&value).take();
        Ok(value.expect("a work that succeeded has left its value"))
    }
}

/// Whoever panicked held the lock for a step that is whole in itself.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn run(&self, work: Work) -> End {
        let ticket =
            Arc::new(Ticket { progress: Mutex::new(Progress::Waiting), changed: Condvar::new() });
        self.enqueue(Job { work, ticket: Arc::clone(&ticket) });
        loop {
            match ticket.wait() {
                Progress::Ended(end) => return end,
                Progress::Lead => self.lead(),
                Progress::Waiting => {}
            }
        }
    }

    fn enqueue(&self, job: Job) {
        let mut queue = self
            .room
            .wait_while(lock(&self.queue), |queue| queue.waiting.len() >= self.limits.queue)
            .unwrap_or_else(PoisonError::into_inner);
        if queue.leader == Leader::Nobody {
            queue.leader = Leader::Somebody;
            job.ticket.tell(Progress::Lead);
        }
        queue.waiting.push_back(job);
    }

    /// Lets those go first who were in the last commit and come again at once: else whoever is woken
    /// first commits alone, and all others wait for that. Nobody waits for more than those who are
    /// about to run anyway.
    fn gather(&self) {
        let mut before = 0;
        loop {
            let (waiting, last) = {
                let queue = lock(&self.queue);
                (queue.waiting.len(), queue.last.min(self.limits.group))
            };
            if waiting >= last || waiting == before {
                return;
            }
            before = waiting;
            std::thread::yield_now();
        }
    }

    /// Commits what waits, and hands on to the first of those who came meanwhile.
    ///
    /// The leader's own work is the first in the queue, so that each leads once.
    fn lead(&self) {
        self.gather();
        let group: Vec<Job> = {
            let mut queue = lock(&self.queue);
            let taken = queue.waiting.len().min(self.limits.group);
            queue.last = taken;
            queue.waiting.drain(..taken).collect()
        };
        self.room.notify_all();
        let mut group = Group::new(group);
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| group.commit(&*self.store)));
        group.acknowledge();
        let mut queue = lock(&self.queue);
        match queue.waiting.front() {
            Some(next) => next.ticket.tell(Progress::Lead),
            None => queue.leader = Leader::Nobody,
        }
        drop(queue);
        if let Err(payload) = outcome {
            panic::resume_unwind(payload);
        }
    }
}

impl Ticket {
    fn wait(&self) -> Progress {
        let mut progress = self
            .changed
            .wait_while(lock(&self.progress), |progress| matches!(progress, Progress::Waiting))
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *progress, Progress::Waiting)
    }

    fn tell(&self, progress: Progress) {
        *lock(&self.progress) = progress;
        self.changed.notify_one();
    }
}

/// Works that share a transaction.
struct Group {
    members: Vec<Member>,
}

struct Member {
    work: Work,
    ticket: Arc<Ticket>,
    verdict: Verdict,
}

/// What is known of a work in a group.
enum Verdict {
    /// It is part of the next transaction.
    Joins,
    /// It ran, and what it found stands or falls with the commit.
    Ran(Result<()>),
    /// It failed after others had written: its error may be due to what they wrote. It is run again
    /// by itself, on what becomes of them.
    RunsAlone,
    /// Nothing changes it any more.
    Ended(End),
}

/// Undoes a transaction in which one work failed.
#[derive(Debug, thiserror::Error)]
#[error("one work of the group failed")]
struct Undone;

/// The store panicked, or gave an answer without having run its work.
#[derive(Debug, thiserror::Error)]
#[error("the store broke off")]
struct BrokenOff;

impl Group {
    fn new(jobs: Vec<Job>) -> Self {
        let member = |Job { work, ticket }| Member { work, ticket, verdict: Verdict::Joins };
        Self { members: jobs.into_iter().map(member).collect() }
    }

    fn commit(&mut self, store: &dyn Store) {
        // A transaction that is undone has put one member out of the group.
        while self.joins() && self.try_commit(store).is_break() {}
        for member in &mut self.members {
            if matches!(member.verdict, Verdict::RunsAlone) {
                member.run_alone(store);
            }
        }
    }

    fn joins(&self) -> bool {
        self.members.iter().any(|member| matches!(member.verdict, Verdict::Joins))
    }

    /// Runs the members in one transaction; breaks when it was undone.
    fn try_commit(&mut self, store: &dyn Store) -> ControlFlow<()> {
        let mut is_undone = false;
        let result = store.write(&mut |ledger| {
            is_undone = false;
            for member in &mut self.members {
                // A backend may run a transaction again.
                if matches!(member.verdict, Verdict::Joins | Verdict::Ran(_)) {
                    member.verdict = Verdict::Joins;
                    if member.join(ledger).is_break() {
                        is_undone = true;
                        return Err(StoreError::unavailable(Undone));
                    }
                }
            }
            Ok(())
        });
        let commit = (!is_undone).then_some(&result);
        self.members.iter_mut().for_each(|member| member.settle(commit));
        if is_undone { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Tells every caller how its work ended, also where a panic of the store kept that open.
    fn acknowledge(self) {
        for member in self.members {
            member.ticket.tell(Progress::Ended(match member.verdict {
                Verdict::Ended(end) => end,
                Verdict::Joins | Verdict::Ran(_) | Verdict::RunsAlone => {
                    End::Done(Err(StoreError::outcome_unknown(BrokenOff)))
                }
            }));
        }
    }
}

impl Member {
    /// Runs the work among those of others; breaks when the transaction must be undone.
    fn join(&mut self, ledger: &mut dyn LedgerWrite) -> ControlFlow<()> {
        let before = ledger.writes();
        match run(&mut self.work, ledger) {
            End::Panicked(payload) => {
                self.verdict = Verdict::Ended(End::Panicked(payload));
                ControlFlow::Break(())
            }
            End::Done(Err(error)) if ledger.writes() != before || is_of_engine(&error) => {
                self.verdict = match before {
                    0 => Verdict::Ended(End::Done(Err(error))),
                    _ => Verdict::RunsAlone,
                };
                ControlFlow::Break(())
            }
            End::Done(result) => {
                self.verdict = match ledger.writes() {
                    0 => Verdict::Ended(End::Done(result)),
                    _ => Verdict::Ran(result),
                };
                ControlFlow::Continue(())
            }
        }
    }

    fn run_alone(&mut self, store: &dyn Store) {
        let mut panicked = None;
        let result = store.write(&mut |ledger| match run(&mut self.work, ledger) {
            End::Done(result) => result,
            End::Panicked(payload) => {
                panicked = Some(payload);
                Err(StoreError::unavailable(Undone))
            }
        });
        self.verdict = Verdict::Ended(panicked.map_or(End::Done(result), End::Panicked));
    }

    /// Notes how the transaction that the work was in ended; `None` when it was undone.
    fn settle(&mut self, commit: Option<&Result<()>>) {
        let verdict = std::mem::replace(&mut self.verdict, Verdict::Joins);
        self.verdict = match (verdict, commit) {
            (Verdict::Joins | Verdict::Ran(_), None) => Verdict::Joins,
            (Verdict::Ran(ran), Some(Ok(()))) => Verdict::Ended(End::Done(ran)),
            (Verdict::Joins | Verdict::Ran(_), Some(Err(error))) => {
                Verdict::Ended(End::Done(Err(error.clone())))
            }
            (verdict @ (Verdict::Joins | Verdict::RunsAlone | Verdict::Ended(_)), _) => verdict,
        };
    }
}

fn run(work: &mut Work, ledger: &mut dyn LedgerWrite) -> End {
    // What a panicking work leaves behind is undone with its transaction.
    match panic::catch_unwind(AssertUnwindSafe(|| work(ledger))) {
        Ok(result) => End::Done(result),
        Err(payload) => End::Panicked(payload),
    }
}

/// After an error of the engine nothing in its transaction can be relied on.
fn is_of_engine(error: &StoreError) -> bool {
    match error {
        StoreError::Unavailable { .. }
        | StoreError::OutcomeUnknown { .. }
        | StoreError::Corrupt { .. } => true,
        StoreError::Stale { .. }
        | StoreError::Conflict { .. }
        | StoreError::Refused { .. }
        | StoreError::NotFound { .. }
        | StoreError::TooNew { .. }
        | StoreError::Foreign { .. }
        | StoreError::TooLarge { .. } => false,
    }
}

#[cfg(test)]
mod tests;
