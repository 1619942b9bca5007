//! Which markers does a prompt carry?

use std::fmt;

use serde::{Deserialize, Serialize};

use super::script::Reply;

/// Names a script; a prompt chooses it with the marker `KEY=name`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Key(String);

impl Key {
    /// Takes `name` as a key.
    ///
    /// # Panics
    ///
    /// When `name` is empty or has another character than ASCII letters, digits, `_`, `-` and `.`:
    /// the marker ends at the first such character.
    #[must_use]
    pub fn new(name: &str) -> Self {
        assert!(
            !name.is_empty() && name.chars().all(is_word),
            "a key is a word of letters, digits, `_`, `-` and `.`, not {name:?}"
        );
        Self(name.to_owned())
    }

    /// The name without the marker.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A prompt that carries this key before `text`.
    #[must_use]
    pub fn prompt(&self, text: &str) -> String {
        format!("KEY={self} {text}")
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.')
}

/// What of `text` chooses or marks an answer.
#[derive(Debug)]
pub(super) enum Choice {
    /// `KEY=name`.
    Key(Key),
    /// `SCRIPT=[…]`, or why what follows the marker is no script.
    Inline(Result<Vec<Reply>, String>),
    /// Neither.
    Default,
}

impl Choice {
    /// Reads `text`. An inline script wins over keys, and the last key over earlier ones: a summary
    /// of a conversation holds the keys of all its turns.
    pub(super) fn of(text: &str) -> Self {
        if let Some((_, rest)) = text.split_once("SCRIPT=") {
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Vec<Reply>>();
            return Self::Inline(match values.next() {
                Some(Ok(replies)) => Ok(replies),
                Some(Err(error)) => Err(error.to_string()),
                None => Err("nothing follows the marker".to_owned()),
            });
        }
        words_after(text, "KEY=").last().map_or(Self::Default, |name| Self::Key(Key(name)))
    }
}

/// The words that follow the marker `MARK=` in `text`, in order.
pub(super) fn marks(text: &str) -> Vec<String> {
    words_after(text, "MARK=").collect()
}

fn words_after<'a>(text: &'a str, marker: &'a str) -> impl Iterator<Item = String> + 'a {
    text.split(marker)
        .skip(1)
        .map(|rest| rest.chars().take_while(|character| is_word(*character)).collect::<String>())
        .filter(|word| !word.is_empty())
}
