//! `turnbook log`: what was recorded of a session, and what is recorded now?

use std::time::Duration;

use clap::Args as ClapArgs;
use receipts::SessionId;
use store::{Access as _, Event, Seq};
use store_sqlite::SqliteStore;

use crate::{
    args::{Format, FormatArgs, SessionArgs},
    context::Context,
    exit::{Code, Failure},
    open, print,
    runtime::block_on,
};

/// How many events are read at once.
const PAGE: usize = 512;
/// How often the store is asked for more.
const POLL: Duration = Duration::from_millis(250);

/// Lists the events of a session, one line each.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    session: SessionArgs,
    /// Only events after this one.
    #[arg(long, value_name = "N", default_value_t = 0)]
    after: u64,
    /// Waits for more, until Ctrl-C.
    #[arg(long)]
    follow: bool,
    #[command(flatten)]
    format: FormatArgs,
}

/// Prints what is there, and what comes.
pub(crate) fn run(args: &Args, context: &Context) -> Result<Code, Failure> {
    let store = open::existing(&context.config.store.value)?;
    let session = store.view(|ledger| Ok(open::session(ledger, &args.session.session)))??;
    let mut log = Log {
        store,
        session: session.id().clone(),
        after: Seq(args.after),
        format: args.format.format(),
        context,
    };
    if args.follow {
        block_on(log.follow())??;
    } else {
        log.catch_up()?;
    }
    Ok(Code::Completed)
}

/// Where the reading of a log stands.
struct Log<'a> {
    store: SqliteStore,
    session: SessionId,
    after: Seq,
    format: Format,
    context: &'a Context,
}

impl Log<'_> {
    /// Prints everything that is recorded by now.
    fn catch_up(&mut self) -> Result<(), Failure> {
        loop {
            let events =
                self.store.view(|ledger| ledger.events(&self.session, self.after, PAGE))?;
            let Some(last) = events.last() else { return Ok(()) };
            self.after = last.seq;
            let lines: String = events.iter().map(|event| self.line(event) + "\n").collect();
            print::text_out(&lines)?;
        }
    }

    /// Prints until a person ends it.
    async fn follow(&mut self) -> Result<(), Failure> {
        let mut end = std::pin::pin!(tokio::signal::ctrl_c());
        loop {
            self.catch_up()?;
            tokio::select! {
                ended = &mut end => return ended.map_err(|error| Failure::Internal(error.into())),
                () = tokio::time::sleep(POLL) => {}
            }
        }
    }

    fn line(&self, event: &Event) -> String {
        match self.format {
            Format::Human => print::event_human(event, &self.context.style),
            Format::Json => print::event_json(event),
        }
    }
}
