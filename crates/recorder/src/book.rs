//! Which observations belong to which session, and are they durable yet? One thread writes.

use std::collections::{BTreeMap, BTreeSet};

use harness::{Seen, ThreadInfo};
use receipts::{ExecId, Observation, Owner, SessionId, ThreadId, UnixMillis};
use store::{HarnessName, Labels, NewSession, StoreError, Writer};
use tokio::{runtime::Handle, sync::mpsc, time::Duration};

use crate::{
    clock,
    follow::Told,
    thread::{RecordError, Recording, ThreadRecorder},
};

/// How many observations become durable together at most.
const BATCH: usize = 512;
/// How long to wait before the store is asked again, at first and at most.
const BACKOFF_MIN: Duration = Duration::from_millis(20);
const BACKOFF_MAX: Duration = Duration::from_secs(2);
/// How often the store is asked again once nothing more comes.
const LAST_ATTEMPTS: u32 = 5;

/// Which conversations are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Adopt {
    /// Those of sessions in the ledger, and those that they start.
    Known,
    /// All: a session is made for one that belongs to none, named by the harness's id of it.
    All,
}

/// What is told to the book.
#[derive(Debug)]
pub(crate) enum Noted {
    /// What a conversation is; told before anything else of it.
    Thread(ThreadInfo),
    /// Something was seen in it.
    Seen { thread: ThreadId, seen: Vec<Seen> },
    /// What is known of its run.
    Owner { thread: ThreadId, owner: Owner },
    /// The same for all conversations.
    Owners(Owner),
    /// All that was there when the stream stood has been noted.
    CaughtUp,
}

impl Noted {
    /// Tells whether it says how what was noted before stands.
    fn judges(&self) -> bool {
        match self {
            Self::Owner { owner, .. } | Self::Owners(owner) => {
                matches!(owner, Owner::Idle | Owner::Dead)
            }
            Self::Thread(_) | Self::Seen { .. } | Self::CaughtUp => false,
        }
    }
}

/// The recorders of many threads.
#[derive(Debug)]
pub(crate) struct Book {
    writer: Writer,
    harness: HarnessName,
    exec: Option<ExecId>,
    adopt: Adopt,
    infos: BTreeMap<ThreadId, ThreadInfo>,
    threads: BTreeMap<ThreadId, ThreadRecorder>,
    /// What was seen of threads whose session is not known yet, in order.
    homeless: BTreeMap<ThreadId, Vec<Seen>>,
    /// Threads with something new.
    touched: BTreeSet<ThreadId>,
    /// The process behind all threads is proven gone, and the ledger does not say so yet.
    is_exited: bool,
    /// What is told once all that was taken is durable.
    then: Option<Told>,
    told: mpsc::Sender<Told>,
}

impl Book {
    pub(crate) fn new(
        writer: Writer,
        harness: HarnessName,
        (exec, adopt): (Option<ExecId>, Adopt),
        told: mpsc::Sender<Told>,
    ) -> Self {
        Self {
            writer,
            harness,
            exec,
            adopt,
            infos: BTreeMap::new(),
            threads: BTreeMap::new(),
            homeless: BTreeMap::new(),
            touched: BTreeSet::new(),
            is_exited: false,
            then: None,
            told,
        }
    }

    /// Records what is noted until nobody can note anything more; blocks its thread.
    ///
    /// While the store is unavailable nothing is taken, so that whoever notes has to wait.
    pub(crate) fn run(mut self, mut inbox: mpsc::Receiver<Noted>, runtime: &Handle) {
        while let Some(noted) = inbox.blocking_recv() {
            let mut is_judged = noted.judges();
            self.take(noted);
            for _ in 1..BATCH {
                // What is said of runs is true of what was noted before, and of nothing after it.
                if is_judged {
                    break;
                }
                let Ok(noted) = inbox.try_recv() else { break };
                is_judged = noted.judges();
                self.take(noted);
            }
            self.persist(&inbox, runtime);
        }
    }

    fn persist(&mut self, inbox: &mpsc::Receiver<Noted>, runtime: &Handle) {
        let (mut backoff, mut attempts) = (BACKOFF_MIN, 0);
        while let Err(error) = self.flush(clock::now()) {
            self.tell(Told::Unrecorded(error));
            if inbox.is_closed() {
                attempts += 1;
            }
            if attempts >= LAST_ATTEMPTS {
                break;
            }
            runtime.block_on(tokio::time::sleep(backoff));
            backoff = (backoff * 2).min(BACKOFF_MAX);
        }
    }

