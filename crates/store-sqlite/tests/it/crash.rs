//! Does everything that was acknowledged survive the death of the process?
//!
//! The test runs its own program again as a child, which appends and says what was acknowledged,
//! and kills it at a random moment. `TURNBOOK_CRASHES` sets how often.

use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use receipts::{Fact, FactBody, Kind, TurnId, UnixMillis};
use store::{Access as _, Batch, Labels, NewSession, Seq};
use store_sqlite::SqliteStore;

use crate::{
    operation::{harness, session, thread},
    setting::{Place, assert_lawful, chosen},
};

/// Tells the child where to append.
const VARIABLE: &str = "TURNBOOK_CRASH_STORE";
/// How many facts are appended together; none of them may be there alone.
const BATCH: usize = 3;

#[expect(clippy::disallowed_methods, reason = "so the test tells its child what to do")]
fn told() -> Option<PathBuf> {
    std::env::var(VARIABLE).ok().map(PathBuf::from)
}

/// Appends until it is killed; says the number of each batch once it is acknowledged.
fn append_for_ever(path: &Path) {
    let store = SqliteStore::open(path).unwrap();
    let (session, thread) = (session(0), thread(0));
    let first = store
        .update(|ledger| {
            ledger.create_session(&NewSession {
                id: session.clone(),
                harness: harness(),
                created_at: UnixMillis(0),
                workdir: None,
                title: None,
                labels: Labels::none(),
            })?;
            Ok(ledger.events(&session, Seq::START, usize::MAX)?.len() / BATCH)
        })
        .unwrap();
    let mut out = std::io::stdout();
    for batch in first.. {
        let facts: Vec<Fact> = (0..BATCH).map(|part| fact(batch, part)).collect();
        store
            .update(|ledger| {
                let (session, thread) = (&session, &thread);
                let at = UnixMillis(1);
                ledger.append(&Batch { session, thread, facts: &facts, evidence: None, at })
            })
            .unwrap();
        writeln!(out, "acknowledged {batch}").unwrap();
        out.flush().unwrap();
    }
}

fn fact(batch: usize, part: usize) -> Fact {
    let turn = TurnId::new(format!("{batch} {part}")).unwrap();
    Fact { turn, body: FactBody::Admitted { kind: Kind::Prompt, at: None } }
}

#[test]
fn what_was_acknowledged_survives_the_death_of_the_process() {
    if let Some(path) = told() {
        append_for_ever(&path);
    }
    let place = Place::new();
    let mut acknowledged = BTreeSet::new();
    for round in 0..chosen("TURNBOOK_CRASHES").unwrap_or(10) {
        acknowledged.extend(kill_a_child(&place.path, round));
        let store = place.open();
        let events = store.view(|ledger| ledger.events(&session(0), Seq::START, usize::MAX));
        let turns: Vec<TurnId> =
            events.unwrap().into_iter().map(|event| event.turn.unwrap()).collect();
        let batches = turns.len() / BATCH;
        let expected: Vec<TurnId> = (0..batches)
            .flat_map(|batch| (0..BATCH).map(move |part| fact(batch, part).turn))
            .collect();
        // Whole batches in order, those that were acknowledged among them.
        assert_eq!(turns, expected);
        assert!(acknowledged.last().is_none_or(|last| *last < batches));
        assert_lawful(&store);
    }
    assert!(!acknowledged.is_empty());
}

/// Starts a child, kills it after some acknowledgements, and gives those that were said.
fn kill_a_child(path: &Path, round: u32) -> Vec<usize> {
    let name = "crash::what_was_acknowledged_survives_the_death_of_the_process";
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .env(VARIABLE, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // Different rounds die after a different number of batches, at whatever point of the next.
    let wanted = round % 7 * 5 + 1;
    let number = |line: String| line.strip_prefix("acknowledged ")?.parse().ok();
    let mut said: Vec<usize> =
        lines.by_ref().map_while(Result::ok).filter_map(number).take(wanted as usize).collect();
    child.kill().unwrap();
    // What it could still say before it died was acknowledged as well.
    said.extend(lines.map_while(Result::ok).filter_map(number));
    assert!(!child.wait().unwrap().success());
    said
}
