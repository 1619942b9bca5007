//! How does a turn look to whoever drove it, and what a recovery or a watch found?

use harness::{Ask, AskBody, Report};
use receipts::{Fact, FactBody, Output, Owner, RequestId, SessionId, UnixMillis};
use recorder::{Recovered, Told};
use serde::Serialize;
use store::{Intent, TurnReport};

use super::{
    compact, gap,
    log::fact_words,
    pretty,
    show::{RequestView, TurnView},
    style::{Style, Tone},
    text::{clean, first_line, fit, wrap},
    time::{between, moment},
    tokens,
};
use crate::{
    exit,
    verb::{
        recover::Outcome,
        watch::{Line, What},
    },
};

/// How far the words of a receipt are from the left.
const INDENT: usize = 10;

/// Gives the receipt: how the turn ended, what it used, and what did not fit.
pub(crate) fn driven_human(
    session: &SessionId,
    (intent, report): (Option<&Intent>, Option<&TurnReport>),
    style: &Style,
) -> String {
    let mut text = match report {
        Some(report) => receipt(report, style),
        None => no_receipt(intent, style),
    };
    text.push_str(&paragraph("session", session.as_str(), style));
    text
}

fn receipt(report: &TurnReport, style: &Style) -> String {
    let completion = report.completion.as_ref();
    let mut text = style.paint.paint(Tone::of(report.status), report.status.as_str());
    let times =
        completion.and_then(|completion| between(completion.started_at?, completion.completed_at?));
    text.extend(times.map(|took| format!(" in {took}")));
    if completion.is_some_and(receipts::Completion::is_truncated) {
        text.push_str(", cut short by a limit or a filter");
    }
    text.push('\n');
    if let Some(failure) = completion.and_then(|completion| completion.failure.as_ref()) {
        let words = format!("{}: {}", failure.name, failure.message);
        text.push_str(&paragraph("error", &words, style));
    }
    if let Some(later) = completion.and_then(|completion| completion.absorbed_by.as_ref()) {
        text.push_str(&paragraph("absorbed", &format!("answered under {later}"), style));
    }
    if let Some(usage) = &report.usage {
        text.push_str(&paragraph("used", &tokens::sentence(usage), style));
    }
    for found in &report.gaps {
        let words = format!("{found}: {}", gap::meaning(found));
        text.push_str(&paragraph("gap", &words, style));
    }
    text
}

fn no_receipt(intent: Option<&Intent>, style: &Style) -> String {
    use store::{Delivery, Dispatch};
    let (state, why) = match intent.map(|intent| &intent.delivery) {
        Some(Delivery::Dispatched(Dispatch::NotSent { why })) => ("not sent", &**why),
        Some(Delivery::Dispatched(Dispatch::Uncertain { why })) => ("uncertain", &**why),
        Some(Delivery::Dispatched(Dispatch::Sent)) => {
            ("sent", "the agent's history does not show it yet; `turnbook recover` settles it")
        }
        Some(Delivery::Intended) | None => {
            ("uncertain", "it is not known whether it was sent; `turnbook recover` settles it")
        }
    };
    format!("{}\n{}", style.paint.paint(Tone::Warn, state), paragraph("why", why, style))
}

/// Gives a word and what is said of it, broken into lines where it does not fit.
fn paragraph(word: &str, words: &str, style: &Style) -> String {
    let lines = wrap(&clean(words), style.width, INDENT);
    let lines = lines.iter().enumerate().map(|(at, line)| {
        let word = if at == 0 { word } else { "" };
        format!("{word:<INDENT$}{line}\n")
    });
    lines.collect()
}

#[derive(Serialize)]
struct DrivenView<'a> {
    session: &'a str,
    request: Option<RequestView<'a>>,
    turn: Option<TurnView<'a>>,
}

