//! `turnbook sessions`: which sessions are there?

use clap::Args as ClapArgs;
use receipts::{UnixMillis, Usage};
use store::{Ledger, Session};

use crate::{
    args::{Format, FormatArgs},
    context::Context,
    exit::{Code, Failure},
    open, print,
};

/// Lists the sessions, the one that was recorded last first.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    format: FormatArgs,
}

/// A session with what it comes to.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    /// The session.
    pub(crate) session: Session,
    /// How many turns the agent's history showed, subagents' included.
    pub(crate) turns: u64,
    /// What the calls that it owns used; `None` when it owns none.
    pub(crate) usage: Option<Usage>,
    /// When something of it was recorded last, by our clock.
    pub(crate) last_activity: Option<UnixMillis>,
}

/// Lists and prints.
pub(crate) fn run(args: &Args, context: &Context) -> Result<Code, Failure> {
    let sessions = open::view(context, |ledger| Ok(collect(ledger)?))?;
    print::text_out(&match args.format.format() {
        Format::Human => print::sessions_human(&sessions, &context.style),
        Format::Json => print::sessions_json(&sessions),
    })?;
    Ok(Code::Completed)
}

fn collect(ledger: &dyn Ledger) -> store::Result<Vec<Listed>> {
    let mut listed = Vec::new();
    for session in open::sessions(ledger)? {
        let activity = ledger.activity(session.id())?;
        listed.push(Listed {
            turns: activity.turns,
            usage: ledger.session_usage(session.id())?,
            last_activity: activity.last,
            session,
        });
    }
    listed.sort_by_key(|listed| {
        std::cmp::Reverse(listed.last_activity.unwrap_or(listed.session.fixed.created_at))
    });
    Ok(listed)
}
