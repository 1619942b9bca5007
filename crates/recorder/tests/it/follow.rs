//! Is what happens recorded, then told, whoever listens and whatever breaks? (rules L6, L9, F12)

use std::time::Duration;

use harness::{PromptMode, Report};
use receipts::{Completion, Fact, FactBody, Finish, Owner, Status, UnixMillis};
use recorder::{Adopt, Depth, Following, LiveEvent, Told};
use store::Batch;

use crate::{
    fake::{Read, Way},
    world::{
        TALK, World, Write, announced, caught_up, ended, id, request, request_in, session, until,
    },
};

async fn following(process: &crate::world::Process) -> Following {
    let mut following = process.follow(Depth::Open).await;
    caught_up(&mut following).await;
    following
}

fn admitted(told: &Told) -> bool {
    matches!(told, Told::Recorded { facts, .. } if facts.iter().any(|it| it.body.kind() == "admitted"))
}

fn is_end(told: &Told) -> bool {
    matches!(told, Told::Turn { event: LiveEvent::TurnCompleted { .. }, .. })
}

fn is_unrecorded(told: &Told) -> bool {
    matches!(told, Told::Unrecorded(_))
}

/// Rule F12. In real time: the store is asked again after some.
#[tokio::test]
async fn nothing_is_announced_before_it_is_stored_and_then_once_in_order() {
    let world = World::new();
    let process = world.process("exec");
    let mut following = following(&process).await;
    let drive = process.claim().await;
    drive.prompt(request("r")).await.unwrap();
    until(&mut following, admitted).await;
    let turn = world.turn_of("r");
    process.writes_go([Write::Fails, Write::IsNotStoredUnknown, Write::IsStoredUnknown]);
    world.fake.show(TALK, world.fake.step("a", &turn).aborted());
    for _ in 0..3 {
        let told = until(&mut following, is_unrecorded).await;
        assert_eq!(announced(&told), [""; 0]);
    }
    let told = until(&mut following, is_end).await;
    let started = format!("{turn} started");
    let failed = format!("{turn} failed with Aborted");
    assert_eq!(announced(&told), [started, failed, format!("{turn} interrupted")]);
    // Seen again, also after a break, nothing is told again.
    world.fake.connect();
    caught_up(&mut following).await;
    assert_eq!(announced(&following.stop().await), [""; 0]);
}

