//! Whose answer is it? The way from an answer to the request that drove it (rules F1 and F8).

use std::ops::Bound::{Excluded, Unbounded};

use super::{Entry, Kind, NoReply, Place, Thread, Turn, sum};
use crate::{
    id::{MessageId, TurnId},
    observation::{AnswerRole, Author, Clock, Generated},
};

/// How many earlier prompts are compared with one that may be a replay.
const REPLAY_LOOKBACK: usize = 16;

impl Thread {
    /// Finds the request that drives a prompt.
    ///
    /// Each step goes to an earlier place, so the way ends.
    fn root(&self, id: &MessageId) -> TurnId {
        let mut id = id;
        while let Some(node) = self.nodes.get(id).and_then(|node| node.prompt.as_ref()) {
            let driver = match node.prompt.author {
                Author::Client => self.replayed(&node.place, node.prompt.content),
                Author::Harness(_) => self.driver_before(&node.place),
            };
            match driver {
                Some(driver) => id = driver,
                None => break,
            }
        }
        TurnId::from(id)
    }

    /// The prompt whose run was going on at a place: that of the answer before it, unless a client
    /// asked for something after that answer was closed.
    fn driver_before(&self, place: &Place) -> Option<&MessageId> {
        let before = self.answers.range((Unbounded, Excluded(place))).next_back();
        let answer = before.and_then(|(at, slot)| Some((at, &self.slab.get(*slot)?.answer)));
        let since = answer.map_or(Unbounded, |(at, _)| Excluded(at));
        let closed = answer.and_then(|(_, answer)| answer.completed);
        let asked = self
            .order
            .range((since, Excluded(place)))
            .rev()
            .filter(|(_, entry)| **entry == Entry::Prompt)
            .filter(|(at, _)| answer.is_none() || closed.is_some() && at.time() > closed)
            .filter_map(|(at, _)| self.nodes.get(&at.id)?.prompt.as_ref())
            .find(|prompt| prompt.prompt.author == Author::Client);
        if let Some(asked) = asked {
            return Some(&asked.place.id);
        }
        let parent = answer?.1.parent.as_ref()?;
        self.is_before(parent, place).then_some(parent)
    }

    fn is_before(&self, id: &MessageId, place: &Place) -> bool {
        match self.nodes.get(id).and_then(|node| node.prompt.as_ref()) {
            Some(prompt) => prompt.place < *place,
            // The end of the way: a prompt that is not in the history.
            None => true,
        }
    }

    /// The prompt that the one at `place` replays: it says the same and stands right after the
    /// summary that an overflow called for.
    ///
    /// Source: OpenCode 1.18.33, whose replay carries no mark.
    fn replayed(&self, place: &Place, content: Option<u64>) -> Option<&MessageId> {
        let content = content?;
        let (_, entry) = self.order.range((Unbounded, Excluded(place))).next_back()?;
        let Entry::Answer(slot) = entry else { return None };
        let summary = &self.slab.get(*slot)?.answer;
        if summary.role != AnswerRole::Summary {
            return None;
        }
        let compaction = self.nodes.get(summary.parent.as_ref()?)?.prompt.as_ref()?;
        if compaction.prompt.author != Author::Harness(Generated::OverflowCompaction)
            || compaction.place >= *place
        {
            return None;
        }
        self.order
            .range((Unbounded, Excluded(&compaction.place)))
            .rev()
            .filter(|(_, entry)| **entry == Entry::Prompt)
            .take(REPLAY_LOOKBACK)
            .filter_map(|(place, _)| self.nodes.get(&place.id)?.prompt.as_ref())
            .find(|prompt| prompt.prompt.content == Some(content))
            .map(|prompt| &prompt.place.id)
    }

    /// Gives an answer to the turn of its prompt.
    pub(super) fn adopt(&mut self, slot: usize, parent: &MessageId) {
        let node = self.nodes.entry(parent.clone()).or_default();
        node.answered_by.insert(slot);
        let (root, prompt_place) = match &node.prompt {
            Some(prompt) => (prompt.root.clone(), Some(prompt.place.clone())),
            None => (TurnId::from(parent), None),
        };
        if let Some(place) = prompt_place {
            self.now_answered(place);
        }
        self.join(slot, root);
    }

    /// A prompt has an answer: the requests before it may be absorbed by it.
    pub(super) fn now_answered(&mut self, place: Place) {
        if self.clock(&place.id) == Clock::SteppedBack
            && self.answered_stepped.insert(place.clone())
        {
            self.dirty.append(&mut self.waiting);
        }
        if self.answered.insert(place.clone()) {
            while self.waiting.first().is_some_and(|(waiting, _)| *waiting < place) {
                self.dirty.extend(self.waiting.pop_first());
            }
        }
    }

    fn join(&mut self, slot: usize, root: TurnId) {
        let Some(known) = self.slab.get_mut(slot) else { return };
        known.turn = Some(root.clone());
        let (place, usage) = (known.place.clone(), sum(&known.answer));
        let children = known.answer.children.clone();
        let turn = self
            .turns
            .entry(root.clone())
            .or_insert_with(|| Turn::new(Kind::Orphan, place.clone()));
        turn.usage.merge(&usage);
        turn.children.extend(children);
        turn.place_answer(&place, &known.answer);
        turn.answers.insert(place, slot);
        self.place_orphan(&root);
        if let Some(turn) = self.turns.get(&root) {
            self.dirty.insert((turn.place.clone(), root));
        }
        self.dirty_answers.insert(slot);
    }

