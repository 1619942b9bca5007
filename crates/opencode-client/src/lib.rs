//! How is an OpenCode server reached, and its database read?
//!
//! [`OpenCode`] is the [`harness::Harness`] of a server that runs: attach to one, or start an
//! [`OwnServer`]. It works alone: without store and recorder it sends with
//! [`harness::Pass::unfenced`] and gives the same reports.
//!
//! - A read is tried again when it may help, has a deadline and a size limit, and fails as an
//!   error, never as an empty history. Messages are read singly or by pages of at most 200.
//! - A write is tried once, in a task that its caller cannot cancel.
//! - OpenCode's own database is read when the server cannot answer, and never written.
//! - No credential is in an error, a log or a report.

mod config;
mod cursor;
mod database;
mod follow;
mod http;
mod id;
mod open_code;
mod poison;
mod process;
mod read;
mod send;
mod serve;
mod server;
mod settle;
mod sse;

pub use config::{Config, Credentials, Limits};
pub use open_code::OpenCode;
pub use serve::{OwnServer, Serve, ServeError, database_in};
pub use sse::{SseError, SseEvent, SseParser};
