//! How is an agent asked? The one trait that a recorder sees.

use std::fmt;

use async_trait::async_trait;
use receipts::{MessageId, Owner, ThreadId, UnixMillis};

use crate::{
    ask::{Answer, Ask},
    command::{Dispatch, NewThread, Prompt},
    error::ReachError,
    fence::Pass,
    report::{Cursor, Page, Provider, Report, Seen, ThreadInfo, Ticket},
};

/// What a subscription is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Everything that the agent does, also what others started.
    Everything,
    /// One thread and the threads that it starts.
    Thread(ThreadId),
}

/// A running subscription; dropping it ends it.
#[async_trait]
pub trait Reports: fmt::Debug + Send {
    /// Gives the next report, in the order in which things became known.
    ///
    /// The queue behind it has a bound: a receiver that is slow slows the subscription down and
    /// loses nothing. `None` once the harness was closed. Cancelling the future loses no report.
    async fn next(&mut self) -> Option<Report>;

    /// Wishes for a [`Report::Owner`] of a thread, as soon as it is sure, from looks that begin
    /// after this call; it and all later ones carry the ticket.
    ///
    /// For a thread whose history was read beside the reports: what they say of its run may be older
    /// than that reading.
    async fn settle(&mut self, thread: &ThreadId, ticket: Ticket);
}

/// An agent that is reached.
///
/// Every call has a deadline of the implementation's own. The futures may be cancelled at any
/// point; a write that has begun goes on to its end without its caller.
#[async_trait]
pub trait Harness: fmt::Debug + Send + Sync {
    /// Gives the stable name of the kind of agent, such as `opencode`.
    fn name(&self) -> &'static str;

    /// Mints the harness's id for a request that is about to be intended.
    ///
    /// `None` where the harness mints it and it is learned from its echo. `now` is by our clock;
    /// `above` is the greatest id seen in the thread, for builds that order by id.
    fn mint(&self, now: UnixMillis, above: Option<&MessageId>) -> Option<MessageId>;

    /// Asks the agent who it is.
    ///
    /// # Errors
    ///
    /// [`ReachError::Unsupported`] for a version that this build does not work with, and the
    /// others as they are documented.
    async fn probe(&self) -> Result<Provider, ReachError>;

    /// Subscribes; the first report is [`Report::Connected`].
    ///
    /// # Errors
    ///
    /// [`ReachError`] when the agent cannot be reached now. Later breaks are reports.
    async fn subscribe(&self, scope: Scope) -> Result<Box<dyn Reports>, ReachError>;

    /// Gives a thread.
    ///
    /// # Errors
    ///
    /// [`ReachError::NotFound`] when there is none, and the others as they are documented.
    async fn thread(&self, thread: &ThreadId) -> Result<ThreadInfo, ReachError>;

    /// Gives the newest threads, at most `limit`, of a directory or of the agent's own default.
    ///
    /// # Errors
    ///
    /// [`ReachError`] as it is documented.
    async fn threads(
        &self,
        directory: Option<&str>,
        limit: usize,
    ) -> Result<Vec<ThreadInfo>, ReachError>;

    /// Gives the threads that a thread started.
    ///
    /// # Errors
    ///
    /// [`ReachError`] as it is documented.
    async fn children(&self, thread: &ThreadId) -> Result<Vec<ThreadInfo>, ReachError>;

    /// Reads the newest page of a history, or the one that ends where `before` says.
    ///
    /// # Errors
    ///
    /// [`ReachError`]; never an empty page in its place.
    async fn read_page(
        &self,
        thread: &ThreadId,
        before: Option<&Cursor>,
    ) -> Result<Page, ReachError>;

    /// Reads one message; `None` when the thread has none with this id.
    ///
    /// # Errors
    ///
    /// [`ReachError`] as it is documented.
    async fn read_message(
        &self,
        thread: &ThreadId,
        message: &MessageId,
    ) -> Result<Option<Seen>, ReachError>;

    /// Says what is known of the run of a thread; may take some seconds to be sure of idle.
    ///
    /// [`Owner::Idle`] only when the agent runs nothing in the thread and two looks at its history
    /// are equal; [`Owner::Dead`] only when its process is proven gone.
    ///
    /// # Errors
    ///
    /// [`ReachError`] as it is documented.
    async fn owner(&self, thread: &ThreadId) -> Result<Owner, ReachError>;

    /// Makes a thread, with one attempt.
    async fn create_thread(&self, new: &NewThread, pass: Pass) -> Dispatch<ThreadInfo>;

    /// Sends a prompt, with one attempt.
    async fn prompt(&self, prompt: &Prompt, pass: Pass) -> Dispatch;

    /// Asks for the run of a thread to be aborted. An answer is no evidence that it was.
    async fn abort(&self, thread: &ThreadId, pass: Pass) -> Dispatch;

    /// Gives what waits for an answer in a thread.
    ///
    /// # Errors
    ///
    /// [`ReachError`] as it is documented.
    async fn asks(&self, thread: &ThreadId) -> Result<Vec<Ask>, ReachError>;

    /// Answers something, with one attempt. When it is uncertain, [`Harness::asks`] tells whether it
    /// is still waiting; it is never answered twice.
    async fn answer(&self, ask: &Ask, answer: &Answer, pass: Pass) -> Dispatch;
}
