//! What is done with each report? Note it, or read back what it is a hint of.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use harness::{Harness, Provider, ReachError, Report, Reports, Scope, Seen, ThreadInfo, Ticket};
use receipts::{Body, Finish, Observation, Owner, SessionId, ThreadId};
use store::{HarnessName, StoreError, Writer};
use tokio::{
    sync::mpsc,
    time::{Instant, timeout, timeout_at},
};

use crate::{
    ask,
    backlog::{BacklogError, read_back},
    book::{Adopt, Noted},
    follow::{Follow, Told},
};

/// When a history that could not be read is asked for again.
const READ_AGAIN: Duration = Duration::from_secs(2);
/// How long the agent may take to note a wish before its reports are taken first: it may be waiting
/// for exactly that.
const WISH: Duration = Duration::from_millis(100);
/// How many threads of an agent are caught up when everything is followed.
const THREADS: usize = 200;

/// Nobody records any more; there is nothing left to do.
struct Unheard;

/// What the pump does next.
enum Next {
    Report(Report),
    /// What could not be read is read again.
    Due,
    /// What could not be wished for is wished for again.
    Wishes,
    Closed,
}

/// Turns reports into notes, reading histories back where reports are not enough.
pub(crate) struct Pump {
    harness: Arc<dyn Harness>,
    writer: Writer,
    name: HarnessName,
    follow: Follow,
    note: mpsc::Sender<Noted>,
    tell: mpsc::Sender<Told>,
    /// Threads whose info was noted, with those that started them.
    parents: BTreeMap<ThreadId, Option<ThreadId>>,
    /// Threads whose histories were read back since the stream stands: what is reported of them goes
    /// on from there. Of others it may be a part of a turn, which is never recorded.
    current: BTreeSet<ThreadId>,
    /// Threads whose history has to be read back.
    unread: BTreeSet<ThreadId>,
    /// When what could not be read is read again.
    again_at: Option<Instant>,
    /// Threads that were read back and whose histories leave open what becomes of them, with the
    /// wish to know of their runs: what is reported without that ticket may be older than the reading.
    wishes: BTreeMap<ThreadId, Ticket>,
    /// Threads whose wish was not heard yet.
    unheard: BTreeSet<ThreadId>,
    last_ticket: Ticket,
    /// The list of threads has to be read.
    is_unlisted: bool,
}

impl Pump {
    pub(crate) fn new(
        harness: Arc<dyn Harness>,
        (writer, name): (Writer, HarnessName),
        follow: Follow,
        (note, tell): (mpsc::Sender<Noted>, mpsc::Sender<Told>),
    ) -> Self {
        Self {
            harness,
            writer,
            name,
            follow,
            note,
            tell,
            parents: BTreeMap::new(),
            current: BTreeSet::new(),
            unread: BTreeSet::new(),
            again_at: None,
            wishes: BTreeMap::new(),
            unheard: BTreeSet::new(),
            last_ticket: Ticket::default(),
            is_unlisted: false,
        }
    }

    /// Notes what is reported until the agent is closed or nobody records any more.
    pub(crate) async fn run(mut self, mut reports: Box<dyn Reports>) {
        loop {
            let done = match self.next(&mut *reports).await {
                Next::Report(report) => self.take(report).await,
                Next::Due => self.catch_up().await,
                Next::Wishes => Ok(()),
                Next::Closed => return,
            };
            if done.is_err() {
                return;
            }
            self.wish(&mut *reports).await;
        }
    }

    /// Waits for what is to be done next.
    async fn next(&mut self, reports: &mut dyn Reports) -> Next {
        // A stream that never rests must not put this off.
        if self.again_at.is_some_and(|at| at <= Instant::now()) {
            return Next::Due;
        }
        let wish_at = (!self.unheard.is_empty()).then(|| Instant::now() + WISH);
        let report = match self.again_at.into_iter().chain(wish_at).min() {
            Some(at) => timeout_at(at, reports.next()).await,
            None => Ok(reports.next().await),
        };
        match report {
            Ok(Some(report)) => Next::Report(report),
            Ok(None) => Next::Closed,
            Err(_elapsed) => Next::Wishes,
        }
    }

    /// Wishes to know of runs. What cannot be wished for now is wished for later: the agent may be
    /// waiting for its reports to be taken.
    async fn wish(&mut self, reports: &mut dyn Reports) {
        while let Some(thread) = self.unheard.pop_first() {
            let Some(ticket) = self.wishes.get(&thread) else { continue };
            if timeout(WISH, reports.settle(&thread, *ticket)).await.is_err() {
                self.unheard.insert(thread);
                return;
            }
        }
    }

    async fn note(&self, noted: Noted) -> Result<(), Unheard> {
        self.note.send(noted).await.map_err(|_closed| Unheard)
    }

