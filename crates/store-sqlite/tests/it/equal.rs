//! Does SQLite answer like the model, whatever is done?

use proptest::{
    collection::vec,
    prelude::{Strategy, any},
    prop_assert_eq, proptest,
    test_runner::{Config, RngSeed},
};
use store::{Access as _, MemoryStore, Store as _, StoreError};

use crate::{
    dump::dump,
    operation::{Operation, apply, operation},
    setting::{Place, assert_lawful, chosen},
};

fn config() -> Config {
    let cases = chosen("TURNBOOK_CASES").unwrap_or(64);
    let rng_seed = RngSeed::Fixed(u64::from(chosen("TURNBOOK_SEED").unwrap_or(0)));
    Config { cases, rng_seed, failure_persistence: None, ..Config::default() }
}

/// Some operations in one transaction.
#[derive(Debug, Clone)]
struct Step {
    operations: Vec<Operation>,
    end: End,
}

/// How a transaction ends, and what comes after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Commit,
    Rollback,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    (vec(operation(), 1..8), any::<u8>()).prop_map(|(operations, end)| {
        let end = match end {
            0..32 => End::Rollback,
            32..40 => End::Reopen,
            40.. => End::Commit,
        };
        Step { operations, end }
    })
}

fn perform(store: &dyn store::Store, step: &Step) -> Vec<String> {
    let mut answers = Vec::new();
    let done = store.write(&mut |ledger| {
        answers = step.operations.iter().map(|one| apply(ledger, one)).collect();
        match step.end {
            End::Rollback => Err(StoreError::not_found("reason", "to commit")),
            End::Commit | End::Reopen => Ok(()),
        }
    });
    assert_eq!(done.is_err(), step.end == End::Rollback, "{done:?}");
    answers
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_answer_is_that_of_the_model(steps in vec(step(), 1..12)) {
        let place = Place::fleeting();
        let mut sqlite = place.open();
        let memory = MemoryStore::new();
        for step in &steps {
            prop_assert_eq!(perform(&sqlite, step), perform(&memory, step));
            if step.end == End::Reopen {
                drop(sqlite);
                sqlite = place.open();
            }
        }
        prop_assert_eq!(sqlite.view(dump).unwrap(), memory.view(dump).unwrap());
        assert_lawful(&sqlite);
        sqlite.close().unwrap();
        let reopened = place.open();
        prop_assert_eq!(reopened.view(dump).unwrap(), memory.view(dump).unwrap());
        // What is there already is not written again.
        reopened.write(&mut |_| Ok(())).unwrap();
    }
}
