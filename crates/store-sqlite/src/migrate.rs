//! Which format does a file have, and how does an older one become the newest?
//!
//! The format is 0, and may change, until histories can be imported; it has numbered revisions. Then
//! format 1 is frozen, and has a number above theirs.
//!
//! | revision | since | what changed |
//! | --- | --- | --- |
//! | 0 | first | |
//! | 1 | subagents | indexes on who started a conversation, and on requests that were never seen; calls of a subagent have the owner of the turn that started it |
//!
//! The revision is `user_version` in the file's header. A migration runs in one transaction with the
//! change of that number, so that a crash leaves the old revision or the new one. A file of every
//! revision that was ever written is kept in `tests/formats`.

use std::cell::RefCell;

use rusqlite::{Connection, TransactionBehavior};
use store::StoreError;

use crate::{
    error::{classify, corrupt},
    schema::{self, APPLICATION_ID, NAME, SCHEMA},
    transaction::{NewRow, Transaction},
};

/// Makes a file of one revision, which errors name, into one of the next.
type Migration = fn(&str, &Connection) -> Result<(), StoreError>;

/// The migration at place `n` leads from revision `n` to `n + 1`.
const MIGRATIONS: &[Migration] = &[subagents];

/// The revision of format 0 that this build writes.
#[expect(clippy::cast_possible_wrap, reason = "a list in this file is short")]
pub(crate) const FORMAT: i64 = MIGRATIONS.len() as i64;

fn subagents(file: &str, connection: &Connection) -> Result<(), StoreError> {
    const INDEXES: &str = "
DROP INDEX intent_open;
CREATE INDEX intent_unseen ON intent (session, seq) WHERE admitted IS NULL;
CREATE INDEX event_start ON event (key) WHERE form = 3 AND substr(body, 1, 1) = x'03';
CREATE INDEX event_child ON event (thread) WHERE form = 3 AND substr(body, 1, 1) = x'03';
";
    connection.execute_batch(INDEXES).map_err(|error| classify(file, error))?;
    let names = RefCell::default();
    store::derive_owners(&mut Transaction::new(connection, &names, file))
}

/// Reads the format of a file, as this transaction sees it.
pub(crate) fn format(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA user_version")?.query_row((), |row| row.get(0))
}

/// Fails for a file of a newer program.
pub(crate) fn check(found: i64) -> Result<(), StoreError> {
    let supported = FORMAT;
    if found > supported { Err(StoreError::TooNew { found, supported }) } else { Ok(()) }
}

/// Makes an empty file a store, unless another process did it first.
pub(crate) fn create(file: &str, connection: &mut Connection) -> Result<(), StoreError> {
    let fail = |error| classify(file, error);
    let work = |connection: &mut Connection| {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if application_id(&transaction)? == 0 && schema::definitions(&transaction)?.is_empty() {
            transaction.execute_batch(SCHEMA)?;
            // Row 0 stands for "none".
            let none = NewRow::new().int(0).text("").sealed(&NAME);
            transaction.execute(NAME.insert, rusqlite::params_from_iter(none))?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            transaction.pragma_update(None, "user_version", FORMAT)?;
        }
        transaction.commit()
    };
    work(connection).map_err(fail)
}

/// Reads who made a file.
pub(crate) fn application_id(connection: &Connection) -> rusqlite::Result<i32> {
    connection.query_row("PRAGMA application_id", (), |row| row.get(0))
}

/// Brings an older file to the newest format, and checks that its tables are those of it.
pub(crate) fn upgrade(file: &str, connection: &mut Connection) -> Result<(), StoreError> {
    apply(file, connection, MIGRATIONS)?;
    let fail = |error| classify(file, error);
    if schema::definitions(connection).map_err(fail)? != schema::expected().map_err(fail)? {
        return Err(corrupt(file, format!("its tables are not those of format 0.{FORMAT}")));
    }
    Ok(())
}

fn apply(
    file: &str,
    connection: &mut Connection,
    migrations: &[Migration],
) -> Result<(), StoreError> {
    let fail = |error| classify(file, error);
    let newest = i64::try_from(migrations.len()).unwrap_or(i64::MAX);
    if format(connection).map_err(fail)? >= newest {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate);
    let transaction = transaction.map_err(fail)?;
    // Another process may have done it while the lock was waited for.
    let found = usize::try_from(format(&transaction).map_err(fail)?).unwrap_or(usize::MAX);
    for migration in migrations.iter().skip(found) {
        migration(file, &transaction)?;
    }
    transaction.pragma_update(None, "user_version", newest).map_err(fail)?;
    transaction.commit().map_err(fail)
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;
    use store::StoreError;

    use super::{Migration, apply, classify, format};

    const STEPS: [Migration; 2] = [
        |file, connection| batch(file, connection, "CREATE TABLE a (x) STRICT_OFF"),
        |file, connection| batch(file, connection, "CREATE TABLE b AS SELECT 1"),
    ];

    fn batch(file: &str, connection: &Connection, sql: &str) -> Result<(), StoreError> {
        connection.execute_batch(sql).map_err(|error| classify(file, error))
    }

    fn tables(connection: &Connection) -> i64 {
        let sql = "SELECT count(*) FROM sqlite_schema";
        connection.query_row(sql, (), |row| row.get(0)).unwrap()
    }

    #[test]
    fn migrations_happen_together_or_not_at_all() {
        let mut connection = Connection::open_in_memory().unwrap();
        let [broken, good] = STEPS;
        apply("file", &mut connection, &[good, broken]).unwrap_err();
        assert_eq!((tables(&connection), format(&connection).unwrap()), (0, 0));
        apply("file", &mut connection, &[good]).unwrap();
        assert_eq!((tables(&connection), format(&connection).unwrap()), (1, 1));
        // What was done is not done again.
        apply("file", &mut connection, &[good]).unwrap();
        assert_eq!((tables(&connection), format(&connection).unwrap()), (1, 1));
    }
}