    /// Shows something; a listener that is gone stops no recording.
    async fn show(&self, told: Told) {
        let _nobody_listens = self.tell.send(told).await;
    }

    async fn take(&mut self, report: Report) -> Result<(), Unheard> {
        match report {
            Report::Seen { thread, seen } => {
                self.follow_up(&thread).await?;
                self.note_current(thread, seen).await
            }
            Report::Owner { thread, owner, ticket } => {
                self.follow_up(&thread).await?;
                self.owner(thread, owner, ticket).await
            }
            Report::Thread(info) => {
                self.parents.insert(info.thread.clone(), info.parent.clone());
                self.note(Noted::Thread(info)).await
            }
            Report::Missed { thread, why } => {
                self.current.remove(&thread);
                self.unread.insert(thread.clone());
                self.show(Told::Live(Report::Missed { thread, why })).await;
                self.catch_up().await
            }
            Report::Connected(provider) => self.connected(provider).await,
            report @ Report::Disconnected { .. } => self.ended(report, Owner::Unknown).await,
            report @ Report::Exited(_) => self.ended(report, Owner::Dead).await,
            Report::ThreadDeleted(thread) => {
                self.parents.remove(&thread);
                self.current.remove(&thread);
                self.unread.remove(&thread);
                self.wishes.remove(&thread);
                self.show(Told::Live(Report::ThreadDeleted(thread))).await;
                Ok(())
            }
            report @ (Report::Text { .. }
            | Report::ToolStarted { .. }
            | Report::Asked(_)
            | Report::Answered { .. }
            | Report::Failed { .. }
            | Report::Unreadable { .. }) => {
                self.show(Told::Live(report)).await;
                Ok(())
            }
        }
    }

    /// Reads back all that is followed: it may have changed unseen.
    async fn connected(&mut self, provider: Provider) -> Result<(), Unheard> {
        // What was known of runs may be that of another process.
        self.note(Noted::Owners(Owner::Unknown)).await?;
        self.show(Told::Live(Report::Connected(provider))).await;
        self.is_unlisted = true;
        self.current.clear();
        self.catch_up().await
    }

    /// Reads a thread back of which something is reported and that was not read yet: what is
    /// reported may be a part of a turn. What was seen of a thread that belongs to nothing is left
    /// until it does.
    async fn follow_up(&mut self, thread: &ThreadId) -> Result<(), Unheard> {
        // What could not be read is read again in its time.
        if self.current.contains(thread) || self.unread.contains(thread) {
            return Ok(());
        }
        if self.introduce(thread).await? {
            self.read(thread.clone()).await?;
        }
        self.schedule();
        Ok(())
    }

    async fn note_current(&mut self, thread: ThreadId, seen: Vec<Seen>) -> Result<(), Unheard> {
        match self.current.contains(&thread) {
            true => self.note(Noted::Seen { thread, seen }).await,
            // The reading that is to come brings it.
            false => Ok(()),
        }
    }

    /// Notes what is known of a run. That nothing runs is no news of what was read since.
    async fn owner(
        &mut self,
        thread: ThreadId,
        owner: Owner,
        ticket: Ticket,
    ) -> Result<(), Unheard> {
        let is_older = self.wishes.get(&thread).is_some_and(|wished| ticket < *wished);
        if !self.current.contains(&thread) || (owner == Owner::Idle && is_older) {
            return Ok(());
        }
        self.note(Noted::Owner { thread, owner }).await
    }

    /// Sees to it that what could not be read is read again.
    fn schedule(&mut self) {
        let is_behind = self.is_unlisted || !self.unread.is_empty();
        self.again_at = is_behind.then(|| Instant::now() + READ_AGAIN);
    }

    /// Notes what is known of all runs, now that the stream or the process has ended.
    async fn ended(&mut self, report: Report, owner: Owner) -> Result<(), Unheard> {
        self.note(Noted::Owners(owner)).await?;
        self.show(Told::Live(report)).await;
        Ok(())
    }

