//! What can go wrong while an agent is driven, by what the caller can do next?

use harness::ReachError;
use receipts::{SessionId, ThreadId};
use store::StoreError;

use crate::{backlog::BacklogError, fence::LockError};

/// Says why something was not done. What was sent all the same is in the ledger.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriveError {
    /// The store refused or failed; its variant says what to do.
    #[error("the ledger says no")]
    Store(#[from] StoreError),
    /// The agent cannot be asked now; its variant says what to do.
    #[error("the agent cannot be asked")]
    Reach(#[from] ReachError),
    /// Another process is sending to the session.
    #[error("nothing was sent")]
    Locked(#[from] LockError),
    /// The session has no conversation yet; make one first.
    #[error("session {session} has no conversation yet")]
    NoThread {
        /// The session.
        session: SessionId,
    },
    /// The answer to making the conversation was lost, and it cannot be told which one it is. Look
    /// for the title in the agent, and start a new session.
    #[error("session {session}: {found} conversations are titled {title:?}, expected one")]
    ThreadUncertain {
        /// The session.
        session: SessionId,
        /// The title.
        title: Box<str>,
        /// How many have it.
        found: usize,
    },
    /// What is asked belongs to no request of this ledger that the agent has admitted.
    #[error("thread {thread}: what is asked there belongs to no request of ours")]
    NotOurs {
        /// The thread.
        thread: ThreadId,
    },
    /// The answer may have been lost and the question is still there. It is not answered again.
    #[error("it is not known whether the answer arrived, and it is still waited for")]
    AnswerUncertain,
    /// A task of ours ended before its time; a bug, or the runtime is shutting down.
    #[error("a task of the recorder ended early")]
    Interrupted,
}

impl From<BacklogError> for DriveError {
    fn from(error: BacklogError) -> Self {
        match error {
            BacklogError::Reach(error) => Self::Reach(error),
            BacklogError::Store(error) => Self::Store(error),
        }
    }
}
