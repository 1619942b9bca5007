//! Which JSON objects are the same in every view?
//!
//! Token counters have one meaning for every harness: `input` without cached tokens, `output` with
//! reasoning inside, `reasoning` the known part of it, `cache_write_1h` the known part of
//! `cache_write`; a counter that no call told is null. `calls` includes `unknown_calls`.

use receipts::{
    Completion, Counters, ExecId, Finish, Gap, MessageId, Output, ThreadId, TurnId, Usage, Usd,
};
use serde::{Serialize, ser::SerializeMap as _};
use serde_json::value::RawValue;
use store::{Delivery, Dispatch, Driver, Endpoint, ExecOutcome, Labels, Session};

/// Whether the output is that of a turn that did not complete; a boolean in JSON.
#[derive(Debug)]
pub(super) struct Partial(pub(super) bool);

impl Serialize for Partial {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(self.0)
    }
}

/// Whether a limit or a filter cut the answer; a boolean in JSON.
#[derive(Debug)]
pub(super) struct Truncated(pub(super) bool);

impl Serialize for Truncated {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(self.0)
    }
}

/// `{"text": …}` or `{"value": …}`.
#[derive(Debug)]
pub(super) enum OutputView<'a> {
    Text(&'a str),
    Value(Box<RawValue>),
}

impl<'a> OutputView<'a> {
    pub(super) fn new(output: &'a Output) -> Self {
        match output {
            Output::Text(text) | Output::Partial(text) => Self::Text(text),
            Output::Value(value) => match RawValue::from_string(value.to_string()) {
                Ok(raw) => Self::Value(raw),
                // A value that was no JSON is still shown, as the text that it was.
                Err(_) => Self::Text(value),
            },
        }
    }
}

impl Serialize for OutputView<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        match self {
            Self::Text(text) => map.serialize_entry("text", text)?,
            Self::Value(value) => map.serialize_entry("value", value)?,
        }
        map.end()
    }
}

/// The token sums of some calls.
#[derive(Debug, Serialize)]
pub(super) struct UsageView {
    input: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    cache_write_1h: Option<u64>,
    output: Option<u64>,
    reasoning: Option<u64>,
    calls: u64,
    unknown_calls: u64,
}

impl UsageView {
    pub(super) fn new(usage: &Usage) -> Self {
        Self {
            input: usage.input.value(),
            cache_read: usage.cache_read.value(),
            cache_write: usage.cache_write.value(),
            cache_write_1h: usage.cache_write_1h.value(),
            output: usage.output.value(),
            reasoning: usage.reasoning.value(),
            calls: usage.calls,
            unknown_calls: usage.unknown_calls,
        }
    }
}

/// The amount is an exact decimal number.
#[derive(Debug, Serialize)]
pub(super) struct CostView {
    amount: Box<RawValue>,
    currency: &'static str,
}

impl CostView {
    pub(super) fn new(usage: &Usage) -> Option<Self> {
        Self::of(usage.cost()?)
    }

    pub(super) fn of(cost: Usd) -> Option<Self> {
        let amount = RawValue::from_string(cost.to_string()).ok()?;
        Some(Self { amount, currency: "USD" })
    }
}

/// One thing that did not fit.
#[derive(Debug, Serialize)]
pub(super) struct GapView {
    code: &'static str,
    text: String,
}

impl GapView {
    pub(super) fn new(gap: &Gap) -> Self {
        Self { code: gap.code(), text: gap.to_string() }
    }
}

/// The token sums of some calls, and how many calls told each.
#[derive(Debug, Serialize)]
pub(super) struct LedgerUsageView {
    #[serde(flatten)]
    sums: UsageView,
    known: KnownView,
}

/// How many calls told a counter; a sum that not every call told is a lower bound (rule U2).
#[derive(Debug, Serialize)]
struct KnownView {
    input: u64,
    cache_read: u64,
    cache_write: u64,
    cache_write_1h: u64,
    output: u64,
    reasoning: u64,
    cost: u64,
}

impl LedgerUsageView {
    pub(super) fn new(usage: &Usage) -> Self {
        Self {
            sums: UsageView::new(usage),
            known: KnownView {
                input: usage.input.known(),
                cache_read: usage.cache_read.known(),
                cache_write: usage.cache_write.known(),
                cache_write_1h: usage.cache_write_1h.known(),
                output: usage.output.known(),
                reasoning: usage.reasoning.known(),
                cost: usage.cost_known(),
            },
        }
    }
}

/// Labels, as an object with the names as keys.
#[derive(Debug)]
pub(super) struct LabelsView<'a>(pub(super) &'a Labels);

impl Serialize for LabelsView<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter())
    }
}

/// The right to write to a session.
#[derive(Debug, Serialize)]
pub(super) struct DriverView<'a> {
    exec: Option<&'a str>,
    generation: u64,
    provider_generation: u64,
    provider_exec: Option<&'a str>,
    endpoint: Option<&'a str>,
    pid: Option<u32>,
}

