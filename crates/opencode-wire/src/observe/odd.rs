//! What had another shape than expected? Collected while a message is read.

use std::fmt;

use receipts::{Gap, MessageId};
use verbatim::Field;

/// The odd fields of one message.
#[derive(Debug, Default)]
pub(super) struct Odd(Vec<(String, String)>);

impl Odd {
    pub(super) fn note(&mut self, path: impl fmt::Display, problem: String) {
        self.0.push((path.to_string(), problem));
    }

    /// Gives the value of a field, and notes it where it has another shape; only then is the path
    /// written.
    pub(super) fn of<'f, T>(
        &mut self,
        path: impl fmt::Display,
        expected: &str,
        field: &'f Field<T>,
    ) -> Option<&'f T> {
        if let Some(found) = field.odd() {
            self.note(path, format!("expected {expected}, found {found}"));
        }
        field.get()
    }

    pub(super) fn into_gaps(self, message: &MessageId) -> Vec<Gap> {
        self.0
            .into_iter()
            .map(|(path, problem)| Gap::Unreadable {
                message: Some(message.clone()),
                path,
                problem,
            })
            .collect()
    }
}
