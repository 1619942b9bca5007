//! What does a whole history look like? The files that `turnbook fold opencode` reads.

use serde::Deserialize;
use verbatim::RawValue;

use crate::{message::shape, session::Session};

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
}

/// What is known of a request that a client sent.
#[derive(Debug, Deserialize)]
pub struct Intent<'a> {
    /// The message id under which it was sent.
    #[serde(borrow)]
    pub request: std::borrow::Cow<'a, str>,
    /// It was sent with the wish for no answer.
    #[serde(default)]
    pub no_reply: bool,
}

#[derive(Deserialize)]
struct File<'a> {
    #[serde(borrow, default)]
    session: Option<&'a RawValue>,
    #[serde(borrow, default)]
    messages: Option<&'a RawValue>,
    #[serde(borrow, default)]
    snapshots: Option<&'a RawValue>,
    #[serde(borrow, default)]
    intents: Option<&'a RawValue>,
    #[serde(borrow, default)]
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
            let snapshots = vec![decode_messages(text)?];
            return Ok(Self {
                session: None,
                snapshots,
                intents: Vec::new(),
                children: Vec::new(),
            });
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
            let snapshots = vec![list(raw, path)?];
            return Ok(Self {
                session: None,
                snapshots,
                intents: Vec::new(),
                children: Vec::new(),
            });
        }
        if depth > CHILD_DEPTH_MAX || !raw.get().starts_with('{') {
            let expected = "a message list, or an object with `messages` or `snapshots`";
            return Err(wrong(path.to_owned(), expected, raw));
        }
        let file: File<'a> =
            serde_json::from_str(raw.get()).map_err(|error| DecodeError::json(&error))?;
        let session = match file.session {
            Some(raw) if raw.get() != "null" => Some(
                serde_json::from_str(raw.get())
                    .map_err(|_shape| wrong(format!("{path}.session"), "a session object", raw))?,
            ),
            Some(_) | None => None,
        };
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
            Some(raw) => serde_json::from_str(raw.get()).map_err(|_shape| {
                wrong(format!("{path}.intents"), "a list of {\"request\", \"no_reply\"}", raw)
            })?,
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
        Ok(Self { session, snapshots, intents, children })
    }
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
