//! What does a message say, in the words of the fold? From OpenCode's rows to observations.
//!
//! Source: design measured on `opencode-ai` 1.18.33; each rule names the shape it was seen in.

mod answer;
mod calls;
pub(crate) mod odd;
mod prompt;

use receipts::{Body, Clock, Gap, Lineage, MessageId, Observation, ThreadId, UnixMillis};
use verbatim::{Field, RawValue, word};

use crate::{
    id::minted_at,
    message::{Message, unexpected},
    session::Session,
};
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
                return unreadable("info.id", unexpected("a message id", info.id.odd()));
            }
        };
        if let Some(session) = info.session_id.get()
            && &**session != self.thread.as_str()
        {
            return unreadable(
                "info.sessionID",
                format!("message {} belongs to another session", word(id.as_str())),
            );
        }
        odd.message(message);
        let created = info.time.get().and_then(|time| time.created.get());
        let created = created.copied().map(UnixMillis);
        let body = match info.role.get().map(|role| &**role) {
            Some("user") => Body::Prompt(prompt::prompt(message, self.clock(created))),
            Some("assistant") => Body::Answer(answer::answer(&id, message, &mut odd)),
            Some(role) => {
                odd.note("info.role", format!("the role {:?} is not known", word(role)));
                Body::Unknown
            }
            None => Body::Unknown,
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
