//! What does a session look like? The row as the API returns it, as far as the fold needs it.

use serde::Deserialize;
use verbatim::{Field, Text};

/// One session.
///
/// Its own `tokens` and `cost` shrink on revert and count fork copies: never a source.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Session<'a> {
    /// `ses_…`, opaque.
    #[serde(borrow)]
    pub id: Field<Text<'a>>,
    /// The session that started it as a subagent.
    #[serde(borrow, rename = "parentID")]
    pub parent_id: Field<Text<'a>>,
    /// Where it works.
    #[serde(borrow)]
    pub directory: Field<Text<'a>>,
    /// Its title.
    #[serde(borrow)]
    pub title: Field<Text<'a>>,
    /// The version of the server that made it.
    #[serde(borrow)]
    pub version: Field<Text<'a>>,
    /// Its times.
    #[serde(deserialize_with = "Field::object")]
    pub time: Field<SessionTime>,
}

/// Times of a session; milliseconds since the Unix epoch, by the server's clock.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct SessionTime {
    /// When it was created.
    pub created: Field<i64>,
}
