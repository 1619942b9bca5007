//! How does a turn stand, and what came of an input? Read from the event log.

use std::collections::BTreeMap;

use receipts::{Completion, FactBody, Gap, InputKey, SessionId, Status, ThreadId, TurnId, Usage};

use super::{call, need_session};
use crate::{
    call::Scope,
    error::StoreError,
    event::{Event, EventBody, Seq},
    ledger::Result,
    report::{Coverage, InputReport, OpenTurn, TurnReport},
    rows::Rows,
};

/// How many events are read at once.
const PAGE: usize = 1024;

pub(super) fn turns(rows: &dyn Rows, session: &SessionId) -> Result<Vec<TurnReport>> {
    need_session(rows, session)?;
    let mut by_turn: BTreeMap<(ThreadId, TurnId), Vec<Event>> = BTreeMap::new();
    let mut after = Seq::START;
    loop {
        let page = rows.event_rows(session, after, PAGE)?;
        let Some(last) = page.last() else { break };
        after = last.seq;
        for event in page {
            if let (Some(thread), Some(turn)) = (&event.thread, &event.turn) {
                by_turn.entry((thread.clone(), turn.clone())).or_default().push(event);
            }
        }
    }
    let mut turns = Vec::new();
    for ((thread, turn), events) in by_turn {
        turns.extend(report(rows, (session, &thread, &turn), events)?);
    }
    turns.sort_by_key(|turn| turn.first);
    Ok(turns)
}

pub(super) fn unsettled(rows: &dyn Rows, session: &SessionId) -> Result<Vec<OpenTurn>> {
    let turns = turns(rows, session)?.into_iter();
    Ok(turns
        .filter(|turn| turn.status == Status::Pending)
        .map(|turn| OpenTurn { thread: turn.thread, turn: turn.turn, request: turn.request })
        .collect())
}

/// Folds the events of one turn; `None` when the harness's history never showed it.
pub(super) fn report(
    rows: &dyn Rows,
    (session, thread, turn): (&SessionId, &ThreadId, &TurnId),
    events: Vec<Event>,
) -> Result<Option<TurnReport>> {
    let Some(first) = events.iter().find(|event| is_native(&event.body)) else { return Ok(None) };
    let intent = rows.intent_row_of_turn(session, thread, turn)?;
    let mut report = TurnReport {
        thread: thread.clone(),
        turn: turn.clone(),
        first: first.seq,
        request: intent.as_ref().map(|intent| intent.request.clone()),
        origin: intent.map(|intent| intent.origin),
        status: Status::Pending,
        started_at: None,
        started: None,
        completion: None,
        usage: call::usage(rows, Scope::Turn(session, thread, turn))?,
        children: Vec::new(),
        gaps: Vec::new(),
        contradictions: 0,
    };
    let mut is_exited = false;
    for event in events {
        match event.body {
            EventBody::Fact(fact) => apply(&mut report, event.seq, fact),
            EventBody::Exited => is_exited = true,
            EventBody::Contradicted { .. } => report.contradictions += 1,
            EventBody::Captured { .. }
            | EventBody::Requested { .. }
            | EventBody::Raised { .. }
            | EventBody::DriverFinished { .. }
            | EventBody::Effect { .. }
            | EventBody::Closed
            | EventBody::Unknown { .. } => {}
        }
    }
    report.status = match &report.completion {
        Some(completion) => completion.status,
        None if is_exited => Status::Lost,
        None => Status::Pending,
    };
    Ok(Some(report))
}

fn is_native(body: &EventBody) -> bool {
    matches!(body, EventBody::Fact(_) | EventBody::Exited)
}

fn apply(report: &mut TurnReport, seq: Seq, fact: FactBody) {
    match fact {
        FactBody::Started { at, .. } => {
            report.started = Some(seq);
            report.started_at = at;
        }
        FactBody::Child { thread } => report.children.push(thread),
        FactBody::Completed(completion) => {
            if report.completion.as_ref().is_none_or(|kept| rank(kept) < rank(&completion)) {
                report.completion = Some(completion);
            }
        }
        FactBody::Gap(gap) => report.gaps.push(gap),
        FactBody::Admitted { .. } | FactBody::Call { .. } | FactBody::Generated { .. } => {}
    }
}

/// Orders the ends of a turn's attempts, whatever the order in which they were recorded (L11).
fn rank(completion: &Completion) -> impl Ord + '_ {
    let message = completion.message.as_ref();
    (message.is_some(), completion.completed_at, message, completion.status)
}

pub(super) fn input(rows: &dyn Rows, key: &InputKey) -> Result<InputReport> {
    let captured = rows.input_row(key)?.ok_or_else(|| StoreError::not_found("input", key))?;
    let intents = rows.intent_rows_of_input(key)?;
    let mut gaps: Vec<Gap> = Vec::new();
    let mut answer = None;
    for intent in &intents {
        let Some(turn) = &intent.turn else { continue };
        let place = (&intent.session, &intent.thread, turn);
        let events = rows.turn_event_rows(place.0, place.1, place.2)?;
        if let Some(report) = report(rows, place, events)? {
            if report.status == Status::Completed {
                answer = report.output().cloned().or(answer);
            }
            gaps.extend(report.gaps);
        }
    }
    let outcome = match intents.last() {
        Some(last) => rows.exec_row(&last.origin.exec)?.and_then(|exec| exec.end),
        None => None,
    };
    let usage = call::usage(rows, Scope::Input(key))?;
    Ok(InputReport {
        captured,
        coverage: Coverage::of(&usage.unwrap_or_else(Usage::default)),
        usage,
        gaps,
        outcome: outcome.map(|end| end.outcome),
        answer,
    })
}
