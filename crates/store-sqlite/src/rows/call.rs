//! How are model calls kept?

use receipts::{CallKey, Counters, ExecId, InputKey, ThreadId, Usd};
use store::{Call, CallOwner, Result, Scope, Seq};

use crate::{
    cells::Cells,
    error::corrupt,
    schema::{CALL, EVENT},
    transaction::{NewRow, Transaction},
    word::Word as _,
};

fn read(cells: &mut Cells<'_>) -> Result<Call> {
    let key = cells.id()?;
    let counters = counters(cells)?;
    let provider = opt_word(cells)?;
    let model = opt_word(cells)?;
    let at = cells.opt_time()?;
    let owner = CallOwner {
        seq: Seq(cells.count()?),
        session: cells.id()?,
        thread: cells.id()?,
        turn: cells.id()?,
        input: cells.opt_id()?,
        exec: cells.opt_id()?,
    };
    Ok(Call { key, counters, provider, model, at, owner })
}

fn counters(cells: &mut Cells<'_>) -> Result<Counters> {
    Ok(Counters {
        input: cells.opt_count()?,
        cache_read: cells.opt_count()?,
        cache_write: cells.opt_count()?,
        cache_write_1h: cells.opt_count()?,
        output: cells.opt_count()?,
        reasoning: cells.opt_count()?,
        cost: match cells.opt_text()? {
            Some(text) => {
                Some(Usd::parse(text).ok_or_else(|| cells.corrupt("its cost is no amount"))?)
            }
            None => None,
        },
    })
}

/// An interned word, which may be empty; null is none.
fn opt_word(cells: &mut Cells<'_>) -> Result<Option<Box<str>>> {
    match cells.opt_int()? {
        Some(id) => Ok(Some((*cells.transaction().name(id)?).into())),
        None => Ok(None),
    }
}

pub(super) fn find(tx: &Transaction<'_>, key: &CallKey) -> Result<Option<Call>> {
    let Some(key) = tx.find_name(key.as_str())? else { return Ok(None) };
    tx.one(&CALL, "SELECT * FROM call WHERE key = ?1", [key], read)
}

pub(super) fn visit(
    tx: &Transaction<'_>,
    scope: Scope<'_>,
    visit: &mut dyn FnMut(&Call),
) -> Result<()> {
    let show = |cells: &mut Cells<'_>| {
        visit(&read(cells)?);
        Ok(())
    };
    let (sql, name) = match scope {
        Scope::All => return tx.each(&CALL, "SELECT * FROM call", (), show),
        Scope::Turn(session, thread, turn) => {
            let Some(place) = tx.find_place((session, thread, turn))? else { return Ok(()) };
            let sql = "SELECT * FROM call WHERE session = ?1 AND thread = ?2 AND turn = ?3";
            return tx.each(&CALL, sql, place, show);
        }
        Scope::Session(session) => ("SELECT * FROM call WHERE session = ?1", session.as_str()),
        Scope::Input(input) => {
            ("SELECT * FROM call WHERE input = ?1 AND input <> 0", input.as_str())
        }
        Scope::Exec(exec) => ("SELECT * FROM call WHERE exec = ?1 AND exec <> 0", exec.as_str()),
    };
    match tx.find_name(name)? {
        Some(name) => tx.each(&CALL, sql, [name], show),
        None => Ok(()),
    }
}

pub(super) fn seen_in(tx: &Transaction<'_>, thread: &ThreadId) -> Result<Vec<CallKey>> {
    let Some(thread) = tx.find_name(thread.as_str())? else { return Ok(Vec::new()) };
    let call = EVENT.columns.iter().position(|column| *column == "call").unwrap_or_default();
    let sql = "SELECT * FROM event INDEXED BY event_seen
               WHERE thread = ?1 AND call <> 0 ORDER BY call";
    let mut calls: Vec<i64> = tx.all(&EVENT, sql, [thread], |cells| {
        (0..call).for_each(|_| cells.skip());
        cells.int()
    })?;
    calls.dedup();
    let name = |id| {
        let text = tx.name(id)?;
        CallKey::of(&text)
            .ok_or_else(|| corrupt(tx.file(), format!("row {id} of table name is no call key")))
    };
    calls.into_iter().map(name).collect()
}

pub(super) fn put(tx: &Transaction<'_>, call: &Call) -> Result<()> {
    let Call { key, counters, provider, model, at, owner } = call;
    let cost = counters.cost.map(|cost| cost.to_string());
    let word = |word: &Option<Box<str>>| word.as_deref().map(|word| tx.intern(word)).transpose();
    let row = NewRow::new()
        .int(tx.intern(key.as_str())?)
        .opt_count(counters.input)
        .opt_count(counters.cache_read)
        .opt_count(counters.cache_write)
        .opt_count(counters.cache_write_1h)
        .opt_count(counters.output)
        .opt_count(counters.reasoning)
        .opt_text(cost.as_deref())
        .opt_int(word(provider)?)
        .opt_int(word(model)?)
        .opt_int(at.map(|at| at.0))
        .count(owner.seq.0)
        .int(tx.intern(owner.session.as_str())?)
        .int(tx.intern(owner.thread.as_str())?)
        .int(tx.intern(owner.turn.as_str())?)
        .int(tx.intern_opt(owner.input.as_ref().map(InputKey::as_str))?)
        .int(tx.intern_opt(owner.exec.as_ref().map(ExecId::as_str))?);
    tx.put(&CALL, row)
}
