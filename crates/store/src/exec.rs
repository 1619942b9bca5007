//! Which runs of programs drove sessions?

use receipts::{ExecId, UnixMillis};

/// What is said of a run when it starts; never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewExec {
    /// Its name.
    pub id: ExecId,
    /// The run that started it.
    pub parent: Option<ExecId>,
    /// The program and its arguments, redacted by the caller.
    pub argv: Vec<Box<str>>,
    /// Where it was started.
    pub cwd: Option<Box<str>>,
    /// When it started, by our clock.
    pub started_at: UnixMillis,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExecOutcome {
    /// It exited with this code.
    Exited(i32),
    /// A signal killed it.
    Killed(i32),
    /// It is proven gone, and nobody saw how (rule L12).
    Lost,
}

/// A run as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exec {
    /// What never changes.
    pub fixed: NewExec,
    /// Its end; `None` until it is recorded. A turn's completion never sets it (rule L7).
    pub end: Option<ExecEnd>,
}

/// The end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExecEnd {
    /// When, by our clock.
    pub at: UnixMillis,
    /// How.
    pub outcome: ExecOutcome,
}
