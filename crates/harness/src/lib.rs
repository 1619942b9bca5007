//! What can an agent be asked, and what does it report?
//!
//! A [`Harness`] is one agent program that is reached: it is probed, subscribed to, read and, under
//! a [`Pass`], written to. What it reports are [`receipts::Observation`]s and hints about what to
//! read; it records nothing and decides nothing about turns.
//!
//! The contract, for every harness:
//!
//! - A read may be repeated. A read that fails is an error and never an empty history.
//! - A write is tried once. It ends as [`Dispatch::Sent`], as [`Dispatch::NotSent`] when it is
//!   proven that the harness did not and will not store it, else as [`Dispatch::Uncertain`]: then
//!   only the history says what became of it.
//! - Reports are hints. Whoever wants to miss nothing subscribes first and reads back after each
//!   [`Report::Connected`].
//! - Errors name threads and routes, never credentials.

mod ask;
mod client;
mod command;
mod error;
mod fence;
mod process;
mod report;

pub use ask::{Answer, Ask, AskBody, AskId, Choice, Question, Verdict};
pub use client::{Harness, Reports, Scope};
pub use command::{Dispatch, ModelName, NewThread, Prompt, PromptMode};
pub use error::{Place, ReachError};
pub use fence::{Fence, Pass};
pub use process::{Liveness, ProcessIdentity};
pub use report::{
    Cursor, Evidence, Page, PartKind, Provider, Report, Seen, Source, ThreadInfo, Ticket,
};
