//! How does the list of sessions look?

use serde::Serialize;

use super::{
    grid::{Align, Cell, Fit, Grid},
    pretty,
    style::{Style, Tone},
    text::clean,
    time::moment,
    tokens,
    view::{CostView, LedgerUsageView, SessionFields},
};
use crate::verb::sessions::Listed;

/// Gives a table, or says that there is nothing.
pub(crate) fn sessions_human(sessions: &[Listed], style: &Style) -> String {
    if sessions.is_empty() {
        return "the store has no sessions yet; `turnbook run PROMPT` begins one\n".to_owned();
    }
    let mut grid = Grid::new(&[
        ("SESSION", Align::Left, Fit::Cut),
        ("HARNESS", Align::Left, Fit::Drop),
        ("TURNS", Align::Right, Fit::Keep),
        ("INPUT", Align::Right, Fit::Keep),
        ("CACHED", Align::Right, Fit::Drop),
        ("OUTPUT", Align::Right, Fit::Keep),
        ("COST", Align::Right, Fit::Drop),
        ("LAST ACTIVITY", Align::Left, Fit::Keep),
        ("DRIVER", Align::Left, Fit::Cut),
        ("TITLE", Align::Left, Fit::Cut),
        ("FOLDER", Align::Left, Fit::CutOrDrop),
    ]);
    for listed in sessions {
        grid.row(row(listed, style));
    }
    grid.render(style) + &format!("times in {}\n", style.zone.name())
}

fn row(listed: &Listed, style: &Style) -> Vec<Cell> {
    let session = &listed.session;
    let usage = listed.usage.as_ref();
    let driver = session.driver.as_ref().and_then(|driver| driver.exec.as_ref());
    let driver = match (session.closed_at, driver) {
        (Some(_), _) => Cell::toned("closed", Tone::Faint),
        (None, Some(exec)) => Cell::new(clean(exec.as_str())),
        (None, None) => Cell::maybe(None::<String>),
    };
    vec![
        Cell::new(clean(session.id().as_str())),
        Cell::new(clean(session.fixed.harness.as_str())),
        Cell::new(tokens::number(listed.turns)),
        Cell::maybe(usage.map(|usage| tokens::sum(&usage.input, usage.calls))),
        Cell::maybe(usage.map(|usage| tokens::sum(&usage.cache_read, usage.calls))),
        Cell::maybe(usage.map(|usage| tokens::sum(&usage.output, usage.calls))),
        Cell::maybe(usage.map(tokens::cost)),
        Cell::maybe(listed.last_activity.map(|at| moment(at, &style.zone))),
        driver,
        Cell::maybe(session.fixed.title.as_deref().map(clean)),
        Cell::maybe(session.fixed.workdir.as_deref().map(clean)),
    ]
}

#[derive(Serialize)]
struct SessionsView<'a> {
    sessions: Vec<SessionView<'a>>,
}

#[derive(Serialize)]
struct SessionView<'a> {
    #[serde(flatten)]
    session: SessionFields<'a>,
    turns: u64,
    usage: Option<LedgerUsageView>,
    cost: Option<CostView>,
    last_activity: Option<i64>,
}

/// Gives one object.
pub(crate) fn sessions_json(sessions: &[Listed]) -> String {
    let sessions = sessions.iter().map(|listed| SessionView {
        session: SessionFields::new(&listed.session),
        turns: listed.turns,
        usage: listed.usage.as_ref().map(LedgerUsageView::new),
        cost: listed.usage.as_ref().and_then(CostView::new),
        last_activity: listed.last_activity.map(|at| at.0),
    });
    pretty(&SessionsView { sessions: sessions.collect() })
}
