//! Are the file's structure and all its rows what was written?

use rusqlite::Connection;
use store::{Result, Violation};

use crate::{
    cells::{is_intact, place},
    schema::{TABLES, Table},
    transaction::Transaction,
};

/// Lists everything that is wrong, and does not stop at the first.
pub(super) fn check(tx: &Transaction<'_>) -> Result<Vec<Violation>> {
    tx.check_usable()?;
    let (connection, file) = (tx.connection(), tx.file());
    let mut found = Vec::new();
    structure(connection, file, "PRAGMA integrity_check", &mut found);
    structure(connection, file, "PRAGMA foreign_key_check", &mut found);
    for table in TABLES {
        rows(connection, file, table, &mut found);
    }
    Ok(found)
}

/// Asks the engine about its own structure: one sentence a row, `ok` when there is nothing.
fn structure(connection: &Connection, file: &str, sql: &str, found: &mut Vec<Violation>) {
    let sentences = connection.prepare(sql).and_then(|mut statement| {
        let rows = statement.query_map((), |row| {
            let sentence: rusqlite::Result<String> = row.get(0);
            sentence
        })?;
        rows.collect::<rusqlite::Result<Vec<_>>>()
    });
    match sentences {
        Ok(sentences) => {
            for sentence in sentences.into_iter().filter(|sentence| sentence != "ok") {
                found.push(violation("structure", file.to_owned(), sentence));
            }
        }
        Err(_) => found.push(unreadable(file.to_owned())),
    }
}

/// Checks every row of a table, in the order of their keys.
fn rows(connection: &Connection, file: &str, table: &Table, found: &mut Vec<Violation>) {
    let checked =
        connection.prepare(&format!("SELECT * FROM {}", table.name)).and_then(|mut statement| {
            let mut rows = statement.query(())?;
            while let Some(row) = rows.next()? {
                if !is_intact(table, row) {
                    let problem = "the row's checksum is wrong".to_owned();
                    found.push(violation("checksum", place(file, table, row), problem));
                }
            }
            Ok(())
        });
    if checked.is_err() {
        found.push(unreadable(format!("{file}: table {}", table.name)));
    }
}

fn unreadable(place: String) -> Violation {
    violation("structure", place, "the engine cannot read it to its end".to_owned())
}

fn violation(rule: &'static str, place: String, problem: String) -> Violation {
    Violation { rule, place, problem }
}
