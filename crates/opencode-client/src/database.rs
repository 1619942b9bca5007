//! What stands in OpenCode's own database? Read-only, for when its server cannot answer.
//!
//! Source: `~/.local/share/opencode/opencode.db` of opencode-ai 1.18.33: tables `session`, `message`
//! and `part`; `data` is the JSON of the API without the ids. Messages are ordered by the columns
//! `(time_created, id)`, parts by id. OpenCode 2.x keeps other tables beside frozen ones and is
//! refused. Nothing is ever written: the file is opened read-only, which needs its `-wal` and
//! `-shm` beside it.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use harness::{Cursor, Place, ReachError};
use receipts::{MessageId, ThreadId};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _, Row, params};
use serde::Serialize;
use verbatim::RawValue;

use crate::cursor::Key;

/// How long a lock of OpenCode's own writers is waited for; its own wait is as long.
const BUSY: Duration = Duration::from_secs(5);
/// The table by which OpenCode 2.x is known.
const NEWER_TABLE: &str = "session_v2";
/// The tables that are read.
const TABLES: [&str; 3] = ["session", "message", "part"];

/// One message as the API would give it.
#[derive(Debug)]
pub(crate) struct StoredMessage {
    pub(crate) id: String,
    /// `None` when what is stored is no JSON.
    pub(crate) json: Option<Box<RawValue>>,
}

/// Some messages, the oldest first.
#[derive(Debug)]
pub(crate) struct StoredPage {
    pub(crate) messages: Vec<StoredMessage>,
    pub(crate) older: Option<Cursor>,
}

/// An open database.
#[derive(Debug)]
pub(crate) struct Database {
    connection: Connection,
    path: PathBuf,
}

impl Database {
    /// Opens the file and checks that its layout is one that is known.
    pub(crate) fn open(path: &Path) -> Result<Self, ReachError> {
        let fail = |error: &rusqlite::Error| failed(path, error);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(|error| fail(&error))?;
        connection.busy_timeout(BUSY).map_err(|error| fail(&error))?;
        let database = Self { connection, path: path.to_owned() };
        database.check_layout()?;
        Ok(database)
    }

    fn check_layout(&self) -> Result<(), ReachError> {
        let unsupported = |why: String| ReachError::Unsupported { place: place(&self.path), why };
        if self.has_table(NEWER_TABLE)? {
            let why = "it was written by OpenCode 2.x, whose tables are not known; only those of \
                       1.x are read";
            return Err(unsupported(why.to_owned()));
        }
        for table in TABLES {
            if !self.has_table(table)? {
                return Err(unsupported(format!("it has no table {table}, as OpenCode 1.x has")));
            }
        }
        Ok(())
    }

    fn has_table(&self, name: &str) -> Result<bool, ReachError> {
        let sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1";
        let found = self.connection.query_row(sql, [name], |_| Ok(()));
        found.optional().map(|found| found.is_some()).map_err(|error| self.failed(&error))
    }

    /// Gives a session in the shape of the API; `None` when there is none.
    pub(crate) fn session(&self, thread: &ThreadId) -> Result<Option<Box<RawValue>>, ReachError> {
        let sql = format!("{SESSION} WHERE id = ?1");
        let found = self.connection.query_row(&sql, [thread.as_str()], session);
        found.optional().map_err(|error| self.failed(&error))
    }

    /// Gives the sessions that a session started, in the shape of the API, by creation.
    pub(crate) fn children(&self, thread: &ThreadId) -> Result<Vec<Box<RawValue>>, ReachError> {
        let sql = format!("{SESSION} WHERE parent_id = ?1 ORDER BY time_created, id");
        self.rows(&sql, params![thread.as_str()], session)
    }

