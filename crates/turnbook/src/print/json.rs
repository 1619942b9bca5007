//! The stable JSON form of a folded history.
//!
//! Token counters have one meaning for every harness: `input` without cached tokens, `output` with
//! reasoning inside, `reasoning` the known part of it, `cache_write_1h` the known part of
//! `cache_write`; a counter that no call told is null. `calls` includes `unknown_calls`.

use std::io::Write as _;

use receipts::{Completion, Gap, Output, Receipt, Usage};
use serde::{Serialize, ser::SerializeMap as _};
use serde_json::value::RawValue;

use crate::fold::Folded;

/// Prints one object and a newline.
pub(crate) fn json(folded: &Folded) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, &ThreadView::new(folded))
        .map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

#[derive(Serialize)]
struct ThreadView<'a> {
    thread: Option<&'a str>,
    receipts: Vec<ReceiptView<'a>>,
    inherited: Vec<&'a str>,
    children: Vec<Self>,
    totals: UsageView,
    inclusive: UsageView,
    gaps: Vec<GapView>,
}

impl<'a> ThreadView<'a> {
    fn new(folded: &'a Folded) -> Self {
        Self {
            thread: folded.thread.as_ref().map(receipts::ThreadId::as_str),
            receipts: folded.receipts.iter().map(ReceiptView::new).collect(),
            inherited: folded.inherited.iter().map(receipts::MessageId::as_str).collect(),
            children: folded.children.iter().map(Self::new).collect(),
            totals: UsageView::new(&folded.totals),
            inclusive: UsageView::new(&folded.inclusive),
            gaps: folded.gaps.iter().map(GapView::new).collect(),
        }
    }
}

#[derive(Serialize)]
struct ReceiptView<'a> {
    request: &'a str,
    kind: &'static str,
    status: &'static str,
    output: Option<OutputView<'a>>,
    partial: Partial,
    usage: UsageView,
    cost: Option<CostView>,
    error: Option<&'a str>,
    error_message: Option<&'a str>,
    finish: Option<&'a str>,
    truncated: Truncated,
    attempts: u32,
    conflicting_answers: Vec<&'a str>,
    absorbed_by: Option<&'a str>,
    started_at: Option<i64>,
    completed_at: Option<i64>,
    message_id: Option<&'a str>,
    messages: Vec<&'a str>,
    generated: Vec<&'a str>,
    children: Vec<&'a str>,
    gaps: Vec<GapView>,
}

/// Whether the output is that of a turn that did not complete; a boolean in JSON.
struct Partial(bool);

impl Serialize for Partial {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(self.0)
    }
}

/// Whether a limit or a filter cut the answer; a boolean in JSON.
struct Truncated(bool);

impl Serialize for Truncated {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(self.0)
    }
}

impl<'a> ReceiptView<'a> {
    fn new(receipt: &'a Receipt) -> Self {
        let completion: &Completion = &receipt.completion;
        let texts =
            |ids: &'a [receipts::MessageId]| ids.iter().map(receipts::MessageId::as_str).collect();
        Self {
            request: receipt.turn.as_str(),
            kind: receipt.kind.as_str(),
            status: completion.status.as_str(),
            output: completion.output.as_ref().map(OutputView::new),
            partial: Partial(matches!(completion.output, Some(Output::Partial(_)))),
            usage: UsageView::new(&receipt.usage),
            cost: CostView::new(&receipt.usage),
            error: completion.failure.as_ref().map(|failure| &*failure.name),
            error_message: completion.failure.as_ref().map(|failure| &*failure.message),
            finish: completion.finish.as_ref().map(receipts::Finish::as_str),
            truncated: Truncated(completion.is_truncated()),
            attempts: receipt.attempts,
            conflicting_answers: texts(&receipt.conflicting_answers),
            absorbed_by: completion.absorbed_by.as_ref().map(receipts::TurnId::as_str),
            started_at: completion.started_at.map(|time| time.0),
            completed_at: completion.completed_at.map(|time| time.0),
            message_id: completion.message.as_ref().map(receipts::MessageId::as_str),
            messages: texts(&receipt.answers),
            generated: texts(&receipt.generated),
            children: receipt.children.iter().map(receipts::ThreadId::as_str).collect(),
            gaps: receipt.gaps.iter().map(GapView::new).collect(),
        }
    }
}

/// `{"text": …}` or `{"value": …}`.
enum OutputView<'a> {
    Text(&'a str),
    Value(Box<RawValue>),
}

impl<'a> OutputView<'a> {
    fn new(output: &'a Output) -> Self {
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

#[derive(Serialize)]
struct UsageView {
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
    fn new(usage: &Usage) -> Self {
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
#[derive(Serialize)]
struct CostView {
    amount: Box<RawValue>,
    currency: &'static str,
}

impl CostView {
    fn new(usage: &Usage) -> Option<Self> {
        let amount = RawValue::from_string(usage.cost()?.to_string()).ok()?;
        Some(Self { amount, currency: "USD" })
    }
}

#[derive(Serialize)]
struct GapView {
    code: &'static str,
    text: String,
}

impl GapView {
    fn new(gap: &Gap) -> Self {
        Self { code: gap.code(), text: gap.to_string() }
    }
}
