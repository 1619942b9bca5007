//! What does a whole history look like? The files that `turnbook fold opencode` reads.

use std::{borrow::Cow, collections::HashMap};

use receipts::ThreadId;
use serde::Deserialize;
use verbatim::{Field, Found, RawValue, Text, read_object};

use crate::{
    message::{Undecodable, shape, unexpected},
    observe::odd::Odd,
    session::Session,
};

/// Says why a text is no history at all.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The text is not JSON, or ends too early.
    #[error("line {line}, column {column}: {problem}")]
    Json {
        /// Counted from 1.
        line: usize,
        /// Counted from 1, in bytes.
        column: usize,
        /// What is wrong there.
        problem: String,
    },
    /// The text is JSON of another shape.
    #[error("{path}: expected {expected}, found {found}")]
    Shape {
        /// Where, as a JSON path.
        path: String,
        /// What was expected.
        expected: &'static str,
        /// What stood there.
        found: &'static str,
    },
}

impl DecodeError {
    fn json(error: &serde_json::Error) -> Self {
        // The text after the position is the decoder's own: it never quotes the input here.
        let problem = match error.classify() {
            serde_json::error::Category::Eof => "the text ends too early".to_owned(),
            serde_json::error::Category::Syntax
            | serde_json::error::Category::Data
            | serde_json::error::Category::Io => "this is not valid JSON".to_owned(),
        };
        Self::Json { line: error.line(), column: error.column(), problem }
    }
}

/// One reading of the message list.
pub type Snapshot<'a> = Vec<&'a RawValue>;

/// A session with its messages, in one or several readings, and its subagents.
#[derive(Debug)]
pub struct History<'a> {
    /// The session's own row, where the file has it.
    pub session: Option<Session<'a>>,
    /// The readings, in order; at least one.
    pub snapshots: Vec<Snapshot<'a>>,
    /// What is known of the requests beside the history.
    pub intents: Vec<Intent<'a>>,
    /// The sessions that it started.
    pub children: Vec<Self>,
    /// What beside the messages could not be read as it stands.
    pub undecodable: Vec<Undecodable>,
}

/// What is known of a request that a client sent.
#[derive(Debug)]
pub struct Intent<'a> {
    /// The message id under which it was sent.
    pub request: Cow<'a, str>,
    /// It was sent with the wish for no answer.
    pub no_reply: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct IntentRow<'a> {
    #[serde(borrow)]
    request: Field<Text<'a>>,
    no_reply: Field<bool>,
}

/// A message, as far as it says to which session it belongs.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Member<'a> {
    #[serde(borrow, deserialize_with = "Field::object")]
    info: Field<MemberInfo<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct MemberInfo<'a> {
    #[serde(borrow, rename = "sessionID")]
    session: Field<Text<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct File<'a> {
    #[serde(borrow)]
    session: Option<&'a RawValue>,
    #[serde(borrow)]
    messages: Option<&'a RawValue>,
    #[serde(borrow)]
    snapshots: Option<&'a RawValue>,
    #[serde(borrow)]
    intents: Option<&'a RawValue>,
    #[serde(borrow)]
    children: Option<&'a RawValue>,
}

/// How deep subagents may be nested in a file.
const CHILD_DEPTH_MAX: usize = 64;

impl<'a> History<'a> {
    /// Decodes a file: a bare message list, or an object with `session`, `messages` or
    /// `snapshots`, `intents` and `children`.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] when the text as a whole is no history. What is wrong inside one message is
    /// no error: it becomes a gap when the message is observed.
    pub fn decode(text: &'a str) -> Result<Self, DecodeError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        // A bare list is split in one pass; only what is none is looked at whole.
        if text.trim_start().starts_with('[') {
            return Ok(Self::bare(decode_messages(text)?));
        }
        let raw: &RawValue =
            serde_json::from_str(text).map_err(|error| DecodeError::json(&error))?;
        Self::from_raw(raw, "$", 0)
    }

