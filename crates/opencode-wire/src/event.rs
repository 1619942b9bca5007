//! What does the server tell while it runs? The events of `GET /global/event`.
//!
//! Source: the stream of `opencode-ai` 1.18.33 as recorded: each event comes as
//! `{directory, project, payload}`, and each durable one a second time as a `sync` payload with a
//! sequence number that has no gaps within a session.
//!
//! Events are hints: they say what to read. An event of an unknown kind is passed on as such; one
//! of a known kind and another shape is an error, never skipped silently.

use std::{borrow::Cow, collections::BTreeMap};

use receipts::{MessageId, ThreadId};
use serde::Deserialize;
use verbatim::{Found, RawValue};

use crate::{ask::Asked, message::shape, session::SessionRow};

/// Says what in an event has another shape than expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {kind}: {path}: expected {expected}, found {found}")]
pub struct EventError {
    /// The kind of event, as far as it is known.
    pub kind: Box<str>,
    /// Where, as a JSON path.
    pub path: Box<str>,
    /// What was expected.
    pub expected: &'static str,
    /// What stood there; never the value itself.
    pub found: Cow<'static, str>,
}

/// One thing that the server tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The stream stands; what happened before it is not told.
    Connected,
    /// Nothing happened for ten seconds.
    Heartbeat,
    /// Everything that ran in a directory was stopped.
    Disposed {
        /// The directory.
        directory: Option<Box<str>>,
    },
    /// A durable event of a session got this number.
    Sync {
        /// The session.
        thread: ThreadId,
        /// One higher with each durable event of the session.
        seq: u64,
    },
    /// A session was made or changed.
    Session(SessionRow),
    /// A session was deleted with everything in it.
    SessionDeleted {
        /// The session.
        thread: ThreadId,
    },
    /// The row of a message changed.
    Message {
        /// The session.
        thread: ThreadId,
        /// The message.
        message: MessageId,
        /// The row itself, as JSON text, for when it cannot be read back.
        info: Box<str>,
    },
    /// A message was deleted.
    MessageRemoved {
        /// The session.
        thread: ThreadId,
        /// The message.
        message: MessageId,
    },
    /// A part of a message changed.
    Part(PartChange),
    /// A part of a message was deleted.
    PartRemoved {
        /// The session.
        thread: ThreadId,
        /// The message.
        message: MessageId,
    },
    /// Text was added to a part; not stored yet.
    Delta(Delta),
    /// How the run of a session stands, in the memory of this server.
    Status {
        /// The session.
        thread: ThreadId,
        /// How it stands.
        status: RunStatus,
    },
    /// The run of a session ended; told early and more than once.
    Idle {
        /// The session.
        thread: ThreadId,
    },
    /// Something failed; it does not say which message.
    Error {
        /// The session, where it is one's.
        thread: Option<ThreadId>,
        /// The native name of the error.
        name: Box<str>,
        /// A sentence, as the server wrote it.
        message: Box<str>,
    },
    /// Something waits for an answer.
    Asked(Asked),
    /// Something no longer waits for an answer.
    Answered {
        /// The session.
        thread: ThreadId,
        /// The id of what was asked.
        ask: Box<str>,
    },
    /// An event of a kind that this build does not know.
    Unknown {
        /// The kind.
        kind: Box<str>,
    },
}

/// A changed part, as far as it tells whether its message is to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartChange {
    /// The session.
    pub thread: ThreadId,
    /// The message.
    pub message: MessageId,
    /// `prt_…`, opaque.
    pub part: Box<str>,
    /// The type of the part, such as `tool`.
    pub kind: Box<str>,
    /// Of a tool: its name and how it stands.
    pub tool: Option<ToolChange>,
}

/// How a tool call stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolChange {
    /// The tool.
    pub name: Box<str>,
    /// How it stands.
    pub status: ToolStatus,
}

/// How a tool call stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolStatus {
    /// Its input is being written.
    Pending,
    /// It runs.
    Running,
    /// It ended.
    Completed,
    /// It failed, was refused or was cut short.
    Error,
    /// A word that this build does not know.
    Unknown(Box<str>),
}

/// Text that was added to a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delta {
    /// The session.
    pub thread: ThreadId,
    /// The message.
    pub message: MessageId,
    /// The part; its kind was told before.
    pub part: Box<str>,
    /// The field of the part, nearly always `text`.
    pub field: Box<str>,
    /// The text.
    pub delta: Box<str>,
}

/// How the run of a session stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunStatus {
    /// It runs.
    Busy,
    /// It waits to try a model call again.
    Retry {
        /// How often it has tried.
        attempt: Option<u64>,
        /// Why the last try failed, as the server wrote it.
        message: Option<Box<str>>,
    },
    /// It does not run.
    Idle,
    /// A word that this build does not know; it proves nothing.
    Unknown(Box<str>),
}

