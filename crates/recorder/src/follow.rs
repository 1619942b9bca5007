//! How is an agent followed live? Subscribe, read back, note, record, tell.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use harness::{Harness, Provider, ReachError, Report, Reports, Scope, Seen, ThreadInfo};
use receipts::{Body, ExecId, Fact, Finish, Observation, Owner, SessionId, ThreadId};
use store::{HarnessName, StoreError, Writer};
use tokio::{runtime::Handle, sync::mpsc, task::JoinHandle, time::timeout};

use crate::{
    ask,
    backlog::{BacklogError, Depth, read_back},
    book::{Adopt, Book, BookError, Noted},
    thread::LiveEvent,
};

/// How many notes wait for the store, and how many things wait for a slow listener.
const QUEUE: usize = 256;
/// When a history that could not be read is asked for again.
const READ_AGAIN: Duration = Duration::from_secs(2);
/// How many threads of an agent are caught up when everything is followed.
const THREADS: usize = 200;

/// What is followed, and how far back.
#[derive(Debug, Clone)]
pub struct Follow {
    /// Which threads.
    pub scope: Scope,
    /// Which of them are recorded.
    pub adopt: Adopt,
    /// How far back their histories are read when the stream stands.
    pub depth: Depth,
}

/// What a listener is told.
#[derive(Debug)]
pub enum Told {
    /// Facts are durable that were not before, of anybody's requests.
    Recorded {
        /// The session.
        session: SessionId,
        /// The thread.
        thread: ThreadId,
        /// The facts, in the order in which they were appended.
        facts: Vec<Fact>,
    },
    /// Something happened to a request of our own; once, and durable (rule F12).
    Turn {
        /// The session.
        session: SessionId,
        /// The thread.
        thread: ThreadId,
        /// What happened.
        event: LiveEvent,
    },
    /// What the agent shows live, durable or not: text, tools, questions, breaks of the stream.
    Live(Report),
    /// All that had happened before the stream stood, now or again, is durable.
    CaughtUp,
    /// Something could not be recorded; it is kept and tried again where that may help.
    Unrecorded(BookError),
    /// A history could not be read; it is asked for again.
    Unread {
        /// The thread; `None` when the list of threads could not be read.
        thread: Option<ThreadId>,
        /// Why.
        error: ReachError,
    },
}

/// An agent that is being followed; dropping it ends that, after what was seen is recorded.
#[derive(Debug)]
pub struct Following {
    told: mpsc::Receiver<Told>,
    pump: JoinHandle<()>,
    book: JoinHandle<()>,
}

impl Following {
    /// Gives what is told next; `None` once the agent was closed and all is recorded.
    ///
    /// Cancelling the future loses nothing. A listener that does not listen slows the recording
    /// down; one that is dropped does not.
    pub async fn next(&mut self) -> Option<Told> {
        self.told.recv().await
    }

    /// Stops listening to the agent, and waits until all that was seen is recorded. Gives what was
    /// told meanwhile.
    pub async fn stop(mut self) -> Vec<Told> {
        self.pump.abort();
        let mut rest = Vec::new();
        while let Some(told) = self.told.recv().await {
            rest.push(told);
        }
        // The task only ends early when the runtime does.
        let _ended = (&mut self.book).await;
        rest
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.pump.abort();
    }
}

/// Subscribes and begins to record.
pub(crate) async fn follow(
    harness: Arc<dyn Harness>,
    writer: Writer,
    exec: Option<ExecId>,
    follow: Follow,
) -> Result<Following, ReachError> {
    let reports = harness.subscribe(follow.scope.clone()).await?;
    let name = HarnessName::new(harness.name()).expect("a harness has a name");
    let (tell, told) = mpsc::channel(QUEUE);
    let (note, inbox) = mpsc::channel(QUEUE);
    let book = Book::new(writer.clone(), name.clone(), (exec, follow.adopt), tell.clone());
    let runtime = Handle::current();
    let book = tokio::task::spawn_blocking(move || book.run(inbox, &runtime));
    let pump = Pump {
        harness,
        writer,
        name,
        follow,
        note,
        tell,
        parents: BTreeMap::new(),
        unread: BTreeSet::new(),
        unjudged: BTreeSet::new(),
        is_unlisted: false,
    };
    let pump = tokio::spawn(pump.run(reports));
    Ok(Following { told, pump, book })
}

