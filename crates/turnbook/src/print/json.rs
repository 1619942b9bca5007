//! The stable JSON form of a folded history.
//!
//! Token counters have one meaning for every harness: `input` without cached tokens, `output` with
//! reasoning inside, `reasoning` the known part of it, `cache_write_1h` the known part of
//! `cache_write`; a counter that no call told is null. `calls` includes `unknown_calls`.

use std::io::Write as _;

use receipts::{Completion, Output, Receipt};
use serde::Serialize;

use super::view::{CostView, GapView, OutputView, Partial, Truncated, UsageView};
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
