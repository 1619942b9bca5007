//! What do all sightings of one history add up to? The fold of one thread (ledger.md 4).
//!
//! Every message stands at its [`Place`] in one order. An answer belongs to the turn of the prompt
//! that drove it; a prompt that the harness put in belongs to the turn of the answer before it
//! (rule F1). An observation marks what depends on it, and only that is looked at again when a
//! result is asked for, so that the cost of an observation does not grow with the history.

mod announce;
mod answered;
mod attribution;
mod merge;
mod order;
mod turn;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
};

use answered::Answered;
use attribution::Stale;
use order::Place;
use turn::{Follower, NoReply, Slot, Surroundings, Turn};

use crate::{
    gap::Gap,
    id::{MessageId, ThreadId, TurnId},
    observation::{Answer, Body, Clock, Kind, Lineage, Message, Observation, Owner, Prompt},
    receipt::{Fact, Receipt, Status},
    usage::Usage,
};

/// A prompt as it stands in the thread.
#[derive(Debug, Clone)]
struct PromptNode {
    prompt: Prompt,
    place: Place,
    /// The turn that it drives.
    root: TurnId,
    /// The overflow after whose summary it stands, where it may be the replay.
    overflow: Option<Place>,
    /// What in it did not fit.
    gaps: BTreeSet<Gap>,
}

/// Everything that is known under one message id.
#[derive(Debug, Clone, Default)]
struct Node {
    prompt: Option<PromptNode>,
    answer: Option<usize>,
    /// Answers that name this id as their prompt.
    answered_by: BTreeSet<usize>,
}

/// The fold of one harness's history of one thread.
///
/// # Contract
///
/// The receipts depend only on the set of observed messages and the last known owner, not on the
/// order, repetition or batching of the observations (rule L11). An attempt whose end was given
/// out by [`Thread::take_facts`] never changes its status (rule F5). No input panics.
///
/// An observation costs the same in a short and in a long history. What depends on it is worked
/// out by [`Thread::catch_up`], which [`Thread::take_facts`] does first; the receipts of a thread
/// that is behind are read from a copy that caught up.
#[derive(Debug, Clone)]
pub struct Thread {
    id: ThreadId,
    owner: Owner,
    nodes: HashMap<MessageId, Node>,
    slab: Vec<Slot>,
    /// Slots of forgotten answers, to be used again.
    free: Vec<usize>,
    answers: BTreeMap<Place, usize>,
    /// Prompts of clients.
    clients: BTreeSet<Place>,
    /// Prompts that the harness put in.
    generated: BTreeSet<Place>,
    /// Prompts that may be replays, behind the place of the overflow that called for it.
    replays: BTreeSet<(Place, Place)>,
    /// Prompts that have an answer.
    answered: Answered,
    /// Those of them that were made after a clock had stepped back.
    answered_stepped: Answered,
    stale: Stale,
    turns: HashMap<TurnId, Turn>,
    /// Turns that had not ended when they were last announced, by place.
    waiting: BTreeSet<(Place, TurnId)>,
    inherited: BTreeMap<Place, ()>,
    gaps: BTreeSet<Gap>,
    dirty: BTreeSet<(Place, TurnId)>,
    dirty_answers: BTreeSet<usize>,
    no_reply: HashSet<MessageId>,
    /// Messages whose turns were forgotten.
    forgotten: HashSet<MessageId>,
}

impl Thread {
    /// Starts the fold of one thread, of which nothing is known yet.
    #[must_use]
    pub fn new(id: ThreadId) -> Self {
        Self {
            id,
            owner: Owner::Unknown,
            nodes: HashMap::new(),
            slab: Vec::new(),
            free: Vec::new(),
            answers: BTreeMap::new(),
            clients: BTreeSet::new(),
            generated: BTreeSet::new(),
            replays: BTreeSet::new(),
            answered: Answered::default(),
            answered_stepped: Answered::default(),
            stale: Stale::default(),
            turns: HashMap::new(),
            waiting: BTreeSet::new(),
            inherited: BTreeMap::new(),
            gaps: BTreeSet::new(),
            dirty: BTreeSet::new(),
            dirty_answers: BTreeSet::new(),
            no_reply: HashSet::new(),
            forgotten: HashSet::new(),
        }
    }

