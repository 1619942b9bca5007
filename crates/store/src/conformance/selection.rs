//! Turn selection (ledger.md 3, and 7.13).

use receipts::Status;

use super::bench::{Bench, admitted, append, ended, id, key, prompt, request, started, unanswered};
use crate::{
    Current, Driver, FlowName, NewIntent, NewSelection, NotSelectable, Position, Purpose, Refusal,
    SelectedTurn, SelectionState, TurnSelection,
};

fn new(input: &str, position: u64) -> NewSelection {
    NewSelection {
        input: id(input),
        flow: FlowName::new("flow").expect("good"),
        position: Position(position),
        session: id("s"),
    }
}

fn selected(name: &str) -> SelectedTurn {
    SelectedTurn { request: id(name), thread: id("s"), turn: id(name) }
}

/// A session with an input, a driver and a selection.
fn set_up(bench: &Bench<'_>) -> (Driver, TurnSelection) {
    let session = bench.session("s");
    bench.capture(&session, "a");
    let driver = bench.drive(&session, "e");
    let selection = bench.write(|ledger| ledger.turn_selection(&new("a", 1), &driver));
    (driver, selection)
}

/// Intends a prompt and lets it start.
fn run(bench: &Bench<'_>, name: &str, driver: &Driver) {
    bench.intend(&id("s"), name, driver);
    bench.append(&id("s"), &[admitted(name), started(name, "m", 2)]);
}

fn not_selectable(bench: &Bench<'_>, name: &str, driver: &Driver) -> NotSelectable {
    match bench.refused(|l| l.select_turn(&key("a"), &request(name), driver)) {
        Refusal::NotSelectable { request, why } if request == id(name) => why,
        other => panic!("not selectable, not: {other:?}"),
    }
}

/// Ledger.md 3: one launch is bound to the one turn that it starts, which is consumed once.
pub fn a_selection_is_spent_on_one_turn(bench: &mut Bench<'_>) {
    let (driver, made) = set_up(bench);
    let head = bench.events(&id("s")).last().map(|event| event.seq);
    let expected = TurnSelection {
        fixed: new("a", 1),
        after: head.expect("the input was captured"),
        driver: driver.clone(),
        state: SelectionState::Unspent,
    };
    assert_eq!(made, expected);
    assert_eq!(bench.write_nothing(|l| l.turn_selection(&new("a", 1), &driver)), made);
    run(bench, "q", &driver);
    // What was made before the turn is still the same after it.
    assert_eq!(bench.write_nothing(|l| l.turn_selection(&new("a", 1), &driver)), made);
    let spent = bench.write(|l| l.select_turn(&key("a"), &request("q"), &driver));
    let state = SelectionState::Selected(selected("q"));
    assert_eq!(spent, TurnSelection { state, ..made.clone() });
    assert_eq!(bench.write_nothing(|l| l.select_turn(&key("a"), &request("q"), &driver)), spent);
    bench.reopen();
    assert_eq!(bench.read(|ledger| ledger.selection(&key("a"))), Some(spent));
    let not_ready = Refusal::SelectionNotReady { input: key("a") };
    assert_eq!(bench.refused(|l| l.consume_turn(&key("a"), Position(1), &driver)), not_ready);
    bench.append(&id("s"), &[ended("q", "m", Status::Completed, 3)]);
    let report = bench.write(|l| l.consume_turn(&key("a"), Position(1), &driver));
    assert_eq!(report, bench.turn(&id("s"), "q"));
    let state = SelectionState::Consumed(selected("q"));
    let consumed = bench.read(|ledger| ledger.selection(&key("a")));
    assert_eq!(consumed, Some(TurnSelection { state, ..made }));
    // A second consumption.
    let is_spent = Refusal::SelectionSpent { input: key("a") };
    assert_eq!(bench.refused(|l| l.consume_turn(&key("a"), Position(1), &driver)), is_spent);
    assert_eq!(bench.refused(|l| l.select_turn(&key("a"), &request("q"), &driver)), is_spent);
}

