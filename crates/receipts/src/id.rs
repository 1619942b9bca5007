//! Which names do things have? Every identifier and the one clock unit.
//!
//! Identifiers are opaque: they are compared for equality, never parsed, ordered by meaning or
//! paged by. `Ord` exists so that they can be map keys and break ties between equal times (rule
//! F2).

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

/// The longest identifier that is accepted, in bytes.
pub const ID_BYTES_MAX: usize = 8 * 1024;

/// Says why a text cannot be an identifier (rule L13).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The text is empty; the caller has lost the id and must find it again.
    #[error("{what} is empty")]
    Empty {
        /// The kind of identifier.
        what: &'static str,
    },
    /// The text holds a NUL byte, which no store can keep faithfully.
    #[error("{what} holds a NUL byte at byte {at}")]
    Nul {
        /// The kind of identifier.
        what: &'static str,
        /// Offset of the first NUL, in bytes.
        at: usize,
    },
    /// The text is longer than [`ID_BYTES_MAX`].
    #[error("{what} is {len} bytes long, at most {ID_BYTES_MAX} are accepted")]
    TooLong {
        /// The kind of identifier.
        what: &'static str,
        /// The length found, in bytes.
        len: usize,
    },
}

fn check(what: &'static str, text: &str) -> Result<(), IdError> {
    if text.is_empty() {
        return Err(IdError::Empty { what });
    }
    if text.len() > ID_BYTES_MAX {
        return Err(IdError::TooLong { what, len: text.len() });
    }
    match text.bytes().position(|byte| byte == 0) {
        Some(at) => Err(IdError::Nul { what, at }),
        None => Ok(()),
    }
}

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks and takes a text as this kind of identifier.
            ///
            /// # Errors
            ///
            /// [`IdError`] when the text is empty, too long or holds a NUL byte.
            pub fn new(text: impl AsRef<str>) -> Result<Self, IdError> {
                let text = text.as_ref();
                check($what, text)?;
                Ok(Self(Arc::from(text)))
            }

            /// Gives the text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;

            fn try_from(text: String) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.as_str().to_owned()
            }
        }

        // Maps keyed by this id can be asked with a plain `&str`.
        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

id_type!(
    /// Names one durable conversation of ours; outlives programs, providers and titles.
    SessionId,
    "session id"
);
id_type!(
    /// Names the harness's own conversation (OpenCode `ses_…`).
    ThreadId,
    "thread id"
);
id_type!(
    /// Names one captured piece of work fed to a session; public and opaque.
    InputKey,
    "input key"
);
id_type!(
    /// Names one run of a program that drives sessions.
    ExecId,
    "exec id"
);
id_type!(
    /// Names one prompt that we mean to send; ours, not the harness's.
    RequestId,
    "request id"
);
id_type!(
    /// Names the harness's work on one request; for OpenCode the id of the user message.
    TurnId,
    "turn id"
);
id_type!(
    /// Names one message in a harness's history.
    MessageId,
    "message id"
);
id_type!(
    /// Names one model call in the whole store (rule L14).
    CallKey,
    "call key"
);

impl From<&MessageId> for TurnId {
    fn from(id: &MessageId) -> Self {
        Self(Arc::clone(&id.0))
    }
}

impl From<&TurnId> for MessageId {
    fn from(id: &TurnId) -> Self {
        Self(Arc::clone(&id.0))
    }
}

/// A point in time: milliseconds since the Unix epoch, by the clock that the holder names.
///
/// Native times are by the harness's clock, which may step in either direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixMillis(pub i64);
