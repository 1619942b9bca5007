//! Is everything that is sent written down before, and sent once, whatever fails?

use harness::{Answer, ReachError, Verdict};
use receipts::{Author, Finish, Generated, Owner};
use recorder::{Belief, DriveError};
use store::{Delivery, Dispatch, Refusal, StoreError};

use crate::{
    fake::{Way, unreachable},
    world::{TALK, World, Write, id, request, session},
};

fn delivery(world: &World, name: &str) -> Delivery {
    world.intent(name).unwrap().delivery
}

fn why() -> Box<str> {
    unreachable().to_string().into()
}

/// Rules L3 and L4.
#[tokio::test(start_paused = true)]
async fn a_request_is_sent_once_however_the_send_ends() {
    for (way, expected) in [
        (Way::Taken, Dispatch::Sent),
        (Way::Refused, Dispatch::NotSent { why: why() }),
        (Way::StoredAndLost, Dispatch::Uncertain { why: why() }),
        (Way::Lost, Dispatch::Uncertain { why: why() }),
    ] {
        let world = World::new();
        let drive = world.process("exec").claim().await;
        world.fake.sends_go([way]);
        let first = drive.prompt(request("r")).await.unwrap();
        assert_eq!(first.delivery, Delivery::Dispatched(expected));
        let again = drive.prompt(request("r")).await.unwrap();
        assert_eq!(again, first);
        assert_eq!(world.fake.counts().prompts, ["r"], "{way:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_is_sent_once_at_most_however_the_store_fails() {
    // How the intent and the end of the send are written, and how often it is sent in two calls.
    for (writes, sent) in [
        (vec![Write::Fails], 1),
        (vec![Write::IsNotStoredUnknown], 1),
        (vec![Write::IsStoredUnknown], 0),
        (vec![Write::Succeeds, Write::Fails], 1),
        (vec![Write::Succeeds, Write::IsStoredUnknown], 1),
        (vec![Write::Succeeds, Write::IsNotStoredUnknown], 1),
    ] {
        let world = World::new();
        let process = world.process("exec");
        let drive = process.claim().await;
        process.writes_go(writes.clone());
        let error = drive.prompt(request("r")).await.unwrap_err();
        assert!(matches!(error, DriveError::Store(_)), "{error:?}");
        drive.prompt(request("r")).await.unwrap();
        assert_eq!(world.fake.counts().prompts.len(), sent, "{writes:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn many_calls_with_one_request_send_once_and_get_the_same() {
    let world = World::new();
    let drive = world.process("exec").claim().await;
    let calls: Vec<_> = std::iter::repeat_with(|| drive.clone())
        .take(16)
        .map(|drive| tokio::spawn(async move { drive.prompt(request("r")).await.unwrap().turn }))
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap(), world.intent("r").unwrap().turn);
    }
    assert_eq!(world.fake.counts().prompts.len(), 1);
}

/// Ledger.md 7, case 4.
#[tokio::test(start_paused = true)]
async fn an_uncertain_send_is_admitted_by_the_history_alone() {
    let world = World::new();
    let process = world.process("exec");
    let drive = process.claim().await;
    world.fake.sends_go([Way::StoredAndLost, Way::Taken]);
    for name in ["lost", "sent"] {
        assert_eq!(drive.prompt(request(name)).await.unwrap().admitted, None);
    }
    let recovered = process.recorder.recover(&session(), Belief::Evidence).await.unwrap();
    assert_eq!(recovered.admitted, [id("lost"), id("sent")]);
    assert!(world.intent("lost").unwrap().admitted.is_some());
    assert_eq!(delivery(&world, "lost"), Delivery::Dispatched(Dispatch::Uncertain { why: why() }));
}

/// Ledger.md 7, case 7.
#[tokio::test(start_paused = true)]
async fn a_lost_permission_reply_is_never_sent_again_and_the_pending_list_decides() {
    for (way, is_ok) in [(Way::StoredAndLost, true), (Way::Lost, false)] {
        let world = World::new();
        let drive = world.process("exec").claim().await;
        drive.prompt(request("r")).await.unwrap();
        world.fake.show(TALK, world.fake.step("a", &world.turn_of("r")));
        let ask = world.fake.ask(TALK, "may-i", "a");
        world.fake.sends_go([way]);
        let answer = Answer::Permission(Verdict::Once);
        match drive.answer(ask.clone(), answer.clone()).await {
            Ok(()) => assert!(is_ok),
            Err(DriveError::AnswerUncertain) => assert!(!is_ok),
            Err(error) => panic!("{error:?}"),
        }
        match drive.answer(ask, answer).await {
            Err(DriveError::Store(StoreError::Refused { why: Refusal::EffectTried { .. } })) => {}
            other => panic!("{other:?}"),
        }
        assert_eq!(world.fake.counts().answers, 1);
    }
}

/// Ledger.md 7, case 7.
#[tokio::test(start_paused = true)]
async fn a_lost_conversation_is_adopted_on_exactly_one_match_and_never_made_again() {
    for (way, others, found) in [
        (Way::StoredAndLost, 0, Ok("made-0")),
        (Way::StoredAndLost, 1, Err(2)),
        (Way::Lost, 0, Err(0)),
        (Way::Lost, 1, Ok("other-0")),
    ] {
        let world = World::without_talk();
        let drive = world.process("exec").claim().await;
        world.fake.sends_go([way]);
        for other in 0..others {
            world.fake.talk(&format!("other-{other}"), None, Some("title"));
        }
        world.fake.talk("unlike", None, Some("another title"));
        for _ in 0..2 {
            match (drive.thread(None, "title").await, &found) {
                (Ok(thread), Ok(name)) => {
                    let expected = if *name == "made-0" { "made-1" } else { name };
                    assert_eq!(thread.as_str(), expected);
                }
                (Err(DriveError::ThreadUncertain { found, .. }), Err(count)) => {
                    assert_eq!(found, *count);
                }
                (other, _) => panic!("{way:?}: {other:?}"),
            }
        }
        assert_eq!(world.fake.counts().created, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_was_proven_not_made_is_made_by_the_next_call() {
    let world = World::without_talk();
    let drive = world.process("exec").claim().await;
    world.fake.sends_go([Way::Refused]);
    let error = drive.thread(None, "title").await.unwrap_err();
    assert!(matches!(error, DriveError::Reach(ReachError::Unreachable { .. })), "{error:?}");
    assert_eq!(drive.thread(None, "title").await.unwrap(), id("made-0"));
    assert_eq!(drive.thread(None, "title").await.unwrap(), id("made-0"));
    assert_eq!(world.fake.counts().created, 2);
}

/// Issue 2: only what a request of ours that is admitted asks is ever answered.
#[tokio::test(start_paused = true)]
async fn what_a_foreign_turn_asks_is_never_answered() {
    let world = World::new();
    let process = world.process("exec");
    let drive = process.claim().await;
    // Ours waits behind the turn of somebody else.
    world.fake.post(TALK, "theirs");
    drive.prompt(request("ours")).await.unwrap();
    world.fake.show(TALK, world.fake.step("a", "theirs").starting("child"));
    world.fake.talk("child", Some(TALK), None);
    process.recorder.recover(&session(), Belief::Evidence).await.unwrap();
    let asks = [
        world.fake.ask(TALK, "theirs", "a"),
        world.fake.ask(TALK, "unknown", "nowhere"),
        world.fake.ask("child", "child", "b"),
    ];
    for ask in asks {
        let error = drive.answer(ask, Answer::Permission(Verdict::Once)).await.unwrap_err();
        assert!(matches!(error, DriveError::NotOurs { .. }), "{error:?}");
    }
    assert_eq!(world.fake.counts().answers, 0);
}

#[tokio::test(start_paused = true)]
async fn what_our_own_turn_asks_is_answered_wherever_it_came_to() {
    let world = World::new();
    let drive = world.process("exec").claim().await;
    drive.prompt(request("ours")).await.unwrap();
    let ours = world.turn_of("ours");
    world.fake.show(TALK, world.fake.step("a", &ours).ended(Finish::ToolCalls).starting("child"));
    let author = Author::Harness(Generated::Continue);
    world.fake.store_prompt_of(TALK, "go-on", author);
    world.fake.show(TALK, world.fake.step("b", "go-on"));
    world.fake.talk("child", Some(TALK), None);
    world.fake.talk("grandchild", Some("child"), None);
    // Nothing of it is recorded yet: the history itself admits it.
    for (thread, answer) in [(TALK, "a"), (TALK, "b"), ("child", "x"), ("grandchild", "x")] {
        let ask = world.fake.ask(thread, &format!("{thread}-{answer}"), answer);
        let answered = drive.answer(ask, Answer::Permission(Verdict::Once)).await;
        assert!(answered.is_ok(), "{thread} {answer}: {answered:?}");
    }
    assert_eq!(world.fake.counts().answers, 4);
}

#[tokio::test(start_paused = true)]
async fn an_abort_may_be_asked_for_again_and_completes_nothing() {
    let world = World::new();
    let drive = world.process("exec").claim().await;
    world.fake.is(TALK, Owner::Busy);
    world.fake.sends_go([Way::Lost]);
    assert!(matches!(drive.abort().await, Err(DriveError::Reach(_))));
    drive.abort().await.unwrap();
    assert_eq!(world.fake.counts().aborts, 2);
    assert_eq!(world.log(), ["effect", "effect", "effect", "effect"]);
}