impl<'a> DriverView<'a> {
    pub(super) fn new(driver: &'a Driver) -> Self {
        Self {
            exec: driver.exec.as_ref().map(ExecId::as_str),
            generation: driver.generation.0,
            provider_generation: driver.provider_generation.0,
            provider_exec: driver.provider_exec.as_ref().map(ExecId::as_str),
            endpoint: driver.endpoint.as_ref().map(Endpoint::as_str),
            pid: driver.process.map(|process| process.pid),
        }
    }
}

/// How an attempt to send stands.
#[derive(Debug, Serialize)]
pub(super) struct DeliveryView<'a> {
    state: &'static str,
    why: Option<&'a str>,
}

impl<'a> DeliveryView<'a> {
    pub(super) fn new(delivery: &'a Delivery) -> Self {
        let (state, why) = match delivery {
            Delivery::Intended => ("intended", None),
            Delivery::Dispatched(dispatch) => dispatch_words(dispatch),
        };
        Self { state, why }
    }
}

/// Names how an attempt to send ended.
pub(super) fn dispatch_words(dispatch: &Dispatch) -> (&'static str, Option<&str>) {
    match dispatch {
        Dispatch::Sent => ("sent", None),
        Dispatch::NotSent { why } => ("not_sent", Some(why)),
        Dispatch::Uncertain { why } => ("uncertain", Some(why)),
    }
}

/// What every view tells of a session.
#[derive(Debug, Serialize)]
pub(super) struct SessionFields<'a> {
    id: &'a str,
    harness: &'a str,
    thread: Option<&'a str>,
    title: Option<&'a str>,
    workdir: Option<&'a str>,
    labels: LabelsView<'a>,
    created_at: i64,
    closed_at: Option<i64>,
    input: Option<&'a str>,
    driver: Option<DriverView<'a>>,
}

impl<'a> SessionFields<'a> {
    pub(super) fn new(session: &'a Session) -> Self {
        Self {
            id: session.id().as_str(),
            harness: session.fixed.harness.as_str(),
            thread: session.thread.as_ref().map(ThreadId::as_str),
            title: session.fixed.title.as_deref(),
            workdir: session.fixed.workdir.as_deref(),
            labels: LabelsView(&session.fixed.labels),
            created_at: session.fixed.created_at.0,
            closed_at: session.closed_at.map(|at| at.0),
            input: session.input.as_ref().map(|input| input.key.as_str()),
            driver: session.driver.as_ref().map(DriverView::new),
        }
    }
}

/// What one call used, as far as it is known.
#[derive(Debug, Serialize)]
pub(super) struct CounterView {
    input: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    cache_write_1h: Option<u64>,
    output: Option<u64>,
    reasoning: Option<u64>,
    cost: Option<CostView>,
}

impl CounterView {
    pub(super) fn new(counters: &Counters) -> Self {
        Self {
            input: counters.input,
            cache_read: counters.cache_read,
            cache_write: counters.cache_write,
            cache_write_1h: counters.cache_write_1h,
            output: counters.output,
            reasoning: counters.reasoning,
            cost: counters.cost.and_then(CostView::of),
        }
    }
}

/// How an attempt ended.
#[derive(Debug, Serialize)]
pub(super) struct CompletionView<'a> {
    status: &'static str,
    output: Option<OutputView<'a>>,
    partial: Partial,
    error: Option<&'a str>,
    error_message: Option<&'a str>,
    finish: Option<&'a str>,
    truncated: Truncated,
    absorbed_by: Option<&'a str>,
    started_at: Option<i64>,
    completed_at: Option<i64>,
    message_id: Option<&'a str>,
}

impl<'a> CompletionView<'a> {
    pub(super) fn new(completion: &'a Completion) -> Self {
        let failure = completion.failure.as_ref();
        Self {
            status: completion.status.as_str(),
            output: completion.output.as_ref().map(OutputView::new),
            partial: Partial(matches!(completion.output, Some(Output::Partial(_)))),
            error: failure.map(|failure| &*failure.name),
            error_message: failure.map(|failure| &*failure.message),
            finish: completion.finish.as_ref().map(Finish::as_str),
            truncated: Truncated(completion.is_truncated()),
            absorbed_by: completion.absorbed_by.as_ref().map(TurnId::as_str),
            started_at: completion.started_at.map(|at| at.0),
            completed_at: completion.completed_at.map(|at| at.0),
            message_id: completion.message.as_ref().map(MessageId::as_str),
        }
    }
}

/// How a run ended.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OutcomeView {
    Exited(i32),
    Killed(i32),
    Lost,
}

impl OutcomeView {
    pub(super) fn new(outcome: ExecOutcome) -> Self {
        match outcome {
            ExecOutcome::Exited(code) => Self::Exited(code),
            ExecOutcome::Killed(signal) => Self::Killed(signal),
            ExecOutcome::Lost => Self::Lost,
        }
    }
}
