//! How does a turn stand, and what came of an input? Read from the event log.

use std::{cmp::Ordering, collections::BTreeMap};

use receipts::{
    Completion, FactBody, Gap, InputKey, MessageId, SessionId, Status, ThreadId, TurnId,
    UnixMillis, Usage,
};

use super::{call, check_session};
use crate::{
    call::Scope,
    error::StoreError,
    event::{Event, EventBody, Seq},
    intent::Intent,
    ledger::Result,
    report::{Activity, Coverage, InputReport, OpenTurn, TurnReport},
    rows::{Rows, TurnRow, TurnState},
};

/// How many turns are read at once.
const PAGE: usize = 1024;

/// A turn: session, conversation, and the harness's id.
pub(super) type Place<'a> = (&'a SessionId, &'a ThreadId, &'a TurnId);

/// Tells whether a fact shows that the harness has the turn; a gap may be all that it is.
pub(super) fn is_native(fact: &FactBody) -> bool {
    !matches!(fact, FactBody::Gap(_))
}

/// How a turn stands with the first fact that showed it.
pub(super) fn first_state(fact: &FactBody) -> TurnState {
    if matches!(fact, FactBody::Completed(_)) { TurnState::Ended } else { TurnState::Open }
}

/// How a turn stands once a fact is stored, as [`state`] has it; reads its events only where the
/// fact and how it stood before do not tell.
pub(super) fn state_after(
    rows: &dyn Rows,
    place: Place<'_>,
    before: TurnState,
    fact: &FactBody,
) -> Result<TurnState> {
    let read = || Ok(state(&rows.turn_event_rows(place.0, place.1, place.2)?));
    match (before, fact) {
        // An answer that ended, ends the turn.
        (_, FactBody::Completed(Completion { message: Some(_), .. })) => Ok(TurnState::Ended),
        // One without an answer holds as long as none began.
        (TurnState::Open, FactBody::Completed(Completion { message: None, .. }))
        | (TurnState::Ended, FactBody::Started { .. }) => read(),
        (
            before,
            FactBody::Admitted { .. }
            | FactBody::Started { .. }
            | FactBody::Call { .. }
            | FactBody::Child { .. }
            | FactBody::Generated { .. }
            | FactBody::Completed(_)
            | FactBody::Gap(_),
        ) => Ok(before),
    }
}

/// Reads from a turn's events whether it has ended.
pub(super) fn state(events: &[Event]) -> TurnState {
    let is_exited = events.iter().any(|event| event.body == EventBody::Exited);
    if is_exited || end(events).is_some() { TurnState::Ended } else { TurnState::Open }
}

/// The earliest answer that was seen as the start of a turn, with its time (rule L11).
pub(super) fn start(events: &[Event]) -> Option<(Option<UnixMillis>, &MessageId)> {
    let starts = events.iter().filter_map(|event| {
        if let EventBody::Fact(FactBody::Started { message, at })
        | EventBody::Contradicted { latest: FactBody::Started { message, at }, .. } = &event.body
        {
            Some((*at, message))
        } else {
            None
        }
    });
    starts.min()
}

/// The end of a turn's last attempt.
///
/// Ends without an answer (unanswered, absorbed, no reply) end no attempt: they hold only as long
/// as the harness has not begun to answer.
fn end(events: &[Event]) -> Option<&Completion> {
    let mut created: BTreeMap<&MessageId, Option<UnixMillis>> = BTreeMap::new();
    let mut ends = Vec::new();
    for event in events {
        if let EventBody::Fact(FactBody::Call { message, at, .. }) = &event.body {
            let created = created.entry(message).or_insert(*at);
            *created = (*created).min(*at);
        } else if let EventBody::Fact(FactBody::Completed(completion)) = &event.body {
            ends.push(completion);
        }
    }
    let time = |end: &Completion| {
        let created = end.message.as_ref().and_then(|message| created.get(message).copied());
        created.flatten().or(end.completed_at)
    };
    let last = ends.into_iter().reduce(|kept, next| match order(kept, next, &time) {
        Ordering::Greater => kept,
        Ordering::Less | Ordering::Equal => next,
    })?;
    (last.message.is_some() || start(events).is_none()).then_some(last)
}

