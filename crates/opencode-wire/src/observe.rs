//! What does a message say, in the words of the fold? From OpenCode's rows to observations.
//!
//! Source: design measured on `opencode-ai` 1.18.33; each rule names the shape it was seen in.

mod answer;
mod calls;
mod odd;
mod prompt;

use receipts::{Body, Clock, Gap, Lineage, MessageId, Observation, ThreadId, UnixMillis};
use verbatim::{Field, RawValue};

use crate::{id::minted_at, message::Message, session::Session};
use odd::Odd;

/// Translates the messages of one session.
#[derive(Debug, Clone)]
pub struct Translator {
    thread: ThreadId,
    /// When the session was made; messages that are older were copied into it by a fork.
    created: Option<UnixMillis>,
}

impl Translator {
    /// Knows the session's own row, which tells fork copies from own messages (rule F8).
    #[must_use]
    pub fn new(thread: ThreadId, session: Option<&Session<'_>>) -> Self {
        let time = session.and_then(|session| session.time.get());
        let created = time.and_then(|time| time.created.get()).copied().map(UnixMillis);
        Self { thread, created }
    }

    /// Translates one message as the API returned it.
    #[must_use]
    pub fn raw(&self, raw: &RawValue) -> Observation {
        self.message(&Message::decode(raw))
    }

    /// Translates one decoded message.
    #[must_use]
    pub fn message(&self, message: &Message<'_>) -> Observation {
        let mut odd = Odd::default();
        let info = &message.info;
        let id = match info.id.get().map(|id| MessageId::new(&**id)) {
            Some(Ok(id)) => id,
            Some(Err(error)) => return unreadable("info.id", error.to_string()),
            None => {
                let found =
                    info.id.odd().map_or_else(|| "nothing".to_owned(), |odd| odd.to_string());
                return unreadable("info.id", format!("expected a message id, found {found}"));
            }
        };
        if let Some(session) = info.session_id.get()
            && &**session != self.thread.as_str()
        {
            return unreadable(
                "info.sessionID",
                format!("message {id} belongs to another session"),
            );
        }
        for undecodable in &message.undecodable {
            odd.note(&undecodable.path, undecodable.problem.clone());
        }
        let time = odd.of("info.time", "an object", &info.time);
        let created =
            time.and_then(|time| odd.of("info.time.created", "milliseconds", &time.created));
        let created = created.copied().map(UnixMillis);
        let body = match info.role.get().map(|role| &**role) {
            Some("user") => Body::Prompt(prompt::prompt(&message.parts, self.clock(created))),
            Some("assistant") => Body::Answer(answer::answer(&id, message, &mut odd)),
            Some(role) => {
                odd.note("info.role", format!("the role {role:?} is not known"));
                Body::Unknown
            }
            None => {
                odd.note("info.role", "expected a role, found none".to_owned());
                Body::Unknown
            }
        };
        let lineage = self.lineage(&id, created);
        let gaps = odd.into_gaps(&id);
        Observation::Message(receipts::Message { id, created, lineage, body, gaps })
    }

    /// A message cannot be older than its session, unless it was copied into it.
    fn clock(&self, created: Option<UnixMillis>) -> Clock {
        match (self.created, created) {
            (Some(session), Some(created)) if created < session => Clock::SteppedBack,
            _ => Clock::Plausible,
        }
    }

    /// A fork copies messages under new ids and keeps their times: a copy is older than the
    /// session, its id is not. Measured on 1.18.33.
    fn lineage(&self, id: &MessageId, created: Option<UnixMillis>) -> Lineage {
        match (self.created, created) {
            (Some(session), Some(created))
                if created < session
                    && minted_at(id.as_str(), session).is_some_and(|minted| minted >= session) =>
            {
                Lineage::Inherited
            }
            _ => Lineage::Own,
        }
    }
}

/// Translates one message of a session of which nothing else is known.
#[must_use]
pub fn observe(thread: &ThreadId, raw: &RawValue) -> Observation {
    Translator::new(thread.clone(), None).raw(raw)
}

fn unreadable(path: &str, problem: String) -> Observation {
    Observation::Gap(Gap::Unreadable { message: None, path: path.to_owned(), problem })
}

/// Tells whether a flag is set; what is not a boolean does not set it.
fn is_set(field: &Field<bool>) -> bool {
    field.get().copied().unwrap_or(false)
}
