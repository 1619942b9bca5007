//! Which turn may satisfy a turn selection? (ledger.md 7, case 13)

use receipts::{InputKey, RequestId, Status};

use super::{request, session, turn};
use crate::{
    driver::Driver,
    error::{Current, NotSelectable, Refusal, StoreError},
    intent::{Intent, Purpose},
    ledger::Result,
    report::TurnReport,
    rows::{EventId, Rows, RowsMut},
    selection::{NewSelection, Position, SelectedTurn, SelectionState, TurnSelection},
};

pub(super) fn make(
    rows: &mut dyn RowsMut,
    new: &NewSelection,
    driver: &Driver,
) -> Result<TurnSelection> {
    session::fence(rows, &new.session, driver)?;
    let captured = rows.input_row(&new.input)?;
    let captured = captured.ok_or_else(|| StoreError::not_found("input", &new.input))?;
    if captured.session != new.session {
        return Err(StoreError::conflict(format_args!("input {}", new.input), "session"));
    }
    if let Some(stored) = rows.selection_row(&new.input)? {
        let moved_on = matches!(stored.state, SelectionState::Consumed(_))
            && new.position > stored.fixed.position;
        let taken_over = stored.state == SelectionState::Unspent && stored.driver != *driver;
        if !moved_on {
            check_equal(&stored.fixed, new)?;
            if !taken_over {
                return Ok(stored);
            }
        }
    }
    let selection = TurnSelection {
        fixed: new.clone(),
        after: rows.head()?,
        driver: driver.clone(),
        state: SelectionState::Unspent,
    };
    rows.put_selection(&selection)?;
    Ok(selection)
}

fn check_equal(stored: &NewSelection, new: &NewSelection) -> Result<()> {
    let field = if stored.flow != new.flow {
        "flow"
    } else if stored.position != new.position {
        "position"
    } else if stored.session != new.session {
        "session"
    } else {
        return Ok(());
    };
    Err(StoreError::conflict(format_args!("turn selection of input {}", new.input), field))
}

pub(super) fn select(
    rows: &mut dyn RowsMut,
    input: &InputKey,
    request: &RequestId,
    driver: &Driver,
) -> Result<TurnSelection> {
    let mut selection = held(rows, input, driver)?;
    let intent = request::need(rows, request)?;
    let refused = |why| Refusal::NotSelectable { request: request.clone(), why };
    let selected = check_turn(rows, &selection, &intent)?.map_err(refused)?;
    match &selection.state {
        SelectionState::Unspent => {}
        SelectionState::Selected(stored) if *stored == selected => return Ok(selection),
        SelectionState::Selected(stored) => match report(rows, &selection, stored)?.status {
            Status::Failed | Status::Interrupted => {
                // A retry comes after what it replaces.
                if intent.seq < request::need(rows, &stored.request)?.seq {
                    return Err(refused(NotSelectable::Older).into());
                }
            }
            Status::Pending
            | Status::Completed
            | Status::Stopped
            | Status::Absorbed
            | Status::Unanswered
            | Status::NoReply
            | Status::Lost => return Err(refused(NotSelectable::Taken).into()),
        },
        SelectionState::Consumed(_) => {
            return Err(Refusal::SelectionSpent { input: input.clone() }.into());
        }
    }
    selection.state = SelectionState::Selected(selected);
    rows.put_selection(&selection)?;
    Ok(selection)
}

fn check_turn(
    rows: &dyn Rows,
    selection: &TurnSelection,
    intent: &Intent,
) -> Result<std::result::Result<SelectedTurn, NotSelectable>> {
    if intent.session != selection.fixed.session
        || intent.origin.input.as_ref() != Some(&selection.fixed.input)
    {
        return Ok(Err(NotSelectable::Foreign));
    }
    if intent.purpose == Purpose::Steer {
        return Ok(Err(NotSelectable::Steer));
    }
    if intent.seq <= selection.after {
        return Ok(Err(NotSelectable::Older));
    }
    // What was requested later was requested by the selection's driver, which still drives.
    let Some(turn) = &intent.turn else { return Ok(Err(NotSelectable::NotStarted)) };
    let started = EventId {
        session: &intent.session,
        thread: Some(&intent.thread),
        turn: Some(turn),
        kind: "started",
        key: "",
    };
    Ok(match rows.event_row(&started)? {
        None => Err(NotSelectable::NotStarted),
        Some(event) if event.seq <= selection.after => Err(NotSelectable::Older),
        Some(_) => Ok(SelectedTurn {
            request: intent.request.clone(),
            thread: intent.thread.clone(),
            turn: turn.clone(),
        }),
    })
}

pub(super) fn consume(
    rows: &mut dyn RowsMut,
    input: &InputKey,
    position: Position,
    driver: &Driver,
) -> Result<TurnReport> {
    let mut selection = held(rows, input, driver)?;
    if selection.fixed.position != position {
        return Err(StoreError::Stale { current: Current::Position(selection.fixed.position) });
    }
    let selected = match &selection.state {
        SelectionState::Selected(selected) => selected.clone(),
        SelectionState::Unspent => {
            return Err(Refusal::SelectionNotReady { input: input.clone() }.into());
        }
        SelectionState::Consumed(_) => {
            return Err(Refusal::SelectionSpent { input: input.clone() }.into());
        }
    };
    let report = report(rows, &selection, &selected)?;
    if report.status == Status::Pending {
        return Err(Refusal::SelectionNotReady { input: input.clone() }.into());
    }
    selection.state = SelectionState::Consumed(selected);
    rows.put_selection(&selection)?;
    Ok(report)
}

/// Gives the selection if `driver` is the session's current one and the one that made it.
fn held(rows: &dyn Rows, input: &InputKey, driver: &Driver) -> Result<TurnSelection> {
    let selection = rows
        .selection_row(input)?
        .ok_or_else(|| StoreError::not_found("turn selection of input", input))?;
    session::fence(rows, &selection.fixed.session, driver)?;
    if selection.driver.generation != driver.generation {
        let current = Current::Driver(Some(Box::new(selection.driver)));
        return Err(StoreError::Stale { current });
    }
    Ok(selection)
}

fn report(
    rows: &dyn Rows,
    selection: &TurnSelection,
    selected: &SelectedTurn,
) -> Result<TurnReport> {
    let place = (&selection.fixed.session, &selected.thread, &selected.turn);
    turn::turn(rows, place)?.ok_or_else(|| StoreError::not_found("turn", &selected.turn))
}
