//! Many who write at once, through the group commit (L1; ledger.md 7.9).

use std::thread;

use receipts::Status;

use super::bench::{Bench, NOW, admitted, append, ended, id, new_session};
use crate::{StoreError, Writer};

const CALLERS: usize = 8;
const ROUNDS: usize = 16;

/// What was acknowledged is there, once, whoever wrote beside it and whatever failed beside it.
pub fn what_was_acknowledged_is_there_once(bench: &mut Bench<'_>) {
    bench.session("s");
    let writer = Writer::new(bench.shared());
    let callers: Vec<_> = (0..CALLERS)
        .map(|caller| {
            let writer = writer.clone();
            thread::spawn(move || (0..ROUNDS).for_each(|round| write(&writer, caller, round)))
        })
        .collect();
    for caller in callers {
        caller.join().expect("no caller panics");
    }
    drop(writer);
    bench.reopen();
    // Each turn was written by two callers.
    let turns = bench.read(|ledger| ledger.turns(&id("s")));
    assert_eq!(turns.len(), CALLERS / 2 * ROUNDS);
    assert!(turns.iter().all(|turn| turn.status == Status::Completed && turn.contradictions == 0));
    assert_eq!(bench.events(&id("s")).len(), 2 * turns.len());
    let sessions = bench.read(|ledger| ledger.sessions(None, usize::MAX));
    assert_eq!(sessions.len(), 1);
}

fn write(writer: &Writer, caller: usize, round: usize) {
    let turn = format!("q{}-{round}", caller / 2);
    let facts = [admitted(&turn), ended(&turn, "m", Status::Completed, 3)];
    writer.update(move |ledger| append(ledger, &id("s"), &facts)).expect("it is written");
    // One that is refused at once, and one that fails after it wrote.
    let refused = writer.update(|ledger| ledger.close_session(&id("nobody"), NOW));
    let failed = writer.update(|ledger| {
        ledger.create_session(&new_session("never"))?;
        ledger.close_session(&id("nobody"), NOW)
    });
    for result in [refused, failed] {
        assert!(matches!(result, Err(StoreError::NotFound { .. })), "{result:?}");
    }
}
