//! How are agents driven and followed, so that what they did is recorded exactly once?
//!
//! A [`Recorder`] sees two traits, a harness and a store, and no implementation of either.
//!
//! - [`Recorder::follow`] subscribes first, then reads back, and from then on records what the
//!   agent does, whoever asked for it. Facts are appended, then told.
//! - [`Recorder::claim`] gives a [`Drive`]: the authority to write to one session. What is sent is
//!   written down before, sent once under the session's lock, and its end is written down after.
//! - [`Recorder::recover`] catches a session up after a crash, and settles what was sent.
//!
//! [`ThreadRecorder`] is the synchronous core: observations in, durable facts and events out.
//!
//! ```
//! use std::{sync::Arc, time::Duration};
//!
//! use harness::{Harness, PromptMode, Scope};
//! use receipts::{ExecId, RequestId, SessionId, Status};
//! use recorder::{Adopt, Depth, DriveError, Follow, LiveEvent, Locks, Recorder, Request, Told};
//! use store::{Labels, Provider, Store, Writer};
//!
//! /// Sends one prompt, and waits until its end is durable. Session and run are in the store.
//! async fn ask(
//!     agent: Arc<dyn Harness>,
//!     store: Arc<dyn Store>,
//!     (session, exec, request): (SessionId, ExecId, RequestId),
//! ) -> Result<Option<Status>, DriveError> {
//!     let (writer, locks) = (Writer::new(store), Locks::new("locks", Duration::from_secs(30)));
//!     let recorder = Recorder::new(writer, agent, locks, exec, Duration::from_secs(10));
//!     let drive = recorder.claim(&session, None, Provider::Replace).await?;
//!     let thread = drive.thread(None, "review of the parser").await?;
//!     let what = Follow { scope: Scope::Thread(thread), adopt: Adopt::Known, depth: Depth::Open };
//!     let mut following = recorder.follow(what).await?;
//!     let request = Request {
//!         id: request,
//!         text: "Which of its tests are flaky?".into(),
//!         mode: PromptMode::Turn,
//!         agent: None,
//!         model: None,
//!         labels: Labels::none(),
//!     };
//!     let asked = drive.prompt(request).await?.turn;
//!     let mut end = None;
//!     while let Some(told) = following.next().await {
//!         if let Told::Turn { event: LiveEvent::TurnCompleted { turn, status }, .. } = told
//!             && Some(turn) == asked
//!         {
//!             end = Some(status);
//!             break;
//!         }
//!     }
//!     following.stop().await;
//!     drive.release().await?;
//!     Ok(end)
//! }
//! ```

mod ask;
mod backlog;
mod book;
mod clock;
mod drive;
mod error;
mod fence;
mod follow;
mod ours;
mod provider;
mod pump;
mod recorder;
mod recover;
mod thread;

pub use backlog::Depth;
pub use book::{Adopt, BookError};
pub use drive::{Drive, Request};
pub use error::DriveError;
pub use fence::{LockError, Locks};
pub use follow::{Follow, Following, Told};
pub use provider::{is_provider, liveness};
pub use recorder::Recorder;
pub use recover::{Belief, Recovered};
pub use thread::{LiveEvent, RecordError, Recording, ThreadRecorder};
