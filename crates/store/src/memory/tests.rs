//! What only the model can show: rows that no rule would write.

use std::panic::{self, AssertUnwindSafe};

use receipts::{
    CallKey, Counters, Fact, FactBody, Kind, SessionId, Status, ThreadId, TurnId, UnixMillis,
};

use super::{MemoryStore, Tables};
use crate::{
    Access as _, Batch, Event, EventBody, HarnessName, Labels, Ledger as _, LedgerWrite, NewEvent,
    NewSession, Result, RowsMut as _, Seq, Store as _, StoreError, TurnRow, TurnState, Violation,
    rows::Rows as _,
};

fn session() -> SessionId {
    SessionId::new("s").unwrap()
}

fn thread() -> ThreadId {
    ThreadId::new("t").unwrap()
}

fn turn() -> TurnId {
    TurnId::new("q").unwrap()
}

/// A session with one turn and one call.
fn fill(ledger: &mut dyn LedgerWrite) -> Result<()> {
    ledger.create_session(&NewSession {
        id: session(),
        harness: HarnessName::new("opencode").unwrap(),
        created_at: UnixMillis(0),
        workdir: None,
        title: None,
        labels: Labels::none(),
    })?;
    let call = FactBody::Call {
        key: CallKey::new("m/1").unwrap(),
        message: receipts::MessageId::new("m").unwrap(),
        at: Some(UnixMillis(1)),
        counters: Counters { input: Some(1), ..Counters::UNKNOWN },
        provider: None,
        model: None,
    };
    let facts = [FactBody::Admitted { kind: Kind::Prompt, at: None }, call]
        .map(|body| Fact { turn: turn(), body });
    let (session, thread) = (session(), thread());
    let batch = Batch {
        session: &session,
        thread: &thread,
        facts: &facts,
        evidence: None,
        at: UnixMillis(0),
    };
    ledger.append(&batch).map(drop)
}

fn filled() -> Tables {
    let mut tables = Tables::default();
    fill(&mut tables).unwrap();
    tables
}

fn event(body: EventBody) -> NewEvent {
    NewEvent {
        session: session(),
        thread: Some(thread()),
        turn: Some(turn()),
        recorded_at: UnixMillis(0),
        evidence: None,
        body,
    }
}

/// L13: an event of a newer program is shown, and changes nothing that this one knows.
#[test]
fn an_unknown_kind_of_event_breaks_no_read() {
    let mut tables = filled();
    let before = tables.turns(&session()).unwrap();
    let body = EventBody::Unknown { kind: "newer".into(), key: "1".into() };
    let seq = tables.add_event(event(body.clone())).unwrap();
    assert_eq!(tables.turns(&session()).unwrap(), before);
    assert_eq!(tables.unsettled(&session()).unwrap().len(), 1);
    let last = tables.events(&session(), Seq(seq.0 - 1), 10).unwrap();
    assert_eq!(last, [event(body).at(seq)]);
    assert_eq!(tables.verify().unwrap(), []);
}

/// Finds the one violation of a ledger that something was done to.
fn violation(spoil: impl FnOnce(&mut Tables)) -> (&'static str, String) {
    let mut tables = filled();
    assert_eq!(tables.verify().unwrap(), []);
    spoil(&mut tables);
    let found = tables.verify().unwrap();
    let [Violation { rule, place, .. }] = &found[..] else { panic!("one, not: {found:?}") };
    (rule, place.clone())
}

#[test]
fn a_call_with_another_owner_is_a_violation() {
    let found = violation(|tables| {
        let key = CallKey::new("m/1").unwrap();
        let mut call = tables.call_row(&key).unwrap().unwrap();
        call.owner.session = SessionId::new("other").unwrap();
        tables.put_call(&call).unwrap();
    });
    assert_eq!(found, ("L14", "m/1".to_owned()));
}

#[test]
fn a_turn_that_does_not_stand_as_its_row_says_is_a_violation() {
    let found = violation(|tables| {
        let row = tables.turn_row(&session(), &thread(), &turn()).unwrap().unwrap();
        tables.put_turn(&TurnRow { state: TurnState::Ended, ..row }).unwrap();
    });
    assert_eq!(found, ("L8", "q".to_owned()));
}

#[test]
fn a_turn_without_a_row_is_a_violation() {
    let found = violation(|tables| {
        let body = EventBody::Fact(FactBody::Admitted { kind: Kind::Prompt, at: None });
        let other = NewEvent { turn: Some(TurnId::new("r").unwrap()), ..event(body) };
        tables.add_event(other).unwrap();
    });
    assert_eq!(found, ("L8", "r".to_owned()));
}

/// The rules never come so far; a backend that let it happen would be wrong.
#[test]
#[should_panic(expected = "an event is added twice")]
fn an_event_that_is_added_twice_panics() {
    let mut tables = filled();
    for _ in 0..2 {
        drop(tables.add_event(event(EventBody::Exited)));
    }
}

#[test]
fn a_panic_in_a_write_leaves_the_ledger_as_it_was() {
    let store = MemoryStore::new();
    store.update(fill).unwrap();
    let read = || -> (Vec<Event>, Status) {
        store
            .view(|ledger| {
                let status = ledger.turn(&session(), &thread(), &turn())?.unwrap().status;
                Ok((ledger.events(&session(), Seq::START, 100)?, status))
            })
            .unwrap()
    };
    let before = read();
    let panicked = panic::catch_unwind(AssertUnwindSafe(|| {
        store.write(&mut |ledger| {
            ledger.close_session(&session(), UnixMillis(0))?;
            panic!("a work panics")
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(read(), before);
    let closed = store.update(|ledger| ledger.close_session(&session(), UnixMillis(0)));
    assert!(matches!(closed, Ok(())));
    let missing = store.update(|l| l.close_session(&SessionId::new("x").unwrap(), UnixMillis(0)));
    assert!(matches!(missing, Err(StoreError::NotFound { what: "session", .. })));
}
