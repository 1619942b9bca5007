//! Does SQLite keep the contract?

use std::{path::Path, sync::Arc};

use store::Store;
use store_sqlite::SqliteStore;

fn place() -> impl Fn() -> Arc<dyn Store> + 'static {
    // Memory, where there is such a folder: thousands of stores are made here, and none is to
    // survive a loss of power.
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let folder = folder.expect("there is room for a folder");
    move || {
        let path = folder.path().join("store.sqlite");
        Arc::new(SqliteStore::open(&path).expect("the store opens"))
    }
}

store::conformance_tests!(place);