    /// Makes a thread and those that started it known to the book; `false` when that failed, and
    /// the thread is read back later.
    async fn introduce(&mut self, thread: &ThreadId) -> Result<bool, Unheard> {
        let mut passed = BTreeSet::new();
        let mut next = Some(thread.clone());
        // A ring of parents ends where it began.
        while let Some(at) = next.take().filter(|at| passed.insert(at.clone())) {
            if let Some(parent) = self.parents.get(&at) {
                next.clone_from(parent);
                continue;
            }
            match self.harness.thread(&at).await {
                Ok(info) => {
                    next.clone_from(&info.parent);
                    self.parents.insert(at, info.parent.clone());
                    self.note(Noted::Thread(info)).await?;
                }
                // It is gone, and what was seen of it is all that there is.
                Err(ReachError::NotFound { .. }) => {
                    self.parents.insert(at, None);
                }
                Err(error) => {
                    self.unread.insert(thread.clone());
                    self.show(Told::Unread { thread: Some(at), error }).await;
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Reads back all that is to be read; what fails stays to be read.
    async fn catch_up(&mut self) -> Result<(), Unheard> {
        if !self.is_unlisted || self.listed().await? {
            for thread in std::mem::take(&mut self.unread) {
                if self.introduce(&thread).await? {
                    self.read(thread).await?;
                }
            }
        }
        self.schedule();
        match self.again_at {
            None => self.note(Noted::CaughtUp).await,
            Some(_) => Ok(()),
        }
    }

    /// Reads the list of threads; `false` when that failed.
    async fn listed(&mut self) -> Result<bool, Unheard> {
        let infos = match self.list().await {
            Ok(infos) => infos,
            Err(error) => {
                self.show(Told::Unread { thread: None, error }).await;
                return Ok(false);
            }
        };
        self.is_unlisted = false;
        for info in infos {
            self.unread.insert(info.thread.clone());
            self.parents.insert(info.thread.clone(), info.parent.clone());
            self.note(Noted::Thread(info)).await?;
        }
        Ok(true)
    }

    /// Reads a history back and notes it.
    async fn read(&mut self, thread: ThreadId) -> Result<(), Unheard> {
        match self.read_back(&thread).await {
            Ok(Some(seen)) => {
                if may_go_on(&seen) {
                    self.last_ticket.0 += 1;
                    self.wishes.insert(thread.clone(), self.last_ticket);
                    self.unheard.insert(thread.clone());
                }
                self.current.insert(thread.clone());
                self.note(Noted::Seen { thread, seen }).await?;
            }
            Ok(None) => {}
            // Deleted since; the ledger keeps what it has (rule F11).
            Err(BacklogError::Reach(ReachError::NotFound { .. })) => {}
            Err(BacklogError::Reach(error)) => {
                self.unread.insert(thread.clone());
                self.show(Told::Unread { thread: Some(thread), error }).await;
            }
            Err(BacklogError::Store(error)) => {
                self.unread.insert(thread);
                self.show(Told::Unrecorded(error.into())).await;
            }
        }
        Ok(())
    }

    /// Lists the threads that are followed.
    async fn list(&self) -> Result<Vec<ThreadInfo>, ReachError> {
        let mut found = match &self.follow.scope {
            Scope::Thread(root) => vec![self.harness.thread(root).await?],
            Scope::Everything => self.harness.threads(None, THREADS).await?,
        };
        let mut listed: BTreeSet<ThreadId> = found.iter().map(|info| info.thread.clone()).collect();
        let mut at = 0;
        while let Some(info) = found.get(at) {
            for child in self.harness.children(&info.thread).await? {
                if listed.insert(child.thread.clone()) {
                    found.push(child);
                }
            }
            at += 1;
        }
        Ok(found)
    }

    /// Reads a history back, as far as it is to be followed; `None` when it is not to be recorded.
    async fn read_back(&self, thread: &ThreadId) -> Result<Option<Vec<Seen>>, BacklogError> {
        let session = self.session_of(thread).await?;
        if session.is_none() && self.follow.adopt == Adopt::Known {
            return Ok(None);
        }
        let place = (session.as_ref(), thread);
        read_back(&*self.harness, &self.writer, place, self.follow.depth).await.map(Some)
    }

    /// The session of a thread or of one that it was started by, as far as the ledger tells.
    async fn session_of(&self, thread: &ThreadId) -> Result<Option<SessionId>, StoreError> {
        let mut line = vec![thread.clone()];
        while let Some(Some(Some(parent))) = line.last().map(|at| self.parents.get(at)) {
            // A ring of parents has no session.
            if line.contains(parent) {
                return Ok(None);
            }
            line.push(parent.clone());
        }
        let name = self.name.clone();
        ask::view(&self.writer, move |ledger| {
            for thread in &line {
                if let Some(session) = ledger.session_of_thread(&name, thread)? {
                    return Ok(Some(session));
                }
            }
            Ok(None)
        })
        .await
    }
}

/// Tells whether the end of a history leaves open what becomes of it: looking costs time, and most
/// histories have ended long ago.
fn may_go_on(seen: &[Seen]) -> bool {
    seen.iter()
        .rev()
        .find_map(|seen| match &seen.observation {
            Observation::Message(message) => Some(&message.body),
            Observation::Removed(_)
            | Observation::NoReply(_)
            | Observation::Owner(_)
            | Observation::Gap(_) => None,
        })
        .is_some_and(|last| match last {
            Body::Answer(answer) => {
                let is_final = matches!(answer.finish, Some(Finish::Stop | Finish::Length));
                answer.completed.is_none() || !is_final || answer.tools.open > 0
            }
            Body::Prompt(_) | Body::Unknown => true,
        })
}
