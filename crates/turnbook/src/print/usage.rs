//! How do sums of usage look?

use receipts::{ExecId, InputKey, Usage};
use serde::Serialize;
use store::UsageGroup;

use super::{
    grid::{Align, Cell, Column, Fit, Grid},
    pretty,
    style::{Style, Tone},
    text::clean,
    time::moment,
    tokens,
    view::{CostView, LedgerUsageView},
};
use crate::{
    config::Zone,
    verb::usage::{By, Group, Report},
};

/// What is shown where a group has no name.
const NOBODY: &str = "not ours";

/// Gives a table with its total, and says what is a lower bound.
pub(crate) fn usage_human(report: &Report, style: &Style) -> String {
    if report.groups.is_empty() {
        return "no model calls are known\n".to_owned();
    }
    let number = |head| -> Column { (head, Align::Right, Fit::Keep) };
    let detail = |head| -> Column { (head, Align::Right, Fit::Drop) };
    let mut grid = Grid::new(&[
        (head(report.by), Align::Left, Fit::Cut),
        number("INPUT"),
        detail("CACHE READ"),
        detail("CACHE WRITE"),
        number("OUTPUT"),
        detail("REASONING"),
        number("COST"),
        number("CALLS"),
        number("UNKNOWN"),
    ]);
    for (group, usage) in &report.groups {
        let name = match name(group) {
            Some(name) => Cell::new(name),
            None => Cell::toned(unnamed(report.by), Tone::Faint),
        };
        grid.row(row(name, usage));
    }
    grid.row(row(Cell::toned("total", Tone::Head), &report.total));
    let mut text = grid.render(style);
    text.push_str("tokens; input without cached ones, output with reasoning");
    if let Some(since) = report.since {
        text.extend([format!("; since {} {}", moment(since, &style.zone), style.zone.name())]);
    } else if report.by == By::Day {
        text.extend([format!("; days in {}", style.zone.name())]);
    }
    text.push('\n');
    if report.total.unknown_calls > 0 {
        let calls = tokens::count(report.total.calls, "call", "calls");
        let unknown = tokens::number(report.total.unknown_calls);
        text.extend([format!(
            "≥ marks a lower bound: the agent never stored the usage of {unknown} of {calls}\n"
        )]);
    }
    text
}

fn head(by: By) -> &'static str {
    match by {
        By::Session => "SESSION",
        By::Input => "INPUT KEY",
        By::Exec => "EXEC",
        By::Model => "MODEL",
        By::Day => "DAY",
    }
}

fn unnamed(by: By) -> &'static str {
    match by {
        By::Session | By::Input | By::Exec => NOBODY,
        By::Model => "not known",
        By::Day => "no time",
    }
}

fn row(name: Cell, usage: &Usage) -> Vec<Cell> {
    let sum = |sum| Cell::new(tokens::sum(sum, usage.calls));
    let unknown = match usage.unknown_calls {
        0 => Cell::toned("0", Tone::Faint),
        calls => Cell::toned(tokens::number(calls), Tone::Warn),
    };
    vec![
        name,
        sum(&usage.input),
        sum(&usage.cache_read),
        sum(&usage.cache_write),
        sum(&usage.output),
        sum(&usage.reasoning),
        Cell::new(tokens::cost(usage)),
        Cell::new(tokens::number(usage.calls)),
        unknown,
    ]
}

/// Names a group; `None` for what has no owner, model or time.
fn name(group: &Group) -> Option<String> {
    match group {
        Group::Ledger(UsageGroup::Session(id)) => Some(clean(id.as_str())),
        Group::Ledger(UsageGroup::Input(key)) => key.as_ref().map(|key| clean(key.as_str())),
        Group::Ledger(UsageGroup::Exec(id)) => id.as_ref().map(|id| clean(id.as_str())),
        Group::Ledger(UsageGroup::Model(provider, model)) => match (provider, model) {
            (Some(provider), Some(model)) => Some(clean(&format!("{provider}/{model}"))),
            (None, Some(name)) | (Some(name), None) => Some(clean(name)),
            (None, None) => None,
        },
        Group::Ledger(UsageGroup::Day(_)) => None,
        Group::Day(day) => day.map(|day| day.to_string()),
    }
}

#[derive(Serialize)]
struct ReportView<'a> {
    by: &'static str,
    since: Option<i64>,
    timezone: &'a str,
    groups: Vec<GroupView<'a>>,
    total: TotalView,
}

#[derive(Serialize)]
struct GroupView<'a> {
    group: GroupName<'a>,
    #[serde(flatten)]
    total: TotalView,
}

#[derive(Serialize)]
struct TotalView {
    usage: LedgerUsageView,
    cost: Option<CostView>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum GroupName<'a> {
    Session(&'a str),
    Input(Option<&'a str>),
    Exec(Option<&'a str>),
    Model { provider: Option<&'a str>, model: Option<&'a str> },
    Day(Option<String>),
}

impl<'a> GroupName<'a> {
    fn new(group: &'a Group) -> Self {
        match group {
            Group::Ledger(UsageGroup::Session(id)) => Self::Session(id.as_str()),
            Group::Ledger(UsageGroup::Input(key)) => {
                Self::Input(key.as_ref().map(InputKey::as_str))
            }
            Group::Ledger(UsageGroup::Exec(id)) => Self::Exec(id.as_ref().map(ExecId::as_str)),
            Group::Ledger(UsageGroup::Model(provider, model)) => {
                Self::Model { provider: provider.as_deref(), model: model.as_deref() }
            }
            Group::Ledger(UsageGroup::Day(_)) => Self::Day(None),
            Group::Day(day) => Self::Day(day.map(|day| day.to_string())),
        }
    }
}

impl TotalView {
    fn new(usage: &Usage) -> Self {
        Self { usage: LedgerUsageView::new(usage), cost: CostView::new(usage) }
    }
}

/// Gives one object.
pub(crate) fn usage_json(report: &Report, zone: &Zone) -> String {
    let groups = report.groups.iter().map(|(group, usage)| GroupView {
        group: GroupName::new(group),
        total: TotalView::new(usage),
    });
    pretty(&ReportView {
        by: report.by.as_str(),
        since: report.since.map(|at| at.0),
        timezone: zone.name(),
        groups: groups.collect(),
        total: TotalView::new(&report.total),
    })
}
