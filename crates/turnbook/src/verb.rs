//! What does each verb do? Its arguments, what it reads, and how it ends.

pub(crate) mod act;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod log;
pub(crate) mod recover;
pub(crate) mod run;
pub(crate) mod sessions;
pub(crate) mod show;
pub(crate) mod store;
pub(crate) mod usage;
pub(crate) mod verify;
pub(crate) mod watch;
