//! Does the store keep its own laws?

use std::collections::{BTreeMap, BTreeSet};

use receipts::{CallKey, FactBody, SessionId};

use super::{
    call,
    turn::{self, Found},
};
use crate::{
    call::{Call, Scope},
    event::{Event, EventBody, Seq},
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
    let mut calls: BTreeMap<CallKey, Call> = BTreeMap::new();
    rows.visit_call_rows(Scope::All, &mut |call| {
        calls.insert(call.key.clone(), call.clone());
    })?;
    for (key, call) in &calls {
        if Some(call) != call::derive(rows, key, Some(call))?.as_ref() {
            found.push(violation(
                "L14",
                key,
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
            session_laws(rows, session, &calls, &mut found)?;
        }
    }
    Ok(found)
}

fn session_laws(
    rows: &dyn Rows,
    session: &Session,
    calls: &BTreeMap<CallKey, Call>,
    found: &mut Vec<Violation>,
) -> Result<()> {
    let id = session.id();
    let mut identities = BTreeSet::new();
    let mut turns = turn::Log::default();
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
            let (kind, key) = (event.body.kind().to_owned(), event.body.key());
            if !identities.insert((event.thread.clone(), event.turn.clone(), kind, key)) {
                found.push(violation("L1", event.seq, "the event was stored before"));
            }
            if let EventBody::Fact(FactBody::Call { key, .. }) = &event.body
                && !calls.contains_key(key)
            {
                found.push(violation("L14", key, "the call was seen and has no row"));
            }
            turns.add(event);
        }
    }
    turn_laws(rows, id, turns, found)?;
    let captures: Vec<u64> = rows.input_rows(id)?.iter().map(|row| row.capture.0).collect();
    let current = session.capture().map_or(0, |capture| capture.0);
    if !captures.iter().copied().eq(1..=current) {
        found.push(violation("L5", id, "its inputs are not numbered from one to the current one"));
    }
    Ok(())
}

/// Tells which event showed a turn first.
fn first_native(events: &[Event]) -> Option<Seq> {
    let is_native =
        |event: &&Event| matches!(&event.body, EventBody::Fact(fact) if turn::is_native(fact));
    events.iter().find(is_native).map(|event| event.seq)
}

fn turn_laws(
    rows: &dyn Rows,
    session: &SessionId,
    mut turns: turn::Log,
    found: &mut Vec<Violation>,
) -> Result<()> {
    turns.add_intents(rows, session)?;
    let mut after = Seq::START;
    loop {
        let page = rows.turn_rows(session, after, PAGE)?;
        let Some(last) = page.last() else { break };
        after = last.first;
        for row in page {
            let Found { events, intent, .. } = turns.take(&row);
            if first_native(&events) != Some(row.first) {
                found.push(violation(
                    "L1",
                    &row.turn,
                    "the turn does not begin where its row says",
                ));
            }
            if turn::state(&events) != row.state {
                found.push(violation("L8", &row.turn, "the turn does not stand as its row says"));
            }
            if intent.is_some_and(|intent| intent.admitted != Some(row.first)) {
                found.push(violation("L3", &row.turn, "its request was not admitted with it"));
            }
        }
    }
    for (turn, events) in turns.rest() {
        if first_native(events).is_some() {
            found.push(violation("L8", turn, "the turn was seen and has no row"));
        }
    }
    Ok(())
}

fn violation(rule: &'static str, place: impl std::fmt::Display, problem: &str) -> Violation {
    Violation { rule, place: place.to_string(), problem: problem.to_owned() }
}