/// Gives one object.
pub(crate) fn driven_json(
    session: &SessionId,
    intent: Option<&Intent>,
    report: Option<&TurnReport>,
) -> String {
    pretty(&DrivenView {
        session: session.as_str(),
        request: intent.map(RequestView::new),
        turn: report.map(TurnView::new),
    })
}

/// Gives one line, without its newline.
pub(crate) fn recovered_human(outcome: &Outcome, style: &Style) -> String {
    let session = clean(outcome.session.as_str());
    let found = match &outcome.found {
        Ok(found) => found,
        Err(why) => {
            let state = style.paint.paint(Tone::Bad, "not recovered");
            return format!("{session}  {state}: {}", clean(why));
        }
    };
    let mut words = vec![match found.appended {
        0 => "nothing new".to_owned(),
        new => tokens::count(new as u64, "new fact", "new facts"),
    }];
    let settled: [(&str, &[RequestId]); 3] = [
        ("admitted", &found.admitted),
        ("not sent", &found.not_sent),
        ("still uncertain", &found.open),
    ];
    for (word, requests) in settled {
        if !requests.is_empty() {
            let requests = requests.iter().map(RequestId::as_str).collect::<Vec<_>>().join(", ");
            words.push(format!("{word}: {}", clean(&requests)));
        }
    }
    if found.pending > 0 {
        words.push(tokens::count(found.pending as u64, "turn pending", "turns pending"));
    }
    words.extend(agent(found).map(str::to_owned));
    format!("{session}  {}", words.join("; "))
}

fn agent(found: &Recovered) -> Option<&'static str> {
    match found.owner {
        Owner::Busy => Some("its agent works"),
        Owner::Idle => Some("its agent is idle"),
        Owner::Dead => Some("its agent is gone"),
        // Where nothing is open, it does not matter.
        Owner::Unknown if found.pending == 0 && found.open.is_empty() => None,
        Owner::Unknown => Some("nothing is known of its agent"),
    }
}

fn owner(owner: Owner) -> &'static str {
    match owner {
        Owner::Busy => "busy",
        Owner::Idle => "idle",
        Owner::Dead => "dead",
        Owner::Unknown => "unknown",
    }
}

#[derive(Serialize)]
struct RecoveredView<'a> {
    session: &'a str,
    error: Option<&'a str>,
    agent: Option<&'static str>,
    new_facts: usize,
    admitted: Vec<&'a str>,
    not_sent: Vec<&'a str>,
    uncertain: Vec<&'a str>,
    pending_turns: usize,
}

/// Gives one object in one line.
pub(crate) fn recovered_json(outcome: &Outcome) -> String {
    fn ids(requests: &[RequestId]) -> Vec<&str> {
        requests.iter().map(RequestId::as_str).collect()
    }
    let found: Option<&Recovered> = outcome.found.as_ref().ok();
    compact(&RecoveredView {
        session: outcome.session.as_str(),
        error: outcome.found.as_ref().err().map(String::as_str),
        agent: found.map(|found| owner(found.owner)),
        new_facts: found.map_or(0, |found| found.appended),
        admitted: found.map_or_else(Vec::new, |found| ids(&found.admitted)),
        not_sent: found.map_or_else(Vec::new, |found| ids(&found.not_sent)),
        uncertain: found.map_or_else(Vec::new, |found| ids(&found.open)),
        pending_turns: found.map_or(0, |found| found.pending),
    })
}