/// Nobody records any more; there is nothing left to do.
struct Unheard;

/// Turns reports into notes, reading histories back where reports are not enough.
struct Pump {
    harness: Arc<dyn Harness>,
    writer: Writer,
    name: HarnessName,
    follow: Follow,
    note: mpsc::Sender<Noted>,
    tell: mpsc::Sender<Told>,
    /// Threads whose info was noted, with those that started them.
    parents: BTreeMap<ThreadId, Option<ThreadId>>,
    /// Threads whose history has to be read back.
    unread: BTreeSet<ThreadId>,
    /// Threads that were read back, and of whose runs nothing is known.
    unjudged: BTreeSet<ThreadId>,
    /// The list of threads has to be read.
    is_unlisted: bool,
}

impl Pump {
    async fn run(mut self, mut reports: Box<dyn Reports>) {
        loop {
            let is_behind = self.is_unlisted || !self.unread.is_empty();
            let report = if is_behind {
                timeout(READ_AGAIN, reports.next()).await
            } else {
                Ok(reports.next().await)
            };
            let done = match report {
                Ok(Some(report)) => self.take(report).await,
                Ok(None) => return,
                Err(_elapsed) => self.catch_up().await,
            };
            for thread in std::mem::take(&mut self.unjudged) {
                reports.settle(&thread).await;
            }
            if done.is_err() {
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
                let noted = Noted::Seen { thread: thread.clone(), seen };
                self.introduced(&thread, noted).await
            }
            Report::Owner { thread, owner } => {
                let noted = Noted::Owner { thread: thread.clone(), owner };
                self.introduced(&thread, noted).await
            }
            Report::Thread(info) => {
                self.parents.insert(info.thread.clone(), info.parent.clone());
                self.note(Noted::Thread(info)).await
            }
            Report::Missed { thread, why } => {
                self.unread.insert(thread.clone());
                self.show(Told::Live(Report::Missed { thread, why })).await;
                self.catch_up().await
            }
            Report::Connected(provider) => self.connected(provider).await,
            report @ Report::Disconnected { .. } => self.ended(report, Owner::Unknown).await,
            report @ Report::Exited(_) => self.ended(report, Owner::Dead).await,
            report @ (Report::ThreadDeleted(_)
            | Report::Text { .. }
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
        self.catch_up().await
    }

    /// Notes something of a thread that the book knows, or gets to know now.
    async fn introduced(&mut self, thread: &ThreadId, noted: Noted) -> Result<(), Unheard> {
        if self.introduce(thread).await? { self.note(noted).await } else { Ok(()) }
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
        let mut next = Some(thread.clone());
        while let Some(at) = next.take() {
            if self.parents.contains_key(&at) {
                break;
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
        if self.is_unlisted && !self.listed().await? {
            return Ok(());
        }
        for thread in std::mem::take(&mut self.unread) {
            if self.introduce(&thread).await? {
                self.read(thread).await?;
            }
        }
        if self.unread.is_empty() { self.note(Noted::CaughtUp).await } else { Ok(()) }
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
            Ok(seen) => {
                if may_go_on(&seen) {
                    self.unjudged.insert(thread.clone());
                }
                self.note(Noted::Seen { thread, seen }).await?;
            }
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

    /// Reads a history back, as far as it is to be followed.
    async fn read_back(&self, thread: &ThreadId) -> Result<Vec<Seen>, BacklogError> {
        let session = self.session_of(thread).await?;
        let place = (session.as_ref(), thread);
        read_back(&*self.harness, &self.writer, place, self.follow.depth).await
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
