//! What do the tests share?

use std::path::{Path, PathBuf};

use store::Access as _;
use store_sqlite::SqliteStore;
use tempfile::TempDir;

/// A folder of its own with the name of a store in it.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
    pub(crate) path: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::with(tempfile::tempdir().unwrap())
    }

    /// A place in memory, where the system has one: for what is not about durability.
    pub(crate) fn fleeting() -> Self {
        let memory = Path::new("/dev/shm");
        let folder =
            if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        Self::with(folder.unwrap())
    }

    fn with(folder: TempDir) -> Self {
        let path = folder.path().join("store.sqlite");
        Self { folder, path }
    }

    pub(crate) fn open(&self) -> SqliteStore {
        SqliteStore::open(&self.path).unwrap()
    }
}

/// Reads a number that the tester chose.
#[expect(clippy::disallowed_methods, reason = "how long to look is the tester's choice")]
pub(crate) fn chosen(variable: &str) -> Option<u32> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Fails when the store breaks one of its laws.
pub(crate) fn assert_lawful(store: &SqliteStore) {
    assert_eq!(store.view(|ledger| ledger.verify()).unwrap(), []);
}
