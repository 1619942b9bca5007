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

#[cfg(test)]
mod tests {
    use receipts::{Counters, ExecId, SessionId, UnixMillis, Usage};
    use store::{Driver, HarnessName, Labels, NewSession, Provider, Session};

    use super::sessions_human;
    use crate::{
        print::style::{Paint, Style},
        verb::sessions::Listed,
    };

    fn listed(id: &str, usage: Option<Usage>) -> Listed {
        let exec = ExecId::new("exec-0123456789").unwrap();
        Listed {
            session: Session {
                fixed: NewSession {
                    id: SessionId::new(id).unwrap(),
                    harness: HarnessName::new("opencode").unwrap(),
                    created_at: UnixMillis(0),
                    workdir: Some("/home/me/a/project/in/a/deep/folder".into()),
                    title: Some("A title that goes on for a while".into()),
                    labels: Labels::none(),
                },
                thread: None,
                input: None,
                driver: usage.map(|_| Driver::claimed(None, &exec, Provider::Replace)),
                closed_at: None,
            },
            turns: 1234,
            last_activity: usage.map(|_| UnixMillis(1_772_355_600_000)),
            usage,
        }
    }

    #[test]
    fn the_list_fits_every_terminal() {
        let mut usage = Usage::default();
        usage.add(&Counters { input: Some(1_234_567), output: Some(0), ..Counters::UNKNOWN });
        usage.add(&Counters::UNKNOWN);
        let sessions = [listed("fix-parser", Some(usage)), listed("fix-lexer", None)];
        let shown = [(None, Paint::Plain), (Some(100), Paint::Plain), (Some(80), Paint::Ansi)].map(
            |(width, paint)| {
                let zone = "UTC".parse().unwrap();
                sessions_human(&sessions, &Style { width, paint, zone })
            },
        );
        insta::assert_snapshot!(shown.join("\n").replace('\x1b', "␛"));
        assert_eq!(
            sessions_human(
                &[],
                &Style { width: None, paint: Paint::Plain, zone: "UTC".parse().unwrap() }
            ),
            "the store has no sessions yet; `turnbook run PROMPT` begins one\n"
        );
    }
}
