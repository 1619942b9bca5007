//! What had another shape than expected? Every field that is read, one after another (rule F10).
//!
//! `null` is the same as nothing. A field that this build does not read may hold anything (rule
//! F9). Everything odd is told of here, so that what reads a message asks only for what it can use.

use std::fmt;

use receipts::{Gap, MessageId};
use verbatim::{Field, Found, RawValue};

use crate::{
    message::{ErrorInfo, Info, Message, Tokens, Undecodable, unexpected},
    part::{Part, PartMetadata, ToolState},
    session::Session,
};

const TEXT: &str = "a text";
const WORD: &str = "a word";
const FLAG: &str = "a boolean";
const OBJECT: &str = "an object";
const MILLISECONDS: &str = "milliseconds";
const TOKENS: &str = "a token count";

/// The odd fields of one message, or of one session.
#[derive(Debug, Default)]
pub(crate) struct Odd(Vec<(String, String)>);

impl Odd {
    pub(crate) fn note(&mut self, path: impl fmt::Display, problem: String) {
        self.0.push((path.to_string(), problem));
    }

    /// Notes a field of another shape; only then is the path written.
    pub(crate) fn field<T>(&mut self, path: impl fmt::Display, expected: &str, field: &Field<T>) {
        if let Some(found) = field.odd() {
            self.note(path, unexpected(expected, Some(found)));
        }
    }

    /// Notes a field that is not there, or has another shape.
    pub(crate) fn needed<T>(&mut self, path: impl fmt::Display, expected: &str, field: &Field<T>) {
        if field.get().is_none() {
            self.note(path, unexpected(expected, field.odd()));
        }
    }

    /// Notes a raw value of another shape.
    fn raw(&mut self, path: impl fmt::Display, expected: Found, raw: Option<&RawValue>) {
        if let Some(found) = raw.and_then(Found::of)
            && found != expected
        {
            self.note(path, unexpected(&expected.to_string(), Some(found)));
        }
    }

    /// Notes what is no number where money should be; whether it is an amount is seen by its use.
    fn money(&mut self, path: impl fmt::Display, raw: Option<&RawValue>) {
        match raw.and_then(Found::of) {
            None | Some(Found::Integer | Found::Negative | Found::Fraction) => {}
            other => self.note(path, unexpected("an amount of money", other)),
        }
    }

    pub(crate) fn message(&mut self, message: &Message<'_>) {
        for undecodable in &message.undecodable {
            self.note(&undecodable.path, undecodable.problem.clone());
        }
        self.info(&message.info);
        for (at, part) in message.parts.iter().enumerate() {
            self.needed(format_args!("parts[{at}]"), OBJECT, part);
            if let Some(part) = part.get() {
                self.part(at, part);
            }
        }
    }

    fn info(&mut self, info: &Info<'_>) {
        self.field("info.sessionID", "a session id", &info.session_id);
        self.needed("info.role", "a role", &info.role);
        self.field("info.time", OBJECT, &info.time);
        if let Some(time) = info.time.get() {
            self.field("info.time.created", MILLISECONDS, &time.created);
            self.field("info.time.completed", MILLISECONDS, &time.completed);
        }
        self.field("info.parentID", "a message id", &info.parent_id);
        self.field("info.modelID", WORD, &info.model_id);
        self.field("info.providerID", WORD, &info.provider_id);
        self.money("info.cost", info.cost);
        self.tokens("info", &info.tokens);
        self.field("info.finish", WORD, &info.finish);
        self.field("info.error", OBJECT, &info.error);
        if let Some(error) = info.error.get() {
            self.error(error);
        }
    }

    fn error(&mut self, error: &ErrorInfo<'_>) {
        self.field("info.error.name", WORD, &error.name);
        self.field("info.error.message", TEXT, &error.message);
        self.field("info.error.data", OBJECT, &error.data);
        if let Some(data) = error.data.get() {
            self.field("info.error.data.message", TEXT, &data.message);
        }
    }

