//! Is a row that is not what was written ever given as right?

use std::fs;

use receipts::{ExecId, Fact, FactBody, Kind, UnixMillis};
use rusqlite::Connection;
use store::{Access as _, Batch, Labels, NewExec, NewSession, Seq, StoreError, Violation};
use store_sqlite::SqliteStore;

use crate::{
    operation::{exec, harness, session, thread, turn},
    setting::Place,
};

/// Writes a session with one event, and closes the store.
fn written() -> Place {
    let place = Place::new();
    let store = place.open();
    let written = store.update(|ledger| {
        ledger.start_exec(&NewExec {
            id: exec(0),
            parent: None,
            argv: Vec::new(),
            cwd: Some("/a/folder".into()),
            started_at: UnixMillis(0),
        })?;
        ledger.create_session(&NewSession {
            id: session(0),
            harness: harness(),
            created_at: UnixMillis(1),
            workdir: Some("/some/folder".into()),
            title: None,
            labels: Labels::none(),
        })?;
        let body = FactBody::Admitted { kind: Kind::Prompt, at: None };
        let facts = [Fact { turn: turn(0), body }];
        let (session, thread) = (&session(0), &thread(0));
        let at = UnixMillis(2);
        ledger.append(&Batch { session, thread, facts: &facts, evidence: None, at }).map(drop)
    });
    written.unwrap();
    store.close().unwrap();
    place
}

fn corrupt_place(error: StoreError) -> String {
    let StoreError::Corrupt { place, .. } = error else { panic!("{error:?}") };
    place
}

fn read_exec(store: &SqliteStore, id: &ExecId) -> StoreError {
    store.view(|ledger| ledger.exec(id)).unwrap_err()
}

#[test]
fn a_flipped_byte_in_a_row_is_found_by_who_reads_it_and_by_verify() {
    let place = written();
    let mut bytes = fs::read(&place.path).unwrap();
    let at = bytes.windows(9).position(|window| window == b"/a/folder").unwrap();
    bytes[at] ^= 1;
    fs::write(&place.path, &bytes).unwrap();
    let store = place.open();
    let error = read_exec(&store, &exec(0));
    let row = format!("{}: table exec row 1", place.path.display());
    assert_eq!(corrupt_place(error), row);
    // What is whole can still be read.
    assert!(store.view(|ledger| ledger.session(&session(0))).unwrap().is_some());
    let problem = "the row's checksum is wrong".to_owned();
    let expected = [Violation { rule: "checksum", place: row, problem }];
    assert_eq!(store.view(|ledger| ledger.verify()).unwrap(), expected);
}

#[test]
fn verify_does_not_stop_at_the_first_bad_row() {
    let place = written();
    let change = "UPDATE event SET recorded_at = 3; UPDATE session SET checksum = 0;
                  UPDATE turn SET state = 1; UPDATE name SET text = 'other' WHERE id = 1";
    Connection::open(&place.path).unwrap().execute_batch(change).unwrap();
    let store = place.open();
    let found = store.view(|ledger| ledger.verify()).unwrap();
    let tables: Vec<_> = found
        .iter()
        .map(|violation| (violation.rule, violation.place.rsplit(": ").next().unwrap()))
        .collect();
    let expected = ["name row 1", "session row 1", "event row 1", "turn row 1"];
    let expected = expected.map(|row| ("checksum", format!("table {row}")));
    assert_eq!(tables, expected.each_ref().map(|(rule, row)| (*rule, row.as_str())));
}

/// Whatever byte is changed: an error, or what was written.
#[test]
fn a_flipped_byte_anywhere_gives_an_error_or_what_was_written() {
    let place = written();
    let whole = fs::read(&place.path).unwrap();
    let ask = |store: &SqliteStore| {
        store.view(|ledger| {
            let events = ledger.events(&session(0), Seq::START, 10)?;
            Ok(format!("{:?} {events:?}", ledger.sessions(None, 10)?))
        })
    };
    let expected = ask(&place.open()).unwrap();
    let mut counts = [0, 0];
    for at in (0..whole.len()).step_by(97) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x11;
        let copy = Place::fleeting();
        fs::write(&copy.path, &bytes).unwrap();
        match SqliteStore::open(&copy.path).and_then(|store| ask(&store)) {
            Ok(answer) => {
                assert_eq!(answer, expected, "byte {at} of {}", whole.len());
                counts[0] += 1;
            }
            Err(_) => counts[1] += 1,
        }
    }
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
}
