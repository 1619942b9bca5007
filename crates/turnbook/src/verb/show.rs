//! `turnbook show`: what happened in a session?

use clap::Args as ClapArgs;
use receipts::Usage;
use store::{InputReport, Intent, Ledger, Session, TurnReport};

use crate::{
    args::{Format, FormatArgs, SessionArgs},
    context::Context,
    exit::{Code, Failure},
    open, print,
};

/// Shows a session and its turns, in the order in which they were first seen.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArgs,
    /// Prints answers whole, instead of their first line.
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    format: FormatArgs,
}

/// How much of an answer is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Its first line.
    Brief,
    /// All of it.
    Full,
}

/// A session with its turns.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    /// The session.
    pub(crate) session: Session,
    /// What came of its inputs, oldest first; the last is the current one.
    pub(crate) inputs: Vec<InputReport>,
    /// What the calls that it owns used; `None` when it owns none.
    pub(crate) usage: Option<Usage>,
    /// Its turns.
    pub(crate) turns: Vec<TurnReport>,
    /// Requests of ours that the agent's history does not show, oldest first.
    pub(crate) requests: Vec<Intent>,
}

/// Collects and prints.
pub(crate) fn run(args: &Args, context: &Context) -> Result<Code, Failure> {
    let shown = open::view(context, |ledger| {
        let session = open::session(ledger, &args.session.session)?;
        Ok(collect(ledger, session)?)
    })?;
    let detail = if args.full { Detail::Full } else { Detail::Brief };
    print::text_out(&match args.format.format() {
        Format::Human => print::show_human(&shown, detail, &context.style),
        Format::Json => print::show_json(&shown),
    })?;
    Ok(Code::Completed)
}

fn collect(ledger: &dyn Ledger, session: Session) -> store::Result<Shown> {
    let id = session.id();
    let inputs = ledger.input_history(id)?;
    let reports = inputs.iter().map(|captured| ledger.input_usage(&captured.input.key));
    let inputs = reports.collect::<store::Result<Vec<InputReport>>>()?;
    Ok(Shown {
        usage: ledger.session_usage(id)?,
        turns: ledger.turns(id)?,
        requests: ledger.unseen_intents(id)?,
        inputs,
        session,
    })
}
