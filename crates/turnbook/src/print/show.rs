//! How does a session with its turns look?

use std::collections::BTreeMap;

use receipts::{Completion, Kind, Output, ThreadId};
use serde::Serialize;
use store::{
    Delivery, Dispatch, Driver, InputReport, Intent, Labels, Origin, Purpose, Reply, TurnReport,
};

use super::{
    gap,
    log::outcome_words,
    pretty,
    style::{Style, Tone},
    text::{clean, clean_lines, first_line, fit, wrap},
    time::{between, moment},
    tokens,
    view::{
        CompletionView, CostView, DeliveryView, GapView, LabelsView, LedgerUsageView, OutcomeView,
        OutputView, SessionFields,
    },
};
use crate::verb::show::{Detail, Shown};

/// How far the words of a session are from the left.
const SESSION_INDENT: usize = 10;
/// How many inputs are told.
const INPUTS_MAX: usize = 3;
/// How far the words of a turn are from the left.
const TURN_INDENT: usize = 12;

/// Gives the session, then a paragraph for each turn and each request without one.
pub(crate) fn show_human(shown: &Shown, detail: Detail, style: &Style) -> String {
    let mut text = session(shown, style);
    let starters = starters(shown);
    for (at, turn) in shown.turns.iter().enumerate() {
        let starter = starters.get(&turn.thread).copied();
        text.push('\n');
        text.push_str(&self::turn(turn, at + 1, (starter, detail), style));
    }
    if shown.turns.is_empty() {
        text.push_str("\nno turns yet\n");
    }
    for intent in &shown.requests {
        text.push('\n');
        text.push_str(&request(intent, style));
    }
    text
}

/// Gives for each conversation of a subagent the number of the turn that started it.
fn starters(shown: &Shown) -> BTreeMap<&ThreadId, usize> {
    let numbered = shown.turns.iter().enumerate();
    numbered.flat_map(|(at, turn)| turn.children.iter().map(move |child| (child, at + 1))).collect()
}

/// Lines with a word in front of each.
struct Paragraph<'a> {
    style: &'a Style,
    indent: usize,
    text: String,
}

impl Paragraph<'_> {
    /// Adds words, broken into lines where they do not fit.
    fn line(&mut self, word: &str, tone: Tone, words: &str) {
        let broken = wrap(&clean(words), self.style.width, self.indent);
        for (at, words) in broken.iter().enumerate() {
            let words = self.style.paint.paint(tone, words);
            self.raw(if at == 0 { word } else { "" }, &words);
        }
    }

    /// Adds words, cut where they do not fit: for what is told in full elsewhere.
    fn brief(&mut self, word: &str, words: &str) {
        let words = fit(&clean(words), self.style.width, self.indent);
        self.raw(word, &words);
    }

    /// Adds a line that is clean and coloured already.
    fn raw(&mut self, word: &str, words: &str) {
        let pad = self.indent;
        self.text.extend([format!("{word:<pad$}{words}\n")]);
    }

    fn maybe(&mut self, word: &str, words: Option<impl AsRef<str>>) {
        if let Some(words) = words {
            self.line(word, Tone::Plain, words.as_ref());
        }
    }
}

fn session(shown: &Shown, style: &Style) -> String {
    let session = &shown.session;
    let mut lines = Paragraph { style, indent: SESSION_INDENT, text: String::new() };
    lines.line("session", Tone::Head, session.id().as_str());
    let harness = &session.fixed.harness;
    lines.line(
        "harness",
        Tone::Plain,
        &match &session.thread {
            Some(thread) => format!("{harness}, conversation {thread}"),
            None => format!("{harness}, no conversation yet"),
        },
    );
    lines.maybe("title", session.fixed.title.as_deref());
    lines.maybe("folder", session.fixed.workdir.as_deref());
    lines.maybe("labels", labels(&session.fixed.labels));
    let at = |at| format!("{} {}", moment(at, &style.zone), style.zone.name());
    lines.line("created", Tone::Plain, &at(session.fixed.created_at));
    lines.maybe("closed", session.closed_at.map(at));
    lines.line("driver", Tone::Plain, &driver(session.driver.as_ref()));
    lines.line(
        "usage",
        Tone::Plain,
        &shown.usage.as_ref().map_or("no calls".to_owned(), tokens::sentence),
    );
    inputs(&mut lines, &shown.inputs);
    lines.text
}

