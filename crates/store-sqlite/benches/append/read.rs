//! How long does it take to read a session of 10,000 turns?

use std::time::Duration;

use store::{Access as _, Ledger, Result, UsageBy};
use store_sqlite::SqliteStore;

use crate::{timed, work::Work};

/// Five facts make a turn.
const FACTS: usize = 50_000;
/// How many facts are written in one transaction.
const TOGETHER: usize = 1000;

/// A question to the ledger.
type Read = (&'static str, fn(&dyn Ledger, &Work) -> Result<()>);

const READS: [Read; 5] = [
    ("activity", |ledger, work| ledger.activity(work.session()).map(drop)),
    ("session usage", |ledger, work| ledger.session_usage(work.session()).map(drop)),
    ("usage by model", |ledger, _| ledger.usage_by(UsageBy::Model, None).map(drop)),
    ("turns", |ledger, work| ledger.turns(work.session()).map(drop)),
    ("verify", |ledger, _| ledger.verify().map(drop)),
];

/// Fills a store, and gives how long each question took, once it was asked before.
pub(crate) fn measure(store: &SqliteStore) -> Vec<(&'static str, Duration)> {
    let work = Work::new(0, FACTS);
    work.prepare_alone(store);
    for first in (0..FACTS).step_by(TOGETHER) {
        let mut numbers = first..first + TOGETHER;
        let written = store.update(|ledger| numbers.try_for_each(|n| work.append(ledger, n)));
        written.expect("they are appended");
    }
    let ask = |read: fn(&dyn Ledger, &Work) -> Result<()>| {
        store.view(|ledger| read(ledger, &work)).expect("it is read");
    };
    let asked = READS.into_iter().map(|(name, read)| {
        ask(read);
        (name, timed(|| ask(read)))
    });
    asked.collect()
}
