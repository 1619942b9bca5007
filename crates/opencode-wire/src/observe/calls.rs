//! Which model calls stand behind an assistant message, and what did they use? (rule F7)
//!
//! One message is one step of the loop, but a retry by the provider starts the step again inside
//! the same message. Each `step-start` is a call, each `step-finish` tells what one used; a call
//! that was started again told nothing.

use std::fmt;

use receipts::{Call, CallKey, CallUsage, Counters, Ending, Finish, MessageId, UnixMillis, Usd};
use verbatim::{Found, RawValue};

use super::odd::Odd;
use crate::message::{Message, Tokens};

/// How the message stands.
pub(super) struct Context<'c> {
    pub(super) completed: Option<UnixMillis>,
    pub(super) finish: &'c Option<Finish>,
    pub(super) ending: &'c Ending,
}

pub(super) fn calls(
    id: &MessageId,
    message: &Message<'_>,
    context: &Context<'_>,
    odd: &mut Odd,
) -> Vec<Call> {
    let mut usages = stepped(message, odd);
    if usages.is_empty() {
        usages.extend(unstepped(message, context, odd));
    }
    if context.completed.is_some() {
        let told = usages.iter().any(|usage| matches!(usage, CallUsage::Known(_)));
        for usage in usages.iter_mut().filter(|usage| **usage == CallUsage::Open) {
            // A message without any step-finish may still tell its last step's tokens.
            *usage = if told { CallUsage::Unknown } else { whole_message(message, odd) };
        }
    }
    usages.into_iter().enumerate().filter_map(|(at, usage)| keyed(id, at, usage)).collect()
}

/// The first call has the message's own id, a later one a number behind it.
fn keyed(id: &MessageId, at: usize, usage: CallUsage) -> Option<Call> {
    let key = match at {
        0 => CallKey::new(id.as_str()),
        _ => CallKey::new(format!("{id}#{at}")),
    };
    // Only an id of the longest length has no room for a number.
    Some(Call { key: key.ok()?, usage })
}

fn stepped(message: &Message<'_>, odd: &mut Odd) -> Vec<CallUsage> {
    let mut calls: Vec<CallUsage> = Vec::new();
    let (mut starts, mut finishes, mut is_open) = (0_usize, 0_usize, false);
    for (at, part) in message.parts() {
        match part.kind.get().map(|kind| &**kind) {
            Some("step-start") => {
                starts += 1;
                if is_open && let Some(last) = calls.last_mut() {
                    *last = CallUsage::Unknown;
                }
                is_open = true;
                calls.push(CallUsage::Open);
            }
            Some("step-finish") => {
                finishes += 1;
                let at = format_args!("parts[{at}]");
                let usage = counted(part.tokens.get(), part.cost, at, odd);
                match calls.last_mut().filter(|_| is_open) {
                    Some(last) => *last = usage,
                    None => calls.push(usage),
                }
                is_open = false;
            }
            Some(_) | None => {}
        }
    }
    // A clock step puts a finish before its start: then they cannot be paired, only counted.
    let spare = calls.len() - starts.max(finishes);
    for _ in 0..spare {
        let open = calls
            .iter()
            .position(|usage| matches!(usage, CallUsage::Open))
            .or_else(|| calls.iter().position(|usage| matches!(usage, CallUsage::Unknown)));
        if let Some(at) = open {
            calls.remove(at);
        }
    }
    calls
}

/// A message without steps: wrappers around tools made no call, and one that failed at once got
/// no answer; one that was cut, or is still open, had a call under way.
fn unstepped(message: &Message<'_>, context: &Context<'_>, odd: &mut Odd) -> Option<CallUsage> {
    match whole_message(message, odd) {
        known @ CallUsage::Known(_) if context.completed.is_some() => return Some(known),
        CallUsage::Known(_) | CallUsage::Open | CallUsage::Unknown => {}
    }
    let has_tools =
        message.parts().any(|(_, part)| part.kind.get().is_some_and(|kind| &**kind == "tool"));
    if has_tools || context.finish.is_some() {
        return None;
    }
    match context.ending {
        Ending::Failed(_) | Ending::Structured(_) => None,
        Ending::Aborted(_) => Some(CallUsage::Unknown),
        Ending::Plain if context.completed.is_none() => Some(CallUsage::Open),
        Ending::Plain => message.parts.is_empty().then_some(CallUsage::Unknown),
    }
}

fn whole_message(message: &Message<'_>, odd: &mut Odd) -> CallUsage {
    counted(message.info.tokens.get(), message.info.cost, format_args!("info"), odd)
}

/// Zeros without a total are what OpenCode writes when the provider sent nothing.
fn counted(
    tokens: Option<&Tokens>,
    cost: Option<&RawValue>,
    path: fmt::Arguments<'_>,
    odd: &mut Odd,
) -> CallUsage {
    let Some(tokens) = tokens else { return CallUsage::Unknown };
    let (input, output) = (tokens.input.get().copied(), tokens.output.get().copied());
    let reasoning = tokens.reasoning.get().copied();
    let cache = tokens.cache.get();
    let cache_read = cache.and_then(|cache| cache.read.get()).copied();
    let cache_write = cache.and_then(|cache| cache.write.get()).copied();
    let counts = [input, output, reasoning, cache_read, cache_write];
    if tokens.total.get().is_none() && counts.iter().all(|count| count.unwrap_or(0) == 0) {
        return CallUsage::Unknown;
    }
    // OpenCode counts the reasoning beside the output; the ledger counts it inside.
    let whole_output = match (output, reasoning) {
        (Some(output), Some(reasoning)) => output.checked_add(reasoning),
        (Some(output), None) => Some(output),
        (None, _) => None,
    };
    if whole_output.is_none() && output.is_some() {
        odd.note(
            format_args!("{path}.tokens"),
            "output and reasoning together are too large".to_owned(),
        );
    }
    CallUsage::Known(Counters {
        input,
        cache_read,
        cache_write,
        cache_write_1h: None,
        output: whole_output,
        reasoning,
        cost: cost.and_then(|raw| money(raw, path, odd)),
    })
}

/// What is no number at all was noted as such already.
fn money(raw: &RawValue, path: fmt::Arguments<'_>, odd: &mut Odd) -> Option<Usd> {
    let cost = Usd::parse(raw.get());
    let is_number =
        matches!(Found::of(raw), Some(Found::Integer | Found::Negative | Found::Fraction));
    if cost.is_none() && is_number {
        odd.note(
            format_args!("{path}.cost"),
            "expected an amount of money that is not negative".to_owned(),
        );
    }
    cost
}
