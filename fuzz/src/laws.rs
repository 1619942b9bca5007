//! What must hold for every history? The laws of the fold.
//!
//! Each law panics where it is broken.

use std::collections::{BTreeMap, HashMap};

use receipts::{
    Body, CallKey, CallUsage, Counters, FactBody, Lineage, Message, MessageId, Observation, Owner,
    Receipt, Status, Thread, ThreadId, Usage,
};

use crate::arrangement::Arrangement;

/// Tries all laws on one history, seen in the way that the arrangement chooses.
///
/// # Panics
///
/// Where a law is broken.
pub fn all(seen: &[Observation], mut arrangement: Arrangement) {
    a_replay_adds_nothing(seen, &mut arrangement);
    let steady = steady(seen);
    order_and_repetition_do_not_matter(&steady, &mut arrangement);
    batches_do_not_matter(&steady, &mut arrangement);
    a_settled_attempt_never_changes(&steady, &mut arrangement);
    nothing_is_lost_or_doubled(&steady);
    forgetting_keeps_only_known_turns(&steady, &mut arrangement);
}

/// What a real history never does is left out: a message with two parents, roles or origins.
fn steady(seen: &[Observation]) -> Vec<Observation> {
    let mut first: HashMap<MessageId, Message> = HashMap::new();
    let mut steady = |mut message: Message| {
        let known = first.entry(message.id.clone()).or_insert_with(|| message.clone());
        message.lineage = known.lineage;
        match (&known.body, &mut message.body) {
            (Body::Answer(known), Body::Answer(seen)) => seen.parent.clone_from(&known.parent),
            (Body::Prompt(_), Body::Prompt(_)) | (Body::Unknown, Body::Unknown) => {}
            (Body::Prompt(_) | Body::Answer(_) | Body::Unknown, _) => return None,
        }
        Some(Observation::Message(message))
    };
    seen.iter()
        .filter_map(|observation| match observation {
            Observation::Message(message) => steady(message.clone()),
            other => Some(other.clone()),
        })
        .collect()
}

fn thread() -> Thread {
    Thread::new(ThreadId::new("ses").expect("the id is sound"))
}

fn observe(thread: &mut Thread, seen: &[Observation]) {
    for observation in seen {
        thread.observe(observation.clone());
    }
}

fn fold(seen: &[Observation]) -> Thread {
    let mut thread = thread();
    observe(&mut thread, seen);
    thread
}

/// The receipts without the gaps, which may know more where a decrease was seen (rule L11).
fn receipts(thread: &Thread) -> Vec<Receipt> {
    let mut receipts = thread.receipts();
    for receipt in &mut receipts {
        receipt.gaps.clear();
    }
    receipts
}

fn total(thread: &Thread) -> Usage {
    let mut usage = thread.unattributed();
    for receipt in thread.receipts() {
        usage.merge(&receipt.usage);
    }
    usage
}

/// The sums that do not depend on what is still open.
fn known(usage: &Usage) -> impl PartialEq + std::fmt::Debug + use<> {
    (usage.tokens(), usage.cost(), usage.cost_known())
}

fn a_replay_adds_nothing(seen: &[Observation], arrangement: &mut Arrangement) {
    let mut thread = fold(seen);
    thread.observe(Observation::Owner(arrangement.owner()));
    // Once more, so that every decrease was seen.
    observe(&mut thread, seen);
    let _facts = thread.take_facts();
    let before = thread.receipts();
    observe(&mut thread, seen);
    assert_eq!(thread.take_facts(), [], "a replay gives facts");
    assert_eq!(thread.receipts(), before, "a replay changes receipts");
}

fn order_and_repetition_do_not_matter(seen: &[Observation], arrangement: &mut Arrangement) {
    let mut forward = fold(seen);
    let mut shuffled = fold(&arrangement.shuffled(seen));
    let owner = Observation::Owner(arrangement.owner());
    forward.observe(owner.clone());
    shuffled.observe(owner);
    assert_eq!(receipts(&shuffled), receipts(&forward), "the order matters");
    assert_eq!(shuffled.inherited(), forward.inherited(), "the order matters for fork copies");
}

fn calls_of(thread: &mut Thread) -> BTreeMap<CallKey, Counters> {
    let facts = thread.take_facts().into_iter();
    facts
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

fn batches_do_not_matter(seen: &[Observation], arrangement: &mut Arrangement) {
    let (prefix, rest) = seen.split_at(arrangement.index(seen.len() + 1));
    let mut parts = fold(prefix);
    let mut calls = calls_of(&mut parts);
    observe(&mut parts, rest);
    calls.extend(calls_of(&mut parts));
    let mut whole = fold(seen);
    for (key, counters) in calls_of(&mut whole) {
        assert_eq!(calls.get(&key), Some(&counters), "a prefix then the rest is not the whole");
    }
    assert_eq!(total(&parts), total(&whole), "a prefix then the rest is not the whole");
}

fn a_settled_attempt_never_changes(seen: &[Observation], arrangement: &mut Arrangement) {
    let mut thread = thread();
    let mut settled: HashMap<MessageId, Status> = HashMap::new();
    for observation in seen {
        thread.observe(observation.clone());
        thread.observe(Observation::Owner(arrangement.owner()));
        for fact in thread.take_facts() {
            if let FactBody::Completed(completion) = fact.body
                && let Some(message) = completion.message
            {
                settled.entry(message).or_insert(completion.status);
            }
        }
        for receipt in thread.receipts() {
            let end = receipt.completion;
            if let Some(first) = end.message.as_ref().and_then(|message| settled.get(message)) {
                assert_eq!(end.status, *first, "{:?} has another end than before", end.message);
            }
        }
    }
}

fn nothing_is_lost_or_doubled(seen: &[Observation]) {
    let mut peaks: BTreeMap<CallKey, Counters> = BTreeMap::new();
    for observation in seen {
        if let Observation::Message(message) = observation
            && message.lineage == Lineage::Own
            && let Body::Answer(answer) = &message.body
        {
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
    assert_eq!(known(&total(&fold(seen))), known(&expected), "usage was lost or doubled");
}

fn forgetting_keeps_only_known_turns(seen: &[Observation], arrangement: &mut Arrangement) {
    let mut thread = fold(seen);
    thread.observe(Observation::Owner(Owner::Idle));
    let _facts = thread.take_facts();
    let before = thread.receipts();
    thread.forget_settled(arrangement.index(4));
    for receipt in thread.receipts() {
        let was_known = before.iter().any(|known| known.turn == receipt.turn);
        assert!(was_known, "forgetting makes the turn {:?}", receipt.turn);
    }
    observe(&mut thread, seen);
    let _facts = thread.take_facts();
    let _receipts = thread.receipts();
}
