//! What does recording a fact do, given what is stored? (rules L1, L6, L8, L9, U1)

use receipts::{
    Counters, Fact, FactBody, Gap, MessageId, Output, SessionId, ThreadId, TurnId, UnixMillis,
};

use super::{EVIDENCE_BYTES_MAX, OUTPUT_BYTES_MAX, call, check_session, turn};
use crate::{
    error::{Refusal, StoreError},
    event::{EventBody, EvidenceDigest, Recorded, Seq},
    ledger::{Batch, Result},
    rows::{EventId, NewEvent, Rows, RowsMut, TurnRow, TurnState},
};

pub(super) fn append(rows: &mut dyn RowsMut, batch: &Batch<'_>) -> Result<Vec<Recorded>> {
    check_session(rows, batch.session)?;
    check_evidence(rows, batch.evidence)?;
    for fact in batch.facts {
        if let FactBody::Completed(completion) = &fact.body
            && let Some(Output::Text(text) | Output::Partial(text) | Output::Value(text)) =
                &completion.output
        {
            check_size("the output", text.len(), OUTPUT_BYTES_MAX)?;
        }
    }
    batch.facts.iter().map(|fact| record(rows, batch, fact)).collect()
}

fn record(rows: &mut dyn RowsMut, batch: &Batch<'_>, fact: &Fact) -> Result<Recorded> {
    let recorded = match &fact.body {
        FactBody::Call { key, counters, .. } => usage(rows, batch, fact, (key, counters))?,
        FactBody::Started { message, at } => started(rows, batch, fact, (*at, message))?,
        FactBody::Admitted { .. }
        | FactBody::Child { .. }
        | FactBody::Generated { .. }
        | FactBody::Completed(_)
        | FactBody::Gap(_) => plain(rows, batch, fact)?,
    };
    if let Recorded::Appended(seq) = recorded {
        show(rows, batch, fact, seq)?;
        if let FactBody::Child { thread } = &fact.body {
            call::derive_below(rows, thread)?;
        }
    }
    Ok(recorded)
}

/// Notes that the harness's history shows a turn, and admits our request behind it.
fn show(rows: &mut dyn RowsMut, batch: &Batch<'_>, fact: &Fact, seq: Seq) -> Result<()> {
    if !turn::is_native(&fact.body) {
        return Ok(());
    }
    let place = (batch.session, batch.thread, &fact.turn);
    if let Some(mut row) = rows.turn_row(place.0, place.1, place.2)? {
        let state = turn::state_after(rows, place, row.state, &fact.body)?;
        if row.state != state {
            row.state = state;
            rows.put_turn(&row)?;
        }
        return Ok(());
    }
    rows.put_turn(&TurnRow {
        session: batch.session.clone(),
        thread: batch.thread.clone(),
        turn: fact.turn.clone(),
        first: seq,
        // Before it there were gaps at most, which neither begin nor end a turn.
        state: turn::first_state(&fact.body),
    })?;
    if let Some(mut intent) = rows.intent_row_of_turn(place.0, place.1, place.2)? {
        intent.admitted = Some(seq);
        rows.put_intent(&intent)?;
    }
    Ok(())
}

fn plain(rows: &mut dyn RowsMut, batch: &Batch<'_>, fact: &Fact) -> Result<Recorded> {
    let body = EventBody::Fact(fact.body.clone());
    match find(rows, batch, &fact.turn, &body)? {
        None => add(rows, batch, &fact.turn, body).map(Recorded::Appended),
        Some((first, stored)) if stored == body => Ok(Recorded::Known(first)),
        Some((first, _)) => {
            contradict(rows, batch, fact, first).map(|seq| Recorded::Contradicted { first, seq })
        }
    }
}

/// A turn starts once. Who saw a later answer first learns of the real start only afterwards:
/// that is kept beside the stored one, and the report of the turn takes the earlier (rule L11).
/// A second attempt begins with a later answer, and is no other start.
fn started(
    rows: &mut dyn RowsMut,
    batch: &Batch<'_>,
    fact: &Fact,
    seen: (Option<UnixMillis>, &MessageId),
) -> Result<Recorded> {
    let body = EventBody::Fact(fact.body.clone());
    let first = match find(rows, batch, &fact.turn, &body)? {
        None => return add(rows, batch, &fact.turn, body).map(Recorded::Appended),
        Some((first, stored)) if stored == body => return Ok(Recorded::Known(first)),
        Some((first, _)) => first,
    };
    let events = rows.turn_event_rows(batch.session, batch.thread, &fact.turn)?;
    match turn::start(&events) {
        Some(known) if known <= seen => Ok(Recorded::Known(first)),
        Some(_) | None => {
            contradict(rows, batch, fact, first).map(|seq| Recorded::Raised { first, seq })
        }
    }
}

fn contradict(rows: &mut dyn RowsMut, batch: &Batch<'_>, fact: &Fact, first: Seq) -> Result<Seq> {
    let body = EventBody::Contradicted { first, latest: fact.body.clone() };
    find_or_add(rows, batch, &fact.turn, body)
}

