//! How is an agent followed live? Subscribe, read back, note, record, tell.

use std::sync::Arc;

use harness::{Harness, ReachError, Report, Scope};
use receipts::{ExecId, Fact, SessionId, ThreadId};
use store::{HarnessName, Writer};
use tokio::{runtime::Handle, sync::mpsc, task::JoinHandle};

use crate::{
    backlog::Depth,
    book::{Adopt, Book, BookError},
    pump::Pump,
    thread::LiveEvent,
};

/// How many notes wait for the store, and how many things wait for a slow listener.
const QUEUE: usize = 256;

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
    let pump = Pump::new(harness, (writer, name), follow, (note, tell));
    let pump = tokio::spawn(pump.run(reports));
    Ok(Following { told, pump, book })
}
