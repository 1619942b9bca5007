//! Which prompts have an answer, and whose turn is the next of them? (rule F4)
//!
//! A run may hold thousands of prompts that the harness put in. The first prompt behind it that
//! belongs to another turn is found without a look at each of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound::{Excluded, Unbounded},
};

use super::order::Place;
use crate::id::TurnId;

/// Prompts that have an answer, in order, each with the turn that it drives.
#[derive(Debug, Clone, Default)]
pub(super) struct Answered {
    turns: BTreeMap<Place, TurnId>,
    /// Those of another turn than the one before them.
    heads: BTreeSet<Place>,
}

impl Answered {
    /// Takes a prompt with its turn, which may be another than before.
    pub(super) fn set(&mut self, place: &Place, turn: &TurnId) {
        self.turns.insert(place.clone(), turn.clone());
        self.mark(place);
        self.mark_next(place);
    }

    pub(super) fn remove(&mut self, place: &Place) {
        if self.turns.remove(place).is_some() {
            self.heads.remove(place);
            self.mark_next(place);
        }
    }

    pub(super) fn contains(&self, place: &Place) -> bool {
        self.turns.contains_key(place)
    }

    /// Gives the first prompt behind a place, or of all, that belongs to another turn, and that turn.
    pub(super) fn first_other(
        &self,
        behind: Option<&Place>,
        turn: &TurnId,
    ) -> Option<(&Place, &TurnId)> {
        let behind = behind.map_or(Unbounded, Excluded);
        let (first, found) = self.turns.range::<Place, _>((behind, Unbounded)).next()?;
        if found != turn {
            return Some((first, found));
        }
        let next = self.heads.range::<Place, _>((Excluded(first), Unbounded)).next()?;
        self.turns.get_key_value(next)
    }

    /// Gives the last prompt before a place, and its turn.
    pub(super) fn before(&self, place: &Place) -> Option<(&Place, &TurnId)> {
        self.turns.range::<Place, _>((Unbounded, Excluded(place))).next_back()
    }

    fn mark(&mut self, place: &Place) {
        let turn = self.turns.get(place);
        if turn.is_some() && turn != self.before(place).map(|(_, turn)| turn) {
            self.heads.insert(place.clone());
        } else {
            self.heads.remove(place);
        }
    }

    fn mark_next(&mut self, place: &Place) {
        let next = self.turns.range::<Place, _>((Excluded(place), Unbounded)).next();
        if let Some(next) = next.map(|(place, _)| place.clone()) {
            self.mark(&next);
        }
    }
}