impl RunStatus {
    /// Decodes one entry of `GET /session/status` or of the event.
    ///
    /// # Errors
    ///
    /// [`EventError`] when it is no object with a `type`.
    pub fn decode(raw: &RawValue) -> Result<Self, EventError> {
        let object = Object::decode("session.status", raw)?;
        let word = object.text("type")?;
        Ok(match &*word {
            "busy" => Self::Busy,
            "idle" => Self::Idle,
            "retry" => Self::Retry {
                attempt: object.value("attempt", "a count")?,
                message: object.value("message", "a string")?,
            },
            _ => Self::Unknown(word),
        })
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    payload: &'a RawValue,
}

#[derive(Deserialize)]
struct Payload<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    properties: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "syncEvent")]
    sync: Option<&'a RawValue>,
}

impl Event {
    /// Decodes the data of one event of the stream.
    ///
    /// # Errors
    ///
    /// [`EventError`] when the text is no event, or one of a known kind has another shape.
    pub fn decode(data: &str) -> Result<Self, EventError> {
        let wrong = |path: &str, expected| EventError {
            kind: "?".into(),
            path: path.into(),
            expected,
            found: "something else".into(),
        };
        let envelope: Envelope<'_> = serde_json::from_str(data)
            .map_err(|_shape| wrong("$", "an object with a `payload`"))?;
        let payload: Payload<'_> = serde_json::from_str(envelope.payload.get())
            .map_err(|_shape| wrong("payload", "an object with a `type`"))?;
        let kind = &*payload.kind;
        let body = |raw: Option<&RawValue>, name: &str| match raw {
            Some(raw) => Ok(raw.to_owned()),
            None => Err(EventError {
                kind: kind.into(),
                path: format!("payload.{name}").into(),
                expected: "an object",
                found: "nothing".into(),
            }),
        };
        if kind == "sync" {
            return Self::sync(&body(payload.sync, "syncEvent")?);
        }
        match kind {
            "server.connected" => return Ok(Self::Connected),
            "server.heartbeat" => return Ok(Self::Heartbeat),
            _ => {}
        }
        if !is_known(kind) {
            return Ok(Self::Unknown { kind: kind.into() });
        }
        Self::known(kind, &body(payload.properties, "properties")?)
    }

    fn sync(raw: &RawValue) -> Result<Self, EventError> {
        let object = Object::decode("sync", raw)?;
        let seq = object.value("seq", "a sequence number")?;
        let seq = seq.ok_or_else(|| object.missing("seq", "a sequence number"))?;
        Ok(Self::Sync { thread: object.thread("aggregateID")?, seq })
    }

    fn known(kind: &str, raw: &RawValue) -> Result<Self, EventError> {
        let object = Object::decode(kind, raw)?;
        let thread = || object.thread("sessionID");
        let message = || object.message("messageID");
        Ok(match kind {
            "server.instance.disposed" => {
                Self::Disposed { directory: object.value("directory", "a path")? }
            }
            "session.created" | "session.updated" => {
                Self::Session(SessionRow::decode(object.raw("info", "an object")?)?)
            }
            "session.deleted" => Self::SessionDeleted { thread: thread()? },
            "message.updated" => {
                let info = object.raw("info", "an object")?;
                let message = Object::decode(kind, info)?.message("id")?;
                Self::Message { thread: thread()?, message, info: info.get().into() }
            }
            "message.removed" => Self::MessageRemoved { thread: thread()?, message: message()? },
            "message.part.updated" => {
                Self::Part(PartChange::decode(thread()?, object.raw("part", "an object")?)?)
            }
            "message.part.removed" => Self::PartRemoved { thread: thread()?, message: message()? },
            "message.part.delta" => Self::Delta(Delta {
                thread: thread()?,
                message: message()?,
                part: object.text("partID")?,
                field: object.text("field")?,
                delta: object.text("delta")?,
            }),
            "session.status" => Self::Status {
                thread: thread()?,
                status: RunStatus::decode(object.raw("status", "an object")?)?,
            },
            "session.idle" => Self::Idle { thread: thread()? },
            "session.error" => Self::error(&object)?,
            "permission.asked" => Self::Asked(Asked::permission(raw)?),
            "question.asked" => Self::Asked(Asked::question(raw)?),
            _ => Self::Answered { thread: thread()?, ask: object.text("requestID")? },
        })
    }

