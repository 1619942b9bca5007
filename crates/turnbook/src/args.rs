//! What can be asked on the command line?

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

use crate::{exit::Failure, fold};

/// The durable, exactly-once record of what coding agents did.
#[derive(Debug, Parser)]
#[command(name = "turnbook", version, arg_required_else_help = true)]
#[command(after_help = crate::exit::HELP)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Folds an agent's own history into receipts, without a store.
    #[command(subcommand)]
    Fold(Fold),
}

#[derive(Debug, Subcommand)]
enum Fold {
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

impl Args {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.verb {
            Verb::Fold(Fold::Opencode(args)) => fold::run(&args),
        }
    }
}