#[tokio::test]
async fn what_was_seen_is_recorded_also_when_the_listener_is_gone() {
    let world = World::new();
    let process = world.process("exec");
    let mut following = following(&process).await;
    process.writes_go([Write::Fails]);
    world.fake.post(TALK, "theirs");
    until(&mut following, is_unrecorded).await;
    drop(following);
    while world.turn("theirs").is_none() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_is_slow_misses_nothing() {
    let world = World::new();
    let process = world.process("exec");
    let mut following = following(&process).await;
    for turn in 0..600 {
        world.fake.post(TALK, &format!("p{turn}"));
        let step = world.fake.step(&format!("a{turn}"), &format!("p{turn}"));
        world.fake.show(TALK, step.ended(Finish::Stop));
    }
    ended(&mut following, "p599").await;
    assert_eq!(world.turns().len(), 600);
}

#[tokio::test(start_paused = true)]
async fn stopping_waits_for_what_was_seen_and_gives_what_is_left_to_tell() {
    let world = World::new();
    let process = world.process("exec");
    let mut following = following(&process).await;
    world.fake.post(TALK, "theirs");
    until(&mut following, admitted).await;
    assert!(following.stop().await.is_empty());
}

/// Ledger.md 7, case 11.
#[tokio::test(start_paused = true)]
async fn a_read_back_that_fails_on_reconnect_only_detaches_and_is_tried_again() {
    let world = World::new();
    let process = world.process("exec");
    let mut following = following(&process).await;
    world.fake.post(TALK, "theirs");
    until(&mut following, admitted).await;
    world.fake.tell(Report::Disconnected { why: "as scripted".to_owned() });
    world.fake.store_step(TALK, world.fake.step("a", "theirs").ended(Finish::ToolCalls));
    world.fake.store_prompt(TALK, "missed");
    world.fake.reads_go([Read::Fails, Read::Fails]);
    world.fake.connect();
    for reading in 0..2 {
        until(&mut following, |told| matches!(told, Told::Unread { .. })).await;
        // Meanwhile a part of what was missed says nothing.
        world.fake.show(TALK, world.fake.step("b", "missed"));
        world.fake.owned(TALK, Owner::Idle);
        if reading == 1 {
            world.fake.is(TALK, Owner::Busy);
            let step = world.fake.again(TALK, "b").ended(Finish::Stop);
            world.fake.store_step(TALK, step);
        }
        tokio::time::advance(Duration::from_secs(3)).await;
    }
    caught_up(&mut following).await;
    // A run that is at work may go on after its stop.
    world.fake.owned(TALK, Owner::Idle);
    if world.status("missed") == Some(Status::Pending) {
        ended(&mut following, "missed").await;
    }
    assert_eq!(
        [world.status("theirs"), world.status("missed")],
        [Some(Status::Absorbed), Some(Status::Completed)]
    );
    assert!(!world.log().iter().any(|line| line.starts_with("gap")), "{:?}", world.log());
    let counts = world.fake.counts();
    assert_eq!((counts.created, counts.aborts, counts.prompts.len()), (0, 0, 0));
}

/// Rule L12; ledger.md 7, case 10.
#[tokio::test(start_paused = true)]
async fn a_process_that_exited_leaves_its_turn_lost_and_a_new_one_works() {
    let world = World::new();
    let process = world.process("exec");
    let mut following = following(&process).await;
    let drive = process.claim().await;
    drive.prompt(request("r")).await.unwrap();
    let turn = world.turn_of("r");
    world.fake.show(TALK, world.fake.step("a", &turn));
    world.fake.exit();
    let mut told = ended(&mut following, &turn).await;
    assert_eq!(world.status(&turn), Some(Status::Lost));
    world.fake.connect();
    told.extend(caught_up(&mut following).await);
    drive.prompt(request("s")).await.unwrap();
    let next = world.turn_of("s");
    world.fake.show(TALK, world.fake.step("b", &next).ended(Finish::Stop));
    told.extend(ended(&mut following, &next).await);
    told.extend(following.stop().await);
    assert_eq!(
        [world.status(&turn), world.status(&next)],
        [Some(Status::Lost), Some(Status::Completed)]
    );
    let exits: Vec<_> = world.log().into_iter().filter(|line| line.starts_with("exited")).collect();
    assert_eq!(exits, [format!("exited {turn}")]);
    assert_eq!(
        announced(&told),
        [
            format!("{turn} started"),
            format!("{turn} failed with nothing"),
            format!("{turn} lost"),
            format!("{next} started"),
            format!("{next} completed"),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn what_ended_before_its_process_is_not_lost_with_it() {
    let world = World::new();
    let process = world.process("exec");
    let mut following = following(&process).await;
    world.fake.post(TALK, "theirs");
    world.fake.show(TALK, world.fake.step("a", "theirs").ended(Finish::Stop));
    world.fake.exit();
    world.fake.close();
    while following.next().await.is_some() {}
    assert_eq!(world.status("theirs"), Some(Status::Completed));
    assert!(!world.log().contains(&"exited theirs".to_owned()), "{:?}", world.log());
}

/// Rule L6; ledger.md 7, case 9.
#[tokio::test(start_paused = true)]
async fn two_recorders_double_nothing_and_announce_their_own() {
    let world = World::new();
    let (a, b) = (world.process("a"), world.process("b"));
    let (mut of_a, mut of_b) = (following(&a).await, following(&b).await);
    a.claim().await.prompt(request("r")).await.unwrap();
    let first = world.turn_of("r");
    world.fake.show(TALK, world.fake.step("x", &first).ended(Finish::Stop));
    b.claim().await.prompt(request("s")).await.unwrap();
    let second = world.turn_of("s");
    world.fake.show(TALK, world.fake.step("y", &second).ended(Finish::Stop));
    world.fake.close();
    let (mut told_a, mut told_b) = (Vec::new(), Vec::new());
    while let Some(told) = of_a.next().await {
        told_a.push(told);
    }
    while let Some(told) = of_b.next().await {
        told_b.push(told);
    }
    let completed = |turn: &str| [format!("{turn} started"), format!("{turn} completed")];
    assert_eq!(announced(&told_a), completed(&first));
    assert_eq!(announced(&told_b), completed(&second));
    let mut log = world.log();
    log.sort();
    let mut once = log.clone();
    once.dedup();
    assert_eq!(log, once);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_asked_for_no_answer_is_no_reply_and_theirs_has_no_owner() {
    let world = World::new();
    let process = world.process("exec");
    let mut following = following(&process).await;
    let drive = process.claim().await;
    drive.prompt(request_in("r", PromptMode::NoReply)).await.unwrap();
    world.fake.post(TALK, "theirs");
    world.fake.show(TALK, world.fake.step("a", "theirs").ended(Finish::Stop));
    let mut told = ended(&mut following, "theirs").await;
    told.extend(following.stop().await);
    let silent = world.turn_of("r");
    assert_eq!(world.status(&silent), Some(Status::NoReply));
    let theirs = world.turn("theirs").unwrap();
    assert_eq!((theirs.status, theirs.origin, theirs.request), (Status::Completed, None, None));
    assert_eq!(
        announced(&told),
        [format!("{silent} failed with nothing"), format!("{silent} no_reply")]
    );
}

#[tokio::test(start_paused = true)]
async fn an_uncertain_send_is_admitted_by_what_is_reported() {
    let world = World::new();
    let process = world.process("exec");
    let mut following = following(&process).await;
    let drive = process.claim().await;
    world.fake.sends_go([Way::StoredAndLost]);
    drive.prompt(request("r")).await.unwrap();
    until(&mut following, admitted).await;
    assert!(world.intent("r").unwrap().admitted.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_becomes_a_sessions_is_recorded_from_whole_turns() {
    let world = World::without_talk();
    world.fake.talk(TALK, None, None);
    let process = world.process("exec");
    let mut following = process.follow_all(Adopt::Known).await;
    caught_up(&mut following).await;
    world.fake.post(TALK, "theirs");
    world.fake.show(TALK, world.fake.step("a", "theirs").ended(Finish::ToolCalls));
    world.fake.connect();
    caught_up(&mut following).await;
    assert_eq!(world.turns(), []);
    world.write(|ledger| ledger.attach_thread(&id(TALK), &id(TALK)));
    world.fake.show(TALK, world.fake.step("b", "theirs").ended(Finish::Stop));
    ended(&mut following, "theirs").await;
    assert_eq!(world.turn("theirs").unwrap().usage.unwrap().calls, 2);
    assert_eq!(world.turn("theirs").unwrap().gaps, []);
}

#[tokio::test(start_paused = true)]
async fn an_empty_conversation_is_nobodys_until_something_is_in_it() {
    let world = World::without_talk();
    world.fake.talk(TALK, None, None);
    let process = world.process("exec");
    let mut following = process.follow_all(Adopt::All).await;
    caught_up(&mut following).await;
    world.fake.owned(TALK, Owner::Busy);
    world.fake.connect();
    caught_up(&mut following).await;
    // Whoever made it takes it for its session.
    world.write(|ledger| ledger.attach_thread(&id(TALK), &id(TALK)));
    world.fake.talk("child", Some(TALK), None);
    world.fake.post("child", "inner");
    world.fake.show("child", world.fake.step("x", "inner").ended(Finish::Stop));
    ended(&mut following, "inner").await;
    let turns: Vec<_> = world.turns().into_iter().map(|it| (it.thread, it.turn)).collect();
    assert_eq!(turns, [(id("child"), id("inner"))]);
}

/// Rule F5: another recorder was faster and took the turn for lost. That end holds, and whoever waits
/// for an end hears of it.
#[tokio::test(start_paused = true)]
async fn of_two_ends_the_stored_one_is_announced() {
    let world = World::new();
    let process = world.process("exec");
    let mut following = following(&process).await;
    let drive = process.claim().await;
    drive.prompt(request("r")).await.unwrap();
    until(&mut following, admitted).await;
    let turn = world.turn_of("r");
    let lost = Completion {
        message: Some(id("a")),
        status: Status::Lost,
        failure: None,
        finish: None,
        absorbed_by: None,
        started_at: None,
        completed_at: None,
        output: None,
    };
    let fact = Fact { turn: id(&turn), body: FactBody::Completed(lost) };
    let (session, thread) = (session(), id(TALK));
    let _stored = world.write(|ledger| {
        let (session, thread, facts) = (&session, &thread, std::slice::from_ref(&fact));
        ledger.append(&Batch { session, thread, facts, evidence: None, at: UnixMillis(9) })
    });
    world.fake.show(TALK, world.fake.step("a", &turn).ended(Finish::Stop));
    let told = until(&mut following, is_end).await;
    let events = ["started", "failed with nothing", "lost"].map(|word| format!("{turn} {word}"));
    assert_eq!(announced(&told), events);
}