    /// Gives the harness's id of the thread.
    #[must_use]
    pub fn id(&self) -> &ThreadId {
        &self.id
    }

    /// Gives what was last said of the thread's owner.
    #[must_use]
    pub fn owner(&self) -> Owner {
        self.owner
    }

    /// Takes one observation. What became known by it is given by [`Self::take_facts`].
    pub fn observe(&mut self, observation: Observation) {
        match observation {
            Observation::Message(message) => self.message(message),
            Observation::Removed(id) => self.removed(&id),
            Observation::NoReply(id) => self.wish_no_reply(id),
            Observation::Owner(owner) => self.owner_is(owner),
            Observation::Gap(gap) => {
                self.gaps.insert(gap);
            }
        }
    }

    fn owner_is(&mut self, owner: Owner) {
        if self.owner != owner {
            self.owner = owner;
            self.dirty.append(&mut self.waiting);
        }
    }

    fn wish_no_reply(&mut self, id: MessageId) {
        let turn = TurnId::from(&id);
        if let Some(known) = self.turns.get_mut(&turn) {
            known.no_reply = NoReply::Wished;
            self.dirty.insert((known.place.clone(), turn));
        }
        self.no_reply.insert(id);
    }

    fn removed(&mut self, id: &MessageId) {
        self.note(id, [Gap::Removed { message: id.clone() }]);
    }

    /// Keeps what did not fit with the message, or with the thread where the message is unknown.
    fn note(&mut self, id: &MessageId, gaps: impl IntoIterator<Item = Gap>) {
        let mut new = gaps.into_iter().peekable();
        if new.peek().is_none() {
            return;
        }
        let node = self.nodes.get_mut(id);
        let Some(node) = node.filter(|node| node.prompt.is_some() || node.answer.is_some()) else {
            self.gaps.extend(new);
            return;
        };
        let turn = match (&mut node.prompt, node.answer.and_then(|slot| self.slab.get_mut(slot))) {
            (Some(prompt), _) => {
                let new: Vec<Gap> = new.collect();
                if let Some(turn) = self.turns.get_mut(&prompt.root) {
                    turn.unsaid.gaps.extend(new.iter().cloned());
                }
                prompt.gaps.extend(new);
                Some(prompt.root.clone())
            }
            (None, Some(slot)) => {
                slot.gaps.extend(new);
                self.dirty_answers.extend(node.answer);
                slot.turn.clone()
            }
            (None, None) => None,
        };
        if let Some(turn) = turn {
            self.touch(&turn);
        }
    }

    fn message(&mut self, message: Message) {
        if self.forgotten.contains(&message.id) {
            return;
        }
        let Message { id, created, lineage, body, mut gaps } = message;
        let place = Place::new(created, id.clone());
        if lineage == Lineage::Inherited {
            self.inherited.insert(place, ());
            self.gaps.extend(gaps);
            return;
        }
        if created.is_none() {
            gaps.push(Gap::MissingTime { message: id.clone() });
        }
        match body {
            Body::Prompt(prompt) => self.prompt(&id, place, prompt),
            Body::Answer(answer) => {
                if let (Some(created), Some(completed)) = (created, answer.completed)
                    && completed < created
                {
                    gaps.push(Gap::ClockStep { message: id.clone() });
                }
                self.answer(&id, place, answer, &mut gaps);
            }
            Body::Unknown => {}
        }
        self.note(&id, gaps);
    }

    fn prompt(&mut self, id: &MessageId, mut place: Place, prompt: Prompt) {
        let node = self.nodes.entry(id.clone()).or_default();
        let overwritten = node.answer;
        let is_answered = !node.answered_by.is_empty();
        let (mut root, mut clock) = (TurnId::from(id), prompt.clock);
        if let Some(known) = &mut node.prompt {
            let before = known.prompt;
            // A prompt that is sent again keeps the place of its first sending.
            let seen = place.clone();
            place = place.earlier(&known.place);
            known.prompt.clock = match (seen == place, known.place == place) {
                (true, true) => before.clock.max(prompt.clock),
                (true, false) => prompt.clock,
                (false, _) => before.clock,
            };
            merge::prompt(&mut known.prompt, &prompt);
            if (Prompt { parts: before.parts, ..known.prompt }) == before && known.place == place {
                return;
            }
            (root, clock) = (known.root.clone(), known.prompt.clock);
            let was = std::mem::replace(&mut known.place, place.clone());
            let overflow = known.overflow.take();
            self.leave_place(&was, &root, overflow);
        } else {
            let (root, place, gaps) = (root.clone(), place.clone(), BTreeSet::new());
            node.prompt = Some(PromptNode { prompt, place, root, overflow: None, gaps });
        }
        if is_answered {
            self.now_answered(&place, &root, clock);
        }
        self.changed_prompt(id, &place);
        // The row of an answer now holds a prompt: what it used and said stays recorded.
        if let Some(slot) = overwritten.and_then(|slot| self.slab.get_mut(slot)) {
            slot.gaps.insert(Gap::Overwritten { message: id.clone() });
            self.dirty_answers.extend(overwritten);
        }
    }

