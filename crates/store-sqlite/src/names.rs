//! Which number stands for a text, and which text for a number?

use std::{collections::HashMap, sync::Arc};

/// How many names are remembered before all are forgotten, to bound the memory.
const NAMES_MAX: usize = 8192;

/// Names that were read or written on one connection. A stored name never changes, so that what is
/// remembered stays true; only what a rolled back transaction wrote must be forgotten.
#[derive(Debug, Default)]
pub(crate) struct Names {
    ids: HashMap<Arc<str>, i64>,
    texts: HashMap<i64, Arc<str>>,
}

impl Names {
    pub(crate) fn id(&self, text: &str) -> Option<i64> {
        self.ids.get(text).copied()
    }

    pub(crate) fn text(&self, id: i64) -> Option<Arc<str>> {
        self.texts.get(&id).map(Arc::clone)
    }

    pub(crate) fn remember(&mut self, id: i64, text: Arc<str>) {
        if self.ids.len() >= NAMES_MAX {
            self.forget();
        }
        self.ids.insert(Arc::clone(&text), id);
        self.texts.insert(id, text);
    }

    pub(crate) fn forget(&mut self) {
        self.ids.clear();
        self.texts.clear();
    }
}
