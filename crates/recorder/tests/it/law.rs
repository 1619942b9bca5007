//! Does a crash at any point end in the ledger of no crash? (rules L10 and L11)
//!
//! `TURNBOOK_CASES` sets how many runs are tried, `TURNBOOK_SEED` which.

use harness::PromptMode;
use proptest::{
    collection::vec,
    prelude::{Just, Strategy, prop_oneof},
    prop_assert_eq, proptest,
    sample::select,
    test_runner::{Config, RngSeed},
};
use receipts::{Finish, Owner};
use recorder::{Belief, Depth, Drive};
use store::{Access as _, EventBody, Intent, NewIntent};
use tokio::runtime::Builder;

use crate::{
    fake::Way,
    world::{Stand, TALK, World, Write, id, request_in, session},
};

fn config() -> Config {
    let cases = number("TURNBOOK_CASES").and_then(|cases| u32::try_from(cases).ok()).unwrap_or(48);
    let rng_seed = RngSeed::Fixed(number("TURNBOOK_SEED").unwrap_or(0));
    // Failures are kept as tests by hand, with a name; not as a file of seeds.
    Config { cases, rng_seed, failure_persistence: None, ..Config::default() }
}

#[expect(clippy::disallowed_methods, reason = "how long and where to look is the tester's choice")]
fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// What happens in a run.
#[derive(Debug, Clone)]
enum Event {
    Prompt(PromptMode, Way),
    /// Somebody else prompts.
    Foreign,
    /// The agent begins a step for the last prompt that wants an answer, unless one is open.
    Step,
    /// It ends the open step.
    End(Finish),
    Abort,
    /// The stream breaks and stands again.
    Reconnect,
}

fn event() -> impl Strategy<Value = Event> {
    let way = select(vec![Way::Taken, Way::Taken, Way::StoredAndLost, Way::Lost, Way::Refused]);
    let mode = select(vec![PromptMode::Turn, PromptMode::Turn, PromptMode::NoReply]);
    prop_oneof![
        (mode, way).prop_map(|(mode, way)| Event::Prompt(mode, way)),
        Just(Event::Foreign),
        Just(Event::Step),
        Just(Event::Step),
        select(vec![Finish::Stop, Finish::ToolCalls, Finish::Length]).prop_map(Event::End),
        Just(Event::Abort),
        Just(Event::Reconnect),
    ]
}

/// What the run remembers of the agent.
#[derive(Default)]
struct Run {
    /// The prompt that wants an answer.
    last: Option<String>,
    open: Option<String>,
    steps: usize,
}

impl Run {
    async fn happens(&mut self, world: &World, drive: &Drive, (name, event): (&str, &Event)) {
        match event {
            Event::Prompt(mode, way) => self.prompt(world, drive, (name, *mode, *way)).await,
            Event::Foreign => {
                world.fake.post(TALK, name);
                self.last = Some(name.to_owned());
            }
            Event::Step => self.step(world),
            Event::End(finish) => {
                if let Some(answer) = self.open.take() {
                    let step = world.fake.again(TALK, &answer).ended(finish.clone());
                    world.fake.show(TALK, step);
                }
            }
            Event::Abort => {
                if let Some(answer) = self.open.take() {
                    world.fake.show(TALK, world.fake.again(TALK, &answer).aborted());
                }
            }
            Event::Reconnect => world.fake.connect(),
        }
    }

    async fn prompt(
        &mut self,
        world: &World,
        drive: &Drive,
        (name, mode, way): (&str, PromptMode, Way),
    ) {
        let before = world.fake.counts().prompts.len();
        world.fake.sends_go([way]);
        // It ends in an error where the process died.
        drop(drive.prompt(request_in(name, mode)).await);
        if world.fake.counts().prompts.len() == before {
            world.fake.sends_go_as_usual();
        } else if matches!(way, Way::Taken | Way::StoredAndLost) && mode == PromptMode::Turn {
            self.last = Some(world.turn_of(name));
        }
    }

    fn step(&mut self, world: &World) {
        if let (None, Some(prompt)) = (&self.open, &self.last) {
            self.steps += 1;
            let answer = format!("a{}", self.steps);
            world.fake.show(TALK, world.fake.step(&answer, prompt));
            self.open = Some(answer);
        }
    }
}

/// Lets a run happen in a process that dies after some writes, and a new one recover.
async fn run(events: &[Event], writes: Option<usize>) -> World {
    let world = World::new();
    let process = world.process("exec");
    let drive = process.claim().await;
    if let Some(writes) = writes {
        process.writes_go(std::iter::repeat_n(Write::Succeeds, writes).chain([Write::Dead]));
    }
    let following = process.follow(Depth::Open).await;
    let mut run = Run::default();
    for (number, event) in events.iter().enumerate() {
        run.happens(&world, &drive, (&format!("r{number}"), event)).await;
    }
    drop(following.stop().await);
    world.fake.is(TALK, Owner::Idle);
    world.process("later").recorder.recover(&session(), Belief::Evidence).await.unwrap();
    world
}

/// A ledger that saw nothing of the run but its intents, and then the whole history.
async fn told_afterwards(world: &World) -> World {
    let after = World::of(world.fake.clone());
    after.write(|ledger| ledger.attach_thread(&session(), &id(TALK)));
    let process = after.process("exec");
    let drive = process.claim().await;
    for Intent { request, session, thread, turn, purpose, reply, origin, created_at, .. } in
        intents(world)
    {
        let labels = origin.labels;
        let new = NewIntent { request, session, thread, turn, purpose, reply, labels, created_at };
        after.write(|ledger| ledger.intend(&new, drive.driver()));
    }
    after.process("later").recorder.recover(&session(), Belief::Evidence).await.unwrap();
    after
}

fn intents(world: &World) -> Vec<Intent> {
    let requested = world.events().into_iter().filter_map(|event| {
        if let EventBody::Requested { request } = event.body { Some(request) } else { None }
    });
    let intents = requested.map(|request| world.memory.view(|ledger| ledger.intent(&request)));
    intents.map(|intent| intent.unwrap().unwrap()).collect()
}

fn compare(world: &World) -> (Vec<Stand>, Vec<bool>) {
    let admitted = intents(world).into_iter().map(|intent| intent.admitted.is_some()).collect();
    (world.turns(), admitted)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_crash_at_any_point_and_a_recovery_reach_the_ledger_of_no_crash(
        events in vec(event(), 1..14),
        writes in proptest::option::of(0_usize..24),
    ) {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let (crashed, after) = runtime.block_on(async {
            let world = run(&events, writes).await;
            let after = told_afterwards(&world).await;
            // Again, which changes nothing.
            let before = world.set();
            world.process("last").recorder.recover(&session(), Belief::Evidence).await.unwrap();
            assert_eq!(world.set(), before);
            (world, after)
        });
        prop_assert_eq!(compare(&crashed), compare(&after));
        prop_assert_eq!(crashed.memory.view(|ledger| ledger.verify()).unwrap(), []);
        // Each name was sent once at most.
        let mut sent = crashed.fake.counts().prompts;
        let count = sent.len();
        sent.sort();
        sent.dedup();
        prop_assert_eq!(sent.len(), count);
    }
}
