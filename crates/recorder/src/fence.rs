//! Who may send to a session now, across processes? Whoever holds its lock file.
//!
//! The operating system holds the lock and frees it with the death of the process. It is taken for
//! one dispatch, and kept by a task that no caller can cancel; a takeover waits for that dispatch
//! and for nothing else.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
    process,
    time::Duration,
};

use harness::{Fence, Pass};
use receipts::SessionId;
use tokio::time::{Instant, sleep};

/// How long to wait before the lock is tried again.
const RETRY: Duration = Duration::from_millis(5);

/// Says why the lock of a session was not taken; nothing was sent.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// The lock file cannot be made or locked; see to the folder.
    #[error("{path}: cannot be locked")]
    Unusable {
        /// The lock file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Another process is sending and does not end; it may be stopped. Continue or end it.
    #[error("session {session} is still locked after {after_ms} ms by {holder}")]
    Held {
        /// The session.
        session: SessionId,
        /// Who holds it, as far as that is known.
        holder: String,
        /// How long it was waited for, in milliseconds.
        after_ms: u128,
    },
}

/// The folder with the lock files of a store, one for each session that was ever sent to.
#[derive(Debug, Clone)]
pub struct Locks {
    folder: PathBuf,
    patience: Duration,
}

impl Locks {
    /// Uses a folder, which is made when it is first needed, and waits at most `patience` for a
    /// lock: longer than one dispatch may take.
    pub fn new(folder: impl Into<PathBuf>, patience: Duration) -> Self {
        Self { folder: folder.into(), patience }
    }

    /// Takes the lock of a session, waiting for whoever holds it.
    ///
    /// # Errors
    ///
    /// [`LockError`]. Cancelling the future takes nothing.
    pub(crate) async fn take(&self, session: &SessionId) -> Result<Lock, LockError> {
        let path = self.path(session);
        let unusable = |source| LockError::Unusable { path: path.clone(), source };
        let file = open(&path).map_err(unusable)?;
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Lock::signed(file).map_err(unusable),
                Err(TryLockError::Error(source)) => return Err(unusable(source)),
                Err(TryLockError::WouldBlock) => {}
            }
            if start.elapsed() >= self.patience {
                return Err(LockError::Held {
                    session: session.clone(),
                    holder: holder(file),
                    after_ms: self.patience.as_millis(),
                });
            }
            sleep(RETRY).await;
        }
    }

    /// Two sessions with one digest share a lock, which costs time and nothing else.
    fn path(&self, session: &SessionId) -> PathBuf {
        self.folder.join(format!("{:016x}.lock", verbatim::digest([session.as_str()])))
    }
}

fn open(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    File::options().read(true).write(true).create(true).truncate(false).open(path)
}

fn holder(mut file: File) -> String {
    let mut pid = String::new();
    match file.read_to_string(&mut pid) {
        Ok(_) if !pid.trim().is_empty() => format!("process {}", pid.trim()),
        Ok(_) | Err(_) => "another process".to_owned(),
    }
}

/// The lock of one session; dropping it lets go.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Lock {
    /// Leaves a word of who holds it, for the error of others.
    fn signed(mut file: File) -> io::Result<Self> {
        file.set_len(0)?;
        file.rewind()?;
        write!(file, "{}", process::id())?;
        Ok(Self { file })
    }

    /// Makes it the leave to send one thing within `lasts`.
    pub(crate) fn pass(self, lasts: Duration) -> Pass {
        Pass::new(Dispatching { _lock: self, until: Instant::now() + lasts })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A child that is just being started shares the open file; unlocking frees it all the same.
        let _freed_with_the_file = self.file.unlock();
    }
}

/// One dispatch under the lock; the deadline goes on while the process is stopped.
#[derive(Debug)]
struct Dispatching {
    _lock: Lock,
    until: Instant,
}

impl Fence for Dispatching {
    fn remaining(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use receipts::SessionId;

    use super::{LockError, Locks};

    fn session(name: &str) -> SessionId {
        SessionId::new(name).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_lock_excludes_its_session_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let locks = Locks::new(folder.path().join("locks"), Duration::from_secs(1));
        let held = locks.take(&session("a")).await.unwrap();
        let other = locks.take(&session("b")).await.unwrap();
        match locks.take(&session("a")).await {
            Err(LockError::Held { holder, .. }) => {
                assert_eq!(holder, format!("process {}", std::process::id()));
            }
            other => panic!("{other:?}"),
        }
        drop((held, other));
        locks.take(&session("a")).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_pass_keeps_the_lock_and_ends_with_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let locks = Locks::new(folder.path(), Duration::from_millis(100));
        let pass = locks.take(&session("a")).await.unwrap().pass(Duration::from_secs(10));
        let clone = pass.clone();
        drop(pass);
        assert!(clone.is_open());
        tokio::time::advance(Duration::from_secs(11)).await;
        assert!(!clone.is_open());
        // Past its time it still holds the lock: a byte that was let through may be under way.
        assert!(matches!(locks.take(&session("a")).await, Err(LockError::Held { .. })));
        drop(clone);
        locks.take(&session("a")).await.unwrap();
    }
}
