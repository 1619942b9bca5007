//! Does a recovery reach what no crash would have reached? (rules L4, L10, L12)

use std::process::{Child, Command};

use harness::ProcessIdentity;
use receipts::{Fact, Finish, Message, Observation, Owner, Status, UnixMillis};
use recorder::{Belief, DriveError, Recovered, ThreadRecorder};
use store::{
    Delivery, Dispatch, Driver, Labels, NewIntent, OUTPUT_BYTES_MAX, Purpose, Reply, StoreError,
};

use crate::{
    fake::{Read, Way, provider, seen},
    world::{Process, TALK, World, id, request, session},
};

/// Means a request at a time by our clock, and loses what became of it.
fn mean(world: &World, driver: &Driver, (name, at): (&str, UnixMillis)) {
    let new = NewIntent {
        request: id(name),
        session: session(),
        thread: id(TALK),
        turn: Some(id(&format!("turn-of-{name}"))),
        purpose: Purpose::Prompt,
        reply: Reply::Expected,
        labels: Labels::none(),
        created_at: at,
    };
    world.write(|ledger| {
        ledger.intend(&new, driver)?;
        ledger.mark_delivery(&new.request, &Dispatch::Uncertain { why: "as scripted".into() })
    });
}

async fn recover(process: &Process, belief: Belief) -> Recovered {
    process.recorder.recover(&session(), belief).await.unwrap()
}

fn is_absent(world: &World, name: &str) -> bool {
    let delivery = world.intent(name).unwrap().delivery;
    matches!(delivery, Delivery::Dispatched(Dispatch::NotSent { .. }))
}

