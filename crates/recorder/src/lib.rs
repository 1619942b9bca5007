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

mod ask;
mod backlog;
mod book;
mod clock;
mod drive;
mod error;
mod fence;
mod follow;
mod ours;
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
pub use recorder::Recorder;
pub use recover::{Belief, Recovered};
pub use thread::{LiveEvent, RecordError, Recording, ThreadRecorder};
