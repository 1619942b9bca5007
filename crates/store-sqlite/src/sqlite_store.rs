//! How do threads share one file? One connection that writes, a few that read.

use std::{
    cell::RefCell,
    fmt,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use rusqlite::Connection;
use store::{ReadWork, Result, Store, StoreError, WriteWork};

use crate::{
    error::{classify, classify_commit, file_error},
    migrate,
    names::Names,
    open::{self, Header},
    transaction::Transaction,
};

/// How many reading connections are kept when nobody reads.
const READERS_KEPT: usize = 4;

/// A ledger in an SQLite file.
///
/// Threads share it, and processes may open the same file: a transaction holds the file's lock, and
/// nothing does outside of one. A write that waits for another process's gives up after about ten
/// seconds with [`StoreError::Unavailable`]. A write inside the work of another one on the same
/// store waits for itself for ever.
pub struct SqliteStore {
    path: PathBuf,
    file: String,
    writer: Mutex<Link>,
    readers: Mutex<Vec<Link>>,
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.path).finish_non_exhaustive()
    }
}

/// A connection with what is known of its names.
#[derive(Debug)]
struct Link {
    connection: Connection,
    names: RefCell<Names>,
}

impl Link {
    fn new(connection: Connection) -> Self {
        Self { connection, names: RefCell::default() }
    }
}

/// What a store is, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    /// The version of the engine.
    pub sqlite: &'static str,
    /// The revision of format 0 that the file has.
    pub format: i64,
    /// The size of the file, in bytes.
    pub file_bytes: u64,
    /// The size of the write-ahead log beside it, in bytes.
    pub wal_bytes: u64,
}

impl SqliteStore {
    /// The revision of format 0 that this build writes; older ones are migrated when they are
    /// opened.
    pub const FORMAT: i64 = migrate::FORMAT;

    /// Opens a store; creates the file and its folders where they are missing, for their owner
    /// alone.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] when the file cannot be created, opened or locked; for a file
    /// that is left untouched [`StoreError::Foreign`], [`StoreError::TooNew`] and
    /// [`StoreError::Corrupt`].
    pub fn open(path: &Path) -> Result<Self> {
        open::check_engine()?;
        let path = absolute(path)?;
        open::create_missing(&path)?;
        let header = open::header(&path)?;
        Self::with(path, header)
    }

    /// Opens a store that is there, for verbs that only read.
    ///
    /// # Errors
    ///
    /// As [`Self::open`], and [`StoreError::NotFound`] when there is no store.
    pub fn open_existing(path: &Path) -> Result<Self> {
        open::check_engine()?;
        let path = absolute(path)?;
        match open::header(&path)? {
            Header::Empty => Err(StoreError::not_found("store", path.display())),
            Header::Ours => Self::with(path, Header::Ours),
        }
    }

    fn with(path: PathBuf, header: Header) -> Result<Self> {
        let file = path.display().to_string();
        let writer = Mutex::new(Link::new(open::writer(&path, &file, header)?));
        Ok(Self { path, file, writer, readers: Mutex::default() })
    }

    /// Gives the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Says what the store is.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] or [`StoreError::Corrupt`].
    pub fn info(&self) -> Result<Info> {
        let format = migrate::format(&self.lock_writer().connection);
        Ok(Info {
            sqlite: rusqlite::version(),
            format: format.map_err(|error| classify(&self.file, error))?,
            file_bytes: open::size(&self.path)?,
            wal_bytes: open::size(&open::wal(&self.path))?,
        })
    }

    /// Moves the write-ahead log into the file, as far as no other process reads it, and closes.
    ///
    /// A store that is dropped instead is as durable; its next opening takes longer.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`]; everything that was committed is in the log and stays.
    pub fn close(self) -> Result<()> {
        let fail = |error| classify(&self.file, error);
        drop(self.readers.into_inner().unwrap_or_else(PoisonError::into_inner));
        let link = self.writer.into_inner().unwrap_or_else(PoisonError::into_inner);
        let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
        // Its row says how much was moved; another process's reader may keep some of it.
        link.connection.query_row(sql, (), |_| Ok(())).map_err(fail)?;
        link.connection.close().map_err(|(_, error)| fail(error))
    }

    /// A work that panicked has rolled back before it let go of the lock.
    fn lock_writer(&self) -> MutexGuard<'_, Link> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_readers(&self) -> MutexGuard<'_, Vec<Link>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The engine would take some relative names, such as `:memory:`, for more than a name.
fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|error| file_error(path, &error))
}

impl Store for SqliteStore {
    fn read(&self, work: &mut ReadWork<'_>) -> Result<()> {
        let idle = self.lock_readers().pop();
        let link = match idle {
            Some(link) => link,
            None => Link::new(open::reader(&self.path, &self.file)?),
        };
        let open = Open::begin(&link, &self.file, "BEGIN")?;
        work(&open.transaction)?;
        drop(open);
        // Only a connection that gave no error is used again.
        let mut readers = self.lock_readers();
        if readers.len() < READERS_KEPT {
            readers.push(link);
        }
        Ok(())
    }

    fn write(&self, work: &mut WriteWork<'_>) -> Result<()> {
        let link = self.lock_writer();
        let mut open = Open::begin(&link, &self.file, "BEGIN IMMEDIATE")?;
        work(&mut open.transaction)?;
        open.commit()
    }
}

/// A transaction that is rolled back when it is dropped before its commit.
#[derive(Debug)]
struct Open<'c> {
    link: &'c Link,
    file: &'c str,
    transaction: Transaction<'c>,
    is_committed: bool,
}

impl<'c> Open<'c> {
    fn begin(link: &'c Link, file: &'c str, sql: &str) -> Result<Self> {
        let connection = &link.connection;
        let begin = connection.prepare_cached(sql).and_then(|mut begin| begin.execute(()));
        begin.map_err(|error| classify(file, error))?;
        let transaction = Transaction::new(connection, &link.names, file);
        let open = Self { link, file, transaction, is_committed: false };
        // A newer program may have migrated the file since it was opened here.
        migrate::check(open.transaction.engine(migrate::format(connection))?)?;
        Ok(open)
    }

    fn commit(mut self) -> Result<()> {
        self.transaction.check_usable()?;
        let connection = &self.link.connection;
        let commit = connection.prepare_cached("COMMIT").and_then(|mut commit| commit.execute(()));
        commit.map_err(|error| classify_commit(self.file, error))?;
        self.is_committed = true;
        Ok(())
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if self.is_committed {
            return;
        }
        if self.transaction.has_new_names() {
            self.link.names.borrow_mut().forget();
        }
        // After some errors the engine has rolled back by itself. Should it fail here, the next
        // `BEGIN` fails, and nothing is ever committed on top.
        if !self.link.connection.is_autocommit() {
            let rollback = self.link.connection.execute_batch("ROLLBACK");
            debug_assert_eq!(rollback, Ok(()));
        }
    }
}

#[cfg(test)]
mod tests;
