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

/// What belongs to a thread whose session is not known yet.
#[derive(Debug, Default)]
struct Homeless {
    seen: Vec<Seen>,
    owner: Option<Owner>,
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
    homeless: BTreeMap<ThreadId, Homeless>,
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
        while let Some(first) = inbox.blocking_recv() {
            self.take(first);
            for _ in 1..BATCH {
                match inbox.try_recv() {
                    Ok(noted) => self.take(noted),
                    Err(_) => break,
                }
            }
            self.persist(&inbox, runtime);
        }
    }

    fn persist(&mut self, inbox: &mpsc::Receiver<Noted>, runtime: &Handle) {
        let (mut backoff, mut attempts) = (BACKOFF_MIN, 0);
        while let Err(error) = self.flush(clock::now()) {
            let is_transient = error.is_transient();
            self.tell(Told::Unrecorded(error));
            if inbox.is_closed() {
                attempts += 1;
            }
            if !is_transient || attempts >= LAST_ATTEMPTS {
                break;
            }
            runtime.block_on(tokio::time::sleep(backoff));
            backoff = (backoff * 2).min(BACKOFF_MAX);
        }
    }

    /// Takes what is noted; nothing is recorded before [`Self::flush`].
    pub(crate) fn take(&mut self, noted: Noted) {
        match noted {
            Noted::Thread(info) => {
                self.infos.insert(info.thread.clone(), info);
            }
            Noted::Seen { thread, seen } => {
                self.touched.insert(thread.clone());
                match self.threads.get_mut(&thread) {
                    Some(recorder) => seen.into_iter().for_each(|seen| recorder.observe(seen)),
                    None => self.homeless.entry(thread).or_default().seen.extend(seen),
                }
            }
            Noted::Owner { thread, owner } => {
                self.touched.insert(thread.clone());
                match self.threads.get_mut(&thread) {
                    Some(recorder) => recorder.observe(owner_seen(owner)),
                    None => self.homeless.entry(thread).or_default().owner = Some(owner),
                }
            }
            Noted::Owners(owner) => {
                self.is_exited |= owner == Owner::Dead;
                for (thread, recorder) in &mut self.threads {
                    self.touched.insert(thread.clone());
                    recorder.observe(owner_seen(owner));
                }
                self.homeless.values_mut().for_each(|homeless| homeless.owner = Some(owner));
            }
            Noted::CaughtUp => self.then = Some(Told::CaughtUp),
        }
    }

    /// Makes all that was taken durable, and then tells it. A thread that fails stops no other.
    pub(crate) fn flush(&mut self, now: UnixMillis) -> Result<(), BookError> {
        let mut first = self.settle_homes(now).err();
        if self.is_exited {
            match self.record_exited(now) {
                Ok(()) => self.is_exited = false,
                Err(error) => first = first.or(Some(BookError::Store(error))),
            }
        }
        for thread in std::mem::take(&mut self.touched) {
            let Some(recorder) = self.threads.get_mut(&thread) else { continue };
            match recorder.record(now) {
                Ok(recording) => {
                    let session = recorder.session().clone();
                    self.tell_recording(&session, &thread, recording);
                }
                Err(error) => {
                    self.touched.insert(thread);
                    first = first.or(Some(BookError::Record(error)));
                }
            }
        }
        match first {
            Some(error) => Err(error),
            None => {
                self.then.take().into_iter().for_each(|told| self.tell(told));
                Ok(())
            }
        }
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
        let mut first = None;
        for (thread, homeless) in std::mem::take(&mut self.homeless) {
            match self.home(&thread, now) {
                Ok(Some(session)) => {
                    let mut recorder = ThreadRecorder::new(
                        self.writer.clone(),
                        session,
                        thread.clone(),
                        self.exec.clone(),
                    );
                    homeless.seen.into_iter().for_each(|seen| recorder.observe(seen));
                    homeless.owner.map(owner_seen).into_iter().for_each(|o| recorder.observe(o));
                    self.touched.insert(thread.clone());
                    self.threads.insert(thread, recorder);
                }
                // Not recorded: it belongs to nothing that was asked for.
                Ok(None) => {}
                Err(error) => {
                    self.homeless.insert(thread, homeless);
                    first = first.or(Some(error));
                }
            }
        }
        first.map_or(Ok(()), |error| Err(BookError::Store(error)))
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
    fn record_exited(&self, now: UnixMillis) -> Result<(), StoreError> {
        let sessions: BTreeSet<SessionId> =
            self.threads.values().map(|recorder| recorder.session().clone()).collect();
        for session in sessions {
            record_exited(&self.writer, session, now)?;
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

impl BookError {
    /// Tells whether the same may succeed when it is tried again.
    fn is_transient(&self) -> bool {
        let (Self::Record(RecordError { source, .. }) | Self::Store(source)) = self;
        matches!(source, StoreError::Unavailable { .. } | StoreError::OutcomeUnknown { .. })
    }
}
