//! Records what agents did, exactly once.
//!
//! [`ThreadRecorder`] takes what is observed of one thread, folds it, appends the facts and only
//! then says what happened (rules L8 and F12). Live recording, recovery after a crash and a second
//! reading of the same history are the same path: what is known already is appended nowhere and
//! announced to nobody.

mod thread;

pub use thread::{LiveEvent, RecordError, Recording, ThreadRecorder};