    /// A prompt stands elsewhere, or is another one, from now on.
    fn leave_place(&mut self, place: &Place, root: &TurnId, overflow: Option<Place>) {
        self.clients.remove(place);
        self.generated.remove(place);
        self.answered.remove(place);
        self.answered_stepped.remove(place);
        if let Some(overflow) = overflow {
            self.replays.remove(&(overflow, place.clone()));
        }
        if let Some(turn) = self.turns.get_mut(root) {
            turn.generated.remove(place);
            turn.unsaid.generated.remove(place);
        }
        self.stale.mark_behind(place);
        self.mark_replays(place);
    }

    fn answer(&mut self, id: &MessageId, place: Place, answer: Answer, gaps: &mut Vec<Gap>) {
        let node = self.nodes.entry(id.clone()).or_default();
        let Some(slot) = node.answer else {
            if node.prompt.is_some() {
                gaps.push(Gap::Overwritten { message: id.clone() });
            }
            self.new_answer(id, place, answer, gaps);
            return;
        };
        let Some(known) = self.slab.get_mut(slot) else { return };
        let place = place.earlier(&known.place);
        if known.answer == answer && known.place == place {
            return;
        }
        let was = std::mem::replace(&mut known.place, place.clone());
        let mut before = known.answer.clone();
        gaps.extend(merge::answer(&mut known.answer, answer));
        self.dirty_answers.insert(slot);
        if let Some(turn_id) = known.turn.clone()
            && let Some(turn) = self.turns.get_mut(&turn_id)
        {
            turn.usage.unmerge(&sum(&before));
            turn.usage.merge(&sum(&known.answer));
            turn.remove_children(&before);
            turn.add_children(&known.answer);
            if was != place {
                turn.remove_answer(&was);
            }
            turn.place_answer(&place, slot, &known.answer);
            self.touch(&turn_id);
            self.place_orphan(&turn_id);
        }
        if was != place {
            self.answers.remove(&was);
            self.answers.insert(place.clone(), slot);
            self.stale.mark_behind(&was);
        }
        self.stale.mark_behind(&place);
        if self.slab.get(slot).is_some_and(|slot| slot.answer.parent != before.parent) {
            self.reparent(slot, before.parent.take().as_ref());
        }
    }

    fn new_answer(&mut self, id: &MessageId, place: Place, answer: Answer, gaps: &mut Vec<Gap>) {
        let parent = answer.parent.clone();
        let slot = self.store_answer(place.clone(), answer);
        self.nodes.entry(id.clone()).or_default().answer = Some(slot);
        self.stale.mark_behind(&place);
        self.answers.insert(place, slot);
        self.dirty_answers.insert(slot);
        match parent {
            Some(parent) => self.adopt(slot, &parent),
            None => gaps.push(Gap::NoParent { message: id.clone() }),
        }
    }

    fn store_answer(&mut self, place: Place, answer: Answer) -> usize {
        let new = Slot {
            answer,
            place,
            turn: None,
            gaps: BTreeSet::new(),
            announced: Vec::new(),
            settled: None,
        };
        if let Some(slot) = self.free.pop()
            && let Some(old) = self.slab.get_mut(slot)
        {
            *old = new;
            return slot;
        }
        self.slab.push(new);
        self.slab.len() - 1
    }

