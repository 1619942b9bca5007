//! OpenCode's own messages as types, and their translation to observations.
//!
//! Source: the v1 API of `opencode-ai` 1.18.33, measured on recorded histories. A field that has
//! another shape than expected is [`verbatim::Field::Odd`] and becomes a gap; kinds, words and
//! fields that this build does not know are kept as text and never cause a refusal (rule F9).

mod ask;
mod event;
mod history;
mod id;
mod message;
mod observe;
mod part;
mod server;
mod session;

pub use ask::{Asked, Choice, Question, What};
pub use event::{Delta, Event, EventError, PartChange, RunStatus, ToolChange, ToolStatus};
pub use history::{DecodeError, History, Intent, Snapshot, decode_messages};
pub use id::minted_at;
pub use message::{
    CacheTokens, ErrorData, ErrorInfo, Info, Message, MessageTime, Tokens, Undecodable,
};
pub use observe::{Translator, observe};
pub use part::{Part, PartMetadata, ToolMetadata, ToolState};
pub use server::{Health, Refusal, Version, VersionError};
pub use session::{Session, SessionRow, SessionTime};
