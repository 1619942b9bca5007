//! `turnbook store`: how is the store kept in order?

use clap::{Args as ClapArgs, Subcommand};
use serde::Serialize;
use store::Access as _;

use crate::{
    args::{Age, Format, FormatArgs},
    context::Context,
    exit::{Code, Failure},
    open, print,
};

/// What is done to the store.
#[derive(Debug, Subcommand)]
pub(crate) enum Args {
    /// Drops old evidence: what facts were read from. The ledger itself stays whole.
    Prune(PruneArgs),
}

/// Which evidence is dropped.
#[derive(Debug, ClapArgs)]
pub(crate) struct PruneArgs {
    /// Evidence that was kept before is dropped: 30d, 12h, 2w.
    #[arg(long, value_name = "DURATION", default_value = "30d")]
    older_than: Age,
    #[command(flatten)]
    format: FormatArgs,
}

#[derive(Serialize)]
struct PruneView {
    dropped: u64,
    before: i64,
}

/// Does it.
pub(crate) fn run(args: &Args, context: &Context) -> Result<Code, Failure> {
    let Args::Prune(args) = args;
    let zone = &context.style.zone;
    let before = args.older_than.before(context.now, zone);
    let before = before.map_err(|error| Failure::BadInput(error.into()))?;
    let store = open::existing(&context.config.store.value)?;
    let dropped = store.update(|ledger| ledger.prune_evidence(before))?;
    print::text_out(&match args.format.format() {
        Format::Human => {
            let before = print::moment(before, zone);
            format!("dropped {dropped} pieces of evidence that were kept before {before}\n")
        }
        Format::Json => print::pretty(&PruneView { dropped, before: before.0 }),
    })?;
    Ok(Code::Completed)
}
