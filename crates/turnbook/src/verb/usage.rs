//! `turnbook usage`: what was used, by whom?

use std::collections::BTreeMap;

use clap::{Args as ClapArgs, ValueEnum};
use jiff::civil::Date;
use receipts::{UnixMillis, Usage};
use store::{Ledger, Scope, UsageBy, UsageGroup};

use crate::{
    args::{Format, FormatArgs, Since},
    config::Zone,
    context::Context,
    exit::{Code, Failure},
    open, print,
};

/// Sums what the model calls used; every call counts once in the whole store.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// What is summed up together.
    #[arg(long, value_enum, default_value_t = By::Session)]
    by: By,
    /// Only calls since a day (2026-12-01), a moment, or a duration ago (30d, 12h).
    #[arg(long, value_name = "DATE|DURATION")]
    since: Option<Since>,
    #[command(flatten)]
    format: FormatArgs,
}

/// What is summed up together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// The session that owns the call.
    Session,
    /// The input whose turn made it.
    Input,
    /// The run of a program that asked for the turn.
    Exec,
    /// The model, with who served it.
    Model,
    /// The day of the call, in the time zone.
    Day,
}

impl By {
    /// Gives the word for it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Input => "input",
            Self::Exec => "exec",
            Self::Model => "model",
            Self::Day => "day",
        }
    }
}

/// Calls that are summed up together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Group {
    /// A group that the ledger knows.
    Ledger(UsageGroup),
    /// A day in the time zone; `None` for calls without a time.
    Day(Option<Date>),
}

/// What was used.
#[derive(Debug, Clone)]
pub(crate) struct Report {
    /// What is summed up together.
    pub(crate) by: By,
    /// Since when, by the agents' clocks.
    pub(crate) since: Option<UnixMillis>,
    /// The sums.
    pub(crate) groups: Vec<(Group, Usage)>,
    /// All of them together.
    pub(crate) total: Usage,
}

/// Sums and prints.
pub(crate) fn run(args: &Args, context: &Context) -> Result<Code, Failure> {
    let zone = &context.style.zone;
    let since = args.since.as_ref().map(|since| since.resolve(context.now, zone)).transpose();
    let since = since.map_err(|error| Failure::BadInput(error.into()))?;
    let report = open::view(context, |ledger| Ok(collect(ledger, args.by, since, zone)?))?;
    print::text_out(&match args.format.format() {
        Format::Human => print::usage_human(&report, &context.style),
        Format::Json => print::usage_json(&report, zone),
    })?;
    Ok(Code::Completed)
}

fn collect(
    ledger: &dyn Ledger,
    by: By,
    since: Option<UnixMillis>,
    zone: &Zone,
) -> store::Result<Report> {
    let known = |by| -> store::Result<Vec<(Group, Usage)>> {
        let groups = ledger.usage_by(by, since)?;
        Ok(groups.into_iter().map(|(group, usage)| (Group::Ledger(group), usage)).collect())
    };
    let groups = match by {
        By::Session => known(UsageBy::Session)?,
        By::Input => known(UsageBy::Input)?,
        By::Exec => known(UsageBy::Exec)?,
        By::Model => known(UsageBy::Model)?,
        By::Day => days(ledger, since, zone)?,
    };
    let mut total = Usage::default();
    for (_, usage) in &groups {
        total.merge(usage);
    }
    Ok(Report { by, since, groups, total })
}

/// The ledger's own days are those of UTC.
fn days(
    ledger: &dyn Ledger,
    since: Option<UnixMillis>,
    zone: &Zone,
) -> store::Result<Vec<(Group, Usage)>> {
    let mut days: BTreeMap<Group, Usage> = BTreeMap::new();
    ledger.visit_calls(Scope::All, &mut |call| {
        if since.is_some() && call.at < since {
            return;
        }
        let day = call.at.and_then(|at| print::zoned(at, zone)).map(|at| at.date());
        days.entry(Group::Day(day)).or_default().add(&call.counters);
    })?;
    Ok(days.into_iter().collect())
}
