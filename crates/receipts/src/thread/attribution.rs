//! Whose answer is it? The way from an answer to the request that drove it (rules F1 and F8).
//!
//! Each prompt has a driver: itself, or a prompt that stands before it. What depends on an
//! observation is only marked when that is taken, and looked at in the order of places when a
//! result is asked for: each driver is settled before what it drives, so that a prompt is looked
//! at once, however long the way to its request is and in whatever order the messages came.

use std::{
    collections::BTreeSet,
    ops::Bound::{Excluded, Unbounded},
};

use super::{Kind, NoReply, Place, PromptNode, Thread, Turn, sum};
use crate::{
    id::{MessageId, TurnId},
    observation::{AnswerRole, Author, Clock, Generated},
};

/// How many requests before an overflow are compared with what may be a replay of one, and how
/// many after its summary may be that replay.
const REPLAY_LOOKAROUND: usize = 16;

/// What must be looked at again.
#[derive(Debug, Clone, Default)]
pub(super) struct Stale {
    /// Prompts.
    prompts: BTreeSet<Place>,
    /// Places where something changed on which the prompts behind depend.
    behind: BTreeSet<Place>,
    overflows: Overflows,
}

/// Whether a prompt of a client can be a replay at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Overflows {
    /// No overflow was seen in this thread.
    #[default]
    None,
    /// There was one, perhaps.
    Some,
}

impl Stale {
    pub(super) fn is_empty(&self) -> bool {
        self.prompts.is_empty() && self.behind.is_empty()
    }

    /// What stands at a place is new, gone or another.
    pub(super) fn mark_behind(&mut self, place: &Place) {
        self.behind.insert(place.clone());
    }
}

/// Where a walk over the prompts behind a place ended.
#[derive(Debug, PartialEq, Eq)]
enum Walked {
    /// There was none.
    Nowhere,
    /// At an answer.
    To(Place),
    /// Behind the last message.
    ToTheEnd,
}

/// What an overflow's summary calls for: the same request once more.
struct Overflow {
    /// Where the compaction stands.
    compaction: Place,
    /// The request that says what the replay would say.
    original: Option<MessageId>,
}

impl Thread {
    fn prompt_node(&self, id: &MessageId) -> Option<&PromptNode> {
        self.nodes.get(id)?.prompt.as_ref()
    }

    /// The prompt whose run was going on at a place: that of the answer before it, unless a client
    /// asked for something after that answer was closed.
    fn driver_before(&self, place: &Place) -> Option<&MessageId> {
        let before = self.answers.range((Unbounded, Excluded(place))).next_back();
        let answer = before.and_then(|(at, slot)| Some((at, &self.slab.get(*slot)?.answer)));
        let since = answer.map_or(Unbounded, |(at, _)| Excluded(at));
        let closed = answer.and_then(|(_, answer)| answer.completed);
        // The last of them is also the latest.
        let asked = self.clients.range((since, Excluded(place))).next_back();
        if let Some(asked) = asked
            && (answer.is_none() || closed.is_some() && asked.time() > closed)
        {
            return Some(&asked.id);
        }
        let parent = answer?.1.parent.as_ref()?;
        // The way ends at a prompt that is not in the history.
        let is_before = self.prompt_node(parent).is_none_or(|prompt| prompt.place < *place);
        is_before.then_some(parent)
    }

    /// What a client's prompt may replay: it says the same as a request before an overflow, and is
    /// the first that does so after the summary that the overflow called for. Requests that were
    /// queued meanwhile may stand between.
    ///
    /// Source: OpenCode 1.18.33, whose replay carries no mark.
    fn overflow_before(&self, place: &Place, content: Option<u64>) -> Option<Overflow> {
        let (at, slot) = self.answers.range((Unbounded, Excluded(place))).next_back()?;
        let summary = &self.slab.get(*slot)?.answer;
        if summary.role != AnswerRole::Summary {
            return None;
        }
        let compaction = self.prompt_node(summary.parent.as_ref()?)?;
        if compaction.prompt.author != Author::Harness(Generated::OverflowCompaction)
            || compaction.place >= *place
        {
            return None;
        }
        let says_it = |at: &Place| {
            let prompt = self.prompt_node(&at.id);
            content.is_some() && prompt.is_some_and(|prompt| prompt.prompt.content == content)
        };
        let may_replay = |at: &Place| summary.completed.is_none() || at.time() >= summary.completed;
        let behind = self.clients.range((Excluded(at), Unbounded)).take(REPLAY_LOOKAROUND);
        let first = behind.filter(|at| may_replay(at)).find(|at| says_it(at));
        let requests = self.clients.range((Unbounded, Excluded(&compaction.place))).rev();
        let original = requests
            .take(REPLAY_LOOKAROUND)
            .find(|at| first == Some(place) && says_it(at))
            .map(|at| at.id.clone());
        Some(Overflow { compaction: compaction.place.clone(), original })
    }

