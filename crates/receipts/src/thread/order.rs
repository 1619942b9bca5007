//! In which order do messages stand? By time, ids only to break ties (rule F2).

use crate::id::{MessageId, UnixMillis};

/// Where a message stands in its thread.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// An absent time comes first.
    created: Option<UnixMillis>,
    pub(super) id: MessageId,
}

impl Place {
    pub(super) fn new(created: Option<UnixMillis>, id: MessageId) -> Self {
        Self { created, id }
    }

    /// The earlier of two places of one message; a known time beats an absent one.
    pub(super) fn earlier(self, other: &Self) -> Self {
        match (self.created, other.created) {
            (None, Some(_)) => other.clone(),
            (Some(_), None) => self,
            _ => self.min(other.clone()),
        }
    }

    pub(super) fn time(&self) -> Option<UnixMillis> {
        self.created
    }
}
