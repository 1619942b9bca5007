//! Which tables are there, and how is a whole row of each written?

use rusqlite::Connection;

/// Says in the file's header that it is a turnbook store: `TBk1`.
pub(crate) const APPLICATION_ID: i32 = 0x5442_6b31;

/// The tables of the newest format.
pub(crate) const SCHEMA: &str = include_str!("schema.sql");

/// One table. Its first column is its integer primary key, its last one the row's checksum.
#[derive(Debug)]
pub(crate) struct Table {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its columns in order, without the checksum.
    pub(crate) columns: &'static [&'static str],
    /// Adds a row; an equal key is an error.
    pub(crate) insert: &'static str,
    /// Adds a row, or overwrites the one with its key.
    pub(crate) upsert: &'static str,
}

macro_rules! tables {
    ($($table:ident = $name:literal by $key:literal
        [$first:literal $(, $column:literal)*];)*) => {
        $(pub(crate) const $table: Table = Table {
            name: $name,
            columns: &[$first $(, $column)*],
            insert: concat!(
                "INSERT INTO ", $name, " VALUES (:", $first, $(", :", $column,)* ", :checksum)"
            ),
            upsert: concat!(
                "INSERT INTO ", $name, " VALUES (:", $first, $(", :", $column,)* ", :checksum)",
                " ON CONFLICT (", $key, ") DO UPDATE SET ", $first, " = excluded.", $first,
                $(", ", $column, " = excluded.", $column,)* ", checksum = excluded.checksum"
            ),
        };)*
        /// Every table.
        pub(crate) const TABLES: &[&Table] = &[$(&$table),*];
    };
}

tables! {
    NAME = "name" by "id" ["id", "text"];
    SESSION = "session" by "id" [
        "id", "name", "harness", "created_at", "workdir", "title", "labels", "thread", "input",
        "capture", "driver_exec", "generation", "provider_generation", "provider_exec",
        "endpoint", "pid", "start_time", "closed_at"
    ];
    INPUT = "input" by "key" [
        "key", "session", "capture", "at", "prompt", "skill", "cwd", "model", "work", "labels"
    ];
    EXEC = "exec" by "id" [
        "id", "parent", "argv", "cwd", "started_at", "ended_at", "outcome", "code"
    ];
    INTENT = "intent" by "request" [
        "request", "seq", "session", "thread", "turn", "purpose", "reply", "input", "exec",
        "generation", "provider_generation", "labels", "created_at", "delivery", "why", "admitted"
    ];
    EVENT = "event" by "seq" [
        "seq", "session", "thread", "turn", "kind", "key", "recorded_at", "evidence", "call",
        "form", "body"
    ];
    TURN = "turn" by "session, thread, turn" ["first", "session", "thread", "turn", "state"];
    CALL = "call" by "key" [
        "key", "input_tokens", "cache_read", "cache_write", "cache_write_1h", "output",
        "reasoning", "cost", "provider", "model", "at", "seq", "session", "thread", "turn",
        "input", "exec"
    ];
    FORK = "fork" by "child" ["child", "parent"];
    SELECTION = "selection" by "input" [
        "input", "flow", "position", "session", "after", "driver_exec", "generation",
        "provider_generation", "provider_exec", "endpoint", "pid", "start_time", "state",
        "request", "thread", "turn"
    ];
    EVIDENCE = "evidence" by "id" ["id", "digest", "kept_at", "size"];
    CONTENT = "content" by "evidence" ["evidence", "bytes"];
}

/// Reads the definition of everything that a file holds, in a fixed order.
pub(crate) fn definitions(connection: &Connection) -> rusqlite::Result<Vec<[String; 2]>> {
    let sql = "SELECT type || ' ' || name, ifnull(sql, '') FROM sqlite_schema ORDER BY 1";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map((), |row| Ok([row.get(0)?, row.get(1)?]))?;
    rows.collect()
}

/// Gives the definitions that a file of the newest format has.
pub(crate) fn expected() -> rusqlite::Result<Vec<[String; 2]>> {
    let memory = Connection::open_in_memory()?;
    memory.execute_batch(SCHEMA)?;
    definitions(&memory)
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::{SCHEMA, TABLES};

    #[test]
    fn the_tables_have_the_columns_that_are_written() {
        let memory = Connection::open_in_memory().unwrap();
        memory.execute_batch(SCHEMA).unwrap();
        let mut statement = memory.prepare("SELECT name FROM pragma_table_info(?1)").unwrap();
        let columns = |table: &str| -> Vec<String> {
            statement.query_map([table], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
        };
        let found: Vec<_> = TABLES.iter().map(|table| table.name).map(columns).collect();
        let written: Vec<Vec<String>> = TABLES
            .iter()
            .map(|table| table.columns.iter().chain(&["checksum"]).map(ToString::to_string))
            .map(Iterator::collect)
            .collect();
        assert_eq!(found, written);
        let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table'";
        let count: i64 = memory.query_row(sql, (), |row| row.get(0)).unwrap();
        assert_eq!(usize::try_from(count), Ok(TABLES.len()));
    }
}
