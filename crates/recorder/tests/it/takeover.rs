//! Who may send while a session changes hands? (rule L6; ledger.md 7, case 8)

use std::time::Duration;

use recorder::{Belief, DriveError};
use store::{Delivery, Dispatch, Provider, StoreError};
use tokio::time::{advance, timeout};

use crate::{
    fake::Way,
    world::{DISPATCH, World, id, request, session},
};

/// Waits for what nobody waits for any more.
async fn delivered(world: &World, name: &str) -> Delivery {
    loop {
        match world.intent(name).unwrap().delivery {
            Delivery::Intended => tokio::task::yield_now().await,
            delivery @ Delivery::Dispatched(_) => return delivery,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_stale_driver_is_refused_before_any_byte_leaves() {
    let world = World::new();
    let old = world.process("old").claim().await;
    world.process("new").claim().await;
    let errors = [
        old.prompt(request("r")).await.map(drop).unwrap_err(),
        old.abort().await.unwrap_err(),
        old.clone().release().await.unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, DriveError::Store(StoreError::Stale { .. })), "{error:?}");
    }
    let counts = world.fake.counts();
    assert_eq!((counts.prompts.len(), counts.aborts), (0, 0));
    assert_eq!(world.intent("r"), None);
}

#[tokio::test(start_paused = true)]
async fn of_two_claims_with_one_expectation_one_wins() {
    let world = World::new();
    let (a, b) = (world.process("a"), world.process("b"));
    let at = session();
    let claims = tokio::join!(
        a.recorder.claim(&at, None, Provider::Replace),
        b.recorder.claim(&at, None, Provider::Replace)
    );
    let wins = [claims.0.is_ok(), claims.1.is_ok()];
    assert!(wins == [true, false] || wins == [false, true], "{wins:?}");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_caller_keeps_its_fence_until_its_write_ended_and_a_takeover_sees_the_result() {
    let world = World::new();
    let old = world.process("old").claim().await;
    world.fake.sends_go([Way::Stalled]);
    let caller = tokio::spawn(async move { old.prompt(request("r")).await });
    world.fake.waits().await;
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled());
    let new = world.process("new");
    let claim = tokio::spawn(async move { (new.claim().await, new) });
    advance(DISPATCH / 2).await;
    assert!(!claim.is_finished());
    world.fake.release();
    let (_drive, new) = claim.await.unwrap();
    let recovered = new.recorder.recover(&session(), Belief::Evidence).await.unwrap();
    assert_eq!(recovered.admitted, [id("r")]);
    assert_eq!(delivered(&world, "r").await, Delivery::Dispatched(Dispatch::Sent));
    assert_eq!(world.fake.counts().prompts.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn past_its_deadline_a_stalled_send_sends_nothing() {
    let world = World::new();
    let old = world.process("old").claim().await;
    world.fake.sends_go([Way::Stalled]);
    let sending = tokio::spawn(async move { old.prompt(request("r")).await.unwrap() });
    world.fake.waits().await;
    advance(DISPATCH + Duration::from_millis(1)).await;
    world.fake.release();
    let Delivery::Dispatched(Dispatch::NotSent { .. }) = sending.await.unwrap().delivery else {
        panic!("it is proven not sent");
    };
    assert_eq!(world.turns(), []);
}

#[tokio::test(start_paused = true)]
async fn a_withheld_response_does_not_delay_a_takeover() {
    let world = World::new();
    let old = world.process("old").claim().await;
    world.fake.sends_go([Way::Withheld]);
    let sending = tokio::spawn(async move { old.prompt(request("r")).await.unwrap() });
    world.fake.waits().await;
    let new = timeout(Duration::from_millis(1), world.process("new").claim()).await.unwrap();
    new.prompt(request("s")).await.unwrap();
    world.fake.release();
    assert_eq!(sending.await.unwrap().delivery, Delivery::Dispatched(Dispatch::Sent));
    assert_eq!(world.fake.counts().prompts, ["r", "s"]);
}

#[tokio::test(start_paused = true)]
async fn a_claim_whose_caller_is_gone_holds_the_lock_until_it_is_written() {
    let world = World::new();
    let process = world.process("exec");
    let at = session();
    drop(timeout(Duration::ZERO, process.recorder.claim(&at, None, Provider::Replace)).await);
    // Written or not, the next one waits for it and sees one whole state.
    let drive = loop {
        let current = world.process("other");
        let driver = process.recorder.writer().view(|ledger| ledger.session(&at)).unwrap();
        let driver = driver.unwrap().driver;
        match current.recorder.claim(&at, driver, Provider::Replace).await {
            Ok(drive) => break drive,
            Err(DriveError::Store(StoreError::Stale { .. })) => {}
            Err(error) => panic!("{error:?}"),
        }
    };
    drive.prompt(request("r")).await.unwrap();
    assert_eq!(world.fake.counts().prompts, ["r"]);
}

/// A takeover during a recovery waits for nothing that is read.
#[tokio::test(start_paused = true)]
async fn a_recovery_that_reads_for_long_delays_no_send() {
    let world = World::new();
    let process = world.process("exec");
    let drive = process.claim().await;
    world.fake.reads_go([crate::fake::Read::Hangs]);
    let recorder = process.recorder.clone();
    let recovery =
        tokio::spawn(async move { recorder.recover(&session(), Belief::Evidence).await });
    world.fake.waits().await;
    drive.prompt(request("r")).await.unwrap();
    world.fake.release();
    recovery.await.unwrap().unwrap();
}