    /// Gives the newest messages, at most `limit`, or those before a cursor.
    pub(crate) fn page(
        &self,
        thread: &ThreadId,
        before: Option<&Cursor>,
        limit: u32,
    ) -> Result<StoredPage, ReachError> {
        let key = match before.map(|cursor| (cursor, Key::decode(cursor))) {
            Some((_, Some(key))) => Some(key),
            Some((cursor, None)) => {
                let why = format!("{:?} is no cursor of this thread", cursor.as_str());
                return Err(ReachError::Protocol { place: place(&self.path), why });
            }
            None => None,
        };
        // Messages and their parts have to be of one moment.
        let moment =
            self.connection.unchecked_transaction().map_err(|error| self.failed(&error))?;
        let sql = "SELECT id, time_created, data FROM message WHERE session_id = ?1
                   AND (?2 IS NULL OR time_created < ?2 OR (time_created = ?2 AND id < ?3))
                   ORDER BY time_created DESC, id DESC LIMIT ?4";
        let (time, id) = key.map_or((None, None), |key| (Some(key.time), Some(key.id)));
        let rows =
            self.rows(sql, params![thread.as_str(), time, id, i64::from(limit) + 1], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get::<_, String>(2)?))
            })?;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let is_last = rows.len() <= limit;
        let mut older = None;
        let mut messages = Vec::with_capacity(rows.len().min(limit));
        for (id, time, data) in rows.into_iter().take(limit) {
            messages.push(self.message_of(thread, &id, &data)?);
            older = (!is_last).then(|| Key { id, time }.encode());
        }
        messages.reverse();
        moment.finish().map_err(|error| self.failed(&error))?;
        Ok(StoredPage { messages, older })
    }

    /// Gives one message; `None` when the session has none with this id.
    pub(crate) fn message(
        &self,
        thread: &ThreadId,
        message: &MessageId,
    ) -> Result<Option<StoredMessage>, ReachError> {
        let sql = "SELECT data FROM message WHERE id = ?1 AND session_id = ?2";
        let keys = [message.as_str(), thread.as_str()];
        let data = self.connection.query_row(sql, keys, |row| row.get::<_, String>(0)).optional();
        match data.map_err(|error| self.failed(&error))? {
            Some(data) => self.message_of(thread, message.as_str(), &data).map(Some),
            None => Ok(None),
        }
    }

    fn message_of(
        &self,
        thread: &ThreadId,
        id: &str,
        data: &str,
    ) -> Result<StoredMessage, ReachError> {
        let sql = "SELECT id, data FROM part WHERE message_id = ?1 ORDER BY id";
        let parts = self.rows(sql, [id], |row| {
            let part: String = row.get(0)?;
            let ids = [("id", part.as_str()), ("sessionID", thread.as_str()), ("messageID", id)];
            Ok(with_ids(&row.get::<_, String>(1)?, &ids))
        })?;
        let info = with_ids(data, &[("id", id), ("sessionID", thread.as_str())]);
        let text = format!("{{\"info\":{info},\"parts\":[{}]}}", parts.join(","));
        Ok(StoredMessage { id: id.to_owned(), json: RawValue::from_string(text).ok() })
    }

    fn rows<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, ReachError> {
        let rows = || self.connection.prepare_cached(sql)?.query_map(params, read)?.collect();
        let rows: rusqlite::Result<Vec<T>> = rows();
        rows.map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &rusqlite::Error) -> ReachError {
        failed(&self.path, error)
    }
}

const SESSION: &str = "SELECT id, parent_id, directory, title, version, time_created FROM session";

#[derive(Serialize)]
struct SessionJson {
    id: String,
    #[serde(rename = "parentID", skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    directory: Option<String>,
    title: Option<String>,
    version: Option<String>,
    time: SessionTimeJson,
}

#[derive(Serialize)]
struct SessionTimeJson {
    created: i64,
}

fn session(row: &Row<'_>) -> rusqlite::Result<Box<RawValue>> {
    let json = SessionJson {
        id: row.get(0)?,
        parent: row.get(1)?,
        directory: row.get(2)?,
        title: row.get(3)?,
        version: row.get(4)?,
        time: SessionTimeJson { created: row.get(5)? },
    };
    Ok(serde_json::value::to_raw_value(&json).expect("a struct of texts and numbers becomes JSON"))
}

/// Puts ids before the fields of a stored JSON object; what is none stays as it is.
fn with_ids(data: &str, ids: &[(&str, &str)]) -> String {
    let Some(fields) = data.trim().strip_prefix('{') else {
        return data.to_owned();
    };
    let ids: Vec<String> = ids
        .iter()
        .map(|(name, id)| {
            let id = serde_json::to_string(id).expect("a text becomes JSON");
            format!("\"{name}\":{id}")
        })
        .collect();
    let comma = if fields.trim_start().starts_with('}') { "" } else { "," };
    format!("{{{}{comma}{fields}", ids.join(","))
}

fn place(path: &Path) -> Place {
    Place::new(path.display().to_string())
}

/// A failed read is an error that names the file, never an empty history.
fn failed(path: &Path, error: &rusqlite::Error) -> ReachError {
    let place = place(path);
    let why = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            let after_ms = u64::try_from(BUSY.as_millis()).unwrap_or(u64::MAX);
            ReachError::TimedOut { place, after_ms }
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            ReachError::Protocol { place, why }
        }
        Some(_) | None => ReachError::Unreachable { place, why },
    }
}

#[cfg(test)]
mod tests;
