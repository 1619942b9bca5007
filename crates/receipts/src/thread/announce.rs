//! What became known? Facts of what changed, each given out once (rules L1, L8 and F5).

use std::collections::{BTreeSet, HashMap};

use super::{
    Kind, Place, Thread, Turn,
    turn::{self, Settled, Slot},
};
use crate::{
    gap::Gap,
    id::{CallKey, MessageId, TurnId},
    observation::{Answer, CallUsage, Finish},
    receipt::{Completion, Fact, FactBody, Status},
};

impl Thread {
    pub(super) fn announce(&mut self) -> Vec<Fact> {
        self.attribute();
        let mut facts = Vec::new();
        let mut by_turn: HashMap<TurnId, Vec<(Place, usize)>> = HashMap::new();
        for slot in std::mem::take(&mut self.dirty_answers) {
            if let Some(known) = self.slab.get(slot)
                && let Some(turn) = &known.turn
            {
                by_turn.entry(turn.clone()).or_default().push((known.place.clone(), slot));
            }
        }
        for (_, id) in std::mem::take(&mut self.dirty) {
            let mut answers = by_turn.remove(&id).unwrap_or_default();
            answers.sort();
            self.announce_turn(&id, answers, &mut facts);
        }
        facts
    }

    fn announce_turn(&mut self, id: &TurnId, answers: Vec<(Place, usize)>, facts: &mut Vec<Fact>) {
        let Some(mut turn) = self.turns.remove(id) else { return };
        let completion = turn::completion(&turn, &self.slab, self.status_of(id, &turn));
        let mut say = |body| facts.push(Fact { turn: id.clone(), body });
        self.admission(id, &mut turn, &mut say);
        let mut gaps = std::mem::take(&mut turn.unsaid.gaps);
        for (_, slot) in answers {
            if let Some(slot) = self.slab.get_mut(slot) {
                calls(slot, &mut say);
                gaps.extend(slot.gaps.iter().cloned());
            }
        }
        if self.open_is_lost(&turn) {
            let open: Vec<usize> =
                turn.open.iter().filter_map(|place| turn.answers.get(place)).copied().collect();
            for slot in open {
                if let Some(slot) = self.slab.get_mut(slot) {
                    lost_calls(slot, &mut turn, &mut say);
                }
            }
        }
        lineage(&mut turn, &mut say);
        gaps.extend(end_gaps(&turn, &self.slab, &completion));
        for gap in gaps {
            if turn.announced.gaps.insert(gap.clone()) {
                say(FactBody::Gap(gap));
            }
        }
        let entry = (turn.place.clone(), id.clone());
        if completion.status == Status::Pending {
            self.waiting.insert(entry);
        } else {
            self.waiting.remove(&entry);
            let last = turn::last_answer(&turn, &self.slab).map(|(place, _)| place);
            let last = last.and_then(|place| turn.answers.get(place)).copied();
            match last.and_then(|slot| self.slab.get_mut(slot)) {
                Some(slot) => settle(slot, id, completion, &mut turn.announced.gaps, &mut say),
                None => settle_unanswered(&mut turn, completion, &mut say),
            }
        }
        self.turns.insert(id.clone(), turn);
    }

    fn admission(&self, id: &TurnId, turn: &mut Turn, say: &mut impl FnMut(FactBody)) {
        if turn.announced.admitted.is_none() && turn.kind != Kind::Orphan {
            turn.announced.admitted = Some(turn.kind);
            let at = self
                .nodes
                .get(id.as_str())
                .and_then(|node| node.prompt.as_ref())
                .and_then(|prompt| prompt.place.time());
            say(FactBody::Admitted { kind: turn.kind, at });
        }
        if turn.announced.started.is_none()
            && let Some((place, _)) = turn.answers.first_key_value()
        {
            turn.announced.started = Some(place.id.clone());
            say(FactBody::Started { message: place.id.clone(), at: place.time() });
        }
    }
}

/// Says the calls of one answer that are over and were not said with these counters.
fn calls(slot: &mut Slot, say: &mut impl FnMut(FactBody)) {
    let counted: Vec<_> =
        turn::counted(&slot.answer).map(|(key, counters)| (key.clone(), counters)).collect();
    for (key, counters) in &counted {
        if !slot.announced.iter().any(|said| said.0 == *key && said.1 == *counters) {
            say(call(slot, key.clone(), *counters));
        }
    }
    slot.announced = counted;
}