/// A consumed selection stays what it is until the workflow has moved on.
pub fn a_workflow_that_moved_on_may_select_again(bench: &mut Bench<'_>) {
    let (driver, _) = set_up(bench);
    run(bench, "q", &driver);
    bench.write(|l| l.select_turn(&key("a"), &request("q"), &driver));
    bench.append(&id("s"), &[ended("q", "m", Status::Completed, 3)]);
    bench.write(|l| l.consume_turn(&key("a"), Position(1), &driver));
    let again = bench.write_nothing(|l| l.turn_selection(&new("a", 1), &driver));
    assert_eq!(again.state, SelectionState::Consumed(selected("q")));
    let conflict = bench.conflict(|ledger| ledger.turn_selection(&new("a", 0), &driver));
    assert_eq!(conflict, ("turn selection of input a".to_owned(), "position"));
    let next = bench.write(|l| l.turn_selection(&new("a", 2), &driver));
    assert_eq!(next.state, SelectionState::Unspent);
    assert_eq!(not_selectable(bench, "q", &driver), NotSelectable::Older);
}

/// Ledger.md 7.13: an older success can never satisfy it.
pub fn an_older_success_is_refused(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    bench.capture(&session, "a");
    let driver = bench.drive(&session, "e");
    run(bench, "done", &driver);
    bench.append(&session, &[ended("done", "m", Status::Completed, 3)]);
    // It was requested before, and starts only later.
    bench.intend(&session, "queued", &driver);
    bench.write(|ledger| ledger.turn_selection(&new("a", 1), &driver));
    bench.append(&session, &[admitted("queued"), started("queued", "m2", 4)]);
    for name in ["done", "queued"] {
        assert_eq!(not_selectable(bench, name, &driver), NotSelectable::Older);
    }
    let selection = bench.read(|ledger| ledger.selection(&key("a"))).expect("it is there");
    assert_eq!(selection.state, SelectionState::Unspent);
}

/// Ledger.md 7.13: a steer, a foreign turn, and one that has not started can never satisfy it.
pub fn what_is_no_turn_of_the_input_is_refused(bench: &mut Bench<'_>) {
    let (driver, _) = set_up(bench);
    let session = id("s");
    let steer = NewIntent { purpose: Purpose::Steer, ..prompt(&session, "steer") };
    bench.write(|ledger| ledger.intend(&steer, &driver));
    bench.append(&session, &[admitted("steer"), started("steer", "m", 2)]);
    assert_eq!(not_selectable(bench, "steer", &driver), NotSelectable::Steer);
    bench.intend(&session, "waits", &driver);
    assert_eq!(not_selectable(bench, "waits", &driver), NotSelectable::NotStarted);
    bench.append(&session, &[admitted("waits"), unanswered("waits", Status::Unanswered)]);
    assert_eq!(not_selectable(bench, "waits", &driver), NotSelectable::NotStarted);
    let unknown = NewIntent { turn: None, ..prompt(&session, "nameless") };
    bench.write(|ledger| ledger.intend(&unknown, &driver));
    assert_eq!(not_selectable(bench, "nameless", &driver), NotSelectable::NotStarted);
    bench.capture(&session, "b");
    run(bench, "of-b", &driver);
    assert_eq!(not_selectable(bench, "of-b", &driver), NotSelectable::Foreign);
    let other = bench.session("other");
    let other_driver = bench.drive(&other, "e2");
    bench.intend(&other, "elsewhere", &other_driver);
    assert_eq!(not_selectable(bench, "elsewhere", &driver), NotSelectable::Foreign);
    // Another client's turn has no request of ours.
    bench.append(&session, &[admitted("theirs"), started("theirs", "m9", 2)]);
    let missing = bench.not_found(|l| l.select_turn(&key("a"), &request("theirs"), &driver));
    assert_eq!(missing, ("request", "theirs".to_owned()));
    let not_ready = Refusal::SelectionNotReady { input: key("a") };
    assert_eq!(bench.refused(|l| l.consume_turn(&key("a"), Position(1), &driver)), not_ready);
}

/// Ledger.md 7.13: a stale driver can never spend or consume it, nor a turn that it requested.
pub fn a_stale_driver_is_refused(bench: &mut Bench<'_>) {
    let (old, _) = set_up(bench);
    run(bench, "q", &old);
    bench.write(|l| l.select_turn(&key("a"), &request("q"), &old));
    bench.append(&id("s"), &[ended("q", "m", Status::Failed, 3)]);
    let current = bench.drive(&id("s"), "e2");
    let is_current = Current::Driver(Some(Box::new(current.clone())));
    assert_eq!(bench.stale(|l| l.consume_turn(&key("a"), Position(1), &old)), is_current);
    assert_eq!(bench.stale(|l| l.select_turn(&key("a"), &request("q"), &old)), is_current);
    assert_eq!(bench.stale(|l| l.turn_selection(&new("b", 1), &old)), is_current);
    // The new driver has not made it.
    let is_old = Current::Driver(Some(Box::new(old)));
    assert_eq!(bench.stale(|l| l.consume_turn(&key("a"), Position(1), &current)), is_old);
    assert_eq!(bench.stale(|l| l.select_turn(&key("a"), &request("q"), &current)), is_old);
}