    /// Takes what is noted; nothing is recorded before [`Self::flush`].
    fn take(&mut self, noted: Noted) {
        match noted {
            Noted::Thread(info) => {
                self.infos.insert(info.thread.clone(), info);
            }
            Noted::Seen { thread, seen } => self.observe(thread, seen),
            Noted::Owner { thread, owner } => self.observe(thread, vec![owner_seen(owner)]),
            // First what was seen before that is recorded, see `flush`.
            Noted::Owners(Owner::Dead) => self.is_exited = true,
            Noted::Owners(owner) => self.observe_all(owner),
            Noted::CaughtUp => self.then = Some(Told::CaughtUp),
        }
    }

    fn observe(&mut self, thread: ThreadId, seen: Vec<Seen>) {
        match self.threads.get_mut(&thread) {
            Some(recorder) => {
                seen.into_iter().for_each(|seen| recorder.observe(seen));
                self.touched.insert(thread);
            }
            None if seen.is_empty() => {}
            None => self.homeless.entry(thread).or_default().extend(seen),
        }
    }

    fn observe_all(&mut self, owner: Owner) {
        for (thread, recorder) in &mut self.threads {
            self.touched.insert(thread.clone());
            recorder.observe(owner_seen(owner));
        }
        self.homeless.values_mut().for_each(|seen| seen.push(owner_seen(owner)));
    }

    /// Makes all that was taken durable, and then tells it. A thread that fails stops no other.
    ///
    /// # Errors
    ///
    /// What may succeed when it is tried again; nothing is lost. What cannot is told and given up.
    fn flush(&mut self, now: UnixMillis) -> Result<(), BookError> {
        let homes = self.settle_homes(now);
        let facts = self.record_touched(now);
        homes.and(facts)?;
        if self.is_exited {
            self.exit(now)?;
            self.is_exited = false;
            self.observe_all(Owner::Dead);
            self.record_touched(now)?;
        }
        self.then.take().into_iter().for_each(|told| self.tell(told));
        Ok(())
    }

    fn record_touched(&mut self, now: UnixMillis) -> Result<(), BookError> {
        let mut first = Ok(());
        for thread in std::mem::take(&mut self.touched) {
            match self.record(&thread, now) {
                Ok(()) => {}
                Err(error) if is_transient(&error.source) => {
                    self.touched.insert(thread);
                    first = first.and(Err(error.into()));
                }
                Err(error) => self.give_up(error.into()),
            }
        }
        first
    }

    fn record(&mut self, thread: &ThreadId, now: UnixMillis) -> Result<(), RecordError> {
        let Some(recorder) = self.threads.get_mut(thread) else { return Ok(()) };
        let session = recorder.session().clone();
        let recording = match recorder.record(now) {
            Err(error) if error.is_refusal() => {
                // What was refused is given up; the rest is recorded now.
                let recording = recorder.record(now);
                self.tell(Told::Unrecorded(error.into()));
                recording
            }
            recording => recording,
        };
        self.tell_recording(&session, thread, recording?);
        Ok(())
    }

    /// Tells what is not recorded and will not be; so not all is durable.
    fn give_up(&mut self, error: BookError) {
        self.then = None;
        self.tell(Told::Unrecorded(error));
    }

    fn tell_recording(&self, session: &SessionId, thread: &ThreadId, recording: Recording) {
        if !recording.appended.is_empty() {
            self.tell(Told::Recorded {
                session: session.clone(),
                thread: thread.clone(),
                facts: recording.appended,
            });
        }
        for event in recording.events {
            self.tell(Told::Turn { session: session.clone(), thread: thread.clone(), event });
        }
    }

    /// Waits for a slow listener; one that is gone misses nothing that it would want.
    fn tell(&self, told: Told) {
        let _nobody_listens = self.told.blocking_send(told);
    }