/// Orders the ends of two attempts, `b` recorded after `a`.
///
/// By the time of their last answers, whatever the order in which they were recorded (rule L11).
/// Where that is not known, of an answer that was lost before it called a model, the later recorded
/// is the later.
fn order(
    a: &Completion,
    b: &Completion,
    time: &impl Fn(&Completion) -> Option<UnixMillis>,
) -> Ordering {
    match (&a.message, &b.message) {
        (None, None) => evidence(a.status).cmp(&evidence(b.status)),
        (None, Some(_)) => Ordering::Less,
        (Some(_), None) => Ordering::Greater,
        (Some(a_message), Some(b_message)) => match (time(a), time(b)) {
            (Some(a), Some(b)) => (a, a_message).cmp(&(b, b_message)),
            (None, _) | (_, None) => Ordering::Less,
        },
    }
}

/// How much must have been seen to say how a request without an answer ended: a later run may still
/// answer what was unanswered, and what asked for no answer never had one.
fn evidence(status: Status) -> u8 {
    match status {
        Status::Unanswered => 0,
        Status::Absorbed => 1,
        Status::NoReply => 2,
        Status::Pending
        | Status::Completed
        | Status::Failed
        | Status::Interrupted
        | Status::Stopped
        | Status::Lost => 3,
    }
}

pub(super) fn turn(rows: &dyn Rows, place: Place<'_>) -> Result<Option<TurnReport>> {
    let (session, thread, turn) = place;
    let Some(row) = rows.turn_row(session, thread, turn)? else { return Ok(None) };
    let found = Found {
        events: rows.turn_event_rows(session, thread, turn)?,
        intent: rows.intent_row_of_turn(session, thread, turn)?,
        usage: call::usage(rows, Scope::Turn(session, thread, turn))?,
    };
    Ok(Some(report(row, found)))
}

/// Reads the log of the session once, however many turns it has.
pub(super) fn turns(rows: &dyn Rows, session: &SessionId) -> Result<Vec<TurnReport>> {
    check_session(rows, session)?;
    let mut log = Log::default();
    let mut after = Seq::START;
    loop {
        let page = rows.event_rows(session, after, PAGE)?;
        let Some(last) = page.last() else { break };
        after = last.seq;
        page.into_iter().for_each(|event| log.add(event));
    }
    log.add_intents(rows, session)?;
    log.add_calls(rows, session)?;
    let mut turns = Vec::new();
    let mut after = Seq::START;
    loop {
        let page = rows.turn_rows(session, after, PAGE)?;
        let Some(last) = page.last() else { return Ok(turns) };
        after = last.first;
        for row in page {
            let found = log.take(&row);
            turns.push(report(row, found));
        }
    }
}

pub(super) fn activity(rows: &dyn Rows, session: &SessionId) -> Result<Activity> {
    check_session(rows, session)?;
    Ok(Activity {
        turns: rows.turn_count(session)?,
        open: rows.open_turn_rows(session)?.len() as u64,
        last: rows.last_event_row(session)?.map(|event| event.recorded_at),
    })
}

pub(super) fn unsettled(rows: &dyn Rows, session: &SessionId) -> Result<Vec<OpenTurn>> {
    check_session(rows, session)?;
    let mut open = Vec::new();
    for row in rows.open_turn_rows(session)? {
        let intent = rows.intent_row_of_turn(&row.session, &row.thread, &row.turn)?;
        let request = intent.map(|intent| intent.request);
        open.push(OpenTurn { thread: row.thread, turn: row.turn, request });
    }
    Ok(open)
}

/// What is stored of a turn.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Its events, in order.
    pub(super) events: Vec<Event>,
    /// Our request behind it.
    pub(super) intent: Option<Intent>,
    /// What the calls that it owns used.
    usage: Option<Usage>,
}

/// What is stored of all turns of a session, read together.
#[derive(Debug, Default)]
pub(super) struct Log {
    turns: BTreeMap<(ThreadId, TurnId), Found>,
}

