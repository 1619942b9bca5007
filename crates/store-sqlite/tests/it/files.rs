//! Which files are taken, and what is done to those that are not?

use std::{fs, path::Path};

use rusqlite::Connection;
use store::{Access as _, StoreError};
use store_sqlite::{Info, SqliteStore};

use crate::{
    operation::session,
    setting::{Place, assert_lawful},
};

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).unwrap().permissions()) & 0o777
}

#[cfg(unix)]
#[test]
fn what_is_created_is_for_its_owner_alone() {
    let place = Place::new();
    let folder = place.folder.path().join("a").join("b");
    let path = folder.join("store.sqlite");
    let store = SqliteStore::open(&path).unwrap();
    store.read_something();
    let modes = ["", "-wal", "-shm"].map(|end| mode(&folder.join(format!("store.sqlite{end}"))));
    assert_eq!(modes, [0o600; 3]);
    assert_eq!([mode(&folder), mode(folder.parent().unwrap())], [0o700; 2]);
}

trait ReadSomething {
    fn read_something(&self);
}

impl ReadSomething for SqliteStore {
    fn read_something(&self) {
        assert_eq!(self.view(|ledger| ledger.session(&session(0))).unwrap(), None);
    }
}

#[test]
fn a_store_that_is_not_there_is_not_created_to_be_read() {
    let place = Place::new();
    let error = SqliteStore::open_existing(&place.path).unwrap_err();
    assert_eq!(error.to_string(), format!("there is no store {}", place.path.display()));
    fs::write(&place.path, b"").unwrap();
    let error = SqliteStore::open_existing(&place.path).unwrap_err();
    assert!(matches!(error, StoreError::NotFound { .. }), "{error:?}");
    assert_eq!(fs::read(&place.path).unwrap(), b"");
    place.open().close().unwrap();
    SqliteStore::open_existing(&place.path).unwrap().read_something();
}

#[test]
fn a_closed_store_is_one_file() {
    let place = Place::new();
    let store = place.open();
    let format = SqliteStore::FORMAT;
    let Info { sqlite, format: found, .. } = store.info().unwrap();
    assert_eq!((sqlite, found), (rusqlite::version(), format));
    store.close().unwrap();
    let files: Vec<_> =
        fs::read_dir(place.folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files, [place.path.as_path()]);
}

/// Opens a file that must be refused, in both ways, and holds that nothing beside it changed.
fn refused(place: &Place) -> StoreError {
    let files = || -> Vec<(std::path::PathBuf, Vec<u8>)> {
        let entries = fs::read_dir(place.folder.path()).unwrap();
        let mut files: Vec<_> = entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| !path.to_string_lossy().ends_with("-shm"))
            .map(|path| (path.clone(), fs::read(path).unwrap()))
            // A log that the engine made to look for one, and that holds nothing.
            .filter(|(_, content)| !content.is_empty())
            .collect();
        files.sort();
        files
    };
    let before = files();
    let error = SqliteStore::open(&place.path).unwrap_err();
    let again = SqliteStore::open_existing(&place.path).unwrap_err();
    assert_eq!(error.to_string(), again.to_string());
    assert_eq!(files(), before);
    error
}

fn change(place: &Place, sql: &str) {
    Connection::open(&place.path).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn a_file_of_another_program_is_refused_untouched() {
    for content in [&b"hello"[..], b"S", &[0; 5000], b"SQLite format 2\0 and so on"] {
        let place = Place::new();
        fs::write(&place.path, content).unwrap();
        let error = refused(&place);
        if content == b"S" {
            assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
        } else {
            assert!(matches!(error, StoreError::Foreign { .. }), "{error:?}");
        }
    }
    for sql in ["CREATE TABLE a (b)", "PRAGMA application_id = 7", "PRAGMA journal_mode = WAL"] {
        let place = Place::new();
        change(&place, sql);
        change(&place, "CREATE TABLE c (d)");
        let error = refused(&place);
        assert!(matches!(error, StoreError::Foreign { .. }), "{error:?}");
    }
}

#[test]
fn a_newer_store_is_refused_untouched() {
    let place = Place::new();
    place.open().close().unwrap();
    change(&place, "PRAGMA user_version = 7; CREATE TABLE later (x)");
    let error = refused(&place);
    assert!(
        matches!(error, StoreError::TooNew { found: 7, supported: SqliteStore::FORMAT }),
        "{error:?}"
    );
}

/// The number is in the log alone, which reading must not move into the file.
#[test]
fn a_newer_store_is_known_by_its_log() {
    let place = Place::new();
    let store = place.open();
    let newer = Connection::open(&place.path).unwrap();
    newer.execute_batch("PRAGMA user_version = 7").unwrap();
    // What was opened before notices it with the next transaction.
    let error = store.view(|ledger| ledger.session(&session(0))).unwrap_err();
    assert!(
        matches!(error, StoreError::TooNew { found: 7, supported: SqliteStore::FORMAT }),
        "{error:?}"
    );
    let copy = Place::new();
    for end in ["", "-wal"] {
        let name = format!("store.sqlite{end}");
        fs::copy(place.folder.path().join(&name), copy.folder.path().join(&name)).unwrap();
    }
    let error = refused(&copy);
    assert!(
        matches!(error, StoreError::TooNew { found: 7, supported: SqliteStore::FORMAT }),
        "{error:?}"
    );
}

#[test]
fn a_store_that_is_cut_or_whose_tables_are_others_is_corrupt() {
    let place = Place::new();
    place.open().close().unwrap();
    let whole = fs::read(&place.path).unwrap();
    for length in [10, 99, 100, 4096, whole.len() / 2, whole.len() - 1] {
        fs::write(&place.path, &whole[..length]).unwrap();
        let error = refused(&place);
        assert!(matches!(error, StoreError::Corrupt { .. }), "{length}: {error:?}");
    }
    for sql in ["CREATE TABLE more (x)", "DROP INDEX event_call", "DROP TABLE fork"] {
        fs::write(&place.path, &whole).unwrap();
        change(&place, sql);
        let error = refused(&place);
        let corrupt = format!("{} is corrupt: its tables are not", place.path.display());
        assert!(error.to_string().starts_with(&corrupt), "{error}");
    }
}

#[test]
fn a_name_that_the_engine_takes_for_more_is_a_file() {
    for name in [":memory:", "file:store?mode=memory", "store with # and ?.sqlite"] {
        let place = Place::new();
        let path = place.folder.path().join(name);
        let store = SqliteStore::open(&path).unwrap();
        assert_lawful(&store);
        assert_eq!(fs::read(&path).unwrap()[..6], *b"SQLite");
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_told() {
    let place = Place::new();
    fs::write(&place.path, b"a file").unwrap();
    let error = SqliteStore::open(&place.path.join("store.sqlite")).unwrap_err();
    let StoreError::Unavailable { source } = error else { panic!("{error:?}") };
    assert_eq!(source.to_string(), format!("{} cannot be opened", place.path.display()));
}
