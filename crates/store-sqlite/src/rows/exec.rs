//! How are runs kept?

use receipts::{ExecId, UnixMillis};
use store::{Exec, ExecEnd, NewExec, Result};

use super::labels;
use crate::{
    body::{outcome_codes, outcome_of},
    cells::Cells,
    schema::EXEC,
    transaction::{NewRow, Transaction},
};

fn read(cells: &mut Cells<'_>) -> Result<Exec> {
    let id = cells.id()?;
    let parent = cells.opt_id()?;
    let argv = labels::read_words(cells)?;
    let cwd = cells.opt_text()?.map(Box::from);
    let started_at = cells.time()?;
    let end = (cells.opt_int()?, cells.opt_int()?, cells.opt_int()?);
    let end = match end {
        (Some(at), Some(outcome), Some(code)) => {
            let code = i32::try_from(code).ok();
            let outcome = code.and_then(|code| outcome_of(outcome, code));
            let outcome = outcome.ok_or_else(|| cells.corrupt("its outcome has no meaning"))?;
            Some(ExecEnd { at: UnixMillis(at), outcome })
        }
        (Some(_) | None, Some(_) | None, Some(_) | None) => None,
    };
    Ok(Exec { fixed: NewExec { id, parent, argv, cwd, started_at }, end })
}

pub(super) fn find(tx: &Transaction<'_>, id: &ExecId) -> Result<Option<Exec>> {
    let Some(id) = tx.find_name(id.as_str())? else { return Ok(None) };
    tx.one(&EXEC, "SELECT * FROM exec WHERE id = ?1", [id], read)
}

pub(super) fn put(tx: &Transaction<'_>, exec: &Exec) -> Result<()> {
    let Exec { fixed, end } = exec;
    let codes = end.map(|end| outcome_codes(end.outcome));
    let row = NewRow::new()
        .int(tx.intern(fixed.id.as_str())?)
        .int(tx.intern_opt(fixed.parent.as_ref().map(ExecId::as_str))?)
        .blob(labels::words(fixed.argv.len(), fixed.argv.iter().map(|word| &**word)))
        .opt_text(fixed.cwd.as_deref())
        .int(fixed.started_at.0)
        .opt_int(end.map(|end| end.at.0))
        .opt_int(codes.map(|(outcome, _)| i64::from(outcome)))
        .opt_int(codes.map(|(_, code)| i64::from(code)));
    tx.put(&EXEC, row)
}
