//! What do several stores on one file, and several threads on one store, see of each other?

use std::{panic, sync::Barrier, thread};

use receipts::UnixMillis;
use store::{
    Access as _, Driver, Labels, NewExec, NewSession, Provider, Result, Store as _, StoreError,
};
use store_sqlite::SqliteStore;

use crate::{
    operation::{exec, harness, session},
    setting::{Place, assert_lawful},
};

fn prepare(store: &SqliteStore) {
    let prepared = store.update(|ledger| {
        for id in [exec(0), exec(1)] {
            let (argv, started_at) = (Vec::new(), UnixMillis(0));
            ledger.start_exec(&NewExec { id, parent: None, argv, cwd: None, started_at })?;
        }
        ledger.create_session(&new_session(0))
    });
    prepared.unwrap();
}

fn new_session(number: u8) -> NewSession {
    NewSession {
        id: session(number),
        harness: harness(),
        created_at: UnixMillis(1),
        workdir: None,
        title: None,
        labels: Labels::none(),
    }
}

fn claim(store: &SqliteStore, expected: Option<&Driver>, number: u8) -> Result<Driver> {
    store.update(|ledger| ledger.claim_driver(&session(0), expected, &exec(number), Provider::Keep))
}

#[test]
fn of_two_racing_claims_through_two_stores_one_wins() {
    let place = Place::new();
    let stores = [place.open(), place.open()];
    prepare(&stores[0]);
    let mut current = None;
    for round in 1..=50 {
        let start = Barrier::new(2);
        let results: Vec<_> = thread::scope(|scope| {
            let race = |number: u8| {
                let (store, start, expected) = (&stores[usize::from(number)], &start, &current);
                scope.spawn(move || {
                    start.wait();
                    claim(store, Option::as_ref(expected), number)
                })
            };
            [race(0), race(1)].map(|racer| racer.join().unwrap()).into()
        });
        let stale = results.iter().filter(|result| matches!(result, Err(StoreError::Stale { .. })));
        assert_eq!(stale.count(), 1, "{results:?}");
        current = results.into_iter().find_map(Result::ok);
        assert_eq!(current.as_ref().map(|driver| driver.generation.0), Some(round));
    }
    assert_lawful(&stores[1]);
}

#[test]
fn a_read_sees_one_state_and_waits_for_no_writer() {
    let place = Place::new();
    let (store, other) = (place.open(), place.open());
    prepare(&store);
    let count = |store: &SqliteStore| store.view(|ledger| Ok(ledger.sessions(None, 9)?.len()));
    store
        .update(|ledger| {
            ledger.create_session(&new_session(1))?;
            // The writer sees its own write, and holds the lock of the file; nobody else does.
            assert_eq!(ledger.sessions(None, 9)?.len(), 2);
            assert_eq!([count(&store)?, count(&other)?], [1, 1]);
            Ok(())
        })
        .unwrap();
    let before = store.view(|ledger| {
        let first = ledger.sessions(None, 9)?.len();
        other.update(|ledger| ledger.create_session(&new_session(2)))?;
        Ok([first, ledger.sessions(None, 9)?.len()])
    });
    assert_eq!(before.unwrap(), [2, 2]);
    assert_eq!([count(&store).unwrap(), count(&other).unwrap()], [3, 3]);
}

#[test]
fn a_work_that_fails_or_panics_leaves_nothing() {
    let place = Place::new();
    let store = place.open();
    prepare(&store);
    let panicked = panic::catch_unwind(panic::AssertUnwindSafe(|| {
        store.update(|ledger| -> Result<()> {
            ledger.create_session(&new_session(1))?;
            panic!("a work goes wrong");
        })
    }));
    assert!(panicked.is_err());
    store
        .write(&mut |ledger| {
            ledger.create_session(&new_session(2))?;
            Err(StoreError::not_found("reason", "to commit"))
        })
        .unwrap_err();
    let ids = |store: &SqliteStore| -> Vec<_> {
        let sessions = store.view(|ledger| ledger.sessions(None, 9)).unwrap();
        sessions.into_iter().map(|session| session.fixed.id).collect()
    };
    assert_eq!(ids(&store), [session(0)]);
    // Names that were rolled back are not taken for stored ones.
    store.update(|ledger| ledger.create_session(&new_session(2))).unwrap();
    assert_eq!(ids(&store), [session(0), session(2)]);
    assert_lawful(&store);
    let panicked = panic::catch_unwind(panic::AssertUnwindSafe(|| {
        store.view(|_| -> Result<()> { panic!("a read goes wrong") })
    }));
    assert!(panicked.is_err());
    assert_eq!(ids(&store), [session(0), session(2)]);
}
