//! How is a server followed? One task reads its event stream, one reads what changed.
//!
//! Events are hints: they say which message to read. A burst of them for one message is one read.
//! Both tasks end when the subscription is dropped.

mod state;
mod stream;

use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use harness::{ReachError, Report, Reports, Scope, Ticket};
use receipts::{Observation, Owner, ThreadId};
use tokio::{
    sync::mpsc,
    task::JoinHandle,
    time::{Instant, sleep_until},
};

pub(crate) use self::state::ask;
use self::{
    state::{Job, State},
    stream::{Frame, Stream},
};
use crate::{server::Server, settle::Look};

/// How many wishes wait while something is read.
const WISHES: usize = 16;
/// How many events wait while something is read; more are left in the connection.
const FRAMES: usize = 256;

/// A running subscription.
#[derive(Debug)]
pub(crate) struct Subscription {
    reports: mpsc::Receiver<Report>,
    wishes: mpsc::Sender<(ThreadId, Ticket)>,
    tasks: [JoinHandle<()>; 2],
}

impl Subscription {
    /// Connects and starts both tasks.
    pub(crate) async fn start(server: Arc<Server>, scope: Scope) -> Result<Self, ReachError> {
        let stream = Stream::open(Arc::clone(&server)).await?;
        let (frame_sender, frames) = mpsc::channel(FRAMES);
        let (sender, reports) = mpsc::channel(server.http.limits.queue.max(1));
        let scope = match scope {
            Scope::Everything => None,
            Scope::Thread(root) => Some(descendants(&server, root).await?),
        };
        let state = State::new(scope, server.http.limits.part_interval);
        let (wishes, wished) = mpsc::channel(WISHES);
        let worker = Worker { server, state, frames, wished, sender };
        let tasks = [tokio::spawn(stream.run(frame_sender)), tokio::spawn(worker.run())];
        Ok(Self { reports, wishes, tasks })
    }
}

/// A thread and those that it has started so far; later ones are told by events.
async fn descendants(server: &Server, root: ThreadId) -> Result<BTreeSet<ThreadId>, ReachError> {
    let mut found = BTreeSet::from([root.clone()]);
    let mut unasked = vec![root];
    while let Some(thread) = unasked.pop() {
        for child in server.children(&thread).await? {
            if found.insert(child.thread.clone()) {
                unasked.push(child.thread);
            }
        }
    }
    Ok(found)
}

#[async_trait]
impl Reports for Subscription {
    async fn next(&mut self) -> Option<Report> {
        self.reports.recv().await
    }

    async fn settle(&mut self, thread: &ThreadId, ticket: Ticket) {
        // A worker that is gone has told that the harness was closed.
        let _gone = self.wishes.send((thread.clone(), ticket)).await;
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// The receiver of the reports is gone; there is nothing left to do.
struct Unheard;

struct Worker {
    server: Arc<Server>,
    state: State,
    frames: mpsc::Receiver<Frame>,
    wished: mpsc::Receiver<(ThreadId, Ticket)>,
    sender: mpsc::Sender<Report>,
}

impl Worker {
    async fn run(mut self) {
        while let Ok(true) = self.turn().await {}
    }

    /// Takes all events that are there, then does one thing; `false` when the stream is over.
    async fn turn(&mut self) -> Result<bool, Unheard> {
        while let Ok(frame) = self.frames.try_recv() {
            self.take(frame).await?;
        }
        while let Ok(wish) = self.wished.try_recv() {
            self.state.wish(wish, Instant::now());
        }
        if let Some(job) = self.state.job(Instant::now()) {
            self.work(job).await?;
            return Ok(true);
        }
        let wake_at = self.state.wake_at();
        tokio::select! {
            frame = self.frames.recv() => match frame {
                Some(frame) => self.take(frame).await?,
                None => return Ok(false),
            },
            Some(wish) = self.wished.recv() => self.state.wish(wish, Instant::now()),
            () = wait(wake_at) => {}
        }
        Ok(true)
    }

    async fn tell(&self, report: Report) -> Result<(), Unheard> {
        self.sender.send(report).await.map_err(|_closed| Unheard)
    }

    async fn take(&mut self, frame: Frame) -> Result<(), Unheard> {
        let now = Instant::now();
        match frame {
            Frame::Connected(provider) => {
                self.state.connected(now);
                self.tell(Report::Connected(provider)).await
            }
            Frame::Broken { why } => self.tell(Report::Disconnected { why }).await,
            Frame::Exited(process) => self.tell(Report::Exited(process)).await,
            Frame::Unreadable { problem } => self.tell(Report::Unreadable { problem }).await,
            Frame::Event(event) => {
                for report in self.state.take(*event, &self.server, now) {
                    self.tell(report).await?;
                }
                Ok(())
            }
        }
    }

    async fn work(&mut self, job: Job) -> Result<(), Unheard> {
        match job {
            Job::Read { thread, message, info } => {
                match self.server.message(&thread, &message, info.as_deref()).await {
                    Ok(Some(seen)) => {
                        if self.state.is_news(&thread, &seen) {
                            self.tell(Report::Seen { thread, seen: vec![seen] }).await?;
                        }
                        Ok(())
                    }
                    // It was deleted since; that is told by an event of its own.
                    Ok(None) => Ok(()),
                    Err(error) => self.missed(thread, &error).await,
                }
            }
            Job::Look { thread } => match self.server.look(&thread).await {
                Ok(look) => self.looked(thread, look).await,
                // That is told by an event of its own.
                Err(ReachError::NotFound { .. }) => {
                    self.state.forget(&thread);
                    Ok(())
                }
                Err(error) => {
                    let due = Instant::now() + self.server.http.limits.backoff_max;
                    self.state.look_failed(&thread, due);
                    self.missed(thread, &error).await
                }
            },
        }
    }

    async fn looked(&mut self, thread: ThreadId, look: Look) -> Result<(), Unheard> {
        let (page, rest, digest) = match look {
            Look::Running => return self.owner(thread, Owner::Busy).await,
            Look::Unclear => return self.owner(thread, Owner::Unknown).await,
            Look::Quiet { page, rest, digest } => (page, rest, digest),
        };
        let mut seen = page.seen;
        seen.retain(|seen| {
            matches!(seen.observation, Observation::Gap(_)) || self.state.is_news(&thread, seen)
        });
        if !seen.is_empty() {
            self.tell(Report::Seen { thread: thread.clone(), seen }).await?;
        }
        let grace = rest.grace(&self.server.http.limits);
        match self.state.is_settled(&thread, digest, grace, Instant::now()) {
            true => self.owner(thread, Owner::Idle).await,
            false => Ok(()),
        }
    }

    async fn owner(&mut self, thread: ThreadId, owner: Owner) -> Result<(), Unheard> {
        let report = self.state.owner_told(thread, owner);
        self.tell(report).await
    }

    async fn missed(&self, thread: ThreadId, error: &ReachError) -> Result<(), Unheard> {
        self.tell(Report::Missed { thread, why: error.to_string() }).await
    }
}

/// Waits until a point in time, or for ever.
async fn wait(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until).await,
        None => std::future::pending().await,
    }
}