impl Log {
    /// Takes the next event of the session.
    pub(super) fn add(&mut self, event: Event) {
        if let (Some(thread), Some(turn)) = (&event.thread, &event.turn) {
            let place = (thread.clone(), turn.clone());
            self.turns.entry(place).or_default().events.push(event);
        }
    }

    /// Adds our requests to the turns that have events.
    pub(super) fn add_intents(&mut self, rows: &dyn Rows, session: &SessionId) -> Result<()> {
        for intent in rows.intent_rows(session)? {
            if let Some(turn) = &intent.turn
                && let Some(found) = self.turns.get_mut(&(intent.thread.clone(), turn.clone()))
            {
                found.intent = Some(intent);
            }
        }
        Ok(())
    }

    fn add_calls(&mut self, rows: &dyn Rows, session: &SessionId) -> Result<()> {
        rows.visit_call_rows(Scope::Session(session), &mut |call| {
            let place = (call.owner.thread.clone(), call.owner.turn.clone());
            if let Some(found) = self.turns.get_mut(&place) {
                found.usage.get_or_insert_default().add(&call.counters);
            }
        })
    }

    /// Gives what there is of a turn.
    pub(super) fn take(&mut self, row: &TurnRow) -> Found {
        self.turns.remove(&(row.thread.clone(), row.turn.clone())).unwrap_or_default()
    }

    /// Shows the turns that were not taken.
    pub(super) fn rest(&self) -> impl Iterator<Item = (&TurnId, &[Event])> {
        self.turns.iter().map(|((_, turn), found)| (turn, found.events.as_slice()))
    }
}

fn report(row: TurnRow, Found { events, intent, usage }: Found) -> TurnReport {
    let completion = end(&events).cloned();
    let mut report = TurnReport {
        thread: row.thread,
        turn: row.turn,
        first: row.first,
        request: intent.as_ref().map(|intent| intent.request.clone()),
        origin: intent.map(|intent| intent.origin),
        kind: None,
        admitted_at: None,
        status: match (&completion, state(&events)) {
            (Some(completion), _) => completion.status,
            (None, TurnState::Ended) => Status::Lost,
            (None, TurnState::Open) => Status::Pending,
        },
        started_at: start(&events).and_then(|(at, _)| at),
        started: None,
        completion,
        usage,
        children: Vec::new(),
        gaps: Vec::new(),
        contradictions: 0,
    };
    for event in events {
        match event.body {
            EventBody::Fact(fact) => apply(&mut report, event.seq, fact),
            EventBody::Contradicted { latest: FactBody::Started { .. }, .. } => {}
            EventBody::Contradicted { .. } => report.contradictions += 1,
            EventBody::Captured { .. }
            | EventBody::Requested { .. }
            | EventBody::Raised { .. }
            | EventBody::Exited
            | EventBody::DriverFinished { .. }
            | EventBody::Effect { .. }
            | EventBody::Closed
            | EventBody::Unknown { .. } => {}
        }
    }
    report
}

fn apply(report: &mut TurnReport, seq: Seq, fact: FactBody) {
    match fact {
        FactBody::Admitted { kind, at } => {
            report.kind = Some(kind);
            report.admitted_at = at;
        }
        FactBody::Started { .. } => report.started = Some(seq),
        FactBody::Child { thread } => report.children.push(thread),
        FactBody::Gap(gap) => report.gaps.push(gap),
        FactBody::Call { .. } | FactBody::Generated { .. } | FactBody::Completed(_) => {}
    }
}

pub(super) fn input(rows: &dyn Rows, key: &InputKey) -> Result<InputReport> {
    let captured = rows.input_row(key)?.ok_or_else(|| StoreError::not_found("input", key))?;
    let intents = rows.intent_rows_of_input(key)?;
    let mut gaps: Vec<Gap> = Vec::new();
    let mut answer = None;
    for intent in &intents {
        let Some(turn) = &intent.turn else { continue };
        if let Some(report) = self::turn(rows, (&intent.session, &intent.thread, turn))? {
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
