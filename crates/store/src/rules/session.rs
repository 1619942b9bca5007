//! When may a session, its input, its driver and its runs change?

use receipts::{ExecId, SessionId, ThreadId, UnixMillis};

use super::need_session;
use crate::{
    driver::{Driver, ProcessIdentity, Provider},
    error::{Current, Refusal, StoreError},
    event::EventBody,
    exec::{Exec, ExecEnd, ExecOutcome, NewExec},
    input::{Capture, Captured, Input},
    ledger::Result,
    rows::{NewEvent, Rows, RowsMut},
    session::{CurrentInput, NewSession, Session},
    text::Endpoint,
};

pub(super) fn create(rows: &mut dyn RowsMut, new: &NewSession) -> Result<Session> {
    if let Some(stored) = rows.session_row(&new.id)? {
        stored.fixed.check_equal(new)?;
        return Ok(stored);
    }
    let session =
        Session { fixed: new.clone(), thread: None, input: None, driver: None, closed_at: None };
    rows.put_session(&session)?;
    Ok(session)
}

pub(super) fn attach_thread(
    rows: &mut dyn RowsMut,
    id: &SessionId,
    thread: &ThreadId,
) -> Result<()> {
    let mut session = need_session(rows, id)?;
    match &session.thread {
        Some(stored) if stored == thread => return Ok(()),
        Some(_) => return Err(StoreError::conflict(format_args!("session {id}"), "thread")),
        None => {}
    }
    if let Some(other) = rows.session_of_thread(&session.fixed.harness, thread)? {
        return Err(Refusal::ThreadTaken { session: other }.into());
    }
    session.thread = Some(thread.clone());
    rows.put_session(&session)
}

pub(super) fn replace_input(
    rows: &mut dyn RowsMut,
    id: &SessionId,
    expected: Option<Capture>,
    (input, at): (&Input, UnixMillis),
) -> Result<Capture> {
    let mut session = open(rows, id)?;
    if session.capture() != expected {
        return Err(StoreError::Stale { current: Current::Capture(session.capture()) });
    }
    if rows.input_row(&input.key)?.is_some() {
        return Err(Refusal::InputCaptured { input: input.key.clone() }.into());
    }
    if let Some(current) = &session.input
        && let Some(stored) = rows.input_row(&current.key)?
        && stored.input.work.is_some()
        && stored.input.work != input.work
    {
        return Err(Refusal::WorkDiffers { session: id.clone() }.into());
    }
    let capture = Capture(expected.map_or(0, |capture| capture.0) + 1);
    let captured = Captured { session: id.clone(), capture, at, input: input.clone() };
    rows.put_input(&captured)?;
    session.input = Some(CurrentInput { key: input.key.clone(), capture });
    rows.put_session(&session)?;
    let body = EventBody::Captured { input: input.key.clone(), capture };
    rows.add_event(event(id, body, at))?;
    Ok(capture)
}

pub(super) fn claim(
    rows: &mut dyn RowsMut,
    id: &SessionId,
    expected: Option<&Driver>,
    (exec, provider): (&ExecId, Provider),
) -> Result<Driver> {
    let mut session = open(rows, id)?;
    if rows.exec_row(exec)?.is_none() {
        return Err(StoreError::not_found("exec", exec));
    }
    if session.driver.as_ref() != expected {
        return Err(stale(session.driver));
    }
    let driver = Driver::claimed(expected, exec, provider);
    session.driver = Some(driver.clone());
    rows.put_session(&session)?;
    Ok(driver)
}

pub(super) fn describe(
    rows: &mut dyn RowsMut,
    id: &SessionId,
    driver: &Driver,
    (endpoint, process): (Option<&Endpoint>, Option<ProcessIdentity>),
) -> Result<Driver> {
    let mut session = fence(rows, id, driver)?;
    let next = Driver { endpoint: endpoint.cloned(), process, ..driver.clone() };
    if next != *driver {
        session.driver = Some(next.clone());
        rows.put_session(&session)?;
    }
    Ok(next)
}

