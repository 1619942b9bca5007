//! What does the server say of itself and of what it refuses? Health, version, error bodies.
//!
//! Source: `GET /global/health` and the error answers of `opencode-ai` 1.18.33 as recorded: errors
//! come as `{name, data: {message}}` or as `{_tag, message}`.

use std::fmt;

use serde::Deserialize;
use verbatim::{Field, Text};

use crate::message::ErrorData;

/// The answer to `GET /global/health`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Health<'a> {
    /// Whether the server says that it works.
    pub healthy: Field<bool>,
    /// Its version.
    #[serde(borrow)]
    pub version: Field<Text<'a>>,
}

/// A version of OpenCode whose API this build knows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Version {
    text: Box<str>,
    numbers: (u64, u64, u64),
}

/// The only major version whose API and tables are known.
const MAJOR: u64 = 1;

/// Says why a version is not worked with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// It is a version of another major number: its API and tables are others.
    #[error("OpenCode {version} is not supported: only {MAJOR}.x is; its API and tables differ")]
    Major {
        /// The version.
        version: Box<str>,
    },
    /// It is no version number.
    #[error("{version:?} is no version of OpenCode that is known; only {MAJOR}.x is supported")]
    Unreadable {
        /// What stood in its place.
        version: Box<str>,
    },
}

impl Version {
    /// Takes a version text such as `1.18.33`, with or without a suffix.
    ///
    /// # Errors
    ///
    /// [`VersionError`] when the major number is another one, or there is none.
    pub fn parse(text: &str) -> Result<Self, VersionError> {
        let unreadable = || VersionError::Unreadable { version: text.into() };
        let core = text.split(['-', '+']).next().unwrap_or(text);
        let mut numbers = core.split('.').map(str::parse::<u64>);
        let mut next = || numbers.next().and_then(Result::ok).ok_or_else(unreadable);
        let major = next()?;
        if major != MAJOR {
            return Err(VersionError::Major { version: text.into() });
        }
        Ok(Self { text: text.into(), numbers: (major, next()?, next()?) })
    }

    /// Gives the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Gives major, minor and patch number.
    #[must_use]
    pub fn numbers(&self) -> (u64, u64, u64) {
        self.numbers
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ErrorBody<'a> {
    #[serde(borrow)]
    name: Field<Text<'a>>,
    #[serde(borrow, rename = "_tag")]
    tag: Field<Text<'a>>,
    #[serde(borrow)]
    message: Field<Text<'a>>,
    #[serde(borrow, deserialize_with = "Field::object")]
    data: Field<ErrorData<'a>>,
}

/// What an error answer says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Refusal {
    /// The native name, such as `BadRequest`; empty when the body has none.
    pub name: Box<str>,
    /// The sentence, as the server wrote it; empty when there is none. It may quote what was sent.
    pub message: Box<str>,
}

impl Refusal {
    /// Reads an error body; what is no such body gives an empty one.
    #[must_use]
    pub fn decode(body: &str) -> Self {
        let body: ErrorBody<'_> = serde_json::from_str(body).unwrap_or_default();
        let text = |fields: [Option<&Text<'_>>; 2]| {
            fields.into_iter().flatten().next().map_or_else(Box::default, |text| (**text).into())
        };
        let data = body.data.get().and_then(|data| data.message.get());
        Self {
            name: text([body.name.get(), body.tag.get()]),
            message: text([data, body.message.get()]),
        }
    }

    /// Tells whether a read was refused because a user message in it has an output format that the
    /// server cannot write out again.
    ///
    /// Every read that touches such a message fails so, for ever; reads around it work.
    #[must_use]
    pub fn is_poisoned_read(&self) -> bool {
        &*self.name == "BadRequest" && self.message.contains("OutputFormat")
    }
}

#[cfg(test)]
mod tests {
    use super::{Refusal, Version, VersionError};

    #[test]
    fn only_the_known_major_version_is_taken() {
        let version = Version::parse("1.18.33-beta.2").map(|version| version.numbers());
        assert_eq!(version, Ok((1, 18, 33)));
        let major = Version::parse("2.0.1").unwrap_err();
        assert_eq!(
            major.to_string(),
            "OpenCode 2.0.1 is not supported: only 1.x is; its API and tables differ"
        );
        assert_eq!(Version::parse("0.9.0"), Err(VersionError::Major { version: "0.9.0".into() }));
        for text in ["", "local", "1", "1.x.3"] {
            let expected = Err(VersionError::Unreadable { version: text.into() });
            assert_eq!(Version::parse(text), expected);
        }
    }

    #[test]
    fn error_bodies_of_both_shapes_are_read() {
        let named = r#"{"name":"NotFoundError","data":{"message":"Message not found: msg_x"}}"#;
        let tagged = r#"{"_tag":"SessionBusyError","sessionID":"s","message":"Session is busy"}"#;
        let expect =
            |name: &str, message: &str| Refusal { name: name.into(), message: message.into() };
        assert_eq!(Refusal::decode(named), expect("NotFoundError", "Message not found: msg_x"));
        assert_eq!(Refusal::decode(tagged), expect("SessionBusyError", "Session is busy"));
        assert_eq!(Refusal::decode(r#"{"_tag":"BadRequest"}"#), expect("BadRequest", ""));
        for text in ["", "<html>", "[1]", "null", r#"{"name":5}"#] {
            assert_eq!(Refusal::decode(text), Refusal::default());
        }
    }

    #[test]
    fn a_poisoned_read_is_told_from_other_refusals() {
        let poisoned = r#"{"name":"BadRequest","data":{"message":"Expected OutputFormatJsonSchema, got {\"type\":\"json_schema\"}\n  at [0][\"info\"][\"format\"]","kind":"Body"}}"#;
        assert!(Refusal::decode(poisoned).is_poisoned_read());
        assert!(!Refusal::decode(r#"{"_tag":"BadRequest"}"#).is_poisoned_read());
    }
}