fn call(slot: &Slot, key: CallKey, counters: crate::usage::Counters) -> FactBody {
    FactBody::Call {
        key,
        message: slot.place.id.clone(),
        at: slot.place.time(),
        counters,
        provider: slot.answer.provider.clone(),
        model: slot.answer.model.clone(),
    }
}

/// The calls of an answer that was never closed will never be known: from now on they count.
fn lost_calls(slot: &mut Slot, turn: &mut Turn, say: &mut impl FnMut(FactBody)) {
    for call in &mut slot.answer.calls {
        if call.usage == CallUsage::Open {
            call.usage = CallUsage::Unknown;
            turn.usage.add(&crate::usage::Counters::UNKNOWN);
        }
    }
    calls(slot, say);
}

fn lineage(turn: &mut Turn, say: &mut impl FnMut(FactBody)) {
    for thread in std::mem::take(&mut turn.unsaid.children) {
        if turn.announced.children.insert(thread.clone()) {
            say(FactBody::Child { thread });
        }
    }
    for place in std::mem::take(&mut turn.unsaid.generated) {
        if turn.announced.generated.insert(place.id.clone()) {
            say(FactBody::Generated { message: place.id });
        }
    }
}

fn settle_unanswered(turn: &mut Turn, completion: Completion, say: &mut impl FnMut(FactBody)) {
    if turn.announced.unstarted.as_ref() != Some(&completion) {
        turn.announced.unstarted = Some(completion.clone());
        say(FactBody::Completed(completion));
    }
}

fn settle(
    slot: &mut Slot,
    turn: &TurnId,
    completion: Completion,
    said: &mut BTreeSet<Gap>,
    say: &mut impl FnMut(FactBody),
) {
    let Some(settled) = &mut slot.settled else {
        let first = completion.clone();
        slot.settled = Some(Settled { turn: turn.clone(), first, contradicted_by: None });
        say(FactBody::Completed(completion));
        return;
    };
    if settled.turn != *turn {
        settled.turn = turn.clone();
        say(FactBody::Completed(settled.first.clone()));
    }
    if settled.first != completion && settled.contradicted_by.as_ref() != Some(&completion) {
        settled.contradicted_by = Some(completion.clone());
        let gap = Gap::Contradiction { message: slot.place.id.clone() };
        slot.gaps.insert(gap.clone());
        if said.insert(gap.clone()) {
            say(FactBody::Gap(gap));
        }
        say(FactBody::Completed(completion));
    }
}

/// Gives the calls of an answer that are still under way.
pub(super) fn open_calls(answer: &Answer) -> impl Iterator<Item = &CallKey> {
    answer.calls.iter().filter(|call| call.usage == CallUsage::Open).map(|call| &call.key)
}

/// What does not fit in a turn as it stands, from its answers and the way it ended.
///
/// The unknown calls among it are given out as facts of their own, with unknown counters.
pub(super) fn derived_gaps(turn: &Turn, slab: &[Slot], completion: &Completion) -> BTreeSet<Gap> {
    let mut gaps = end_gaps(turn, slab, completion);
    for slot in turn.answers.values().filter_map(|slot| slab.get(*slot)) {
        let unknown = turn::counted(&slot.answer).filter(|(_, counters)| counters.is_unknown());
        gaps.extend(unknown.map(|(key, _)| Gap::UnknownUsage { call: key.clone() }));
    }
    gaps
}

/// What does not fit in the way a turn ended.
fn end_gaps(turn: &Turn, slab: &[Slot], completion: &Completion) -> BTreeSet<Gap> {
    let mut gaps = BTreeSet::new();
    if turn.kind == Kind::Orphan
        && let Some((first, _)) = turn.answers.first_key_value()
    {
        gaps.insert(Gap::DanglingParent { message: first.id.clone() });
    }
    if completion.status == Status::Pending {
        return gaps;
    }
    gaps.extend(turn.open.iter().map(|place| Gap::NeverClosed { message: place.id.clone() }));
    if completion.status == Status::Completed
        && let (Some(message), Some(Finish::Unknown(word))) =
            (&completion.message, &completion.finish)
        && last_is_plain(turn, slab, message)
    {
        gaps.insert(Gap::UnknownFinish { message: message.clone(), word: word.to_string() });
    }
    gaps
}

fn last_is_plain(turn: &Turn, slab: &[Slot], message: &MessageId) -> bool {
    turn::last_answer(turn, slab).is_some_and(|(place, answer)| {
        place.id == *message && answer.ending == crate::observation::Ending::Plain
    })
}
