//! Can every format that was ever written still be read?
//!
//! `tests/formats/N.sqlite` was written by a program of format `N`. With `TURNBOOK_BLESS` set, the
//! file of the newest format is written anew; the older ones can only be kept.

use std::{fs, path::Path};

use store::{Access as _, Store as _};
use store_sqlite::SqliteStore;

use crate::{
    dump::dump_stored,
    operation::{Operation, apply, history},
    setting::{Place, assert_lawful, chosen},
};

fn kept(format: i64, ending: &str) -> std::path::PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join("formats");
    folder.join(format!("{format}.{ending}"))
}

fn bless() {
    let place = Place::new();
    let store = place.open();
    let operations: Vec<Operation> = history();
    store
        .write(&mut |ledger| {
            operations.iter().for_each(|one| drop(apply(ledger, one)));
            Ok(())
        })
        .unwrap();
    fs::write(kept(SqliteStore::FORMAT, "txt"), store.view(dump_stored).unwrap()).unwrap();
    store.close().unwrap();
    fs::copy(&place.path, kept(SqliteStore::FORMAT, "sqlite")).unwrap();
}

#[test]
fn a_store_of_every_format_says_what_it_said_when_it_was_written() {
    if chosen("TURNBOOK_BLESS").is_some() {
        bless();
    }
    for format in 0..=SqliteStore::FORMAT {
        let place = Place::new();
        fs::copy(kept(format, "sqlite"), &place.path).unwrap();
        let store = SqliteStore::open_existing(&place.path).unwrap();
        let expected = fs::read_to_string(kept(format, "txt")).unwrap();
        assert_eq!(store.view(dump_stored).unwrap(), expected, "format {format}");
        assert_lawful(&store);
        assert_eq!(store.info().unwrap().format, SqliteStore::FORMAT);
    }
}
