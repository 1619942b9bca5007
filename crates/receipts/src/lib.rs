//! What happened in a turn: the pure receipt and usage folds.
//!
//! A harness keeps a history of messages. [`Thread`] takes what is seen of one such history, in
//! any order and as often as it is seen, and says for each request how it stands: its
//! [`Receipt`]. It also says what became known with each observation: its [`Fact`]s, which a
//! ledger records. Observing the same thing again gives no new fact.
//!
//! This crate has no clock, no randomness, no I/O and no error for odd input: what does not fit
//! becomes a [`Gap`].

mod gap;
mod id;
mod observation;
mod receipt;
mod thread;
mod usage;

pub use gap::Gap;
pub use id::{
    CallKey, ExecId, ID_BYTES_MAX, IdError, InputKey, MessageId, RequestId, SessionId, ThreadId,
    TurnId, UnixMillis,
};
pub use observation::{
    Answer, AnswerRole, Author, Body, Call, CallUsage, Clock, Ending, Failure, Finish, Generated,
    Kind, Lineage, Message, Observation, Owner, Prompt, Tools,
};
pub use receipt::{Completion, Fact, FactBody, Output, Receipt, Status};
pub use thread::Thread;
pub use usage::{Counter, Counters, Decrease, Sum, Usage, Usd};
