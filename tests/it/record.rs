//! A real OpenCode, driven and followed through the recorder, lands in the ledger.

use receipts::Status;
use recorder::{Belief, LiveEvent, Told};
use store::Seq;
use testkit::{
    model::{Key, Reply, Usage},
    opencode::MODEL,
};

use crate::{
    rig::{Rig, request},
    server::Outcome,
};

fn events(told: &[Told]) -> Vec<LiveEvent> {
    told.iter()
        .filter_map(|told| match told {
            Told::Turn { event, .. } => Some(event.clone()),
            Told::Recorded { .. }
            | Told::Live(_)
            | Told::CaughtUp
            | Told::Unrecorded(_)
            | Told::Unread { .. } => None,
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn f12_a_turn_of_ours_is_driven_recorded_and_told_once() -> Outcome {
    let rig = Rig::in_memory().await?;
    let mut seat = rig.seat("s").await?;
    assert_eq!(seat.drive.thread(None, "turnbook s").await?, seat.thread, "it is made once");
    let key = Key::new("one");
    rig.model.script(&key, [Reply::text("hello").stop(Usage::of(150, 7))]);
    let sent = seat.drive.prompt(request("r1", key.prompt("say hello"), MODEL)?).await?;
    let turn = sent.turn.clone().ok_or("the turn is minted")?;
    let all = seat.ended().await?;
    let status = Status::Completed;
    assert_eq!(
        events(&all),
        [
            LiveEvent::TurnStarted { turn: turn.clone() },
            LiveEvent::TurnCompleted { turn: turn.clone(), status }
        ]
    );
    let turns = rig.turns(&seat.session)?;
    let [report] = turns.as_slice() else { return Err(format!("{turns:?}").into()) };
    assert_eq!(report.turn, turn);
    assert_eq!(report.origin, Some(sent.origin.clone()));
    let usage = report.usage.ok_or("usage is known")?;
    assert_eq!((usage.input.value(), usage.output.value(), usage.calls), (Some(150), Some(7), 1));
    // The same request again sends nothing again.
    let again = seat.drive.prompt(request("r1", "other words".to_owned(), MODEL)?).await?;
    assert_eq!((again.turn, rig.model.served_for(&key).len()), (Some(turn), 1));
    // L10: recovering a healthy session changes nothing.
    let log = || rig.writer.view(|ledger| ledger.events(&seat.session, Seq::START, 1000));
    let before = log()?;
    let recovered = rig.recorder.recover(&seat.session, Belief::Evidence).await?;
    assert_eq!((recovered.appended, recovered.pending), (0, 0));
    assert_eq!(log()?, before);
    Ok(())
}
