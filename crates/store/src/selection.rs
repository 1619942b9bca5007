//! Which one turn may move a workflow? (ledger.md 3, and 7 case 13)

use receipts::{InputKey, RequestId, SessionId, ThreadId, TurnId};

use crate::{driver::Driver, event::Seq, text::FlowName};

/// The version of a workflow's cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

/// What a workflow asks for before it sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSelection {
    /// The input whose turn is awaited; one selection for each.
    pub input: InputKey,
    /// The workflow.
    pub flow: FlowName,
    /// Where its cursor stands.
    pub position: Position,
    /// The session that the turn must be in.
    pub session: SessionId,
}

/// The promise that exactly one turn will move a workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnSelection {
    /// What was asked for.
    pub fixed: NewSelection,
    /// The turn must have started after this event.
    pub after: Seq,
    /// The turn must have been requested by this driver.
    pub driver: Driver,
    /// How it stands.
    pub state: SelectionState,
}

/// How a turn selection stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SelectionState {
    /// No turn was selected.
    Unspent,
    /// This turn was selected.
    Selected(SelectedTurn),
    /// This turn moved the workflow.
    Consumed(SelectedTurn),
}

/// The turn that a selection holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectedTurn {
    /// Our name of the request.
    pub request: RequestId,
    /// The harness's conversation.
    pub thread: ThreadId,
    /// The harness's id of the turn.
    pub turn: TurnId,
}