    /// Gives an answer to the turn of its prompt.
    pub(super) fn adopt(&mut self, slot: usize, parent: &MessageId) {
        let node = self.nodes.entry(parent.clone()).or_default();
        node.answered_by.insert(slot);
        // One that has another answer is known to be answered.
        let is_first = node.answered_by.len() == 1;
        let (root, prompt) = match &node.prompt {
            Some(prompt) => {
                (prompt.root.clone(), Some((prompt.place.clone(), prompt.prompt.clock)))
            }
            None => (TurnId::from(parent), None),
        };
        if let Some((place, clock)) = prompt.filter(|_| is_first) {
            self.now_answered(&place, &root, clock);
        }
        self.join(slot, root);
    }

    /// A prompt has an answer: the requests before it may be absorbed by it.
    pub(super) fn now_answered(&mut self, place: &Place, root: &TurnId, clock: Clock) {
        if clock == Clock::SteppedBack && !self.answered_stepped.contains(place) {
            self.answered_stepped.set(place, root);
            self.dirty.append(&mut self.waiting);
        }
        if self.answered.contains(place) {
            return;
        }
        // Those before the last answered prompt are followed by that one, or are its own turn.
        let last = self.answered.before(place).map(|(last, turn)| (last.clone(), turn.clone()));
        self.answered.set(place, root);
        let own = last.as_ref().and_then(|(_, turn)| {
            let place = self.turns.get(turn)?.place.clone();
            Some((place, turn.clone()))
        });
        let last = last.map(|(last, _)| last);
        let until = (Unbounded, Excluded((place.clone(), TurnId::from(&place.id))));
        let followed = self.waiting.range(until).rev();
        let followed: Vec<_> = followed
            .take_while(|(at, _)| last.as_ref().is_none_or(|last| at >= last))
            .cloned()
            .chain(own)
            .collect();
        for turn in followed {
            if self.waiting.remove(&turn) {
                self.dirty.insert(turn);
            }
        }
    }

    fn join(&mut self, slot: usize, root: TurnId) {
        let Some(known) = self.slab.get_mut(slot) else { return };
        known.turn = Some(root.clone());
        let turn = self
            .turns
            .entry(root.clone())
            .or_insert_with(|| Turn::new(Kind::Orphan, known.place.clone()));
        turn.usage.merge(&sum(&known.answer));
        turn.add_children(&known.answer);
        turn.place_answer(&known.place, slot, &known.answer);
        self.dirty_answers.insert(slot);
        self.dirty.insert((turn.place.clone(), root.clone()));
        if turn.kind == Kind::Orphan {
            self.place_orphan(&root);
        }
    }

    fn leave(&mut self, slot: usize) {
        let Some(known) = self.slab.get_mut(slot) else { return };
        let Some(root) = known.turn.take() else { return };
        let Some(turn) = self.turns.get_mut(&root) else { return };
        turn.usage.unmerge(&sum(&known.answer));
        turn.remove_children(&known.answer);
        turn.remove_answer(&known.place);
        self.touch(&root);
        self.place_orphan(&root);
        self.drop_if_empty(&root);
    }

    /// A turn must be announced again.
    pub(super) fn touch(&mut self, id: &TurnId) {
        if let Some(turn) = self.turns.get(id) {
            self.dirty.insert((turn.place.clone(), id.clone()));
        }
    }

    /// A turn whose prompt is not known stands where its first answer stands.
    pub(super) fn place_orphan(&mut self, root: &TurnId) {
        let Some(turn) = self.turns.get_mut(root) else { return };
        let first = turn.answers.first_key_value().map(|(place, _)| place);
        if let Some(first) = first
            && turn.kind == Kind::Orphan
            && *first != turn.place
        {
            let was = (std::mem::replace(&mut turn.place, first.clone()), root.clone());
            if self.waiting.remove(&was) {
                self.waiting.insert((turn.place.clone(), root.clone()));
            }
            if self.dirty.remove(&was) {
                self.dirty.insert((turn.place.clone(), root.clone()));
            }
        }
    }

