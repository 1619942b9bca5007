//! The laws of the fold, on histories that no agent would write.
//!
//! `TURNBOOK_CASES` sets how many histories each law is tried on, `TURNBOOK_SEED` which.

use proptest::{
    collection::vec,
    prelude::{Just, Strategy, any, prop_oneof},
    prop_assert, prop_assert_eq, proptest,
    sample::{Index, select},
    test_runner::{Config, RngSeed},
};

use super::case::{generated, id, prompt, thread, total};
use crate::{
    Answer, AnswerRole, Body, Call, CallKey, CallUsage, Clock, Counters, Ending, FactBody, Failure,
    Finish, Generated, Lineage, Message, MessageId, Observation, Owner, Status, Thread, ThreadId,
    Tools, TurnId, UnixMillis, Usage,
};

fn config() -> Config {
    let cases = number("TURNBOOK_CASES").and_then(|cases| u32::try_from(cases).ok()).unwrap_or(256);
    let rng_seed = RngSeed::Fixed(number("TURNBOOK_SEED").unwrap_or(0));
    // Failures are kept as tests by hand, with a name; not as a file of seeds.
    Config { cases, rng_seed, failure_persistence: None, ..Config::default() }
}

#[expect(clippy::disallowed_methods, reason = "how long and where to look is the tester's choice")]
fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn usage() -> impl Strategy<Value = CallUsage> {
    prop_oneof![
        Just(CallUsage::Open),
        Just(CallUsage::Unknown),
        (0_u64..100, 0_u64..100).prop_map(|(input, output)| CallUsage::Known(Counters {
            input: Some(input),
            output: Some(output),
            ..Counters::UNKNOWN
        })),
        Just(CallUsage::Known(Counters { input: Some(u64::MAX), ..Counters::UNKNOWN })),
    ]
}

fn ending() -> impl Strategy<Value = (Option<Finish>, Ending)> {
    let failure = || Failure { name: "E".into(), message: "m".into() };
    let finish = select(vec![
        None,
        Some(Finish::Stop),
        Some(Finish::ToolCalls),
        Some(Finish::Length),
        Some(Finish::Unknown("odd".into())),
    ]);
    let ending = select(vec![
        Ending::Plain,
        Ending::Plain,
        Ending::Plain,
        Ending::Structured("{}".into()),
        Ending::Aborted(failure()),
        Ending::Failed(failure()),
    ]);
    (finish, ending)
}

const PROMPTS: [&str; 6] = ["p0", "p1", "p2", "p3", "p4", "p5"];
const PARENTS: [&str; 8] = ["p0", "p1", "p2", "p3", "p4", "p5", "gone1", "gone2"];
const ANSWERS: [&str; 8] = ["a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7"];

fn answer() -> impl Strategy<Value = Message> {
    let parent = prop_oneof![9 => select(&PARENTS[..]).prop_map(Some), 1 => Just(None)];
    let shape = (select(&ANSWERS[..]), 0_i64..12, parent, any::<bool>());
    let children = vec(select(&["child0", "child1"][..]), 0..2);
    let tools = (0_u32..2, 0_u32..2, 0_u32..2, 0_u32..2);
    (shape, tools, ending(), vec(usage(), 0..3), any::<bool>(), children).prop_map(
        |(
            (name, at, parent, is_closed),
            (open, client, rejected, aborted),
            ending,
            calls,
            summary,
            children,
        )| {
            let key = |n| CallKey::new(format!("{name}/{n}")).unwrap();
            let answer = Answer {
                parent: parent.map(id),
                completed: is_closed.then_some(UnixMillis(at + 1)),
                finish: ending.0,
                ending: ending.1,
                tools: Tools { closed: client, open, client, rejected, aborted },
                role: if summary { AnswerRole::Summary } else { AnswerRole::Answer },
                calls: calls
                    .into_iter()
                    .enumerate()
                    .map(|(n, usage)| Call { key: key(n), usage })
                    .collect(),
                text: Some("text".into()),
                provider: None,
                model: None,
                children: children.iter().map(|id| ThreadId::new(id).unwrap()).collect(),
                parts: 1,
            };
            Message {
                id: id(name),
                created: Some(UnixMillis(at)),
                lineage: Lineage::Own,
                body: Body::Answer(answer),
                gaps: Vec::new(),
            }
        },
    )
}

fn message() -> impl Strategy<Value = Message> {
    let why = select(vec![
        Generated::Compaction,
        Generated::OverflowCompaction,
        Generated::Continue,
        Generated::FollowUp,
    ]);
    prop_oneof![
        2 => (select(&PROMPTS[..]), 0_i64..12).prop_map(|(name, at)| prompt(name, at)),
        2 => (select(&PROMPTS[..]), 0_i64..12).prop_map(|(name, at)| same(name, at)),
        1 => (select(&PROMPTS[..]), 0_i64..12).prop_map(|(name, at)| stepped(name, at)),
        1 => (select(&PROMPTS[..]), 0_i64..12, why).prop_map(|(name, at, why)| generated(name, at, why)),
        4 => answer(),
    ]
    .prop_map(|mut message| {
        message.created = message.created.filter(|at| at.0 > 0);
        message
    })
}

/// A prompt that says what others say, and may be the replay of one.
fn same(name: &str, at: i64) -> Message {
    let mut message = prompt(name, at);
    if let Body::Prompt(prompt) = &mut message.body {
        prompt.content = Some(0);
    }
    message
}

/// A prompt that was made after the clock had stepped back.
fn stepped(name: &str, at: i64) -> Message {
    let mut message = prompt(name, at);
    if let Body::Prompt(prompt) = &mut message.body {
        prompt.clock = Clock::SteppedBack;
    }
    message
}

