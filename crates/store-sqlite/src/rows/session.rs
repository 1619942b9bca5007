//! How are sessions kept?

use receipts::{SessionId, ThreadId};
use store::{Capture, CurrentInput, HarnessName, NewSession, Result, Session};

use super::{driver, labels};
use crate::{
    cells::Cells,
    schema::SESSION,
    transaction::{NewRow, Transaction},
};

fn read(cells: &mut Cells<'_>) -> Result<Session> {
    cells.skip();
    let id = cells.id()?;
    let harness = cells.id()?;
    let created_at = cells.time()?;
    let workdir = cells.opt_text()?.map(Box::from);
    let title = cells.opt_text()?.map(Box::from);
    let labels = labels::read(cells)?;
    let thread = cells.opt_id()?;
    let input = cells.opt_id()?;
    let capture = Capture(cells.count()?);
    let driver = driver::read(cells)?;
    let closed_at = cells.opt_time()?;
    Ok(Session {
        fixed: NewSession { id, harness, created_at, workdir, title, labels },
        thread,
        input: input.map(|key| CurrentInput { key, capture }),
        driver,
        closed_at,
    })
}

pub(super) fn find(tx: &Transaction<'_>, id: &SessionId) -> Result<Option<Session>> {
    let Some(name) = tx.find_name(id.as_str())? else { return Ok(None) };
    tx.one(&SESSION, "SELECT * FROM session WHERE name = ?1", [name], read)
}

pub(super) fn list(
    tx: &Transaction<'_>,
    after: Option<&SessionId>,
    limit: usize,
) -> Result<Vec<Session>> {
    let after = match after {
        Some(after) => row_id(tx, after)?.unwrap_or(0),
        None => 0,
    };
    let sql = "SELECT * FROM session WHERE id > ?1 ORDER BY id LIMIT ?2";
    tx.all(&SESSION, sql, (after, super::limit(limit)), read)
}

pub(super) fn of_thread(
    tx: &Transaction<'_>,
    harness: &HarnessName,
    thread: &ThreadId,
) -> Result<Option<SessionId>> {
    let Some(harness) = tx.find_name(harness.as_str())? else { return Ok(None) };
    let Some(thread) = tx.find_name(thread.as_str())? else { return Ok(None) };
    let sql = "SELECT * FROM session WHERE harness = ?1 AND thread = ?2 AND thread <> 0";
    Ok(tx.one(&SESSION, sql, (harness, thread), read)?.map(|session| session.fixed.id))
}

/// Gives the place of a session in the order of creation.
pub(super) fn row_id(tx: &Transaction<'_>, id: &SessionId) -> Result<Option<i64>> {
    let Some(name) = tx.find_name(id.as_str())? else { return Ok(None) };
    tx.one(&SESSION, "SELECT * FROM session WHERE name = ?1", [name], |cells| cells.int())
}

pub(super) fn put(tx: &Transaction<'_>, session: &Session) -> Result<()> {
    let Session { fixed, thread, input, driver, closed_at } = session;
    let id = match row_id(tx, &fixed.id)? {
        Some(id) => id,
        None => tx.number("SELECT max(id) FROM session", ())?.unwrap_or(0) + 1,
    };
    let row = NewRow::new()
        .int(id)
        .int(tx.intern(fixed.id.as_str())?)
        .int(tx.intern(fixed.harness.as_str())?)
        .int(fixed.created_at.0)
        .opt_text(fixed.workdir.as_deref())
        .opt_text(fixed.title.as_deref())
        .blob(labels::encode(&fixed.labels))
        .int(tx.intern_opt(thread.as_ref().map(ThreadId::as_str))?)
        .int(tx.intern_opt(input.as_ref().map(|input| input.key.as_str()))?)
        .count(input.as_ref().map_or(0, |input| input.capture.0));
    let row = driver::write(tx, row, driver.as_ref())?;
    tx.put(&SESSION, row.opt_int(closed_at.map(|at| at.0)))
}
