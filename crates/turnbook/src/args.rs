//! What can be asked on the command line?

mod fold;
mod format;
mod session;
mod since;

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};

use self::fold::Fold;
pub(crate) use self::{
    fold::{FoldOpencode, OwnerArg},
    format::{Format, FormatArgs},
    session::SessionArgs,
    since::{Age, Since},
};
use crate::{
    config::{Flags, Zone},
    context::Start,
    exit::{Code, Failure},
    fold as fold_verb,
    verb::{self, act::Act},
};

/// The durable, exactly-once record of what coding agents did.
#[derive(Debug, Parser)]
#[command(name = "turnbook", version, arg_required_else_help = true)]
#[command(after_help = crate::exit::help())]
pub(crate) struct Args {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    verb: Verb,
}

/// What every verb takes.
#[derive(Debug, ClapArgs)]
struct Globals {
    /// The store; without it that of `TURNBOOK_STORE`, of the configuration, or
    /// `turnbook/ledger.sqlite` in the user's data folder.
    #[arg(long, global = true, value_name = "PATH")]
    store: Option<PathBuf>,
    /// The configuration file; without it that of `TURNBOOK_CONFIG`, or `turnbook/config.toml` in
    /// the user's configuration folder.
    #[arg(long, global = true, value_name = "PATH")]
    config: Option<PathBuf>,
    /// The time zone of days and times, such as Europe/Vienna; without it that of
    /// `TURNBOOK_TIMEZONE`, of the configuration, or of this machine.
    #[arg(long, global = true, value_name = "ZONE")]
    timezone: Option<Zone>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Sends a prompt to an agent, shows its answer, and says what came of it.
    Run(Box<verb::run::Args>),
    /// Records everything that happens on a server, whoever started it.
    Watch(verb::watch::Args),
    /// Catches up every session after a crash, and settles what was sent.
    Recover(verb::recover::Args),
    /// Asks for what runs in a session to be aborted.
    Abort(verb::act::Abort),
    /// Puts a prompt into the turn that runs in a session.
    Steer(verb::act::Steer),
    /// Answers what the agent asks in a session.
    Answer(verb::act::Reply),
    /// Closes a session: nothing is sent to it any more.
    Close(verb::act::Close),
    /// Lists the sessions.
    Sessions(verb::sessions::Args),
    /// Shows the turns of a session: whose they are, how they ended and what they used.
    Show(verb::show::Args),
    /// Sums what was used.
    Usage(verb::usage::Args),
    /// Lists the events of a session, in the order in which they were recorded.
    Log(verb::log::Args),
    /// Folds an agent's own history into receipts, without a store.
    #[command(subcommand)]
    Fold(Fold),
    /// Holds the store against its own laws.
    Verify(verb::verify::Args),
    /// Keeps the store in order.
    #[command(subcommand)]
    Store(verb::store::Args),
    /// Says what is installed, reachable and readable, what is wrong and what to do.
    Doctor(verb::doctor::Args),
    /// Shows and checks the configuration.
    #[command(subcommand, after_help = verb::config::KEYS)]
    Config(verb::config::Args),
    /// Prints completions of the arguments for a shell.
    Completions(verb::completions::Args),
}

impl Args {
    /// Does what was asked.
    pub(crate) fn run(self) -> Result<Code, Failure> {
        let Globals { store, config, timezone } = self.globals;
        let start = Start::of_process(Flags { config, store, timezone });
        match self.verb {
            Verb::Run(args) => verb::run::run(&args, &start.context()?),
            Verb::Watch(args) => verb::watch::run(&args, &start.context()?),
            Verb::Recover(args) => verb::recover::run(&args, &start.context()?),
            Verb::Abort(args) => verb::act::run(&Act::Abort(&args), &start.context()?),
            Verb::Steer(args) => verb::act::run(&Act::Steer(&args), &start.context()?),
            Verb::Answer(args) => verb::act::run(&Act::Answer(&args), &start.context()?),
            Verb::Close(args) => verb::act::close(&args, &start.context()?),
            Verb::Sessions(args) => verb::sessions::run(&args, &start.context()?),
            Verb::Show(args) => verb::show::run(&args, &start.context()?),
            Verb::Usage(args) => verb::usage::run(&args, &start.context()?),
            Verb::Log(args) => verb::log::run(&args, &start.context()?),
            Verb::Fold(Fold::Opencode(args)) => fold_verb::run(&args).map(|()| Code::Completed),
            Verb::Verify(args) => verb::verify::run(&args, &start.context()?),
            Verb::Store(args) => verb::store::run(&args, &start.context()?),
            Verb::Doctor(args) => verb::doctor::run(&args, &start),
            Verb::Config(args) => verb::config::run(&args, &start),
            Verb::Completions(args) => verb::completions::run(&args),
        }
    }
}