    fn surroundings(&self, id: &TurnId, turn: &Turn) -> Surroundings {
        let later = Some(&turn.place);
        let followed_by = match self.clock(&turn.place.id) {
            Clock::SteppedBack => self.answered_stepped.first_other(later, id),
            Clock::Plausible => self
                .answered
                .first_other(later, id)
                .or_else(|| self.answered_stepped.first_other(None, id)),
        };
        let followed_by = followed_by
            .map(|(prompt, turn)| Follower { turn: turn.clone(), asked_at: prompt.time() });
        Surroundings { owner: self.owner, followed_by }
    }

    fn clock(&self, id: &MessageId) -> Clock {
        let prompt = self.nodes.get(id).and_then(|node| node.prompt.as_ref());
        prompt.map_or(Clock::Plausible, |prompt| prompt.prompt.clock)
    }

    fn status_of(&self, id: &TurnId, turn: &Turn) -> (Status, Option<TurnId>) {
        turn::status(turn, &self.slab, &self.surroundings(id, turn))
    }

    /// Gives what became known since the last call, in an order that a ledger can append: the
    /// calls of an attempt before its end (rule L8), turns by their place.
    #[must_use]
    pub fn take_facts(&mut self) -> Vec<Fact> {
        self.announce()
    }

    /// Works out what depends on the observations since the last call; the cost of many of them
    /// together does not depend on their order.
    pub fn catch_up(&mut self) {
        self.attribute();
    }

