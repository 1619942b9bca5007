//! Is what was true of a run before never taken for what is true now?

use harness::Report;
use receipts::{Owner, Status};
use recorder::{Depth, Told};

use crate::{
    fake::Read,
    world::{TALK, World, caught_up, ended, until},
};

/// Rule F4: idle is no word about what came after it.
#[tokio::test(start_paused = true)]
async fn idle_that_is_older_than_a_read_back_ends_nothing() {
    let world = World::new();
    let process = world.process("exec");
    let mut following = process.follow(Depth::Open).await;
    caught_up(&mut following).await;
    world.fake.reads_go([Read::Hangs]);
    world.fake.missed(TALK);
    world.fake.waits().await;
    world.fake.owned(TALK, Owner::Idle);
    // Now a run begins, and the reading shows it before its own reports come.
    world.fake.store_prompt(TALK, "theirs");
    world.fake.store_step(TALK, world.fake.step("a", "theirs"));
    world.fake.is(TALK, Owner::Busy);
    world.fake.release();
    caught_up(&mut following).await;
    // Told after all that waited was taken.
    world.fake.tell(Report::Unreadable { problem: "last".to_owned() });
    until(&mut following, |told| matches!(told, Told::Live(Report::Unreadable { .. }))).await;
    assert_eq!(world.fake.counts().wishes, 1);
    following.stop().await;
    assert_eq!(world.log(), ["admitted theirs", "started theirs"]);
}

#[tokio::test(start_paused = true)]
async fn idle_is_judged_before_the_next_prompt_is_taken() {
    let world = World::new();
    let process = world.process("exec");
    let mut following = process.follow(Depth::Open).await;
    caught_up(&mut following).await;
    world.fake.post(TALK, "never-run");
    world.fake.owned(TALK, Owner::Idle);
    world.fake.post(TALK, "next");
    world.fake.show(TALK, world.fake.step("a", "next"));
    world.fake.close();
    while following.next().await.is_some() {}
    assert_eq!(
        [world.status("never-run"), world.status("next")],
        [Some(Status::Unanswered), Some(Status::Pending)]
    );
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_the_history_leaves_open_is_asked_about() {
    let world = World::new();
    world.fake.store_prompt(TALK, "theirs");
    world.fake.store_step(TALK, world.fake.step("a", "theirs"));
    world.fake.is(TALK, Owner::Idle);
    let process = world.process("exec");
    let mut following = process.follow(Depth::Open).await;
    ended(&mut following, "theirs").await;
    assert_eq!(world.status("theirs"), Some(Status::Lost));
    assert_eq!(world.fake.counts().wishes, 1);
}

/// A stream that never rests puts no reading off.
#[tokio::test(start_paused = true)]
async fn what_could_not_be_read_is_read_again_also_while_much_is_reported() {
    let world = World::new();
    let process = world.process("exec");
    world.fake.reads_go([Read::Fails]);
    let mut following = process.follow(Depth::Open).await;
    until(&mut following, |told| matches!(told, Told::Unread { .. })).await;
    for _ in 0..100 {
        world.fake.tell(Report::Unreadable { problem: "as scripted".to_owned() });
    }
    tokio::time::advance(std::time::Duration::from_secs(3)).await;
    caught_up(&mut following).await;
}
