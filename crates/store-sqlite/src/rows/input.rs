//! How are inputs kept?

use receipts::{InputKey, SessionId};
use store::{Capture, Captured, Input, Result, Work};

use super::labels;
use crate::{
    cells::Cells,
    schema::INPUT,
    transaction::{NewRow, Transaction},
};

fn read(cells: &mut Cells<'_>) -> Result<Captured> {
    let key = cells.id()?;
    let session = cells.id()?;
    let capture = Capture(cells.count()?);
    let at = cells.time()?;
    let prompt = cells.opt_text()?.map(Box::from);
    let skill = cells.opt_text()?.map(Box::from);
    let cwd = cells.opt_text()?.map(Box::from);
    let model = cells.opt_text()?.map(Box::from);
    let work = cells.opt_text()?.map(|text| cells.word(text)).transpose()?;
    let labels = labels::read(cells)?;
    let input = Input { key, prompt, skill, cwd, model, work, labels };
    Ok(Captured { session, capture, at, input })
}

pub(super) fn find(tx: &Transaction<'_>, key: &InputKey) -> Result<Option<Captured>> {
    let Some(key) = tx.find_name(key.as_str())? else { return Ok(None) };
    tx.one(&INPUT, "SELECT * FROM input WHERE key = ?1", [key], read)
}

pub(super) fn list(tx: &Transaction<'_>, session: &SessionId) -> Result<Vec<Captured>> {
    let Some(session) = tx.find_name(session.as_str())? else { return Ok(Vec::new()) };
    let sql = "SELECT * FROM input WHERE session = ?1 ORDER BY capture";
    tx.all(&INPUT, sql, [session], read)
}

pub(super) fn put(tx: &Transaction<'_>, captured: &Captured) -> Result<()> {
    let Captured { session, capture, at, input } = captured;
    let row = NewRow::new()
        .int(tx.intern(input.key.as_str())?)
        .int(tx.intern(session.as_str())?)
        .count(capture.0)
        .int(at.0)
        .opt_text(input.prompt.as_deref())
        .opt_text(input.skill.as_deref())
        .opt_text(input.cwd.as_deref())
        .opt_text(input.model.as_deref())
        .opt_text(input.work.as_ref().map(Work::as_str))
        .blob(labels::encode(&input.labels));
    tx.put(&INPUT, row)
}
