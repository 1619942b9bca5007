//! Does the store keep its own laws?

use std::collections::BTreeSet;

use receipts::{CallKey, FactBody, SessionId};

use super::{call, turn};
use crate::{
    call::Scope,
    event::{EventBody, Seq},
    ledger::Result,
    report::Violation,
    rows::Rows,
    session::Session,
};

const PAGE: usize = 1024;

pub(super) fn verify(rows: &dyn Rows) -> Result<Vec<Violation>> {
    let mut found = rows.check_rows()?;
    if !found.is_empty() {
        // What follows would read rows that are known to be wrong.
        return Ok(found);
    }
    let mut keys: Vec<CallKey> = Vec::new();
    rows.visit_call_rows(Scope::All, &mut |call| keys.push(call.key.clone()))?;
    for key in keys {
        if rows.call_row(&key)? != call::derive(rows, &key)? {
            found.push(violation(
                "L14",
                &key,
                "its owner or counters are not those of its sightings",
            ));
        }
    }
    let mut after = None;
    loop {
        let page = rows.session_rows(after.as_ref(), PAGE)?;
        let Some(last) = page.last() else { break };
        after = Some(last.id().clone());
        for session in &page {
            session_laws(rows, session, &mut found)?;
        }
    }
    Ok(found)
}

fn session_laws(rows: &dyn Rows, session: &Session, found: &mut Vec<Violation>) -> Result<()> {
    let id = session.id();
    let mut identities = BTreeSet::new();
    let mut after = Seq::START;
    loop {
        let page = rows.event_rows(id, after, PAGE)?;
        if page.is_empty() {
            break;
        }
        for event in page {
            if event.seq <= after {
                found.push(violation("L1", event.seq, "the event is out of order"));
            }
            after = event.seq;
            let key = event.body.key();
            let kind = event.body.kind().to_owned();
            if let (EventBody::Fact(fact), Some(thread), Some(turn)) =
                (&event.body, &event.thread, &event.turn)
            {
                fact_laws(rows, (id, thread, turn), fact, found)?;
            }
            if !identities.insert((event.thread, event.turn, kind, key)) {
                found.push(violation("L1", event.seq, "the event was stored before"));
            }
        }
    }
    turn_laws(rows, id, found)?;
    let captures: Vec<u64> = rows.input_rows(id)?.iter().map(|row| row.capture.0).collect();
    let current = session.capture().map_or(0, |capture| capture.0);
    if !captures.iter().copied().eq(1..=current) {
        found.push(violation("L5", id, "its inputs are not numbered from one to the current one"));
    }
    Ok(())
}

fn fact_laws(
    rows: &dyn Rows,
    place: turn::Place<'_>,
    fact: &FactBody,
    found: &mut Vec<Violation>,
) -> Result<()> {
    if turn::is_native(fact) && rows.turn_row(place.0, place.1, place.2)?.is_none() {
        found.push(violation("L8", place.2, "the turn was seen and has no row"));
    }
    if let FactBody::Call { key, .. } = fact
        && rows.call_row(key)?.is_none()
    {
        found.push(violation("L14", key, "the call was seen and has no row"));
    }
    Ok(())
}

fn turn_laws(rows: &dyn Rows, session: &SessionId, found: &mut Vec<Violation>) -> Result<()> {
    let mut after = Seq::START;
    loop {
        let page = rows.turn_rows(session, after, PAGE)?;
        let Some(last) = page.last() else { return Ok(()) };
        after = last.first;
        for row in page {
            let events = rows.turn_event_rows(&row.session, &row.thread, &row.turn)?;
            let first = events.iter().find(
                |event| matches!(&event.body, EventBody::Fact(fact) if turn::is_native(fact)),
            );
            if first.map(|event| event.seq) != Some(row.first) {
                found.push(violation(
                    "L1",
                    &row.turn,
                    "the turn does not begin where its row says",
                ));
            }
            if turn::state(&events) != row.state {
                found.push(violation("L8", &row.turn, "the turn does not stand as its row says"));
            }
            let intent = rows.intent_row_of_turn(&row.session, &row.thread, &row.turn)?;
            if intent.is_some_and(|intent| intent.admitted != Some(row.first)) {
                found.push(violation("L3", &row.turn, "its request was not admitted with it"));
            }
        }
    }
}

fn violation(rule: &'static str, place: impl std::fmt::Display, problem: &str) -> Violation {
    Violation { rule, place: place.to_string(), problem: problem.to_owned() }
}
