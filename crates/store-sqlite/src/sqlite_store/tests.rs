//! What only the writing connection itself can show: a full disk, and what the engine is set to.

use receipts::{SessionId, UnixMillis};
use store::{Access as _, HarnessName, Labels, NewSession, Result, Session, StoreError};

use super::SqliteStore;

fn create(store: &SqliteStore, number: usize) -> Result<Session> {
    store.update(|ledger| {
        ledger.create_session(&NewSession {
            id: SessionId::new(format!("session {number}")).unwrap(),
            harness: HarnessName::new("opencode").unwrap(),
            created_at: UnixMillis(0),
            workdir: Some("a long path/".repeat(200).into()),
            title: None,
            labels: Labels::none(),
        })
    })
}

fn set_pages_max(store: &SqliteStore, pages: i64) {
    let writer = store.lock_writer();
    let sql = format!("PRAGMA max_page_count = {pages}");
    writer.connection.query_row(&sql, (), |_| Ok(())).unwrap();
}

#[test]
fn a_full_disk_is_told_and_later_writes_work() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("store.sqlite")).unwrap();
    create(&store, 0).unwrap();
    set_pages_max(&store, 1);
    let full = (1..1000).find_map(|number| Some((number, create(&store, number).err()?)));
    let (failed, error) = full.expect("the file is full at some time");
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
    let count = || store.view(|ledger| Ok(ledger.sessions(None, usize::MAX)?.len())).unwrap();
    assert_eq!(count(), failed, "what was acknowledged can be read");
    set_pages_max(&store, 1_000_000);
    create(&store, failed).unwrap();
    assert_eq!(count(), failed + 1);
    assert_eq!(store.view(|ledger| ledger.verify()).unwrap(), []);
}

/// After the engine has rolled back, a work that goes on must not write on its own.
#[test]
fn a_work_that_ignores_a_full_disk_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("store.sqlite")).unwrap();
    set_pages_max(&store, 1);
    let result = store.update(|ledger| {
        let errors = (0..100).filter(|number| {
            let id = SessionId::new(format!("session {number}")).unwrap();
            let new = NewSession {
                id,
                harness: HarnessName::new("opencode").unwrap(),
                created_at: UnixMillis(0),
                workdir: Some("a long path/".repeat(200).into()),
                title: None,
                labels: Labels::none(),
            };
            ledger.create_session(&new).is_err()
        });
        assert!(errors.count() > 0);
        Ok(())
    });
    assert!(matches!(result, Err(StoreError::Unavailable { .. })), "{result:?}");
    assert_eq!(store.view(|ledger| ledger.sessions(None, usize::MAX)).unwrap(), []);
}

#[test]
fn the_connections_are_set_to_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("store.sqlite")).unwrap();
    let writer = store.lock_writer();
    let number = |name: &str| -> i64 {
        writer.connection.pragma_query_value(None, name, |row| row.get(0)).unwrap()
    };
    let settings = ["synchronous", "foreign_keys", "trusted_schema", "cell_size_check"].map(number);
    // `synchronous` 2 is FULL.
    assert_eq!(settings, [2, 1, 0, 1]);
    assert_eq!(number("journal_size_limit"), 64 * 1024 * 1024);
    let mode: String =
        writer.connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}
