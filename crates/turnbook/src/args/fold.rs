//! What is folded without a store?

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

/// The agents whose histories are read.
#[derive(Debug, Subcommand)]
pub(super) enum Fold {
    /// Folds an OpenCode message list.
    Opencode(FoldOpencode),
}

/// Folds an OpenCode history: one receipt for each request.
///
/// FILE is the message list as OpenCode returns it, or an object
/// `{"session", "messages", "children"}`, or with `"snapshots"` (lists, oldest first) in the place
/// of `"messages"` and with `"intents"` (`[{"request", "no_reply"}]`).
#[derive(Debug, ClapArgs)]
pub(crate) struct FoldOpencode {
    /// The history; `-` reads standard input.
    pub(crate) file: PathBuf,
    /// What is known of the server that runs the session.
    #[arg(long, value_enum, default_value_t = OwnerArg::Unknown)]
    pub(crate) owner: OwnerArg,
    /// Prints one JSON object instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is known of the process that runs a session.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum OwnerArg {
    /// It runs the session now: what is open stays pending.
    Busy,
    /// Nothing runs the session: what is open is lost, what was never run is unanswered.
    Idle,
    /// It is gone: as idle.
    Dead,
    /// Nothing is known: what is open stays pending.
    Unknown,
}
