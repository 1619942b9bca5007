//! May this file be opened, and how is a connection set up?

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OpenFlags, config::DbConfig};
use store::StoreError;

use crate::{
    busy,
    error::{classify, corrupt, file_error},
    migrate,
    schema::APPLICATION_ID,
};

/// The oldest engine that does not lose acknowledged commits when a WAL is reset.
const ENGINE_LEAST: i32 = 3_051_003;
/// What every SQLite file begins with.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// How long SQLite's header is, in bytes.
const HEADER_BYTES: usize = 100;
/// To which size a WAL is cut after a checkpoint, in bytes.
const WAL_BYTES: i64 = 64 * 1024 * 1024;
/// How many prepared statements a connection keeps; there are fewer.
const STATEMENTS: usize = 128;

/// Creates what is missing of a path, for its owner alone.
pub(crate) fn create_missing(path: &Path) -> Result<(), StoreError> {
    if let Some(folder) = path.parent() {
        create_folder(folder).map_err(|error| file_error(folder, &error))?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(file_error(path, &error)),
    }
}

fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// What the first bytes of a file say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Header {
    /// There are none: it was created and never written.
    Empty,
    /// It is a turnbook store of a format that this build knows.
    Ours,
}

/// Reads a file's header without the engine, which might already change something.
pub(crate) fn header(path: &Path) -> Result<Header, StoreError> {
    let place = || path.display().to_string();
    let mut bytes = Vec::with_capacity(HEADER_BYTES);
    let file = File::open(path).map_err(|error| {
        if error.kind() == io::ErrorKind::NotFound {
            StoreError::not_found("store", path.display())
        } else {
            file_error(path, &error)
        }
    })?;
    let read = (&file).take(HEADER_BYTES as u64).read_to_end(&mut bytes);
    read.map_err(|error| file_error(path, &error))?;
    if bytes.is_empty() {
        return Ok(Header::Empty);
    }
    if !bytes.starts_with(MAGIC.get(..bytes.len().min(MAGIC.len())).unwrap_or(MAGIC)) {
        return Err(StoreError::Foreign { place: place() });
    }
    let (Some(version), Some(application)) = (number(&bytes, 60), number(&bytes, 68)) else {
        return Err(corrupt(&place(), "it ends within its header"));
    };
    if application != APPLICATION_ID {
        return Err(StoreError::Foreign { place: place() });
    }
    migrate::check(i64::from(version))?;
    let length = file.metadata().map_err(|error| file_error(path, &error))?.len();
    if length < told_length(&bytes) && size(&wal(path))? == 0 {
        return Err(corrupt(&place(), "it is shorter than its header says"));
    }
    Ok(Header::Ours)
}

/// How long a file is by its header, in bytes. While there is a log, the file may be shorter.
fn told_length(header: &[u8]) -> u64 {
    let page = header.get(16..).and_then(|rest| rest.first_chunk().copied());
    let page = match page.map(u16::from_be_bytes) {
        // The largest page does not fit in the field.
        Some(1) => 0x1_0000,
        Some(page) => u64::from(page),
        None => 0,
    };
    let pages = number(header, 28).map_or(0, i32::cast_unsigned);
    page * u64::from(pages)
}

/// Names the write-ahead log of a file.
pub(crate) fn wal(path: &Path) -> PathBuf {
    let mut wal = path.to_owned().into_os_string();
    wal.push("-wal");
    wal.into()
}

/// Gives the size of a file in bytes; 0 when it is not there.
pub(crate) fn size(path: &Path) -> Result<u64, StoreError> {
    match fs::metadata(path) {
        Ok(data) => Ok(data.len()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(file_error(path, &error)),
    }
}

fn number(header: &[u8], at: usize) -> Option<i32> {
    header.get(at..)?.first_chunk().copied().map(i32::from_be_bytes)
}

/// Fails for an engine with known loss of data; a build links only the one that it bundles.
pub(crate) fn check_engine() -> Result<(), StoreError> {
    let found = rusqlite::version_number();
    if found < ENGINE_LEAST { Err(StoreError::unavailable(OldEngine { found })) } else { Ok(()) }
}

/// The engine that was linked is too old.
#[derive(Debug, thiserror::Error)]
#[error("SQLite {found} may lose data, at least {ENGINE_LEAST} is needed")]
struct OldEngine {
    found: i32,
}

/// Opens the connection that writes, and makes the file one of the newest format.
pub(crate) fn writer(path: &Path, file: &str, header: Header) -> Result<Connection, StoreError> {
    let fail = |error| classify(file, error);
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(fail)?;
    // Until it is known that the file is ours, closing it must not move its WAL into it.
    set_checkpoint_on_close(&connection, Close::Leave).map_err(fail)?;
    if header == Header::Empty {
        migrate::create(file, &mut connection)?;
    }
    if migrate::application_id(&connection).map_err(fail)? != APPLICATION_ID {
        return Err(StoreError::Foreign { place: file.to_owned() });
    }
    migrate::check(migrate::format(&connection).map_err(fail)?)?;
    migrate::upgrade(file, &mut connection)?;
    set_journal(file, &connection)?;
    set_checkpoint_on_close(&connection, Close::Checkpoint).map_err(fail)?;
    Ok(connection)
}

/// Opens a connection that only reads.
pub(crate) fn reader(path: &Path, file: &str) -> Result<Connection, StoreError> {
    connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(|error| classify(file, error))
}

fn connect(path: &Path, mode: OpenFlags) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_with_flags(path, mode | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_handler(Some(busy::wait))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // A plan never depends on what is bound: else some statements are prepared anew each time.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    Ok(connection)
}

/// Switches to a write-ahead log that is durable with every commit.
fn set_journal(file: &str, connection: &Connection) -> Result<(), StoreError> {
    let fail = |error| classify(file, error);
    let set = || {
        let sql = "PRAGMA journal_mode = WAL";
        connection.query_row(sql, (), |row| row.get::<_, String>(0))
    };
    // The switch asks for a lock without asking the busy handler.
    let mode = busy::retry(set).map_err(fail)?;
    if mode != "wal" {
        return Err(StoreError::unavailable(NoWal { mode }));
    }
    connection.pragma_update(None, "synchronous", "FULL").map_err(fail)?;
    // The pragma gives its value as a row.
    let limit = format!("PRAGMA journal_size_limit = {WAL_BYTES}");
    connection.query_row(&limit, (), |_| Ok(())).map_err(fail)
}

/// The file system cannot hold a write-ahead log.
#[derive(Debug, thiserror::Error)]
#[error("the journal mode stays {mode:?}, a write-ahead log is needed")]
struct NoWal {
    mode: String,
}

/// What closing the last connection does with the WAL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Close {
    Leave,
    Checkpoint,
}

fn set_checkpoint_on_close(connection: &Connection, close: Close) -> rusqlite::Result<()> {
    let option = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
    connection.set_db_config(option, close == Close::Leave).map(drop)
}
