//! The scripted model server and the real agents that the tests run against.
//!
//! Three parts, each usable without the others:
//!
//! - [`model`]: an HTTP server on loopback that speaks the chat-completions protocol, answers
//!   as it is told by typed scripts, and keeps the exact count of what it served. That count is the
//!   truth that a ledger of the same calls must equal.
//! - [`agents`]: installs the pinned real agents from npm, once for each checkout.
//! - [`opencode`]: runs a real `opencode serve` in a home of its own whose only provider is the
//!   scripted model.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use testkit::{agents, model::{Key, Model, Reply, Usage}, opencode::{Home, OpenCode, Setup}};
//!
//! let model = Model::start()?;
//! let key = Key::new("greet");
//! model.script(&key, [Reply::text("hello").stop(Usage::of(100, 10))]);
//!
//! let home = Home::create(&Setup::new(&model.base_url()))?;
//! let server = OpenCode::start(&agents::opencode()?, &home)?;
//! // … post a prompt whose text is `key.prompt("say hello")` to `server.url()` …
//! let call = model.wait_for_call(&key, 1).await;
//! # let _ = (server, call);
//! # Ok(())
//! # }
//! ```
//!
//! Nothing here sleeps to wait: a test waits for a call, a count or a gate, and holds a stream open
//! with a gate that it releases itself.

pub mod agents;
pub mod model;
pub mod opencode;
