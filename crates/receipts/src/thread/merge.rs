//! Which of two sightings of one message holds? The join that makes order irrelevant (L11, F5).
//!
//! A message only ever moves forward: open, then closed, then with an error or a structured value.
//! Each sighting has a rank that grows along that way; the sighting with the highest rank holds,
//! and a stale read changes nothing. Counters are joined apart, each by its maximum.

use std::cmp::Ordering;

use crate::{
    gap::Gap,
    id::CallKey,
    observation::{Answer, Call, CallUsage, Ending, Prompt},
};

/// How far an answer has come, from the message alone.
fn stage(answer: &Answer) -> u8 {
    match (&answer.ending, answer.completed) {
        (Ending::Structured(_) | Ending::Aborted(_) | Ending::Failed(_), Some(_)) => 4,
        (Ending::Structured(_) | Ending::Aborted(_) | Ending::Failed(_), None) => 3,
        (Ending::Plain, Some(_)) => 2,
        (Ending::Plain, None) => u8::from(answer.finish.is_some()),
    }
}

/// Orders two sightings of one answer by how far the harness had come; `Equal` only for equal ones.
fn progress(a: &Answer, b: &Answer) -> Ordering {
    fn text_len(answer: &Answer) -> usize {
        answer.text.as_deref().map_or(0, str::len)
    }
    stage(a)
        .cmp(&stage(b))
        .then(a.parts.cmp(&b.parts))
        .then(a.tools.closed.cmp(&b.tools.closed))
        .then(text_len(a).cmp(&text_len(b)))
        // From here on nothing tells which is later; any total order makes the result one.
        .then_with(|| a.tools.cmp(&b.tools))
        .then_with(|| a.completed.cmp(&b.completed))
        .then_with(|| a.ending.cmp(&b.ending))
        .then_with(|| a.finish.cmp(&b.finish))
        .then_with(|| a.text.cmp(&b.text))
        .then_with(|| a.parent.cmp(&b.parent))
        .then_with(|| a.role.cmp(&b.role))
        .then_with(|| a.provider.cmp(&b.provider))
        .then_with(|| a.model.cmp(&b.model))
}

/// Joins a new sighting into the stored one; gives the gaps that the new one shows.
pub(super) fn answer(stored: &mut Answer, mut seen: Answer) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let order = progress(stored, &seen);
    let mut calls = std::mem::take(&mut stored.calls);
    join_calls(&mut calls, &mut seen.calls, order, &mut gaps);
    // A thread that was started stays started, whatever else a sighting shows.
    let mut children = std::mem::take(&mut stored.children);
    children.append(&mut seen.children);
    children.sort();
    children.dedup();
    if order == Ordering::Less {
        *stored = seen;
    }
    stored.calls = calls;
    stored.children = children;
    gaps
}

/// Joins the calls: known counters rise; calls that are not yet, or never, known follow the
/// sighting that is further on.
fn join_calls(kept: &mut Vec<Call>, seen: &mut Vec<Call>, order: Ordering, gaps: &mut Vec<Gap>) {
    if order == Ordering::Less {
        // The new sighting is further on: it says which calls there are. A known call that it no
        // longer shows stays (rule F11).
        std::mem::swap(kept, seen);
        for call in seen.drain(..) {
            match (kept.iter_mut().find(|known| known.key == call.key), call.usage) {
                (Some(known), CallUsage::Known(peak)) => raise_later(known, peak, gaps),
                (None, CallUsage::Known(_)) => kept.push(call),
                (_, CallUsage::Open | CallUsage::Unknown) => {}
            }
        }
    } else {
        for call in seen.drain(..) {
            match (kept.iter_mut().find(|known| known.key == call.key), call.usage) {
                (Some(known), CallUsage::Known(counters)) => raise(known, &counters, gaps),
                (None, CallUsage::Known(_)) => kept.push(call),
                // Nothing tells which of the two is later: both say which calls there are.
                (None, _) if order == Ordering::Equal => kept.push(call),
                (Some(Call { usage: usage @ CallUsage::Open, .. }), CallUsage::Unknown)
                    if order == Ordering::Equal =>
                {
                    *usage = CallUsage::Unknown;
                }
                (_, CallUsage::Open | CallUsage::Unknown) => {}
            }
        }
    }
    kept.sort_by(|a, b| call_order(&a.key, &b.key));
}

/// Keys of one message differ in a trailing ordinal: shorter first, then by text.
fn call_order(a: &CallKey, b: &CallKey) -> Ordering {
    a.as_str().len().cmp(&b.as_str().len()).then_with(|| a.cmp(b))
}

fn raise(call: &mut Call, seen: &crate::usage::Counters, gaps: &mut Vec<Gap>) {
    match &mut call.usage {
        CallUsage::Known(peak) => {
            let decreases = peak.raise(seen);
            gaps.extend(
                decreases
                    .into_iter()
                    .map(|decrease| Gap::Decrease { call: call.key.clone(), decrease }),
            );
        }
        CallUsage::Open | CallUsage::Unknown => call.usage = CallUsage::Known(*seen),
    }
}

/// As [`raise`], where `call` holds the later sighting and `peak` what was known before.
fn raise_later(call: &mut Call, mut peak: crate::usage::Counters, gaps: &mut Vec<Gap>) {
    if let CallUsage::Known(seen) = call.usage {
        let decreases = peak.raise(&seen);
        gaps.extend(
            decreases
                .into_iter()
                .map(|decrease| Gap::Decrease { call: call.key.clone(), decrease }),
        );
    }
    call.usage = CallUsage::Known(peak);
}

/// Joins a new sighting of a prompt: its parts are stored one by one after it. Its clock goes with
/// its place, and is left to that.
pub(super) fn prompt(stored: &mut Prompt, seen: &Prompt) {
    let rank = |prompt: &Prompt| (prompt.parts, prompt.author, prompt.kind, prompt.content);
    if rank(seen) > rank(stored) {
        *stored = Prompt { clock: stored.clock, ..*seen };
    }
}