/// Tells the last inputs, the current one first.
fn inputs(lines: &mut Paragraph<'_>, inputs: &[InputReport]) {
    for (at, report) in inputs.iter().rev().take(INPUTS_MAX).enumerate() {
        let word = if at == 0 { "input" } else { "before" };
        let input = &report.captured.input;
        let usage = report.usage.as_ref().map_or("no calls".to_owned(), tokens::sentence);
        let outcome = match report.outcome {
            Some(outcome) => format!("its run {}", outcome_words(outcome)),
            None => "the end of its run is not recorded".to_owned(),
        };
        let prompt = input.prompt.as_deref().map(first_line).unwrap_or_default();
        let (key, number) = (&input.key, report.captured.capture.0);
        let words = format!("{key}, number {number}: {usage}; {outcome}; {prompt}");
        lines.brief(word, &words);
    }
    if let Some(more) = inputs.len().checked_sub(INPUTS_MAX).filter(|more| *more > 0) {
        lines.line("", Tone::Faint, &format!("and {more} earlier ones, which --json lists"));
    }
}

fn driver(driver: Option<&Driver>) -> String {
    let Some(driver) = driver else { return "nobody ever drove it from here".to_owned() };
    let mut words = match &driver.exec {
        Some(exec) => format!("exec {exec}"),
        None => "nobody now".to_owned(),
    };
    words.extend([format!(", generation {}", driver.generation.0)]);
    if let Some(endpoint) = &driver.endpoint {
        words.extend([format!(", provider {} at {endpoint}", driver.provider_generation.0)]);
    }
    if let Some(process) = driver.process {
        words.extend([format!(", process {}", process.pid)]);
    }
    words
}

