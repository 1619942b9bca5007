//! Whose is a model call, and what do many use together? (rules L14, U1, U2)

use std::collections::{BTreeMap, BTreeSet};

use receipts::{CallKey, Counters, FactBody, ThreadId, UnixMillis, Usage};

use crate::{
    call::{Call, CallOwner, Scope, Sighting},
    error::StoreError,
    event::{Event, EventBody},
    ledger::Result,
    report::{UsageBy, UsageGroup},
    rows::{Rows, RowsMut},
};

/// How many forks of forks are followed, up or down; what is further away counts as unrelated.
const FORKS_MAX: usize = 4096;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

pub(super) fn usage(rows: &dyn Rows, scope: Scope<'_>) -> Result<Option<Usage>> {
    let mut usage = Usage::default();
    rows.visit_call_rows(scope, &mut |call| usage.add(&call.counters))?;
    Ok((usage.calls > 0).then_some(usage))
}

pub(super) fn usage_by(
    rows: &dyn Rows,
    by: UsageBy,
    since: Option<UnixMillis>,
) -> Result<Vec<(UsageGroup, Usage)>> {
    let mut groups: BTreeMap<UsageGroup, Usage> = BTreeMap::new();
    rows.visit_call_rows(Scope::All, &mut |call| {
        if since.is_some() && call.at < since {
            return;
        }
        let group = match by {
            UsageBy::Model => UsageGroup::Model(call.provider.clone(), call.model.clone()),
            UsageBy::Day => UsageGroup::Day(call.at.map(|at| at.0.div_euclid(DAY_MS))),
            UsageBy::Session => UsageGroup::Session(call.owner.session.clone()),
            UsageBy::Input => UsageGroup::Input(call.owner.input.clone()),
            UsageBy::Exec => UsageGroup::Exec(call.owner.exec.clone()),
        };
        groups.entry(group).or_default().add(&call.counters);
    })?;
    Ok(groups.into_iter().collect())
}

pub(super) fn sightings(rows: &dyn Rows, key: &CallKey) -> Result<Vec<Sighting>> {
    Ok(rows.usage_rows(key)?.into_iter().filter_map(sighting).collect())
}

fn sighting(event: Event) -> Option<Sighting> {
    let EventBody::Fact(FactBody::Call { message, at, counters, provider, model, .. }) = event.body
    else {
        return None;
    };
    Some(Sighting {
        seq: event.seq,
        session: event.session,
        thread: event.thread?,
        turn: event.turn?,
        message,
        at,
        counters,
        provider,
        model,
    })
}

/// Computes a call's row from its sightings; keeps the peak that is stored.
pub(super) fn derive(rows: &dyn Rows, key: &CallKey) -> Result<Option<Call>> {
    let sightings = sightings(rows, key)?;
    let mut best = None;
    for sighting in &sightings {
        let intent =
            rows.intent_row_of_turn(&sighting.session, &sighting.thread, &sighting.turn)?;
        let inherited = intent.is_none()
            && sightings.len() > 1
            && descends(rows, &sighting.thread, &sightings)?;
        // No time is known to be earlier than another that is unknown.
        let time = (sighting.at.is_none(), sighting.at);
        let ids = (&sighting.thread, &sighting.turn, &sighting.session);
        let rank = (intent.is_none(), inherited, time, ids);
        if best.as_ref().is_none_or(|(least, _, _)| rank < *least) {
            best = Some((rank, sighting, intent));
        }
    }
    let Some((_, sighting, intent)) = best else { return Ok(None) };
    let mut counters = rows.call_row(key)?.map_or(Counters::UNKNOWN, |call| call.counters);
    for seen in &sightings {
        // The gaps of lower sightings were recorded when they were appended.
        drop(counters.raise(&seen.counters));
    }
    let (input, exec) = match intent {
        Some(intent) => (intent.origin.input, Some(intent.origin.exec)),
        None => (None, None),
    };
    Ok(Some(Call {
        key: key.clone(),
        counters,
        provider: sighting.provider.clone(),
        model: sighting.model.clone(),
        at: sighting.at,
        owner: CallOwner {
            seq: sighting.seq,
            session: sighting.session.clone(),
            thread: sighting.thread.clone(),
            turn: sighting.turn.clone(),
            input,
            exec,
        },
    }))
}

/// Derives a call's owner anew, and stores it where it changed.
pub(super) fn derive_owner(rows: &mut dyn RowsMut, key: &CallKey) -> Result<()> {
    match derive(rows, key)? {
        Some(call) if rows.call_row(key)?.as_ref() != Some(&call) => rows.put_call(&call),
        Some(_) | None => Ok(()),
    }
}

pub(super) fn fork(rows: &mut dyn RowsMut, child: &ThreadId, parent: &ThreadId) -> Result<()> {
    match rows.fork_parent(child)? {
        Some(stored) if stored == *parent => return Ok(()),
        Some(_) => return Err(StoreError::conflict(format_args!("thread {child}"), "fork")),
        None => {}
    }
    rows.put_fork(child, parent)?;
    // What was forked from the child has another ancestor now, too.
    let mut family = BTreeSet::from([child.clone()]);
    let mut ahead = vec![child.clone()];
    while let Some(thread) = ahead.pop() {
        for key in rows.calls_seen_in(&thread)? {
            derive_owner(rows, &key)?;
        }
        for fork in rows.forks_of(&thread)? {
            if family.len() < FORKS_MAX && family.insert(fork.clone()) {
                ahead.push(fork);
            }
        }
    }
    Ok(())
}

/// Tells whether one of the other sightings is in a conversation that this one was forked from.
///
/// In a ring of forks all are ancestors of each other, so that none of them comes first.
fn descends(rows: &dyn Rows, thread: &ThreadId, sightings: &[Sighting]) -> Result<bool> {
    let mut seen = BTreeSet::from([thread.clone()]);
    let mut thread = thread.clone();
    while let Some(parent) = rows.fork_parent(&thread)? {
        if seen.len() >= FORKS_MAX || !seen.insert(parent.clone()) {
            return Ok(false);
        }
        if sightings.iter().any(|sighting| sighting.thread == parent) {
            return Ok(true);
        }
        thread = parent;
    }
    Ok(false)
}
