//! When may a request be intended, and what may be said of it later? (rules L3 to L5)

use receipts::{FactBody, RequestId, TurnId};

use super::{call, session};
use crate::{
    driver::Driver,
    error::{Refusal, StoreError},
    event::EventBody,
    intent::{Delivery, Dispatch, Intent, NewIntent, Origin},
    ledger::Result,
    rows::{NewEvent, Rows, RowsMut},
};

pub(super) fn intend(rows: &mut dyn RowsMut, new: &NewIntent, driver: &Driver) -> Result<Intent> {
    let session = session::fence(rows, &new.session, driver)?;
    let Some(exec) = driver.exec.clone() else {
        return Err(Refusal::DriverWithoutExec { session: new.session.clone() }.into());
    };
    let origin = Origin {
        input: session.input.map(|input| input.key),
        exec,
        generation: driver.generation,
        provider_generation: driver.provider_generation,
        labels: new.labels.clone(),
    };
    if let Some(stored) = rows.intent_row(&new.request)? {
        stored.check_equal(new, &origin)?;
        return Ok(stored);
    }
    if let Some(turn) = &new.turn {
        check_turn_free(rows, (new, turn))?;
    }
    let seq = rows.add_event(NewEvent {
        session: new.session.clone(),
        thread: Some(new.thread.clone()),
        turn: new.turn.clone(),
        recorded_at: new.created_at,
        evidence: None,
        body: EventBody::Requested { request: new.request.clone() },
    })?;
    let intent = Intent {
        request: new.request.clone(),
        session: new.session.clone(),
        thread: new.thread.clone(),
        turn: new.turn.clone(),
        purpose: new.purpose,
        reply: new.reply,
        origin,
        created_at: new.created_at,
        seq,
        delivery: Delivery::Intended,
        admitted: None,
    };
    rows.put_intent(&intent)?;
    Ok(intent)
}

/// A turn has one request, and one that the harness showed before the intent is not ours: an
/// intent comes before its effect (rule L3).
fn check_turn_free(rows: &dyn Rows, (new, turn): (&NewIntent, &TurnId)) -> Result<()> {
    let taken = rows.intent_row_of_turn(&new.session, &new.thread, turn)?.is_some()
        || rows.turn_row(&new.session, &new.thread, turn)?.is_some();
    if taken {
        return Err(StoreError::conflict(format_args!("turn {turn}"), "origin"));
    }
    Ok(())
}

pub(super) fn learn_turn(
    rows: &mut dyn RowsMut,
    request: &RequestId,
    turn: &TurnId,
) -> Result<Intent> {
    let mut intent = need(rows, request)?;
    match &intent.turn {
        Some(stored) if stored == turn => return Ok(intent),
        Some(_) => return Err(StoreError::conflict(format_args!("request {request}"), "turn")),
        None => {}
    }
    let admitted = rows.turn_row(&intent.session, &intent.thread, turn)?.map(|row| row.first);
    let is_older = admitted.is_some_and(|first| first < intent.seq);
    if is_older || rows.intent_row_of_turn(&intent.session, &intent.thread, turn)?.is_some() {
        return Err(StoreError::conflict(format_args!("turn {turn}"), "origin"));
    }
    intent.turn = Some(turn.clone());
    intent.admitted = admitted;
    rows.put_intent(&intent)?;
    // Calls that were seen before their turn was known to be ours get their owner now.
    let events = rows.turn_event_rows(&intent.session, &intent.thread, turn)?;
    for event in events {
        if let EventBody::Fact(FactBody::Call { key, .. }) = event.body {
            call::derive_owner(rows, &key)?;
        } else if let EventBody::Fact(FactBody::Child { thread }) = event.body {
            call::derive_below(rows, &thread)?;
        }
    }
    Ok(intent)
}

pub(super) fn mark(
    rows: &mut dyn RowsMut,
    request: &RequestId,
    dispatch: &Dispatch,
) -> Result<Intent> {
    let mut intent = need(rows, request)?;
    let wanted = Delivery::Dispatched(dispatch.clone());
    if intent.delivery == wanted {
        return Ok(intent);
    }
    let says_absent = matches!(dispatch, Dispatch::NotSent { .. });
    let is_absent = matches!(intent.delivery, Delivery::Dispatched(Dispatch::NotSent { .. }));
    if is_absent || (says_absent && intent.admitted.is_some()) {
        return Err(Refusal::RequestSettled { request: request.clone() }.into());
    }
    intent.delivery = wanted;
    rows.put_intent(&intent)?;
    Ok(intent)
}

pub(super) fn need(rows: &dyn Rows, request: &RequestId) -> Result<Intent> {
    rows.intent_row(request)?.ok_or_else(|| StoreError::not_found("request", request))
}
