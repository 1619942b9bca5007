//! How does a test run a real OpenCode that talks to the scripted model only?
//!
//! A [`Home`] is everything that an OpenCode installation keeps: its user's home, its database, its
//! configuration and a project. It outlives the servers that run on it, so that a test can kill one
//! and start the next. An [`OpenCode`] is one running `opencode serve`.
//!
//! Everything is inside one temporary directory, the environment is built from nothing, and the
//! configuration turns off updates, sharing, the model list and language servers: no connection
//! leaves the machine. The provider's package `@ai-sdk/openai-compatible` is inside the 1.18.33
//! binary; nothing is downloaded at run time.

mod config;
mod home;
mod server;

pub use config::{Permissions, Verdict};
pub use home::{Home, Setup};
pub use server::{OpenCode, StartError};

/// The provider's id in OpenCode's configuration.
pub const PROVIDER: &str = "fake";

/// The model for ordinary turns: a context of 200,000 tokens, with prices.
pub const MODEL: &str = "m1";

/// A model with a context of 10,000 tokens, for compaction; no prices.
pub const SMALL_MODEL: &str = "small";
