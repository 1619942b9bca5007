//! What does a stored message look like? `{info, parts}` as the API returns it.

use serde::Deserialize;
use verbatim::{Field, Flaw, Found, RawValue, Text, read_object};

use crate::part::Part;

/// One message of a session with its parts.
#[derive(Debug)]
pub struct Message<'a> {
    /// What the message is.
    pub info: Info<'a>,
    /// Its parts, in the order of the API (by part id); odd where one is no object.
    pub parts: Vec<Field<Part<'a>>>,
    /// What in it could not be decoded as it stands.
    pub undecodable: Vec<Undecodable>,
}

/// Something that is no decodable JSON, or has another shape than what holds it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undecodable {
    /// Where, as a JSON path inside the message or the file.
    pub path: String,
    /// What was found there.
    pub problem: String,
}

impl From<Flaw> for Undecodable {
    fn from(Flaw { path, kind }: Flaw) -> Self {
        Self { path, problem: kind.to_string() }
    }
}

/// `info` of a message; the fields of both roles in one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Info<'a> {
    /// `msg_…`, opaque.
    #[serde(borrow)]
    pub id: Field<Text<'a>>,
    /// `ses_…` of the session that holds it.
    #[serde(borrow, rename = "sessionID")]
    pub session_id: Field<Text<'a>>,
    /// `user` or `assistant`.
    #[serde(borrow)]
    pub role: Field<Text<'a>>,
    /// When it was created and closed.
    #[serde(deserialize_with = "Field::object")]
    pub time: Field<MessageTime>,
    /// Of an assistant message: the last user message at the moment its step began.
    #[serde(borrow, rename = "parentID")]
    pub parent_id: Field<Text<'a>>,
    /// Which model.
    #[serde(borrow, rename = "modelID")]
    pub model_id: Field<Text<'a>>,
    /// Who serves it.
    #[serde(borrow, rename = "providerID")]
    pub provider_id: Field<Text<'a>>,
    /// Dollars, a running sum over the steps of the message; as JSON text, to stay exact.
    #[serde(borrow)]
    pub cost: Option<&'a RawValue>,
    /// Of the last finished step only.
    #[serde(deserialize_with = "Field::object")]
    pub tokens: Field<Tokens>,
    /// Why the model stopped.
    #[serde(borrow)]
    pub finish: Field<Text<'a>>,
    /// What went wrong.
    #[serde(borrow, deserialize_with = "Field::object")]
    pub error: Field<ErrorInfo<'a>>,
    /// Of an assistant message: `true` for the summary of a compaction. Of a user message: an
    /// object with the changed files.
    #[serde(borrow)]
    pub summary: Option<&'a RawValue>,
    /// The value of a structured output.
    #[serde(borrow)]
    pub structured: Option<&'a RawValue>,
    /// The same, as other builds name it.
    #[serde(borrow)]
    pub structured_output: Option<&'a RawValue>,
}

/// Times of a message; milliseconds since the Unix epoch, by the server's clock.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct MessageTime {
    /// When the row was created.
    pub created: Field<i64>,
    /// When the step was closed.
    pub completed: Field<i64>,
}

/// Token counts; `input` is without cached tokens, `output` is without reasoning.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Tokens {
    /// Recomputed by the AI SDK; absent when the provider sent no usage.
    pub total: Field<u64>,
    /// Prompt tokens that came from no cache.
    pub input: Field<u64>,
    /// Generated tokens that were no reasoning.
    pub output: Field<u64>,
    /// Generated tokens that were reasoning.
    pub reasoning: Field<u64>,
    /// Cached prompt tokens.
    #[serde(deserialize_with = "Field::object")]
    pub cache: Field<CacheTokens>,
}

/// Cached prompt tokens.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct CacheTokens {
    /// Read from the cache.
    pub read: Field<u64>,
    /// Written to the cache.
    pub write: Field<u64>,
}

/// An error as a message stores it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ErrorInfo<'a> {
    /// The name, such as `APIError`.
    #[serde(borrow)]
    pub name: Field<Text<'a>>,
    /// A sentence; some errors have it here.
    #[serde(borrow)]
    pub message: Field<Text<'a>>,
    /// More, by name.
    #[serde(borrow, deserialize_with = "Field::object")]
    pub data: Field<ErrorData<'a>>,
}

/// What an error carries.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ErrorData<'a> {
    /// A sentence.
    #[serde(borrow)]
    pub message: Field<Text<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Split<'a> {
    #[serde(borrow, deserialize_with = "Field::object")]
    info: Field<Info<'a>>,
    #[serde(borrow, deserialize_with = "Field::array")]
    parts: Field<Vec<&'a RawValue>>,
}

impl<'a> Message<'a> {
    /// Decodes one message; what cannot be decoded is listed and the rest decoded all the same.
    #[must_use]
    pub fn decode(raw: &'a RawValue) -> Self {
        let mut flaws = Vec::new();
        let mut missing = Vec::new();
        let mut note = |path: &str, expected: &str, found: Option<Found>| {
            let problem = unexpected(expected, found);
            missing.push(Undecodable { path: path.to_owned(), problem });
        };
        let split = read_object(raw, "", &mut flaws);
        let split: Split<'a> = split.unwrap_or_else(|| {
            note("$", "a message object", Found::of(raw));
            Split { info: Field::Is(Info::default()), parts: Field::Is(Vec::new()) }
        });
        let info = split.info.or_odd(|found| note("info", "an object", found));
        let parts = split.parts.or_odd(|found| note("parts", "an array", found));
        let parts = parts.into_iter().enumerate();
        let parts = parts.map(|(at, raw)| part(at, raw, &mut flaws)).collect();
        missing.extend(flaws.into_iter().map(Undecodable::from));
        Self { info, parts, undecodable: missing }
    }

    /// Gives the parts that are objects, each with its number.
    pub(crate) fn parts(&self) -> impl DoubleEndedIterator<Item = (usize, &Part<'a>)> {
        self.parts.iter().enumerate().filter_map(|(at, part)| Some((at, part.get()?)))
    }
}

fn part<'a>(at: usize, raw: &'a RawValue, flaws: &mut Vec<Flaw>) -> Field<Part<'a>> {
    let known = flaws.len();
    match read_object(raw, "", flaws) {
        Some(part) => {
            // The path is written for the few that have a flaw.
            for flaw in flaws.iter_mut().skip(known) {
                flaw.path = format!("parts[{at}].{}", flaw.path);
            }
            Field::Is(part)
        }
        None => Found::of(raw).map_or(Field::Absent, Field::Odd),
    }
}

/// Says what stood where another shape was expected.
pub(crate) fn unexpected(expected: &str, found: Option<Found>) -> String {
    match found {
        Some(found) => format!("expected {expected}, found {found}"),
        None => format!("expected {expected}, found nothing"),
    }
}

/// Names the shape of a JSON text.
pub(crate) fn shape(raw: &RawValue) -> &'static str {
    match raw.get().as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}