#[tokio::test(start_paused = true)]
async fn an_uncertain_send_is_absent_when_nothing_runs_and_the_time_to_store_it_is_over() {
    for (owner, belief, absent) in [
        (Owner::Idle, Belief::Evidence, [true, false]),
        (Owner::Dead, Belief::Evidence, [true, true]),
        (Owner::Busy, Belief::OwnerIsDead, [true, true]),
        (Owner::Busy, Belief::Evidence, [false, false]),
        (Owner::Unknown, Belief::Evidence, [false, false]),
    ] {
        let world = World::new();
        let process = world.process("exec");
        let drive = process.claim().await;
        world.fake.is(TALK, owner);
        mean(&world, drive.driver(), ("old", UnixMillis(0)));
        world.fake.sends_go([Way::Lost]);
        drive.prompt(request("new")).await.unwrap();
        let recovered = recover(&process, belief).await;
        assert_eq!([is_absent(&world, "old"), is_absent(&world, "new")], absent, "{owner:?}");
        assert_eq!(recovered.not_sent.len(), absent.iter().filter(|it| **it).count());
        assert_eq!(recovered.open.len(), absent.iter().filter(|it| !**it).count());
        // What is settled is never sent again.
        drive.prompt(request("old")).await.unwrap();
        assert_eq!(world.fake.counts().prompts, ["new"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_native_id_is_not_known_is_never_proven_absent() {
    let world = World::new();
    let process = world.process("exec");
    let drive = process.claim().await;
    let new = NewIntent {
        request: id("r"),
        session: session(),
        thread: id(TALK),
        turn: None,
        purpose: Purpose::Prompt,
        reply: Reply::Expected,
        labels: Labels::none(),
        created_at: UnixMillis(0),
    };
    world.write(|ledger| ledger.intend(&new, drive.driver()));
    assert_eq!(recover(&process, Belief::OwnerIsDead).await.open, [id("r")]);
}

/// Ledger.md 7, case 11.
#[tokio::test(start_paused = true)]
async fn a_history_that_answers_an_error_is_no_empty_history() {
    let world = World::new();
    let process = world.process("exec");
    let drive = process.claim().await;
    world.fake.is(TALK, Owner::Idle);
    mean(&world, drive.driver(), ("r", UnixMillis(0)));
    let before = world.set();
    for is_there in [true, false] {
        match is_there {
            true => world.fake.reads_go([Read::Fails]),
            false => world.fake.delete(TALK),
        }
        let error = process.recorder.recover(&session(), Belief::OwnerIsDead).await.unwrap_err();
        assert!(matches!(error, DriveError::Reach(_)), "{error:?}");
        assert_eq!(world.set(), before);
        assert!(!is_absent(&world, "r"));
    }
}

/// Rule L10.
#[tokio::test(start_paused = true)]
async fn recovering_twice_changes_nothing() {
    let world = World::new();
    world.fake.talk("child", Some(TALK), None);
    let process = world.process("exec");
    let drive = process.claim().await;
    drive.prompt(request("r")).await.unwrap();
    let turn = world.turn_of("r");
    world.fake.store_step(TALK, world.fake.step("a", &turn).starting("child"));
    world.fake.store_prompt("child", "inner");
    world.fake.store_step("child", world.fake.step("x", "inner").ended(Finish::Stop));
    world.fake.is(TALK, Owner::Dead);
    let first = recover(&process, Belief::Evidence).await;
    assert_eq!((first.admitted, first.pending), (vec![id("r")], 0));
    let (set, turns) = (world.set(), world.turns());
    let second = recover(&process, Belief::Evidence).await;
    assert_eq!((second.appended, second.admitted, second.pending), (0, Vec::new(), 0));
    assert_eq!((world.set(), world.turns()), (set, turns));
    assert_eq!(world.status(&turn), Some(Status::Lost));
    assert!(world.log().contains(&format!("exited {turn}")));
}

/// Rule L12: only what is left open was lost with the process.
#[tokio::test(start_paused = true)]
async fn what_ended_unseen_before_its_process_died_is_not_lost_with_it() {
    let world = World::new();
    let process = world.process("exec");
    world.fake.post(TALK, "theirs");
    recover(&process, Belief::Evidence).await;
    assert_eq!(world.status("theirs"), Some(Status::Pending));
    world.fake.store_step(TALK, world.fake.step("a", "theirs").ended(Finish::Stop));
    recover(&process, Belief::OwnerIsDead).await;
    assert_eq!(
        world.log(),
        ["admitted theirs", "started theirs", "usage theirs", "completed theirs"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_deleted_subagent_stops_no_recovery() {
    let world = World::new();
    world.fake.store_prompt(TALK, "theirs");
    let step = world.fake.step("a", "theirs").starting("gone").ended(Finish::Stop);
    world.fake.store_step(TALK, step);
    world.fake.is(TALK, Owner::Idle);
    let recovered = recover(&world.process("exec"), Belief::Evidence).await;
    assert_eq!((recovered.owner, recovered.pending), (Owner::Idle, 0));
}

/// A process that is proven gone.
fn gone() -> ProcessIdentity {
    let mut child: Child = Command::new("sleep").arg("1000").spawn().unwrap();
    let identity = ProcessIdentity::of(child.id()).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    identity
}

#[cfg(target_os = "linux")]
#[tokio::test(start_paused = true)]
async fn the_death_of_our_server_loses_nothing_that_another_one_runs() {
    let world = World::new();
    let process = world.process("exec");
    let mut drive = process.claim().await;
    let dead = harness::Provider { process: Some(gone()), ..provider() };
    drive.describe_provider(&dead).await.unwrap();
    world.fake.post(TALK, "theirs");
    world.fake.show(TALK, world.fake.step("a", "theirs"));
    // Somebody started another server, and runs the conversation there.
    world.fake.is(TALK, Owner::Busy);
    assert_eq!(recover(&process, Belief::Evidence).await.owner, Owner::Busy);
    assert_eq!(world.status("theirs"), Some(Status::Pending));
    world.fake.is(TALK, Owner::Idle);
    recover(&process, Belief::Evidence).await;
    assert_eq!(world.status("theirs"), Some(Status::Lost));
    assert!(world.log().contains(&"exited theirs".to_owned()));
}

/// Rule L9. The output is larger than the store keeps.
#[test]
fn a_turn_that_is_refused_stops_no_other_and_keeps_all_but_what_is_refused() {
    let world = World::new();
    let process = world.process("exec");
    let mut recorder =
        ThreadRecorder::new(process.recorder.writer().clone(), session(), id(TALK), None);
    let text = "x".repeat(usize::try_from(OUTPUT_BYTES_MAX).unwrap() + 1);
    for (turn, text) in [("large", text.as_str()), ("small", "ok")] {
        let prompt: Message = world.fake.store_prompt(TALK, turn);
        recorder.observe(seen(&prompt));
        let answer = format!("a-{turn}");
        let step = world.fake.step(&answer, turn).saying(text).ended(Finish::Stop);
        let observation = Observation::Message(step.into_message());
        recorder.observe(harness::Seen { observation, evidence: None });
    }
    let error = recorder.record(UnixMillis(0)).unwrap_err();
    assert!(error.is_refusal() && matches!(error.source, StoreError::TooLarge { .. }));
    let rest = recorder.record(UnixMillis(0)).unwrap();
    // They were stored while it was found out what is refused.
    assert_eq!(rest.appended, [] as [Fact; 0]);
    for turn in ["large", "small"] {
        assert_eq!(world.status(turn), Some(Status::Completed));
        assert_eq!(world.turn(turn).unwrap().usage.unwrap().calls, 1);
    }
    assert_eq!(world.turn("large").unwrap().output(), None);
    assert_eq!(world.turn("large").unwrap().gaps.len(), 1);
}