    fn from_raw(raw: &'a RawValue, path: &str, depth: usize) -> Result<Self, DecodeError> {
        let wrong = |path: String, expected, raw: &RawValue| DecodeError::Shape {
            path,
            expected,
            found: shape(raw),
        };
        if raw.get().starts_with('[') {
            return Ok(Self::bare(list(raw, path)?));
        }
        let mut flaws = Vec::new();
        let file = read_object::<File<'a>>(raw, "", &mut flaws);
        let Some(file) = file.filter(|_| depth <= CHILD_DEPTH_MAX) else {
            let expected = "a message list, or an object with `messages` or `snapshots`";
            return Err(wrong(path.to_owned(), expected, raw));
        };
        let mut undecodable: Vec<_> = flaws.into_iter().map(Undecodable::from).collect();
        let session = file.session.and_then(|raw| session(raw, &mut undecodable));
        let mut snapshots: Vec<Snapshot<'a>> = match (file.snapshots, file.messages) {
            (Some(raw), _) => {
                let path = format!("{path}.snapshots");
                list(raw, &path)?
                    .into_iter()
                    .enumerate()
                    .map(|(at, raw)| list(raw, &format!("{path}[{at}]")))
                    .collect::<Result<_, _>>()?
            }
            (None, Some(raw)) => vec![list(raw, &format!("{path}.messages"))?],
            (None, None) => {
                return Err(wrong(path.to_owned(), "`messages` or `snapshots` in the object", raw));
            }
        };
        // Beside snapshots, the message list is the last of them.
        if let (Some(_), Some(raw)) = (file.snapshots, file.messages) {
            snapshots.push(list(raw, &format!("{path}.messages"))?);
        }
        let intents = match file.intents {
            Some(raw) => intents(&list(raw, &format!("{path}.intents"))?, &mut undecodable),
            None => Vec::new(),
        };
        let children = match file.children {
            Some(raw) => list(raw, &format!("{path}.children"))?
                .into_iter()
                .enumerate()
                .map(|(at, raw)| Self::from_raw(raw, &format!("{path}.children[{at}]"), depth + 1))
                .collect::<Result<_, _>>()?,
            None => Vec::new(),
        };
        Ok(Self { session, snapshots, intents, children, undecodable })
    }

    fn bare(messages: Snapshot<'a>) -> Self {
        Self {
            session: None,
            snapshots: vec![messages],
            intents: Vec::new(),
            children: Vec::new(),
            undecodable: Vec::new(),
        }
    }

    /// Says which session it is: by its own row, else the one that most of its messages name, and
    /// the first of them where two are named as often.
    #[must_use]
    pub fn thread(&self) -> Option<ThreadId> {
        let own = self.session.as_ref().and_then(|session| session.id.get());
        if let Some(Ok(id)) = own.map(|id| ThreadId::new(&**id)) {
            return Some(id);
        }
        let mut named: HashMap<Cow<'a, str>, (usize, usize)> = HashMap::new();
        for (at, raw) in self.snapshots.iter().flatten().copied().enumerate() {
            let member = read_object::<Member<'a>>(raw, "", &mut Vec::new());
            if let Some(Field::Is(MemberInfo { session: Field::Is(Text(id)) })) =
                member.map(|member| member.info)
            {
                named.entry(id).or_insert((0, at)).0 += 1;
            }
        }
        let mut named: Vec<_> = named.into_iter().collect();
        named.sort_by_key(|(_, (times, first))| (std::cmp::Reverse(*times), *first));
        named.into_iter().find_map(|(id, _)| ThreadId::new(id).ok())
    }
}

/// Reads a session's row; what in it is odd is told, and the rest of it read.
fn session<'a>(raw: &'a RawValue, undecodable: &mut Vec<Undecodable>) -> Option<Session<'a>> {
    let found = Found::of(raw)?;
    let mut flaws = Vec::new();
    let session: Option<Session<'a>> = read_object(raw, "session", &mut flaws);
    let mut odd = Odd::default();
    match &session {
        Some(session) => odd.session(session),
        None => odd.note("session", unexpected("an object", Some(found))),
    }
    undecodable.extend(flaws.into_iter().map(Undecodable::from));
    undecodable.extend(odd.into_undecodable());
    session
}

/// Reads the intents that can be read, and tells of the others.
fn intents<'a>(list: &[&'a RawValue], undecodable: &mut Vec<Undecodable>) -> Vec<Intent<'a>> {
    let mut odd = Odd::default();
    let mut flaws = Vec::new();
    let mut intents = Vec::with_capacity(list.len());
    for (at, raw) in list.iter().enumerate() {
        let path = format!("intents[{at}]");
        let Some(row) = read_object::<IntentRow<'a>>(raw, &path, &mut flaws) else {
            odd.note(path, unexpected("an object", Found::of(raw)));
            continue;
        };
        odd.needed(format_args!("{path}.request"), "a message id", &row.request);
        odd.field(format_args!("{path}.no_reply"), "a boolean", &row.no_reply);
        if let Field::Is(Text(request)) = row.request {
            let no_reply = row.no_reply.into_option().unwrap_or(false);
            intents.push(Intent { request, no_reply });
        }
    }
    undecodable.extend(flaws.into_iter().map(Undecodable::from));
    undecodable.extend(odd.into_undecodable());
    intents
}

fn list<'a>(raw: &'a RawValue, path: &str) -> Result<Vec<&'a RawValue>, DecodeError> {
    serde_json::from_str(raw.get()).map_err(|_shape| DecodeError::Shape {
        path: path.to_owned(),
        expected: "a list",
        found: shape(raw),
    })
}

/// Splits a message list, as the API returns it, into its messages.
///
/// # Errors
///
/// [`DecodeError`] when the text is no JSON list.
pub fn decode_messages(text: &str) -> Result<Snapshot<'_>, DecodeError> {
    if let Ok(list) = serde_json::from_str(text) {
        return Ok(list);
    }
    let raw: &RawValue = serde_json::from_str(text).map_err(|error| DecodeError::json(&error))?;
    list(raw, "$")
}
