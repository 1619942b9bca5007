//! How are turns and forks kept?

use receipts::{SessionId, ThreadId};
use store::{Result, Seq, TurnRow, TurnState};

use super::Place;
use crate::{
    cells::Cells,
    schema::{FORK, TURN},
    transaction::{NewRow, Transaction},
};

fn read(cells: &mut Cells<'_>) -> Result<TurnRow> {
    Ok(TurnRow {
        first: Seq(cells.count()?),
        session: cells.id()?,
        thread: cells.id()?,
        turn: cells.id()?,
        state: cells.choice(&[TurnState::Open, TurnState::Ended])?,
    })
}

pub(super) fn find(tx: &Transaction<'_>, place: Place<'_>) -> Result<Option<TurnRow>> {
    let Some(place) = tx.find_place(place)? else { return Ok(None) };
    let sql = "SELECT * FROM turn WHERE session = ?1 AND thread = ?2 AND turn = ?3";
    tx.one(&TURN, sql, place, read)
}

pub(super) fn list(
    tx: &Transaction<'_>,
    session: &SessionId,
    after: Seq,
    limit: usize,
) -> Result<Vec<TurnRow>> {
    let Some(session) = tx.find_name(session.as_str())? else { return Ok(Vec::new()) };
    let sql = "SELECT * FROM turn INDEXED BY turn_session
               WHERE session = ?1 AND first > ?2 ORDER BY first LIMIT ?3";
    tx.all(&TURN, sql, (session, after.0.cast_signed(), super::limit(limit)), read)
}

pub(super) fn count(tx: &Transaction<'_>, session: &SessionId) -> Result<u64> {
    let Some(session) = tx.find_name(session.as_str())? else { return Ok(0) };
    let sql = "SELECT count(*) FROM turn INDEXED BY turn_session WHERE session = ?1";
    Ok(tx.number(sql, [session])?.map_or(0, i64::cast_unsigned))
}

pub(super) fn open(tx: &Transaction<'_>, session: &SessionId) -> Result<Vec<TurnRow>> {
    let Some(session) = tx.find_name(session.as_str())? else { return Ok(Vec::new()) };
    let sql = "SELECT * FROM turn INDEXED BY turn_open
               WHERE session = ?1 AND state = 0 ORDER BY first";
    tx.all(&TURN, sql, [session], read)
}

pub(super) fn put(tx: &Transaction<'_>, turn: &TurnRow) -> Result<()> {
    let row = NewRow::new()
        .count(turn.first.0)
        .int(tx.intern(turn.session.as_str())?)
        .int(tx.intern(turn.thread.as_str())?)
        .int(tx.intern(turn.turn.as_str())?)
        .int(match turn.state {
            TurnState::Open => 0,
            TurnState::Ended => 1,
        });
    tx.put(&TURN, row)
}

pub(super) fn fork_parent(tx: &Transaction<'_>, child: &ThreadId) -> Result<Option<ThreadId>> {
    let Some(child) = tx.find_name(child.as_str())? else { return Ok(None) };
    tx.one(&FORK, "SELECT * FROM fork WHERE child = ?1", [child], |cells| {
        cells.skip();
        cells.id()
    })
}

pub(super) fn forks_of(tx: &Transaction<'_>, parent: &ThreadId) -> Result<Vec<ThreadId>> {
    let Some(parent) = tx.find_name(parent.as_str())? else { return Ok(Vec::new()) };
    let sql = "SELECT * FROM fork WHERE parent = ?1";
    tx.all(&FORK, sql, [parent], |cells| cells.id())
}

pub(super) fn put_fork(tx: &Transaction<'_>, child: &ThreadId, parent: &ThreadId) -> Result<()> {
    let row = NewRow::new().int(tx.intern(child.as_str())?).int(tx.intern(parent.as_str())?);
    tx.put(&FORK, row)
}
