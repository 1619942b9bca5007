//! How are turn selections kept?

use receipts::InputKey;
use store::{NewSelection, Position, Result, SelectedTurn, SelectionState, Seq, TurnSelection};

use super::driver;
use crate::{
    cells::Cells,
    schema::SELECTION,
    transaction::{NewRow, Transaction},
};

fn read(cells: &mut Cells<'_>) -> Result<TurnSelection> {
    let input = cells.id()?;
    let flow = cells.text()?;
    let flow = cells.word(flow)?;
    let position = Position(cells.count()?);
    let session = cells.id()?;
    let after = Seq(cells.count()?);
    let driver = driver::read(cells)?.ok_or_else(|| cells.corrupt("it has no driver"))?;
    let state = cells.int()?;
    let request = cells.opt_id()?;
    let thread = cells.opt_id()?;
    let turn = cells.opt_id()?;
    let selected = request.zip(thread).zip(turn).map(|((request, thread), turn)| SelectedTurn {
        request,
        thread,
        turn,
    });
    let state = match (state, selected) {
        (0, None) => SelectionState::Unspent,
        (1, Some(turn)) => SelectionState::Selected(turn),
        (2, Some(turn)) => SelectionState::Consumed(turn),
        (_, _) => return Err(cells.corrupt("its state has no meaning")),
    };
    Ok(TurnSelection {
        fixed: NewSelection { input, flow, position, session },
        after,
        driver,
        state,
    })
}

pub(super) fn find(tx: &Transaction<'_>, input: &InputKey) -> Result<Option<TurnSelection>> {
    let Some(input) = tx.find_name(input.as_str())? else { return Ok(None) };
    tx.one(&SELECTION, "SELECT * FROM selection WHERE input = ?1", [input], read)
}

pub(super) fn put(tx: &Transaction<'_>, selection: &TurnSelection) -> Result<()> {
    let TurnSelection { fixed, after, driver, state } = selection;
    let row = NewRow::new()
        .int(tx.intern(fixed.input.as_str())?)
        .text(fixed.flow.as_str())
        .count(fixed.position.0)
        .int(tx.intern(fixed.session.as_str())?)
        .count(after.0);
    let row = driver::write(tx, row, Some(driver))?;
    let (state, turn) = match state {
        SelectionState::Unspent => (0, None),
        SelectionState::Selected(turn) => (1, Some(turn)),
        SelectionState::Consumed(turn) => (2, Some(turn)),
    };
    let row = row
        .int(state)
        .int(tx.intern_opt(turn.map(|turn| turn.request.as_str()))?)
        .int(tx.intern_opt(turn.map(|turn| turn.thread.as_str()))?)
        .int(tx.intern_opt(turn.map(|turn| turn.turn.as_str()))?);
    tx.put(&SELECTION, row)
}