/// A history in which each message has one role and one parent, seen once or in several states and
/// at several times.
fn history() -> impl Strategy<Value = Vec<Message>> {
    vec(message(), 0..24).prop_map(|messages| {
        let mut first: std::collections::HashMap<MessageId, Message> = Default::default();
        messages
            .into_iter()
            .filter_map(|mut message| {
                let known = first.entry(message.id.clone()).or_insert_with(|| message.clone());
                match (&known.body, &mut message.body) {
                    (Body::Prompt(_), Body::Prompt(_)) => {}
                    (Body::Answer(known), Body::Answer(seen)) => {
                        seen.parent.clone_from(&known.parent);
                    }
                    _ => return None,
                }
                Some(message)
            })
            .collect()
    })
}

fn fold(messages: &[Message]) -> Thread {
    let mut thread = thread();
    for message in messages {
        thread.observe(Observation::Message(message.clone()));
    }
    thread
}

/// The receipts without the gaps, which may know more where a decrease was seen (rule L11).
fn receipts(thread: &Thread) -> Vec<crate::Receipt> {
    let mut receipts = thread.receipts();
    for receipt in &mut receipts {
        receipt.gaps.clear();
    }
    receipts
}

fn idle(mut thread: Thread) -> Thread {
    thread.observe(Observation::Owner(Owner::Idle));
    thread
}

fn owner() -> impl Strategy<Value = Owner> {
    select(vec![Owner::Busy, Owner::Idle, Owner::Dead, Owner::Unknown])
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn l1_a_replay_adds_nothing(history in history(), owner in owner()) {
        let mut thread = fold(&history);
        thread.observe(Observation::Owner(owner));
        // Once more, so that every decrease was seen.
        for message in &history {
            thread.observe(Observation::Message(message.clone()));
        }
        let _facts = thread.take_facts();
        let before = thread.receipts();
        for message in &history {
            thread.observe(Observation::Message(message.clone()));
        }
        prop_assert_eq!(thread.take_facts(), []);
        prop_assert_eq!(thread.receipts(), before);
    }

    #[test]
    fn l11_order_and_repetition_do_not_matter(
        history in history(),
        picks in vec(any::<Index>(), 0..24),
    ) {
        let mut shuffled = history.clone();
        for (at, pick) in picks.iter().enumerate() {
            if !shuffled.is_empty() {
                let (a, b) = (at % shuffled.len(), pick.index(shuffled.len()));
                shuffled.swap(a, b);
                shuffled.push(shuffled[b].clone());
            }
        }
        let (a, b) = (receipts(&idle(fold(&shuffled))), receipts(&idle(fold(&history))));
        prop_assert_eq!(a, b);
    }

    #[test]
    fn l11_batches_do_not_matter(history in history(), cut in any::<Index>()) {
        let cut = if history.is_empty() { 0 } else { cut.index(history.len()) };
        let mut thread = fold(&history[..cut]);
        let mut calls = calls_of(&mut thread);
        for message in &history[cut..] {
            thread.observe(Observation::Message(message.clone()));
        }
        calls.extend(calls_of(&mut thread));
        let mut whole = fold(&history);
        let expected = calls_of(&mut whole);
        for (key, counters) in expected {
            prop_assert!(calls.contains(&(key, counters)));
        }
        prop_assert_eq!(total(&thread), total(&whole));
    }

    #[test]
    fn f5_a_settled_attempt_never_changes(
        history in history(),
        owners in vec(owner(), 24),
    ) {
        let mut thread = thread();
        let mut settled: Vec<(TurnId, MessageId, Status)> = Vec::new();
        for (message, owner) in history.iter().zip(owners) {
            thread.observe(Observation::Message(message.clone()));
            thread.observe(Observation::Owner(owner));
            for fact in thread.take_facts() {
                if let FactBody::Completed(completion) = fact.body
                    && let Some(message) = completion.message
                    && !settled.iter().any(|(_, last, _)| *last == message)
                {
                    settled.push((fact.turn, message, completion.status));
                }
            }
            for receipt in thread.receipts() {
                let first = settled
                    .iter()
                    .find(|(_, message, _)| Some(message) == receipt.completion.message.as_ref());
                if let Some((_, _, status)) = first {
                    prop_assert_eq!(receipt.completion.status, *status);
                }
            }
        }
    }

    #[test]
    fn nothing_is_lost_or_doubled(history in history()) {
        let thread = fold(&history);
        let mut peaks: std::collections::BTreeMap<CallKey, Counters> = Default::default();
        for message in &history {
            if let Body::Answer(answer) = &message.body {
                for call in &answer.calls {
                    if let CallUsage::Known(counters) = call.usage {
                        let peak = peaks.entry(call.key.clone()).or_insert(Counters::UNKNOWN);
                        let _decreases = peak.raise(&counters);
                    }
                }
            }
        }
        let mut expected = Usage::default();
        for peak in peaks.values() {
            expected.add(peak);
        }
        let found = total(&thread);
        prop_assert_eq!((found.input, found.output), (expected.input, expected.output));
    }
}

fn calls_of(thread: &mut Thread) -> Vec<(CallKey, Counters)> {
    thread
        .take_facts()
        .into_iter()
        .filter_map(|fact| match fact.body {
            FactBody::Call { key, counters, .. } => Some((key, counters)),
            FactBody::Admitted { .. }
            | FactBody::Started { .. }
            | FactBody::Child { .. }
            | FactBody::Generated { .. }
            | FactBody::Completed(_)
            | FactBody::Gap(_) => None,
        })
        .collect()
}