    fn leave(&mut self, slot: usize) {
        let Some(known) = self.slab.get_mut(slot) else { return };
        let Some(root) = known.turn.take() else { return };
        let (place, usage) = (known.place.clone(), sum(&known.answer));
        let Some(turn) = self.turns.get_mut(&root) else { return };
        turn.usage.unmerge(&usage);
        turn.answers.remove(&place);
        turn.open.remove(&place);
        turn.stepped.remove(&place);
        turn.children = turn
            .answers
            .values()
            .filter_map(|slot| self.slab.get(*slot))
            .flat_map(|slot| slot.answer.children.iter().cloned())
            .collect();
        self.dirty.insert((turn.place.clone(), root.clone()));
        self.place_orphan(&root);
        self.drop_if_empty(&root);
    }

    /// A turn whose prompt is not known stands where its first answer stands.
    fn place_orphan(&mut self, root: &TurnId) {
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
        let has_prompt = self
            .nodes
            .get(&own)
            .and_then(|node| node.prompt.as_ref())
            .is_some_and(|prompt| prompt.root == *root);
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
        let (place, parent) = (known.place.clone(), known.answer.parent.clone());
        if let Some(parent) = parent {
            self.adopt(slot, &parent);
        }
        self.reattribute_after(&place);
    }

    /// Looks again at a prompt that is new, or was seen to be another kind of prompt.
    pub(super) fn reattribute_prompt(&mut self, id: &MessageId, place: &Place) {
        let author = self
            .nodes
            .get(id)
            .and_then(|node| node.prompt.as_ref())
            .map(|prompt| prompt.prompt.author);
        match author {
            Some(Author::Harness(_)) => self.generated.insert(place.clone()),
            Some(Author::Client) | None => self.generated.remove(place),
        };
        let mut work = Vec::new();
        self.reroot(id, &mut work);
        self.successors(place, &mut work);
        // Whether what follows its answers leads back to it depends on its place.
        let answers = self.nodes.get(id).into_iter().flat_map(|node| &node.answered_by);
        for slot in answers.filter_map(|slot| self.slab.get(*slot)) {
            self.successors(&slot.place, &mut work);
        }
        self.cascade(work);
    }

    /// Looks again at the prompts whose turn depends on what stands at a place.
    pub(super) fn reattribute_after(&mut self, place: &Place) {
        let mut work = Vec::new();
        self.successors(place, &mut work);
        self.cascade(work);
    }

    /// The prompts up to the next answer that the harness put in, and the very next message, which
    /// may be a replay.
    fn successors(&self, place: &Place, work: &mut Vec<MessageId>) {
        let after = (Excluded(place), Unbounded);
        if let Some((next, Entry::Prompt)) = self.order.range::<Place, _>(after).next() {
            work.push(next.id.clone());
        }
        match self.answers.range::<Place, _>(after).next() {
            Some((end, _)) => {
                let until = (Excluded(place), Excluded(end));
                work.extend(self.generated.range::<Place, _>(until).map(|place| place.id.clone()));
            }
            None => {
                work.extend(self.generated.range::<Place, _>(after).map(|place| place.id.clone()));
            }
        }
    }

    /// Moves answers until no turn changes any more; each move looks only at what follows it.
    fn cascade(&mut self, mut work: Vec<MessageId>) {
        while let Some(id) = work.pop() {
            self.reroot(&id, &mut work);
        }
    }

    fn reroot(&mut self, id: &MessageId, work: &mut Vec<MessageId>) {
        let root = self.root(id);
        let own = TurnId::from(id);
        let Some(prompt) = self.nodes.get_mut(id).and_then(|node| node.prompt.as_mut()) else {
            return;
        };
        let was = std::mem::replace(&mut prompt.root, root.clone());
        let (place, kind) = (prompt.place.clone(), prompt.prompt.kind);
        if root == own {
            self.own_turn(own, place.clone(), kind);
        } else {
            let into = self
                .turns
                .entry(root.clone())
                .or_insert_with(|| Turn::new(Kind::Orphan, place.clone()));
            if into.generated.insert(place.clone()) {
                self.dirty.insert((into.place.clone(), root.clone()));
            }
        }
        if was == root {
            return;
        }
        if let Some(turn) = self.turns.get_mut(&was) {
            turn.generated.remove(&place);
        }
        let answered_by: Vec<usize> = self
            .nodes
            .get(id)
            .map(|node| node.answered_by.iter().copied().collect())
            .unwrap_or_default();
        for slot in answered_by {
            self.leave(slot);
            self.join(slot, root.clone());
            if let Some(place) = self.slab.get(slot).map(|slot| slot.place.clone()) {
                self.successors(&place, work);
            }
        }
        self.drop_if_empty(&was);
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
        self.dirty.insert((place, own));
    }
}
