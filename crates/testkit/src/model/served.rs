//! What was served, call by call?

use serde::{Deserialize, Serialize};

use super::{
    ask::{Asked, CallKind},
    marker::Key,
    script::Finish,
    usage::Usage,
};

/// One call and what was served for it by now.
///
/// Everything that was served is counted when it is handed to the connection: an agent that has read
/// a chunk finds it counted here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Served {
    /// The place in the order of arrival, from 1.
    pub sequence: u64,
    /// The key that the prompt carries; of several, the last.
    pub key: Option<Key>,
    /// The words after `MARK=` in the prompt, in order.
    pub marks: Vec<String>,
    /// The text of the request's last user message.
    pub prompt: String,
    /// What was asked.
    pub asked: Asked,
    /// The HTTP status that was answered.
    pub status: u16,
    /// The finish reason that was sent; of several, the last.
    pub finish: Option<Finish>,
    /// Every usage object that was sent, in order; empty when none was.
    pub usage: Vec<Usage>,
    /// Bytes of the response body.
    pub bytes: u64,
    /// Whether and how the answer ended.
    pub ending: Ending,
    /// When the request arrived, in milliseconds since the Unix epoch, by this machine's clock.
    pub started_ms: u64,
    /// When the answer ended, likewise; `None` while it is open.
    pub ended_ms: Option<u64>,
}

/// Whether and how an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It is still being served.
    Open,
    /// Everything was sent.
    Completed,
    /// The script broke the connection.
    Cut,
    /// The agent went away before everything was sent.
    ClientGone,
    /// The call was refused with an HTTP status.
    Refused,
}

impl Served {
    /// The usage that counts: the last that was sent.
    #[must_use]
    pub fn last_usage(&self) -> Option<&Usage> {
        self.usage.last()
    }

    /// Whether this is a step of a turn under `key`.
    #[must_use]
    pub fn is_chat_of(&self, key: &Key) -> bool {
        self.asked.kind == CallKind::Chat && self.key.as_ref() == Some(key)
    }
}

/// What a set of calls used in sum, by the model's own count.
///
/// The counts overlap in the way of the turn ledger: `input` is without cached tokens, `reasoning` is
/// the known part of `output`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All calls, refused ones included.
    pub calls: u64,
    /// The calls of them that sent no usage, or one without a prompt or a completion count.
    pub unknown_calls: u64,
    /// Prompt tokens that were not cached.
    pub input: u64,
    /// Prompt tokens that were cached.
    pub cache_read: u64,
    /// Completion tokens, reasoning included.
    pub output: u64,
    /// Completion tokens that were reasoning.
    pub reasoning: u64,
}

impl<'a> FromIterator<&'a Served> for Tally {
    fn from_iter<I: IntoIterator<Item = &'a Served>>(calls: I) -> Self {
        calls.into_iter().fold(Self::default(), |mut tally, call| {
            tally.calls += 1;
            let counts = call.last_usage().and_then(|usage| {
                Some((usage, usage.prompt_tokens.number()?, usage.completion_tokens.number()?))
            });
            let Some((usage, prompt, completion)) = counts else {
                tally.unknown_calls += 1;
                return tally;
            };
            let cached = usage.cached_tokens().unwrap_or(0);
            tally.input += prompt.saturating_sub(cached);
            tally.cache_read += cached;
            tally.output += completion;
            tally.reasoning += usage.reasoning_tokens().unwrap_or(0);
            tally
        })
    }
}