/// What is unspent when another driver takes over is made anew, for its own turns.
pub fn an_unspent_selection_is_made_anew_after_a_takeover(bench: &mut Bench<'_>) {
    let (old, made) = set_up(bench);
    run(bench, "q", &old);
    let driver = bench.drive(&id("s"), "e2");
    let anew = bench.write(|ledger| ledger.turn_selection(&new("a", 1), &driver));
    assert_eq!((&anew.driver, anew.after > made.after), (&driver, true));
    assert_eq!(not_selectable(bench, "q", &driver), NotSelectable::Older);
    run(bench, "q2", &driver);
    bench.write(|l| l.select_turn(&key("a"), &request("q2"), &driver));
}

/// Ledger.md 3: a retry replaces a selected turn only when that failed or was interrupted.
pub fn a_retry_replaces_a_turn_that_failed(bench: &mut Bench<'_>) {
    let (driver, _) = set_up(bench);
    let session = id("s");
    run(bench, "q1", &driver);
    bench.write(|l| l.select_turn(&key("a"), &request("q1"), &driver));
    run(bench, "q2", &driver);
    assert_eq!(not_selectable(bench, "q2", &driver), NotSelectable::Taken);
    bench.append(&session, &[ended("q1", "m", Status::Failed, 3)]);
    bench.write(|l| l.select_turn(&key("a"), &request("q2"), &driver));
    bench.append(&session, &[ended("q2", "m2", Status::Interrupted, 3)]);
    // What was replaced does not come back.
    assert_eq!(not_selectable(bench, "q1", &driver), NotSelectable::Older);
    run(bench, "q3", &driver);
    bench.write(|l| l.select_turn(&key("a"), &request("q3"), &driver));
    bench.append(&session, &[ended("q3", "m3", Status::Completed, 3)]);
    run(bench, "q4", &driver);
    assert_eq!(not_selectable(bench, "q4", &driver), NotSelectable::Taken);
    let report = bench.write(|l| l.consume_turn(&key("a"), Position(1), &driver));
    assert_eq!(report.request, Some(id("q3")));
}

/// A selection is of one flow and position, and of an input of its session.
pub fn another_selection_of_one_input_is_a_conflict(bench: &mut Bench<'_>) {
    let (driver, _) = set_up(bench);
    let other = bench.session("other");
    bench.capture(&other, "b");
    let flow = NewSelection { flow: FlowName::new("other").expect("good"), ..new("a", 1) };
    for (field, other) in [("flow", flow), ("position", new("a", 2))] {
        let conflict = bench.conflict(|ledger| ledger.turn_selection(&other, &driver));
        assert_eq!(conflict, ("turn selection of input a".to_owned(), field));
    }
    let conflict = bench.conflict(|ledger| ledger.turn_selection(&new("b", 1), &driver));
    assert_eq!(conflict, ("input b".to_owned(), "session"));
    let missing = bench.not_found(|ledger| ledger.turn_selection(&new("nobody", 1), &driver));
    assert_eq!(missing, ("input", "nobody".to_owned()));
    let current = bench.stale(|ledger| ledger.consume_turn(&key("a"), Position(2), &driver));
    assert_eq!(current, Current::Position(Position(1)));
    let missing = bench.not_found(|ledger| ledger.consume_turn(&key("b"), Position(1), &driver));
    assert_eq!(missing, ("turn selection of input", "b".to_owned()));
}

/// Ledger.md 3: a turn is consumed in the transaction that moves the workflow, or not at all.
pub fn a_consumption_that_is_not_committed_is_none(bench: &mut Bench<'_>) {
    let (driver, _) = set_up(bench);
    run(bench, "q", &driver);
    bench.write(|l| l.select_turn(&key("a"), &request("q"), &driver));
    bench.append(&id("s"), &[ended("q", "m", Status::Completed, 3)]);
    let result = bench.try_write(|ledger| {
        ledger.consume_turn(&key("a"), Position(1), &driver)?;
        append(ledger, &id("nobody"), &[])
    });
    assert!(result.is_err());
    bench.reopen();
    bench.write(|l| l.consume_turn(&key("a"), Position(1), &driver));
}
