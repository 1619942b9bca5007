//! What does a session look like? The row as the API returns it, as far as the fold needs it.

use std::borrow::Cow;

use receipts::{ThreadId, UnixMillis};
use serde::Deserialize;
use verbatim::{Field, RawValue, Text, read_object};

use crate::{event::EventError, message::shape};

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

/// What a client needs to know of a session, on its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// Its id.
    pub thread: ThreadId,
    /// The session that started it as a subagent.
    pub parent: Option<ThreadId>,
    /// Where it works; status, permissions and questions are asked there.
    pub directory: Option<Box<str>>,
    /// Its title.
    pub title: Option<Box<str>>,
    /// The version of the server that made it.
    pub version: Option<Box<str>>,
    /// When it was created, by the server's clock.
    pub created: Option<UnixMillis>,
}

impl SessionRow {
    /// Decodes a session object of the API.
    ///
    /// # Errors
    ///
    /// [`EventError`] when it is no object with an id. Other fields of another shape are absent.
    pub fn decode(raw: &RawValue) -> Result<Self, EventError> {
        let wrong = |path: &str, expected, found: Cow<'static, str>| EventError {
            kind: "session".into(),
            path: path.into(),
            expected,
            found,
        };
        let session: Session<'_> = read_object(raw, "", &mut Vec::new())
            .ok_or_else(|| wrong("$", "a session object", shape(raw).into()))?;
        let Some(id) = session.id.get() else {
            let found = session.id.odd().map_or("nothing".into(), |odd| odd.to_string().into());
            return Err(wrong("id", "a session id", found));
        };
        let thread = ThreadId::new(&**id)
            .map_err(|error| wrong("id", "a session id", error.to_string().into()))?;
        let text = |field: &Field<Text<'_>>| field.get().map(|text| (**text).into());
        let parent = session.parent_id.get().and_then(|id| ThreadId::new(&**id).ok());
        let created = session.time.get().and_then(|time| time.created.get()).copied();
        Ok(Self {
            thread,
            parent,
            directory: text(&session.directory),
            title: text(&session.title),
            version: text(&session.version),
            created: created.map(UnixMillis),
        })
    }
}