    fn tokens(&mut self, of: impl fmt::Display, tokens: &Field<Tokens>) {
        self.field(format_args!("{of}.tokens"), OBJECT, tokens);
        let Some(tokens) = tokens.get() else { return };
        let counts = [
            ("total", &tokens.total),
            ("input", &tokens.input),
            ("output", &tokens.output),
            ("reasoning", &tokens.reasoning),
        ];
        for (name, count) in counts {
            self.field(format_args!("{of}.tokens.{name}"), TOKENS, count);
        }
        self.field(format_args!("{of}.tokens.cache"), OBJECT, &tokens.cache);
        if let Some(cache) = tokens.cache.get() {
            self.field(format_args!("{of}.tokens.cache.read"), TOKENS, &cache.read);
            self.field(format_args!("{of}.tokens.cache.write"), TOKENS, &cache.write);
        }
    }

    fn part(&mut self, at: usize, part: &Part<'_>) {
        let path = |field: &'static str| Path { at, field };
        self.needed(path("type"), WORD, &part.kind);
        match part.kind.get().map(|kind| &**kind) {
            Some("text") => self.needed(path("text"), TEXT, &part.text),
            Some("tool") => self.needed(path("state"), OBJECT, &part.state),
            Some(_) | None => {}
        }
        self.field(path("mime"), WORD, &part.mime);
        self.field(path("filename"), TEXT, &part.filename);
        self.field(path("synthetic"), FLAG, &part.synthetic);
        self.field(path("ignored"), FLAG, &part.ignored);
        self.field(path("metadata"), OBJECT, &part.metadata);
        if let Some(PartMetadata { compaction_continue, provider_executed }) = part.metadata.get() {
            self.field(path("metadata.compaction_continue"), FLAG, compaction_continue);
            self.field(path("metadata.providerExecuted"), FLAG, provider_executed);
        }
        if let Some(state) = part.state.get() {
            self.tool(path, state);
        }
        self.money(path("cost"), part.cost);
        self.tokens(format_args!("parts[{at}]"), &part.tokens);
        self.field(path("auto"), FLAG, &part.auto);
        self.field(path("overflow"), FLAG, &part.overflow);
    }

    fn tool(&mut self, path: impl Fn(&'static str) -> Path, state: &ToolState<'_>) {
        self.needed(path("state.status"), WORD, &state.status);
        self.field(path("state.error"), TEXT, &state.error);
        self.raw(path("state.output"), Found::String, state.output);
        self.field(path("state.metadata"), OBJECT, &state.metadata);
        if let Some(marks) = state.metadata.get() {
            self.field(path("state.metadata.sessionId"), "a session id", &marks.session_id);
            self.field(path("state.metadata.interrupted"), FLAG, &marks.interrupted);
        }
    }

    /// An answer says with `true` that it is a summary.
    pub(crate) fn summary(&mut self, summary: Option<&RawValue>) {
        self.raw("info.summary", Found::Bool, summary);
    }

    /// Without these, a session cannot be told from others, or its own messages from copies.
    pub(crate) fn session(&mut self, session: &Session<'_>) {
        self.needed("session.id", "a session id", &session.id);
        self.field("session.parentID", "a session id", &session.parent_id);
        self.field("session.directory", TEXT, &session.directory);
        self.field("session.title", TEXT, &session.title);
        self.field("session.version", WORD, &session.version);
        self.needed("session.time", OBJECT, &session.time);
        if let Some(time) = session.time.get() {
            self.needed("session.time.created", MILLISECONDS, &time.created);
        }
    }

    pub(crate) fn into_undecodable(self) -> impl Iterator<Item = Undecodable> {
        self.0.into_iter().map(|(path, problem)| Undecodable { path, problem })
    }

    pub(crate) fn into_gaps(self, message: &MessageId) -> Vec<Gap> {
        self.0
            .into_iter()
            .map(|(path, problem)| Gap::Unreadable {
                message: Some(message.clone()),
                path,
                problem,
            })
            .collect()
    }
}

/// Where a field of a part stands, as long as it need not be written.
#[derive(Debug, Clone, Copy)]
struct Path {
    at: usize,
    field: &'static str,
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "parts[{}].{}", self.at, self.field)
    }
}