    fn error(object: &Object<'_>) -> Result<Self, EventError> {
        let thread = match object.fields.get("sessionID") {
            Some(_) => Some(object.thread("sessionID")?),
            None => None,
        };
        let error = object.object("error")?;
        let data = match &error {
            Some(error) => error.object("data")?,
            None => None,
        };
        let text =
            |object: Option<&Object<'_>>, name| object.and_then(|object| object.text(name).ok());
        Ok(Self::Error {
            thread,
            name: text(error.as_ref(), "name").unwrap_or_else(|| "UnknownError".into()),
            message: text(data.as_ref(), "message")
                .or_else(|| text(error.as_ref(), "message"))
                .unwrap_or_else(|| "the server said nothing about it".into()),
        })
    }
}

fn is_known(kind: &str) -> bool {
    matches!(
        kind,
        "server.instance.disposed"
            | "session.created"
            | "session.updated"
            | "session.deleted"
            | "session.status"
            | "session.idle"
            | "session.error"
            | "message.updated"
            | "message.removed"
            | "message.part.updated"
            | "message.part.removed"
            | "message.part.delta"
            | "permission.asked"
            | "permission.replied"
            | "question.asked"
            | "question.replied"
            | "question.rejected"
    )
}

impl PartChange {
    fn decode(thread: ThreadId, raw: &RawValue) -> Result<Self, EventError> {
        let part = Object::decode("message.part.updated", raw)?;
        let tool = match (part.object("state")?, part.value("tool", "a name")?) {
            (Some(state), Some(name)) => {
                let status = state.text("status")?;
                let status = match &*status {
                    "pending" => ToolStatus::Pending,
                    "running" => ToolStatus::Running,
                    "completed" => ToolStatus::Completed,
                    "error" => ToolStatus::Error,
                    _ => ToolStatus::Unknown(status),
                };
                Some(ToolChange { name, status })
            }
            (Some(_) | None, Some(_) | None) => None,
        };
        Ok(Self {
            thread,
            message: part.message("messageID")?,
            part: part.text("id")?,
            kind: part.text("type")?,
            tool,
        })
    }
}

/// The fields of a JSON object, each decoded when it is asked for.
#[derive(Debug)]
pub(crate) struct Object<'a> {
    kind: &'a str,
    fields: BTreeMap<Cow<'a, str>, &'a RawValue>,
}

impl<'a> Object<'a> {
    pub(crate) fn decode(kind: &'a str, raw: &'a RawValue) -> Result<Self, EventError> {
        match serde_json::from_str(raw.get()) {
            Ok(fields) => Ok(Self { kind, fields }),
            Err(_) => Err(EventError {
                kind: kind.into(),
                path: "$".into(),
                expected: "an object",
                found: shape(raw).into(),
            }),
        }
    }

    pub(crate) fn missing(&self, name: &str, expected: &'static str) -> EventError {
        let found = match self.fields.get(name) {
            Some(raw) => shape(raw),
            None => "nothing",
        };
        EventError { kind: self.kind.into(), path: name.into(), expected, found: found.into() }
    }

    pub(crate) fn raw(
        &self,
        name: &str,
        expected: &'static str,
    ) -> Result<&'a RawValue, EventError> {
        self.fields.get(name).copied().ok_or_else(|| self.missing(name, expected))
    }

    /// Gives a field that may be absent or `null`.
    pub(crate) fn value<T: Deserialize<'a>>(
        &self,
        name: &str,
        expected: &'static str,
    ) -> Result<Option<T>, EventError> {
        match self.fields.get(name) {
            Some(raw) => {
                serde_json::from_str(raw.get()).map_err(|_shape| self.missing(name, expected))
            }
            None => Ok(None),
        }
    }

    pub(crate) fn object(&self, name: &str) -> Result<Option<Self>, EventError> {
        match self.fields.get(name) {
            Some(raw) if raw.get() != "null" => Object::decode(self.kind, raw).map(Some),
            Some(_) | None => Ok(None),
        }
    }

    pub(crate) fn text(&self, name: &str) -> Result<Box<str>, EventError> {
        let text = self.value(name, "a string")?;
        text.ok_or_else(|| self.missing(name, "a string"))
    }

    pub(crate) fn thread(&self, name: &str) -> Result<ThreadId, EventError> {
        let expected = "a session id";
        ThreadId::new(self.text(name)?).map_err(|error| self.bad_id(name, expected, &error))
    }

    pub(crate) fn message(&self, name: &str) -> Result<MessageId, EventError> {
        let expected = "a message id";
        MessageId::new(self.text(name)?).map_err(|error| self.bad_id(name, expected, &error))
    }

    fn bad_id(&self, name: &str, expected: &'static str, error: &receipts::IdError) -> EventError {
        let found = Cow::Owned(format!("{} ({error})", Found::String));
        EventError { kind: self.kind.into(), path: name.into(), expected, found }
    }
}

#[cfg(test)]
mod tests;