fn labels(labels: &Labels) -> Option<String> {
    let words: Vec<String> = labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

fn turn(
    report: &TurnReport,
    number: usize,
    (starter, detail): (Option<usize>, Detail),
    style: &Style,
) -> String {
    let mut lines = Paragraph { style, indent: TURN_INDENT, text: String::new() };
    lines.raw(&format!("turn {number}"), &heading(report, style));
    match (starter, &report.origin) {
        // Its owner is that of the turn that started the subagent.
        (Some(starter), None) => {
            let words = format!("subagent {} of turn {starter}", report.thread);
            lines.line("  owner", Tone::Plain, &words);
        }
        (_, origin) => lines.line("  owner", Tone::Plain, &owner(origin.as_ref())),
    }
    if let Some(usage) = &report.usage {
        lines.line("  used", Tone::Plain, &tokens::sentence(usage));
    }
    if let Some(completion) = &report.completion {
        ending(&mut lines, completion, detail);
    }
    for child in &report.children {
        lines.line("  subagent", Tone::Plain, child.as_str());
    }
    for found in &report.gaps {
        lines.line("  gap", Tone::Warn, &format!("{found}: {}", gap::meaning(found)));
    }
    if report.contradictions > 0 {
        let readings = tokens::count(report.contradictions, "later reading", "later readings");
        let words =
            format!("{readings} differed from what was stored; what was stored first holds");
        lines.line("  differs", Tone::Warn, &words);
    }
    lines.text
}

fn heading(report: &TurnReport, style: &Style) -> String {
    let completion = report.completion.as_ref();
    let mut words = vec![style.paint.paint(Tone::of(report.status), report.status.as_str())];
    let kind = report.kind.filter(|kind| *kind != Kind::Prompt);
    words.extend(kind.map(|kind| kind.as_str().to_owned()));
    let start = completion.and_then(|completion| completion.started_at).or(report.started_at);
    let shown = start.or(report.admitted_at);
    words.push(shown.map_or("no time".to_owned(), |at| moment(at, &style.zone)));
    let end = completion.and_then(|completion| completion.completed_at);
    words.extend(start.zip(end).and_then(|(start, end)| between(start, end)));
    if report.started.is_none() {
        words.push("never started".to_owned());
    }
    words.push(clean(report.turn.as_str()));
    words.join("  ")
}

fn owner(origin: Option<&Origin>) -> String {
    let Some(origin) = origin else { return "not ours".to_owned() };
    let mut words = format!("exec {}", origin.exec);
    if let Some(input) = &origin.input {
        words.extend([format!(", input {input}")]);
    }
    if let Some(labels) = labels(&origin.labels) {
        words.extend([format!(", {labels}")]);
    }
    words
}

fn ending(lines: &mut Paragraph<'_>, completion: &Completion, detail: Detail) {
    if let Some(later) = &completion.absorbed_by {
        lines.line("  absorbed", Tone::Plain, &format!("answered under {later}"));
    }
    if let Some(failure) = &completion.failure {
        let words = format!("{}: {}", failure.name, failure.message);
        lines.line("  error", Tone::Bad, &words);
    }
    let (word, text) = match &completion.output {
        Some(Output::Text(text)) => ("  answer", text),
        Some(Output::Partial(text)) => ("  so far", text),
        Some(Output::Value(value)) => ("  value", value),
        None => return,
    };
    match detail {
        Detail::Brief => lines.brief(word, &first_line(text)),
        Detail::Full => lines.raw(word, &clean_lines(text, &" ".repeat(TURN_INDENT))),
    }
    if completion.is_truncated() {
        lines.line("  cut", Tone::Warn, "a limit or a filter cut the answer short");
    }
}

fn request(intent: &Intent, style: &Style) -> String {
    let mut lines = Paragraph { style, indent: TURN_INDENT, text: String::new() };
    let (state, tone, meaning) = match &intent.delivery {
        Delivery::Intended => {
            ("uncertain", Tone::Warn, "whoever meant to send it did not say whether it was sent")
        }
        Delivery::Dispatched(Dispatch::Sent) => {
            ("sent", Tone::Warn, "the agent's history does not show it yet")
        }
        Delivery::Dispatched(Dispatch::NotSent { .. }) => {
            ("not sent", Tone::Bad, "it is proven that the agent did not store it")
        }
        Delivery::Dispatched(Dispatch::Uncertain { .. }) => {
            ("uncertain", Tone::Warn, "the agent may have stored it")
        }
    };
    let state = style.paint.paint(tone, state);
    let at = moment(intent.created_at, &style.zone);
    lines.raw("request", &format!("{state}  {at}  {}", clean(intent.request.as_str())));
    lines.line("  owner", Tone::Plain, &owner(Some(&intent.origin)));
    let why = match &intent.delivery {
        Delivery::Dispatched(Dispatch::NotSent { why } | Dispatch::Uncertain { why }) => Some(why),
        Delivery::Intended | Delivery::Dispatched(Dispatch::Sent) => None,
    };
    lines.maybe("  why", why);
    lines.line("  meaning", Tone::Plain, meaning);
    if intent.is_open() {
        lines.line("  to do", Tone::Plain, "`turnbook recover` reads the history and settles it");
    }
    lines.text
}

#[derive(Serialize)]
struct ShownView<'a> {
    session: SessionFields<'a>,
    usage: Option<LedgerUsageView>,
    cost: Option<CostView>,
    inputs: Vec<InputView<'a>>,
    turns: Vec<TurnView<'a>>,
    requests: Vec<RequestView<'a>>,
}

#[derive(Serialize)]
struct InputView<'a> {
    key: &'a str,
    capture: u64,
    captured_at: i64,
    prompt: Option<&'a str>,
    skill: Option<&'a str>,
    cwd: Option<&'a str>,
    model: Option<&'a str>,
    work: Option<&'a str>,
    labels: LabelsView<'a>,
    usage: Option<LedgerUsageView>,
    cost: Option<CostView>,
    outcome: Option<OutcomeView>,
    answer: Option<OutputView<'a>>,
    gaps: Vec<GapView>,
}

impl<'a> InputView<'a> {
    fn new(report: &'a InputReport) -> Self {
        let captured = &report.captured;
        let input = &captured.input;
        Self {
            key: input.key.as_str(),
            capture: captured.capture.0,
            captured_at: captured.at.0,
            prompt: input.prompt.as_deref(),
            skill: input.skill.as_deref(),
            cwd: input.cwd.as_deref(),
            model: input.model.as_deref(),
            work: input.work.as_ref().map(store::Work::as_str),
            labels: LabelsView(&input.labels),
            usage: report.usage.as_ref().map(LedgerUsageView::new),
            cost: report.usage.as_ref().and_then(CostView::new),
            outcome: report.outcome.map(OutcomeView::new),
            answer: report.answer.as_ref().map(OutputView::new),
            gaps: report.gaps.iter().map(GapView::new).collect(),
        }
    }
}