    /// A turn exists as long as it has a prompt of its own or an answer.
    fn drop_if_empty(&mut self, root: &TurnId) {
        let Some(turn) = self.turns.get(root) else { return };
        let own = MessageId::from(root);
        let has_prompt = self.prompt_node(&own).is_some_and(|prompt| prompt.root == *root);
        if turn.answers.is_empty() && !has_prompt {
            self.waiting.remove(&(turn.place.clone(), root.clone()));
            self.dirty.remove(&(turn.place.clone(), root.clone()));
            self.turns.remove(root);
        }
    }

    /// The prompt that an answer names was seen to be another one.
    pub(super) fn reparent(&mut self, slot: usize, was: Option<&MessageId>) {
        if let Some(node) = was.and_then(|was| self.nodes.get_mut(was)) {
            node.answered_by.remove(&slot);
            if node.answered_by.is_empty()
                && let Some(prompt) = &node.prompt
            {
                self.answered.remove(&prompt.place);
                self.answered_stepped.remove(&prompt.place);
            }
        }
        self.leave(slot);
        let Some(known) = self.slab.get(slot) else { return };
        self.stale.mark_behind(&known.place);
        if let Some(parent) = known.answer.parent.clone() {
            self.adopt(slot, &parent);
        }
    }

    /// A prompt is new, stands elsewhere, or was seen to be another kind of prompt.
    pub(super) fn changed_prompt(&mut self, id: &MessageId, place: &Place) {
        let Some(prompt) = self.prompt_node(id) else { return };
        match prompt.prompt.author {
            Author::Harness(why) => {
                if why == Generated::OverflowCompaction {
                    self.stale.overflows = Overflows::Some;
                }
                self.generated.insert(place.clone());
            }
            Author::Client => {
                self.clients.insert(place.clone());
            }
        }
        self.stale.prompts.insert(place.clone());
        self.stale.mark_behind(place);
        self.mark_replays(place);
        // Whether what follows its answers leads back to it depends on its place.
        let answers = self.nodes.get(id).into_iter().flat_map(|node| &node.answered_by);
        for slot in answers.filter_map(|slot| self.slab.get(*slot)) {
            self.stale.mark_behind(&slot.place);
        }
    }

    /// Marks the prompts that may replay what stands at a place.
    pub(super) fn mark_replays(&mut self, place: &Place) {
        let replays = self.replays_of(place);
        self.stale.prompts.extend(replays);
    }

    fn replays_of(&self, place: &Place) -> Vec<Place> {
        if self.replays.is_empty() {
            return Vec::new();
        }
        let mut later = self.clients.range::<Place, _>((Excluded(place), Unbounded));
        let end = later.nth(REPLAY_LOOKAROUND - 1);
        self.replays
            .range((Excluded((place.clone(), place.clone())), Unbounded))
            .take_while(|(compaction, _)| end.is_none_or(|end| compaction <= end))
            .map(|(_, replay)| replay.clone())
            .collect()
    }

    /// Brings every prompt and answer to its turn, first what stands first.
    pub(super) fn attribute(&mut self) {
        let mut work = std::mem::take(&mut self.stale.prompts);
        let mut walked = Walked::Nowhere;
        for place in std::mem::take(&mut self.stale.behind) {
            self.mark_successors(&place, &mut walked, &mut work);
        }
        while let Some(place) = work.pop_first() {
            self.attribute_prompt(&place, &mut work);
        }
    }

    /// The prompts whose driver depends on what stands at a place: up to the next answer all that
    /// the harness put in, and the first of a client's, which may be replays.
    ///
    /// Where the last walk ended at the same answer, it went over the same prompts.
    fn mark_successors(&self, place: &Place, walked: &mut Walked, work: &mut BTreeSet<Place>) {
        let end = self.answers.range::<Place, _>((Excluded(place), Unbounded)).next();
        let end = end.map(|(place, _)| place);
        let range = (Excluded(place), end.map_or(Unbounded, Excluded));
        if self.stale.overflows == Overflows::Some {
            work.extend(self.clients.range::<Place, _>(range).take(REPLAY_LOOKAROUND).cloned());
        }
        let until = end.map_or(Walked::ToTheEnd, |end| Walked::To(end.clone()));
        if *walked != until {
            work.extend(self.generated.range::<Place, _>(range).cloned());
            *walked = until;
        }
    }