    fn settle_homes(&mut self, now: UnixMillis) -> Result<(), BookError> {
        let mut first = Ok(());
        for (thread, seen) in std::mem::take(&mut self.homeless) {
            // Nothing to record: it may be about to be somebody's.
            if seen.iter().all(|seen| matches!(seen.observation, Observation::Owner(_))) {
                continue;
            }
            match self.home(&thread, now) {
                Ok(Some(session)) => {
                    let mut recorder = ThreadRecorder::new(
                        self.writer.clone(),
                        session,
                        thread.clone(),
                        self.exec.clone(),
                    );
                    seen.into_iter().for_each(|seen| recorder.observe(seen));
                    self.touched.insert(thread.clone());
                    self.threads.insert(thread, recorder);
                }
                // Not recorded: it belongs to nothing that was asked for.
                Ok(None) => {}
                Err(error) if is_transient(&error) => {
                    self.homeless.insert(thread, seen);
                    first = first.and(Err(error.into()));
                }
                Err(error) => self.give_up(error.into()),
            }
        }
        first
    }

    /// Finds the session of a thread: its own, that of the thread that started it, or a new one.
    fn home(&self, thread: &ThreadId, now: UnixMillis) -> Result<Option<SessionId>, StoreError> {
        let mut at = thread;
        let mut passed = BTreeSet::new();
        loop {
            let found = self.writer.view(|ledger| ledger.session_of_thread(&self.harness, at))?;
            if found.is_some() {
                return Ok(found);
            }
            if let Some(recorder) = self.threads.get(at) {
                return Ok(Some(recorder.session().clone()));
            }
            // A ring of parents is no home.
            match self.infos.get(at).and_then(|info| info.parent.as_ref()) {
                Some(parent) if passed.insert(parent) => at = parent,
                Some(_) => return Ok(None),
                None => break,
            }
        }
        match self.adopt {
            Adopt::Known => Ok(None),
            Adopt::All => self.make_home(&at.clone(), now).map(Some),
        }
    }

    fn make_home(&self, thread: &ThreadId, now: UnixMillis) -> Result<SessionId, StoreError> {
        let id = SessionId::new(thread.as_str())
            .map_err(|_too_odd| StoreError::not_found("name for thread", thread))?;
        let info = self.infos.get(thread);
        let new = NewSession {
            id: id.clone(),
            harness: self.harness.clone(),
            created_at: now,
            workdir: info.and_then(|info| info.directory.clone()),
            title: info.and_then(|info| info.title.clone()),
            labels: Labels::none(),
        };
        let (thread, session) = (thread.clone(), id.clone());
        self.writer.update(move |ledger| {
            if ledger.session(&session)?.is_none() {
                ledger.create_session(&new)?;
            }
            ledger.attach_thread(&session, &thread)
        })?;
        Ok(id)
    }

    /// Writes down that the process behind all open turns is proven gone (rule L12).
    fn exit(&mut self, now: UnixMillis) -> Result<(), BookError> {
        let sessions: BTreeSet<SessionId> =
            self.threads.values().map(|recorder| recorder.session().clone()).collect();
        for session in sessions {
            match record_exited(&self.writer, session, now) {
                Ok(_) => {}
                Err(error) if is_transient(&error) => return Err(error.into()),
                Err(error) => self.give_up(error.into()),
            }
        }
        Ok(())
    }
}

/// Writes down that the process behind a session's open turns is proven gone; gives how many.
pub(crate) fn record_exited(
    writer: &Writer,
    session: SessionId,
    now: UnixMillis,
) -> Result<usize, StoreError> {
    writer.update(move |ledger| {
        let open = ledger.unsettled(&session)?;
        for turn in &open {
            let _recorded = ledger.record_exited(&session, &turn.thread, &turn.turn, None, now)?;
        }
        Ok(open.len())
    })
}

pub(crate) fn owner_seen(owner: Owner) -> Seen {
    Seen { observation: Observation::Owner(owner), evidence: None }
}

/// Says what could not be made durable. It is kept and tried again, unless the store refuses it.
#[derive(Debug, thiserror::Error)]
pub enum BookError {
    /// Facts of a thread.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A session, or that a process is gone.
    #[error("a session cannot be recorded")]
    Store(#[from] StoreError),
}

impl From<BookError> for StoreError {
    fn from(error: BookError) -> Self {
        match error {
            BookError::Record(RecordError { source, .. }) | BookError::Store(source) => source,
        }
    }
}

/// Tells whether the same may succeed when it is tried again.
fn is_transient(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable { .. } | StoreError::OutcomeUnknown { .. })
}
