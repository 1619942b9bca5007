//! `turnbook recover`: what became of everything after a crash?

use clap::Args as ClapArgs;
use receipts::SessionId;
use recorder::{Belief, Recovered};
use store::Session;

use crate::{
    agent,
    args::{Format, FormatArgs},
    context::Context,
    driving::Run,
    exit::{Code, Failure},
    open, print,
    runtime::block_on,
};

/// Catches up every known session from the agent's own history, and settles what was sent.
///
/// Run again, it changes nothing.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The session: its id, its title, or a beginning of its id that no other has [default: all].
    #[arg(value_name = "SESSION")]
    session: Option<String>,
    /// Says that the agents are dead where that cannot be proven, as on another machine: what is
    /// open is then lost.
    #[arg(long)]
    owner_is_dead: bool,
    #[command(flatten)]
    format: FormatArgs,
}

/// What became of one session.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) session: SessionId,
    /// What was found, or why nothing was.
    pub(crate) found: Result<Recovered, String>,
}

/// Recovers one session after the other; one that fails stops no other.
pub(crate) fn run(args: &Args, context: &Context) -> Result<Code, Failure> {
    let run = Run::existing(context)?;
    let sessions = run.writer.view(|ledger| {
        Ok(match &args.session {
            Some(name) => open::session(ledger, name).map(|session| vec![session]),
            None => Ok(open::sessions(ledger)?),
        })
    })??;
    block_on(recover_all(args, context, (&run, sessions)))?
}

async fn recover_all(
    args: &Args,
    context: &Context,
    (run, sessions): (&Run, Vec<Session>),
) -> Result<Code, Failure> {
    let belief = if args.owner_is_dead { Belief::OwnerIsDead } else { Belief::Evidence };
    let mut worst = Code::Completed;
    if sessions.is_empty() && args.format.format() == Format::Human {
        print::line_out("no sessions yet")?;
    }
    for session in sessions {
        let found = recover(context, run, &session, belief).await;
        if let Err(failure) = &found {
            worst = worst.max(failure.code());
        }
        let found = found.map_err(|failure| failure.message());
        let outcome = Outcome { session: session.id().clone(), found };
        print::line_out(&match args.format.format() {
            Format::Human => print::recovered_human(&outcome, &context.style),
            Format::Json => print::recovered_json(&outcome),
        })?;
    }
    Ok(worst)
}

async fn recover(
    context: &Context,
    run: &Run,
    session: &Session,
    belief: Belief,
) -> Result<Recovered, Failure> {
    let client = agent::last(context, session.driver.as_ref())?;
    Ok(run.recorder(client).recover(session.id(), belief).await?)
}
