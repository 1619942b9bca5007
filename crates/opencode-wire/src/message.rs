//! What does a stored message look like? `{info, parts}` as the API returns it.

use serde::Deserialize;
use verbatim::{Field, Found, RawValue, Text};

use crate::part::Part;

/// One message of a session with its parts.
#[derive(Debug)]
pub struct Message<'a> {
    /// What the message is.
    pub info: Info<'a>,
    /// Its parts, in the order of the API (by part id).
    pub parts: Vec<Part<'a>>,
    /// What in it could not be decoded at all.
    pub undecodable: Vec<Undecodable>,
}

/// Something in a message that is no decodable JSON, or has another shape than a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undecodable {
    /// Where, as a JSON path inside the message.
    pub path: String,
    /// What was found there.
    pub problem: String,
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
    /// The agent mode; `compaction` for summaries.
    #[serde(borrow)]
    pub mode: Field<Text<'a>>,
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

#[derive(Deserialize)]
struct Sound<'a> {
    #[serde(borrow)]
    info: Info<'a>,
    #[serde(borrow)]
    parts: Vec<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Split<'a> {
    #[serde(borrow)]
    info: Option<&'a RawValue>,
    #[serde(borrow)]
    parts: Option<&'a RawValue>,
}

impl<'a> Message<'a> {
    /// Decodes one message; what cannot be decoded is listed and the rest decoded all the same.
    #[must_use]
    pub fn decode(raw: &'a RawValue) -> Self {
        match serde_json::from_str::<Sound<'a>>(raw.get()) {
            Ok(Sound { info, parts }) => {
                let mut undecodable = Vec::new();
                let parts = Self::parts(parts, &mut undecodable);
                Self { info, parts, undecodable }
            }
            Err(_) => Self::decode_damaged(raw),
        }
    }

    fn decode_damaged(raw: &'a RawValue) -> Self {
        let mut undecodable = Vec::new();
        let mut note = |path: &str, problem: String| {
            undecodable.push(Undecodable { path: path.to_owned(), problem });
        };
        let split: Split<'a> = serde_json::from_str(raw.get()).unwrap_or_else(|_| {
            note("$", format!("expected a message object, found {}", shape(raw)));
            Split::default()
        });
        let info = split.info.map_or_else(Info::default, |raw| {
            serde_json::from_str(raw.get()).unwrap_or_else(|error| {
                let (info, problem) = Self::repaired_info(raw, &error);
                note("info", problem);
                info
            })
        });
        let parts = split.parts.map(|raw| (raw, serde_json::from_str::<Vec<&RawValue>>(raw.get())));
        let parts = match parts {
            Some((_, Ok(parts))) => parts,
            Some((raw, Err(_))) => {
                note("parts", format!("expected an array, found {}", shape(raw)));
                Vec::new()
            }
            None => Vec::new(),
        };
        let parts = Self::parts(parts, &mut undecodable);
        Self { info, parts, undecodable }
    }

    /// Reads what is left of an `info` of which a field cannot be decoded; strings that need
    /// their escapes resolved are lost then, all the others are not.
    fn repaired_info(raw: &'a RawValue, error: &serde_json::Error) -> (Info<'a>, String) {
        let Ok(fields) =
            serde_json::from_str::<std::collections::BTreeMap<&'a str, &'a RawValue>>(raw.get())
        else {
            return (Info::default(), format!("expected an object, found {}", shape(raw)));
        };
        let text = |name| match fields.get(name) {
            Some(raw) => serde_json::from_str(raw.get()).unwrap_or(Field::Odd(found(raw))),
            None => Field::Absent,
        };
        let info = Info {
            id: text("id"),
            session_id: text("sessionID"),
            role: text("role"),
            parent_id: text("parentID"),
            model_id: text("modelID"),
            provider_id: text("providerID"),
            mode: text("mode"),
            finish: text("finish"),
            time: object(&fields, "time"),
            tokens: object(&fields, "tokens"),
            error: object(&fields, "error"),
            cost: fields.get("cost").copied(),
            summary: fields.get("summary").copied(),
            structured: fields.get("structured").copied(),
            structured_output: fields.get("structured_output").copied(),
        };
        (info, format!("a field cannot be decoded: {}", reason(error)))
    }

    fn parts(raw: Vec<&'a RawValue>, undecodable: &mut Vec<Undecodable>) -> Vec<Part<'a>> {
        let mut parts = Vec::with_capacity(raw.len());
        for (at, raw) in raw.into_iter().enumerate() {
            match serde_json::from_str(raw.get()) {
                Ok(part) => parts.push(part),
                Err(error) => {
                    let path = format!("parts[{at}]");
                    let problem = match raw.get().as_bytes().first() {
                        Some(b'{') => format!("cannot be decoded: {}", reason(&error)),
                        _ => format!("expected an object, found {}", shape(raw)),
                    };
                    undecodable.push(Undecodable { path, problem });
                }
            }
        }
        parts
    }
}

fn object<'a, T: Deserialize<'a>>(
    fields: &std::collections::BTreeMap<&'a str, &'a RawValue>,
    name: &str,
) -> Field<T> {
    match fields.get(name) {
        Some(raw) => Field::object(&mut serde_json::Deserializer::from_str(raw.get()))
            .unwrap_or(Field::Odd(found(raw))),
        None => Field::Absent,
    }
}

/// Names the shape of a value that cannot be decoded.
fn found(raw: &RawValue) -> Found {
    match raw.get().as_bytes().first() {
        Some(b'{') => Found::Object,
        Some(b'[') => Found::Array,
        Some(b'"') => Found::String,
        Some(b't' | b'f') => Found::Bool,
        _ => Found::Fraction,
    }
}

/// Why a text cannot be decoded, without any of it: it may hold a secret.
fn reason(error: &serde_json::Error) -> String {
    let kind = match error.classify() {
        serde_json::error::Category::Syntax => "invalid JSON text",
        serde_json::error::Category::Data => "a value of another shape",
        serde_json::error::Category::Eof => "it ends too early",
        serde_json::error::Category::Io => "it cannot be read",
    };
    format!("{kind} at column {}", error.column())
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