/// Gives the lines of one thing that is told; most are none.
pub(crate) fn watched_human(line: &Line, now: UnixMillis, style: &Style) -> Vec<String> {
    let time = moment(now, &style.zone);
    let say = |words: &str| vec![format!("{time}  {}", fit(&clean(words), style.width, 21))];
    match &line.what {
        What::NotReached(why) => say(&format!("{} is not reached: {why}", line.url)),
        What::Told(Told::Recorded { session, facts, .. }) => {
            let lines = facts.iter().flat_map(|fact| say(&fact_line(session, fact)));
            lines.collect()
        }
        What::Told(Told::Live(Report::Connected(provider))) => {
            say(&format!("following {}, OpenCode {}", line.url, provider.version))
        }
        What::Told(Told::Live(Report::Disconnected { why })) => {
            say(&format!("{} is lost: {why}", line.url))
        }
        What::Told(Told::Live(Report::Asked(ask))) => {
            say(&format!("{} asks: {}", ask.thread, asked(ask)))
        }
        What::Told(Told::Unread { error, .. }) => say(&format!("not read yet: {error}")),
        What::Told(Told::Unrecorded(error)) => {
            say(&format!("not recorded yet: {}", exit::chain(error)))
        }
        What::Told(Told::Turn { .. } | Told::Live(_) | Told::CaughtUp) => Vec::new(),
    }
}

fn fact_line(session: &SessionId, fact: &Fact) -> String {
    let answer = match &fact.body {
        FactBody::Completed(completion) => match &completion.output {
            Some(Output::Text(text) | Output::Partial(text) | Output::Value(text)) => {
                format!(": {}", first_line(text))
            }
            None => String::new(),
        },
        FactBody::Admitted { .. }
        | FactBody::Started { .. }
        | FactBody::Call { .. }
        | FactBody::Child { .. }
        | FactBody::Generated { .. }
        | FactBody::Gap(_) => String::new(),
    };
    format!("{session}  {}  {}{answer}", fact.turn, fact_words(&fact.body))
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum WatchedView<'a> {
    Following {
        url: &'a str,
        version: &'a str,
    },
    NotReached {
        url: &'a str,
        why: &'a str,
    },
    Recorded {
        url: &'a str,
        session: &'a str,
        thread: &'a str,
        turn: &'a str,
        fact: &'a str,
        words: String,
    },
    Asked {
        url: &'a str,
        thread: &'a str,
        ask: &'a str,
        words: String,
    },
}

/// Gives the lines of one thing that is told, each an object.
pub(crate) fn watched_json(line: &Line) -> Vec<String> {
    let url = line.url.as_str();
    match &line.what {
        What::NotReached(why) => vec![compact(&WatchedView::NotReached { url, why })],
        What::Told(Told::Recorded { session, thread, facts }) => facts
            .iter()
            .map(|fact| {
                compact(&WatchedView::Recorded {
                    url,
                    session: session.as_str(),
                    thread: thread.as_str(),
                    turn: fact.turn.as_str(),
                    fact: fact.body.kind(),
                    words: fact_words(&fact.body),
                })
            })
            .collect(),
        What::Told(Told::Live(Report::Connected(provider))) => {
            vec![compact(&WatchedView::Following { url, version: &provider.version })]
        }
        What::Told(Told::Live(Report::Disconnected { why })) => {
            vec![compact(&WatchedView::NotReached { url, why })]
        }
        What::Told(Told::Live(Report::Asked(ask))) => vec![compact(&WatchedView::Asked {
            url,
            thread: ask.thread.as_str(),
            ask: ask.id.as_str(),
            words: asked(ask),
        })],
        What::Told(_) => Vec::new(),
    }
}

fn asked(ask: &Ask) -> String {
    match &ask.body {
        AskBody::Permission { permission, patterns } => {
            format!("permission {permission}: {}", patterns.join(", "))
        }
        AskBody::Questions(questions) => {
            questions.iter().map(|question| &*question.text).collect::<Vec<_>>().join(" | ")
        }
    }
}

/// Gives what is asked, with its choices.
pub(crate) fn ask_human(ask: &Ask) -> String {
    let mut text = format!("{}  {}\n", clean(ask.id.as_str()), clean(&asked(ask)));
    if let AskBody::Questions(questions) = &ask.body {
        for choice in questions.iter().flat_map(|question| &question.choices) {
            let (label, description) = (clean(&choice.label), clean(&choice.description));
            text.extend([format!("  - {label}: {description}\n")]);
        }
    }
    text
}

#[cfg(test)]
mod tests;
