//! Which token counts does the model claim, in the provider's own words?

use serde::{Deserialize, Serialize};

/// The `usage` object of a chat completion, right or odd.
///
/// Source: the chat-completions reference, `CompletionUsage`: `prompt_tokens` include cached ones and
/// `completion_tokens` include reasoning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Tokens read, cached ones included.
    #[serde(default, skip_serializing_if = "Count::is_absent")]
    pub prompt_tokens: Count,
    /// Tokens written, reasoning included.
    #[serde(default, skip_serializing_if = "Count::is_absent")]
    pub completion_tokens: Count,
    /// Their sum, if the provider tells the truth.
    #[serde(default, skip_serializing_if = "Count::is_absent")]
    pub total_tokens: Count,
    /// What of the prompt was cached.
    #[serde(default, skip_serializing_if = "Details::is_absent")]
    pub prompt_tokens_details: Details<CachedTokens>,
    /// What of the completion was reasoning.
    #[serde(default, skip_serializing_if = "Details::is_absent")]
    pub completion_tokens_details: Details<ReasoningTokens>,
}

/// A number as a provider may send it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Count {
    /// A number of tokens.
    Number(u64),
    /// The field is there and `null`.
    Null,
    /// The field is not there.
    #[default]
    #[serde(skip)]
    Absent,
}

impl Count {
    /// The number, if one was sent.
    #[must_use]
    pub fn number(self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(number),
            Self::Null | Self::Absent => None,
        }
    }

    fn is_absent(&self) -> bool {
        *self == Self::Absent
    }
}

/// A breakdown as a provider may send it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Details<T> {
    /// The object.
    Some(T),
    /// The field is there and `null`.
    Null,
    /// The field is not there.
    #[default]
    #[serde(skip)]
    Absent,
}

impl<T> Details<T> {
    fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }
}

/// `prompt_tokens_details`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedTokens {
    /// Tokens of the prompt that came from the provider's cache.
    #[serde(default, skip_serializing_if = "Count::is_absent")]
    pub cached_tokens: Count,
}

/// `completion_tokens_details`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReasoningTokens {
    /// Tokens of the completion that were reasoning.
    #[serde(default, skip_serializing_if = "Count::is_absent")]
    pub reasoning_tokens: Count,
}

impl Usage {
    /// An honest usage: both counts and their sum, no breakdown.
    #[must_use]
    pub fn of(prompt: u64, completion: u64) -> Self {
        Self {
            prompt_tokens: Count::Number(prompt),
            completion_tokens: Count::Number(completion),
            total_tokens: Count::Number(prompt.saturating_add(completion)),
            ..Self::default()
        }
    }

    /// The same, with every field there and `null`.
    #[must_use]
    pub fn nulls() -> Self {
        Self {
            prompt_tokens: Count::Null,
            completion_tokens: Count::Null,
            total_tokens: Count::Null,
            prompt_tokens_details: Details::Null,
            completion_tokens_details: Details::Null,
        }
    }

    /// Says that `tokens` of the prompt were cached.
    #[must_use]
    pub fn cached(mut self, tokens: u64) -> Self {
        self.prompt_tokens_details =
            Details::Some(CachedTokens { cached_tokens: Count::Number(tokens) });
        self
    }

    /// Says that `tokens` of the completion were reasoning.
    #[must_use]
    pub fn reasoning(mut self, tokens: u64) -> Self {
        self.completion_tokens_details =
            Details::Some(ReasoningTokens { reasoning_tokens: Count::Number(tokens) });
        self
    }

    /// Claims `tokens` as the total, whatever the parts say.
    #[must_use]
    pub fn total(mut self, tokens: u64) -> Self {
        self.total_tokens = Count::Number(tokens);
        self
    }

    /// The cached tokens, if a number was sent.
    #[must_use]
    pub fn cached_tokens(&self) -> Option<u64> {
        match self.prompt_tokens_details {
            Details::Some(details) => details.cached_tokens.number(),
            Details::Null | Details::Absent => None,
        }
    }

    /// The reasoning tokens, if a number was sent.
    #[must_use]
    pub fn reasoning_tokens(&self) -> Option<u64> {
        match self.completion_tokens_details {
            Details::Some(details) => details.reasoning_tokens.number(),
            Details::Null | Details::Absent => None,
        }
    }
}