pub(super) fn finish(
    rows: &mut dyn RowsMut,
    id: &SessionId,
    driver: &Driver,
    (outcome, at): (ExecOutcome, UnixMillis),
) -> Result<Driver> {
    let mut session = held(rows, id, driver)?;
    let next = driver.finished();
    session.driver = Some(next.clone());
    rows.put_session(&session)?;
    let (exec, generation) = (driver.exec.clone(), driver.generation);
    rows.add_event(event(id, EventBody::DriverFinished { exec, generation, outcome }, at))?;
    Ok(next)
}

pub(super) fn close(rows: &mut dyn RowsMut, id: &SessionId, at: UnixMillis) -> Result<()> {
    let mut session = need_session(rows, id)?;
    if session.closed_at.is_some() {
        return Ok(());
    }
    session.closed_at = Some(at);
    rows.put_session(&session)?;
    rows.add_event(event(id, EventBody::Closed, at)).map(drop)
}

pub(super) fn start_exec(rows: &mut dyn RowsMut, new: &NewExec) -> Result<()> {
    let Some(stored) = rows.exec_row(&new.id)? else {
        if let Some(parent) = &new.parent
            && rows.exec_row(parent)?.is_none()
        {
            return Err(StoreError::not_found("exec", parent));
        }
        return rows.put_exec(&Exec { fixed: new.clone(), end: None });
    };
    let field = if stored.fixed.parent != new.parent {
        "parent"
    } else if stored.fixed.argv != new.argv {
        "argv"
    } else if stored.fixed.cwd != new.cwd {
        "cwd"
    } else if stored.fixed.started_at != new.started_at {
        "started_at"
    } else {
        return Ok(());
    };
    Err(StoreError::conflict(format_args!("exec {}", new.id), field))
}

pub(super) fn end_exec(
    rows: &mut dyn RowsMut,
    id: &ExecId,
    (outcome, at): (ExecOutcome, UnixMillis),
) -> Result<()> {
    let mut exec = rows.exec_row(id)?.ok_or_else(|| StoreError::not_found("exec", id))?;
    match exec.end {
        Some(end) if end.outcome == outcome => Ok(()),
        Some(_) => Err(StoreError::conflict(format_args!("exec {id}"), "outcome")),
        None => {
            exec.end = Some(ExecEnd { at, outcome });
            rows.put_exec(&exec)
        }
    }
}

/// Gives the session if `driver` is its current one and may send.
pub(super) fn fence(rows: &dyn Rows, id: &SessionId, driver: &Driver) -> Result<Session> {
    let session = held(rows, id, driver)?;
    if session.closed_at.is_some() {
        return Err(Refusal::SessionClosed { session: id.clone() }.into());
    }
    if driver.exec.is_none() {
        return Err(Refusal::DriverWithoutExec { session: id.clone() }.into());
    }
    Ok(session)
}

/// Gives the session if `driver` is its current one.
pub(super) fn held(rows: &dyn Rows, id: &SessionId, driver: &Driver) -> Result<Session> {
    let session = need_session(rows, id)?;
    if session.driver.as_ref() == Some(driver) { Ok(session) } else { Err(stale(session.driver)) }
}

fn open(rows: &dyn Rows, id: &SessionId) -> Result<Session> {
    let session = need_session(rows, id)?;
    match session.closed_at {
        None => Ok(session),
        Some(_) => Err(Refusal::SessionClosed { session: id.clone() }.into()),
    }
}

fn stale(current: Option<Driver>) -> StoreError {
    StoreError::Stale { current: Current::Driver(current.map(Box::new)) }
}

fn event(id: &SessionId, body: EventBody, at: UnixMillis) -> NewEvent {
    NewEvent {
        session: id.clone(),
        thread: None,
        turn: None,
        recorded_at: at,
        evidence: None,
        body,
    }
}
