//! Is a history read as far as it must be, and no further? Is a part of a turn never recorded?

use receipts::{Author, Finish, Generated, Status, UnixMillis};
use recorder::{Belief, Depth, ThreadRecorder};

use crate::fake::seen;
use crate::world::{TALK, World, caught_up, ended, id, request, session};

fn fill(world: &World, turns: std::ops::Range<usize>) {
    for turn in turns {
        let prompt = format!("p{turn}");
        world.fake.store_prompt(TALK, &prompt);
        for step in 0..3 {
            let finish = if step == 2 { Finish::Stop } else { Finish::ToolCalls };
            let step = world.fake.step(&format!("a{turn}-{step}"), &prompt);
            world.fake.store_step(TALK, step.ended(finish));
        }
    }
}

/// Ledger.md 7, case 12.
#[tokio::test(start_paused = true)]
async fn one_further_turn_in_a_thread_of_5000_messages_reads_one_page() {
    let world = World::new();
    fill(&world, 0..1250);
    let first = world.process("first");
    let recovered = first.recorder.recover(&session(), Belief::Evidence).await.unwrap();
    assert_eq!((recovered.pending, world.turns().len()), (0, 1250));
    let before = world.fake.counts().pages;
    let second = world.process("second");
    let mut following = second.follow(Depth::Open).await;
    caught_up(&mut following).await;
    second.claim().await.prompt(request("r")).await.unwrap();
    let turn = world.turn_of("r");
    world.fake.show(TALK, world.fake.step("a", &turn).ended(Finish::Stop));
    ended(&mut following, &turn).await;
    assert_eq!(world.fake.counts().pages - before, 1);
    assert_eq!(world.turns().len(), 1251);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_left_the_history_while_open_does_not_make_all_of_it_be_read() {
    let world = World::new();
    fill(&world, 0..400);
    world.fake.post(TALK, "open");
    let first = world.process("first");
    first.recorder.recover(&session(), Belief::Evidence).await.unwrap();
    assert_eq!(world.status("open"), Some(Status::Pending));
    // Reverted; many turns later it is gone for long.
    world.fake.remove(TALK, "open");
    fill(&world, 400..600);
    let before = world.fake.counts().pages;
    let mut following = world.process("second").follow(Depth::Open).await;
    caught_up(&mut following).await;
    let pages = world.fake.counts().pages - before;
    // Of twelve: to ten minutes before it stood there, since clocks are apart.
    assert_eq!(pages, 8);
}

/// Rule F1.
#[tokio::test(start_paused = true)]
async fn a_part_of_a_history_holds_turns_whole_or_not_at_all() {
    for size in 1..14 {
        let world = World::new();
        fill(&world, 0..2);
        // A prompt that the harness put in, and an answer that comes late.
        world.fake.store_prompt(TALK, "p2");
        world.fake.store_step(TALK, world.fake.step("a2-0", "p2").ended(Finish::ToolCalls));
        let author = Author::Harness(Generated::Continue);
        world.fake.store_prompt_of(TALK, "go-on", author);
        world.fake.store_prompt(TALK, "p3");
        world.fake.store_step(TALK, world.fake.step("a2-1", "go-on").ended(Finish::Stop));
        world.fake.store_step(TALK, world.fake.step("a3-0", "p3").ended(Finish::Stop));
        world.fake.pages_of(size);
        let mut following = world.process("exec").follow(Depth::Open).await;
        caught_up(&mut following).await;
        following.stop().await;
        let all = World::of(world.fake.clone());
        all.write(|ledger| ledger.attach_thread(&session(), &id(TALK)));
        all.process("exec").recorder.recover(&session(), Belief::Evidence).await.unwrap();
        let (part, all) = (world.turns(), all.turns());
        assert!(!part.is_empty(), "pages of {size}");
        for turn in part {
            assert!(all.contains(&turn), "pages of {size}: {turn:?}");
        }
        let gaps = world.log().into_iter().filter(|line| line.starts_with("gap")).count();
        assert_eq!(gaps, 0, "pages of {size}");
    }
}

#[test]
fn turns_that_ended_do_not_stay_in_memory() {
    let world = World::new();
    let writer = world.process("exec").recorder.writer().clone();
    let mut recorder = ThreadRecorder::new(writer, session(), id(TALK), None);
    for turn in 0..150 {
        let prompt = format!("p{turn}");
        recorder.observe(seen(&world.fake.store_prompt(TALK, &prompt)));
        let step = world.fake.step(&format!("a{turn}"), &prompt).ended(Finish::Stop);
        recorder.observe(seen(&step.into_message()));
        recorder.record(UnixMillis(0)).unwrap();
    }
    assert_eq!((recorder.fold().receipts().len(), world.turns().len()), (64, 150));
}
