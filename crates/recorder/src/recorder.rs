//! What does a recorder need? A store, an agent, the locks between processes, and its own name.

use std::{sync::Arc, time::Duration};

use harness::{Harness, ReachError};
use receipts::ExecId;
use store::Writer;

use crate::{
    fence::Locks,
    follow::{self, Follow, Following},
};

/// One run of a program that drives and follows an agent. Cloning it is cheap.
#[derive(Debug, Clone)]
pub struct Recorder {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    writer: Writer,
    harness: Arc<dyn Harness>,
    locks: Locks,
    exec: ExecId,
    dispatch: Duration,
}

impl Recorder {
    /// Takes its parts; nothing is written or sent yet.
    ///
    /// `exec` must be in the store before a session is claimed. `dispatch` is the longest time that
    /// the bytes of one send may take.
    pub fn new(
        writer: Writer,
        harness: Arc<dyn Harness>,
        locks: Locks,
        exec: ExecId,
        dispatch: Duration,
    ) -> Self {
        Self { inner: Arc::new(Inner { writer, harness, locks, exec, dispatch }) }
    }

    /// Follows the agent and records what it does, unfenced (rule L6).
    ///
    /// # Errors
    ///
    /// [`ReachError`] when the agent cannot be reached now. Later breaks are told and mended.
    pub async fn follow(&self, what: Follow) -> Result<Following, ReachError> {
        let exec = Some(self.exec().clone());
        follow::follow(Arc::clone(self.harness()), self.writer().clone(), exec, what).await
    }

    /// Gives the store.
    #[must_use]
    pub fn writer(&self) -> &Writer {
        &self.inner.writer
    }

    /// Gives the agent.
    #[must_use]
    pub fn harness(&self) -> &Arc<dyn Harness> {
        &self.inner.harness
    }

    /// Gives the name of this run.
    #[must_use]
    pub fn exec(&self) -> &ExecId {
        &self.inner.exec
    }

    pub(crate) fn locks(&self) -> &Locks {
        &self.inner.locks
    }

    pub(crate) fn dispatch(&self) -> Duration {
        self.inner.dispatch
    }
}