    fn attribute_prompt(&mut self, place: &Place, work: &mut BTreeSet<Place>) {
        let id = &place.id;
        let Some(node) = self.prompt_node(id).filter(|node| node.place == *place) else { return };
        let (was, kind) = (node.root.clone(), node.prompt.kind);
        let (overflow, driver) = match node.prompt.author {
            Author::Client => match self.overflow_before(place, node.prompt.content) {
                Some(Overflow { compaction, original }) => (Some(compaction), original),
                None => (None, None),
            },
            Author::Harness(_) => (None, self.driver_before(place).cloned()),
        };
        let own = TurnId::from(id);
        let root = match &driver {
            Some(driver) => match self.prompt_node(driver) {
                Some(prompt) => prompt.root.clone(),
                None => TurnId::from(driver),
            },
            None => own.clone(),
        };
        self.may_replay(place, overflow);
        if root == own {
            self.own_turn(own, place.clone(), kind);
        } else {
            self.lend(place, &root);
        }
        if was != root {
            self.move_prompt_to(place, &was, root, work);
        }
    }

    /// Keeps where a prompt stands that may be a replay after a compaction.
    fn may_replay(&mut self, place: &Place, overflow: Option<Place>) {
        let Some(node) = self.nodes.get_mut(&place.id).and_then(|node| node.prompt.as_mut()) else {
            return;
        };
        let was = std::mem::replace(&mut node.overflow, overflow.clone());
        if was != overflow {
            if let Some(was) = was {
                self.replays.remove(&(was, place.clone()));
            }
            if let Some(overflow) = overflow {
                self.replays.insert((overflow, place.clone()));
            }
        }
    }

    /// A prompt belongs to the turn of another.
    fn lend(&mut self, place: &Place, root: &TurnId) {
        let into = self
            .turns
            .entry(root.clone())
            .or_insert_with(|| Turn::new(Kind::Orphan, place.clone()));
        if into.generated.insert(place.clone()) {
            into.unsaid.generated.insert(place.clone());
            if let Some(prompt) = self.nodes.get(&place.id).and_then(|node| node.prompt.as_ref()) {
                into.unsaid.gaps.extend(prompt.gaps.iter().cloned());
            }
            self.touch(root);
        }
    }

    fn move_prompt_to(
        &mut self,
        place: &Place,
        was: &TurnId,
        root: TurnId,
        work: &mut BTreeSet<Place>,
    ) {
        let Some(node) = self.nodes.get_mut(&place.id) else { return };
        let answers: Vec<usize> = node.answered_by.iter().copied().collect();
        if let Some(prompt) = &mut node.prompt {
            prompt.root = root.clone();
            if let Some(turn) = self.turns.get_mut(was) {
                turn.generated.remove(place);
                turn.unsaid.generated.remove(place);
                turn.unsaid.gaps.retain(|gap| !prompt.gaps.contains(gap));
            }
        }
        for answered in [&mut self.answered, &mut self.answered_stepped] {
            if answered.contains(place) {
                answered.set(place, &root);
            }
        }
        // What a client asked for drives what the harness puts in behind it, and a replay of it.
        if self.clients.contains(place) {
            self.mark_successors(place, &mut Walked::Nowhere, work);
            work.extend(self.replays_of(place));
        }
        for slot in answers {
            self.leave(slot);
            self.join(slot, root.clone());
            if let Some(place) = self.slab.get(slot).map(|slot| slot.place.clone()) {
                self.mark_successors(&place, &mut Walked::Nowhere, work);
            }
        }
        self.drop_if_empty(was);
    }

    fn own_turn(&mut self, own: TurnId, place: Place, kind: Kind) {
        let wished = self.no_reply.contains(own.as_str());
        let turn = self.turns.entry(own.clone()).or_insert_with(|| Turn::new(kind, place.clone()));
        self.waiting.remove(&(turn.place.clone(), own.clone()));
        self.dirty.remove(&(turn.place.clone(), own.clone()));
        turn.kind = kind;
        turn.place = place.clone();
        if wished {
            turn.no_reply = NoReply::Wished;
        }
        // The turn may be new, while what did not fit in its prompt was seen before.
        let prompt = self.nodes.get(&place.id).and_then(|node| node.prompt.as_ref());
        turn.unsaid.gaps.extend(prompt.into_iter().flat_map(|prompt| prompt.gaps.iter().cloned()));
        self.dirty.insert((place, own));
    }
}