fn usage(
    rows: &mut dyn RowsMut,
    batch: &Batch<'_>,
    fact: &Fact,
    (key, seen): (&receipts::CallKey, &Counters),
) -> Result<Recorded> {
    let body = EventBody::Fact(fact.body.clone());
    let Some(mut row) = rows.call_row(key)? else {
        // A call without a row was never seen: not here, and nowhere else.
        let first = add(rows, batch, &fact.turn, body.clone())?;
        call::own_first(rows, key, new_event(batch, &fact.turn, body).at(first))?;
        return Ok(Recorded::Appended(first));
    };
    let known = find(rows, batch, &fact.turn, &body)?.map(|(seq, _)| seq);
    let first = match known {
        Some(first) => first,
        None => add(rows, batch, &fact.turn, body)?,
    };
    let mut last = None;
    let before = row.counters;
    let decreases = row.counters.raise(seen);
    if row.counters != before {
        rows.put_call(&row)?;
        // A first sighting says what it saw itself.
        if known.is_some() {
            let body = EventBody::Raised { call: key.clone(), counters: *seen };
            last = Some(find_or_add(rows, batch, &fact.turn, body)?);
        }
    }
    for decrease in decreases {
        let gap = Gap::Decrease { call: key.clone(), decrease };
        let body = EventBody::Fact(FactBody::Gap(gap));
        if find(rows, batch, &fact.turn, &body)?.is_none() {
            last = Some(add(rows, batch, &fact.turn, body)?);
        }
    }
    if known.is_none() {
        call::derive_owner(rows, key)?;
    }
    Ok(match (known, last) {
        (None, _) => Recorded::Appended(first),
        (Some(_), None) => Recorded::Known(first),
        (Some(_), Some(seq)) => Recorded::Raised { first, seq },
    })
}

pub(super) fn exited(
    rows: &mut dyn RowsMut,
    (session, thread, turn): (&SessionId, &ThreadId, &TurnId),
    evidence: Option<EvidenceDigest>,
    at: UnixMillis,
) -> Result<Recorded> {
    check_session(rows, session)?;
    check_evidence(rows, evidence)?;
    let batch = Batch { session, thread, facts: &[], evidence, at };
    if let Some((seq, _)) = find(rows, &batch, turn, &EventBody::Exited)? {
        return Ok(Recorded::Known(seq));
    }
    let mut row =
        rows.turn_row(session, thread, turn)?.ok_or_else(|| StoreError::not_found("turn", turn))?;
    if row.state == TurnState::Ended {
        return Err(Refusal::TurnEnded { turn: turn.clone() }.into());
    }
    let seq = add(rows, &batch, turn, EventBody::Exited)?;
    row.state = TurnState::Ended;
    rows.put_turn(&row)?;
    Ok(Recorded::Appended(seq))
}

pub(super) fn evidence(
    rows: &mut dyn RowsMut,
    content: &[u8],
    at: UnixMillis,
) -> Result<EvidenceDigest> {
    check_size("the evidence", content.len(), EVIDENCE_BYTES_MAX)?;
    let digest = EvidenceDigest::of(content);
    if rows.evidence_content(&digest)?.is_none() {
        rows.put_evidence_row(&digest, content, at)?;
    }
    Ok(digest)
}

fn check_evidence(rows: &dyn Rows, evidence: Option<EvidenceDigest>) -> Result<()> {
    match evidence {
        Some(digest) if !rows.has_evidence(&digest)? => Err(Refusal::UnknownEvidence.into()),
        Some(_) | None => Ok(()),
    }
}

fn check_size(what: &'static str, bytes: usize, limit: u64) -> Result<()> {
    let bytes = bytes as u64;
    if bytes > limit { Err(StoreError::TooLarge { what, bytes, limit }) } else { Ok(()) }
}

fn find(
    rows: &dyn Rows,
    batch: &Batch<'_>,
    turn: &TurnId,
    body: &EventBody,
) -> Result<Option<(Seq, EventBody)>> {
    let id = EventId {
        session: batch.session,
        thread: Some(batch.thread),
        turn: Some(turn),
        kind: body.kind(),
        key: &body.key(),
    };
    Ok(rows.event_row(&id)?.map(|event| (event.seq, event.body)))
}

fn find_or_add(
    rows: &mut dyn RowsMut,
    batch: &Batch<'_>,
    turn: &TurnId,
    body: EventBody,
) -> Result<Seq> {
    match find(rows, batch, turn, &body)? {
        Some((seq, _)) => Ok(seq),
        None => add(rows, batch, turn, body),
    }
}

fn add(rows: &mut dyn RowsMut, batch: &Batch<'_>, turn: &TurnId, body: EventBody) -> Result<Seq> {
    rows.add_event(new_event(batch, turn, body))
}

fn new_event(batch: &Batch<'_>, turn: &TurnId, body: EventBody) -> NewEvent {
    NewEvent {
        session: batch.session.clone(),
        thread: Some(batch.thread.clone()),
        turn: Some(turn.clone()),
        recorded_at: batch.at,
        evidence: batch.evidence,
        body,
    }
}