    fn caught_up(&self) -> Cow<'_, Self> {
        if self.stale.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut copy = self.clone();
        copy.catch_up();
        Cow::Owned(copy)
    }

    /// Gives the receipts of all turns that are not forgotten, by the time of their prompts.
    #[must_use]
    pub fn receipts(&self) -> Vec<Receipt> {
        let thread = self.caught_up();
        let mut turns: Vec<(&TurnId, &Turn)> = thread.turns.iter().collect();
        turns.sort_by(|a, b| a.1.place.cmp(&b.1.place));
        turns.into_iter().map(|(id, turn)| thread.receipt_of(id, turn)).collect()
    }

    /// Gives the receipt of one turn.
    #[must_use]
    pub fn receipt(&self, id: &TurnId) -> Option<Receipt> {
        let thread = self.caught_up();
        thread.turns.get(id).map(|turn| thread.receipt_of(id, turn))
    }

    fn receipt_of(&self, id: &TurnId, turn: &Turn) -> Receipt {
        let current = turn::completion(turn, &self.slab, self.status_of(id, turn));
        let last =
            turn::last_answer(turn, &self.slab).and_then(|(place, _)| turn.answers.get(place));
        let settled = last.and_then(|slot| self.slab.get(*slot)?.settled.as_ref());
        let mut usage = turn.usage;
        let mut gaps = self.gaps_of(id, turn);
        if self.open_is_lost(turn) {
            self.count_lost(turn, &mut usage, &mut gaps);
        }
        gaps.extend(announce::derived_gaps(turn, &self.slab, &current));
        gaps.extend(
            usage
                .tokens()
                .into_iter()
                .filter(|(_, sum)| sum.overflowed())
                .map(|(counter, _)| Gap::Overflow { counter }),
        );
        let is_prompt_now =
            |place: &&Place| self.nodes.get(&place.id).is_some_and(|node| node.prompt.is_some());
        let mut completion = settled.map_or(current, |settled| settled.first.clone());
        // An answer whose row is a prompt now can no longer be found under its id.
        if completion.message.as_ref().is_some_and(|message| {
            self.nodes.get(message).is_some_and(|node| node.prompt.is_some())
        }) {
            completion.message = None;
        }
        Receipt {
            turn: id.clone(),
            kind: turn.kind,
            completion,
            attempts: turn::attempts(turn, &self.slab),
            usage,
            conflicting_answers: turn::conflicting(turn, &self.slab),
            answers: turn
                .answers
                .keys()
                .filter(|place| !is_prompt_now(place))
                .map(|place| place.id.clone())
                .collect(),
            generated: turn.generated.iter().map(|place| place.id.clone()).collect(),
            children: turn.children.keys().cloned().collect(),
            gaps: gaps.into_iter().collect(),
        }
    }

    fn gaps_of(&self, id: &TurnId, turn: &Turn) -> BTreeSet<Gap> {
        let mut gaps: BTreeSet<Gap> = self.prompt_gaps(id, turn).cloned().collect();
        let slots = turn.answers.values().filter_map(|slot| self.slab.get(*slot));
        gaps.extend(slots.flat_map(|slot| slot.gaps.iter().cloned()));
        gaps
    }

    /// What did not fit in the prompts of a turn: its own and those that the harness put in.
    fn prompt_gaps<'a>(&'a self, id: &'a TurnId, turn: &'a Turn) -> impl Iterator<Item = &'a Gap> {
        let own = std::iter::once(id.as_str());
        own.chain(turn.generated.iter().map(|place| place.id.as_str()))
            .filter_map(|id| self.nodes.get(id)?.prompt.as_ref())
            .flat_map(|prompt| &prompt.gaps)
    }

    /// Whether the open answers of a turn will never be closed, as far as is known.
    fn open_is_lost(&self, turn: &Turn) -> bool {
        !turn.open.is_empty() && matches!(self.owner, Owner::Idle | Owner::Dead)
    }

    fn count_lost(&self, turn: &Turn, usage: &mut Usage, gaps: &mut BTreeSet<Gap>) {
        for place in &turn.open {
            let Some(slot) = turn.answers.get(place).and_then(|slot| self.slab.get(*slot)) else {
                continue;
            };
            for key in announce::open_calls(&slot.answer) {
                usage.add(&crate::usage::Counters::UNKNOWN);
                gaps.insert(Gap::UnknownUsage { call: key.clone() });
            }
        }
    }

    /// Gives the messages that this thread got from the one it was forked from, in order.
    #[must_use]
    pub fn inherited(&self) -> Vec<MessageId> {
        self.inherited.keys().map(|place| place.id.clone()).collect()
    }

    /// Gives what did not fit and belongs to no turn.
    #[must_use]
    pub fn gaps(&self) -> Vec<Gap> {
        let mut gaps = self.gaps.clone();
        let slots = self.answers.values().filter_map(|slot| self.slab.get(*slot));
        gaps.extend(slots.filter(|slot| slot.turn.is_none()).flat_map(|slot| slot.gaps.clone()));
        gaps.into_iter().collect()
    }

    /// Gives what the answers that belong to no turn used.
    #[must_use]
    pub fn unattributed(&self) -> Usage {
        let mut usage = Usage::default();
        for slot in self.answers.values().filter_map(|slot| self.slab.get(*slot)) {
            if slot.turn.is_none() {
                usage.merge(&sum(&slot.answer));
            }
        }
        usage
    }

    /// Forgets all but the last `keep` requests that are settled and given out, so that memory does
    /// not grow with the history. Later sightings of their messages are ignored: what a ledger
    /// holds of them stands.
    pub fn forget_settled(&mut self, keep: usize) {
        self.catch_up();
        let mut settled: Vec<(Place, TurnId)> = self
            .turns
            .iter()
            .filter(|(_, turn)| turn.announced.admitted.is_some())
            .map(|(id, turn)| (turn.place.clone(), id.clone()))
            .filter(|entry| !self.waiting.contains(entry) && !self.dirty.contains(entry))
            .collect();
        settled.sort();
        let count = settled.len().saturating_sub(keep);
        for (_, id) in settled.into_iter().take(count) {
            self.forget(&id);
        }
    }

    fn forget(&mut self, id: &TurnId) {
        let Some(turn) = self.turns.remove(id) else { return };
        for (place, slot) in turn.answers {
            self.drop_message(&place);
            self.answers.remove(&place);
            self.dirty_answers.remove(&slot);
            self.free.push(slot);
        }
        for place in turn.generated.iter().chain([&turn.place]) {
            self.drop_message(place);
        }
    }

    fn drop_message(&mut self, place: &Place) {
        self.forgotten.insert(place.id.clone());
        let node = self.nodes.remove(&place.id);
        if let Some(overflow) = node.and_then(|node| node.prompt?.overflow) {
            self.replays.remove(&(overflow, place.clone()));
        }
        self.clients.remove(place);
        self.generated.remove(place);
        self.answered.remove(place);
        self.answered_stepped.remove(place);
        self.no_reply.remove(&place.id);
    }
}

fn sum(answer: &Answer) -> Usage {
    let mut usage = Usage::default();
    for (_, counters) in turn::counted(answer) {
        usage.add(&counters);
    }
    usage
}

#[cfg(test)]
mod tests;