#[derive(Serialize)]
struct OwnerView<'a> {
    exec: &'a str,
    input: Option<&'a str>,
    generation: u64,
    provider_generation: u64,
    labels: LabelsView<'a>,
}

impl<'a> OwnerView<'a> {
    fn new(origin: &'a Origin) -> Self {
        Self {
            exec: origin.exec.as_str(),
            input: origin.input.as_ref().map(receipts::InputKey::as_str),
            generation: origin.generation.0,
            provider_generation: origin.provider_generation.0,
            labels: LabelsView(&origin.labels),
        }
    }
}

/// A turn.
#[derive(Serialize)]
pub(super) struct TurnView<'a> {
    thread: &'a str,
    turn: &'a str,
    first_seq: u64,
    request: Option<&'a str>,
    owner: Option<OwnerView<'a>>,
    kind: Option<&'static str>,
    status: &'static str,
    admitted_at: Option<i64>,
    started_at: Option<i64>,
    completion: Option<CompletionView<'a>>,
    usage: Option<LedgerUsageView>,
    cost: Option<CostView>,
    children: Vec<&'a str>,
    gaps: Vec<GapView>,
    contradictions: u64,
}

impl<'a> TurnView<'a> {
    pub(super) fn new(report: &'a TurnReport) -> Self {
        Self {
            thread: report.thread.as_str(),
            turn: report.turn.as_str(),
            first_seq: report.first.0,
            request: report.request.as_ref().map(receipts::RequestId::as_str),
            owner: report.origin.as_ref().map(OwnerView::new),
            kind: report.kind.map(Kind::as_str),
            status: report.status.as_str(),
            admitted_at: report.admitted_at.map(|at| at.0),
            started_at: report.started_at.map(|at| at.0),
            completion: report.completion.as_ref().map(CompletionView::new),
            usage: report.usage.as_ref().map(LedgerUsageView::new),
            cost: report.usage.as_ref().and_then(CostView::new),
            children: report.children.iter().map(ThreadId::as_str).collect(),
            gaps: report.gaps.iter().map(GapView::new).collect(),
            contradictions: report.contradictions,
        }
    }
}

/// A request.
#[derive(Serialize)]
pub(super) struct RequestView<'a> {
    request: &'a str,
    thread: &'a str,
    turn: Option<&'a str>,
    purpose: &'static str,
    reply: &'static str,
    owner: OwnerView<'a>,
    created_at: i64,
    delivery: DeliveryView<'a>,
    settled: Settled,
}

/// Whether it is known what became of a request; a boolean in JSON.
#[derive(Serialize)]
#[serde(transparent)]
struct Settled(bool);

impl<'a> RequestView<'a> {
    pub(super) fn new(intent: &'a Intent) -> Self {
        Self {
            request: intent.request.as_str(),
            thread: intent.thread.as_str(),
            turn: intent.turn.as_ref().map(receipts::TurnId::as_str),
            purpose: match intent.purpose {
                Purpose::Prompt => "prompt",
                Purpose::Steer => "steer",
            },
            reply: match intent.reply {
                Reply::Expected => "expected",
                Reply::NotAsked => "not_asked",
            },
            owner: OwnerView::new(&intent.origin),
            created_at: intent.created_at.0,
            delivery: DeliveryView::new(&intent.delivery),
            settled: Settled(!intent.is_open()),
        }
    }
}

/// Gives one object.
pub(crate) fn show_json(shown: &Shown) -> String {
    pretty(&ShownView {
        session: SessionFields::new(&shown.session),
        usage: shown.usage.as_ref().map(LedgerUsageView::new),
        cost: shown.usage.as_ref().and_then(CostView::new),
        inputs: shown.inputs.iter().map(InputView::new).collect(),
        turns: shown.turns.iter().map(TurnView::new).collect(),
        requests: shown.requests.iter().map(RequestView::new).collect(),
    })
}
