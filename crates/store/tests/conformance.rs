//! Does the memory model keep the contract?

use std::sync::Arc;

use store::{MemoryStore, Store};

fn place() -> impl Fn() -> Arc<dyn Store> + 'static {
    let store = MemoryStore::new();
    move || Arc::new(store.clone())
}

store::conformance_tests!(place);
