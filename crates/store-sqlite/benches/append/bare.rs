//! What does the engine need for the rows alone?

use rusqlite::{Connection, TransactionBehavior, params_from_iter, types::Value};
use store::Access as _;
use store_sqlite::SqliteStore;

use crate::work::Work;

const DONE: &str = "the engine does it";

/// The tables that appends write to, with their keys.
const TABLES: [(&str, &str); 4] =
    [("name", "id"), ("event", "seq"), ("turn", "session, thread, turn"), ("call", "key")];

/// A row that is ready to be written.
#[derive(Debug)]
struct Row {
    sql: String,
    values: Vec<Value>,
}

/// Which rows stand before the first operation, and which ones each operation writes.
#[derive(Debug)]
pub(crate) struct Script {
    before: Vec<Row>,
    operations: Vec<Vec<Row>>,
}

impl Script {
    /// Does the works on an empty store, one operation of each caller after the other.
    pub(crate) fn record(scratch: &SqliteStore, works: &[Work]) -> Self {
        let reader = Connection::open(scratch.path()).expect(DONE);
        works.iter().for_each(|work| work.prepare_alone(scratch));
        let mut seen = Seen::default();
        let mut script = Self { before: seen.new_rows(&reader), operations: Vec::new() };
        let each = works.first().map_or(0, |work| work.facts.len());
        for number in 0..each {
            for work in works {
                scratch.update(|ledger| work.append(ledger, number)).expect(DONE);
                script.operations.push(seen.new_rows(&reader));
            }
        }
        script
    }
}

/// The bare engine on the tables of a store.
#[derive(Debug)]
pub(crate) struct Bare {
    connection: Connection,
}

impl Bare {
    pub(crate) fn new(empty: SqliteStore, script: &Script) -> Self {
        let path = empty.path().to_owned();
        empty.close().expect(DONE);
        let connection = Connection::open(path).expect(DONE);
        connection.pragma_update(None, "journal_mode", "WAL").expect(DONE);
        connection.pragma_update(None, "synchronous", "FULL").expect(DONE);
        connection.pragma_update(None, "foreign_keys", true).expect(DONE);
        connection.set_prepared_statement_cache_capacity(64);
        let mut bare = Self { connection };
        bare.write(std::slice::from_ref(&script.before));
        bare
    }

    /// Writes all operations, so many in each transaction.
    pub(crate) fn commit(&mut self, script: &Script, together: usize) {
        script.operations.chunks(together).for_each(|group| self.write(group));
    }

    fn write(&mut self, operations: &[Vec<Row>]) {
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).expect(DONE);
        for row in operations.iter().flatten() {
            let mut statement = transaction.prepare_cached(&row.sql).expect(DONE);
            statement.execute(params_from_iter(&row.values)).expect(DONE);
        }
        transaction.commit().expect(DONE);
    }
}

/// The rows that were there before, by table and key.
#[derive(Debug, Default)]
struct Seen(std::collections::BTreeMap<(&'static str, i64), Vec<Value>>);

impl Seen {
    /// Gives the rows that are new or changed.
    fn new_rows(&mut self, reader: &Connection) -> Vec<Row> {
        let mut rows = Vec::new();
        for (table, key) in TABLES {
            let mut statement =
                reader.prepare_cached(&format!("SELECT * FROM {table}")).expect(DONE);
            let columns = statement.column_count();
            let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
            let mut found = statement.query(()).expect(DONE);
            while let Some(row) = found.next().expect(DONE) {
                let values: Vec<Value> =
                    (0..columns).map(|column| row.get(column).expect(DONE)).collect();
                let id: i64 = row.get(0).expect(DONE);
                if self.0.get(&(table, id)) != Some(&values) {
                    rows.push(Row { sql: sql(table, key, &names), values: values.clone() });
                    self.0.insert((table, id), values);
                }
            }
        }
        rows
    }
}

fn sql(table: &str, key: &str, columns: &[String]) -> String {
    let marks = vec!["?"; columns.len()].join(", ");
    let sets: Vec<String> =
        columns.iter().map(|column| format!("{column} = excluded.{column}")).collect();
    format!(
        "INSERT INTO {table} VALUES ({marks}) ON CONFLICT ({key}) DO UPDATE SET {}",
        sets.join(", ")
    )
}
