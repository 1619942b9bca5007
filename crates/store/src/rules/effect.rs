//! When may something be sent that is no prompt? (rule L3; ledger.md 7, case 7)

use receipts::{SessionId, ThreadId, UnixMillis};

use super::{need_session, session};
use crate::{
    driver::Driver,
    effect::{Attempt, Effect, Stage},
    error::{Refusal, StoreError},
    event::EventBody,
    intent::Dispatch,
    ledger::Result,
    rows::{EventId, NewEvent, Rows, RowsMut},
};

pub(super) fn mean(
    rows: &mut dyn RowsMut,
    id: &SessionId,
    effect: &Effect,
    (driver, at): (&Driver, UnixMillis),
) -> Result<Attempt> {
    let session = session::fence(rows, id, driver)?;
    let thread = place(effect, session.thread);
    let attempt = match effect {
        // Asking twice does no harm, so that attempts need only be told apart.
        Effect::Abort => Attempt(rows.head()?.0 + 1),
        Effect::CreateThread { .. } | Effect::Answer { .. } => {
            next_attempt(rows, (id, thread.as_ref()), effect)?
        }
    };
    add(rows, (id, thread), (effect, attempt, Stage::Meant), at)?;
    Ok(attempt)
}

/// The conversation that an effect is recorded under; one that is to be made has no id yet.
fn place(effect: &Effect, thread: Option<ThreadId>) -> Option<ThreadId> {
    match effect {
        Effect::CreateThread { .. } => None,
        Effect::Abort | Effect::Answer { .. } => thread,
    }
}

/// An effect that happens once is tried again only when no attempt before can have been stored.
fn next_attempt(
    rows: &dyn Rows,
    place: (&SessionId, Option<&ThreadId>),
    effect: &Effect,
) -> Result<Attempt> {
    let mut attempt = Attempt(1);
    loop {
        if find(rows, place, effect, attempt, "meant")?.is_none() {
            return Ok(attempt);
        }
        match find(rows, place, effect, attempt, "dispatched")? {
            Some(Stage::Dispatched(Dispatch::NotSent { .. })) => attempt.0 += 1,
            Some(_) | None => {
                return Err(Refusal::EffectTried { effect: effect.clone() }.into());
            }
        }
    }
}

pub(super) fn mark(
    rows: &mut dyn RowsMut,
    id: &SessionId,
    (effect, attempt): (&Effect, Attempt),
    (dispatch, at): (&Dispatch, UnixMillis),
) -> Result<()> {
    let thread = place(effect, need_session(rows, id)?.thread);
    if find(rows, (id, thread.as_ref()), effect, attempt, "meant")?.is_none() {
        return Err(StoreError::not_found("attempt", attempt.0));
    }
    let stage = Stage::Dispatched(dispatch.clone());
    match find(rows, (id, thread.as_ref()), effect, attempt, stage.as_str())? {
        Some(stored) if stored == stage => Ok(()),
        Some(_) => Err(StoreError::conflict(format_args!("attempt {}", attempt.0), "dispatch")),
        None => add(rows, (id, thread), (effect, attempt, stage), at),
    }
}

fn find(
    rows: &dyn Rows,
    (session, thread): (&SessionId, Option<&ThreadId>),
    effect: &Effect,
    attempt: Attempt,
    stage: &str,
) -> Result<Option<Stage>> {
    let key = EventBody::effect_key(effect, attempt, stage);
    let id = EventId { session, thread, turn: None, kind: "effect", key: &key };
    Ok(rows.event_row(&id)?.and_then(|event| match event.body {
        EventBody::Effect { stage, .. } => Some(stage),
        EventBody::Captured { .. }
        | EventBody::Requested { .. }
        | EventBody::Fact(_)
        | EventBody::Raised { .. }
        | EventBody::Contradicted { .. }
        | EventBody::Exited
        | EventBody::DriverFinished { .. }
        | EventBody::Closed
        | EventBody::Unknown { .. } => None,
    }))
}

fn add(
    rows: &mut dyn RowsMut,
    (session, thread): (&SessionId, Option<ThreadId>),
    (effect, attempt, stage): (&Effect, Attempt, Stage),
    at: UnixMillis,
) -> Result<()> {
    let body = EventBody::Effect { effect: effect.clone(), attempt, stage };
    rows.add_event(NewEvent {
        session: session.clone(),
        thread,
        turn: None,
        recorded_at: at,
        evidence: None,
        body,
    })
    .map(drop)
}
