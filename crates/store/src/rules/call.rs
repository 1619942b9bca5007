//! Whose is a model call, and what do many use together? (rules L14, U1, U2)

use std::collections::{BTreeMap, BTreeSet};

use receipts::{CallKey, Counters, FactBody, ThreadId, UnixMillis, Usage};

use crate::{
    call::{Call, CallOwner, Scope, Sighting},
    error::StoreError,
    event::{Event, EventBody},
    intent::{Intent, Origin},
    ledger::Result,
    report::{UsageBy, UsageGroup},
    rows::{Rows, RowsMut},
};

/// How many forks of forks, or conversations that started each other, are followed up or down;
/// what is further away counts as unrelated.
const RELATIVES_MAX: usize = 4096;
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

/// Computes a call's row from its sightings; keeps the peak of the one that is stored.
pub(super) fn derive(
    rows: &dyn Rows,
    key: &CallKey,
    stored: Option<&Call>,
) -> Result<Option<Call>> {
    let counters = stored.map_or(Counters::UNKNOWN, |call| call.counters);
    derive_from(rows, key, &sightings(rows, key)?, counters)
}

fn derive_from(
    rows: &dyn Rows,
    key: &CallKey,
    sightings: &[Sighting],
    mut counters: Counters,
) -> Result<Option<Call>> {
    let mut best = None;
    for sighting in sightings {
        let (claim, origin) = claim(rows, sighting)?;
        let inherited = claim != Claim::Intended
            && sightings.len() > 1
            && descends(rows, &sighting.thread, sightings)?;
        // No time is known to be earlier than another that is unknown.
        let time = (sighting.at.is_none(), sighting.at);
        let ids = (&sighting.thread, &sighting.turn, &sighting.session);
        let rank = (claim, inherited, time, ids);
        if best.as_ref().is_none_or(|(least, _, _)| rank < *least) {
            best = Some((rank, sighting, origin));
        }
    }
    let Some((_, sighting, origin)) = best else { return Ok(None) };
    for seen in sightings {
        // The gaps of lower sightings were recorded when they were appended.
        drop(counters.raise(&seen.counters));
    }
    let (input, exec) = match origin {
        Some(origin) => (origin.input, Some(origin.exec)),
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

/// Why a sighting is ours, the better claim first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Claim {
    /// We intended its turn.
    Intended,
    /// A turn that we intended started its conversation, at whatever remove.
    Started,
    /// It is not.
    Foreign,
}

fn claim(rows: &dyn Rows, sighting: &Sighting) -> Result<(Claim, Option<Origin>)> {
    let Sighting { session, thread, turn, at, .. } = sighting;
    if let Some(intent) = rows.intent_row_of_turn(session, thread, turn)? {
        return Ok((Claim::Intended, Some(intent.origin)));
    }
    Ok(match ancestor(rows, thread, *at)? {
        Some(intent) => (Claim::Started, Some(intent.origin)),
        None => (Claim::Foreign, None),
    })
}

/// Finds the nearest intended turn that started a conversation, itself or through others.
///
/// Where several are as near (a subagent was given further work), it is the one that was intended
/// last before the call, else the first: our clock stands against the harness's here, which are one
/// where the harness runs on this machine.
fn ancestor(rows: &dyn Rows, thread: &ThreadId, at: Option<UnixMillis>) -> Result<Option<Intent>> {
    let mut seen = BTreeSet::from([thread.clone()]);
    let mut level = vec![thread.clone()];
    while !level.is_empty() {
        let mut intents = Vec::new();
        let mut above = Vec::new();
        for start in level.iter().map(|thread| rows.start_rows_of(thread)) {
            for event in start? {
                let (Some(thread), Some(turn)) = (event.thread, event.turn) else { continue };
                match rows.intent_row_of_turn(&event.session, &thread, &turn)? {
                    Some(intent) => intents.push(intent),
                    None if seen.len() < RELATIVES_MAX && seen.insert(thread.clone()) => {
                        above.push(thread);
                    }
                    None => {}
                }
            }
        }
        let nearest = last_before(intents, at);
        if nearest.is_some() {
            return Ok(nearest);
        }
        level = above;
    }
    Ok(None)
}

/// Gives the request that was intended last before a time, else the first of all.
fn last_before(mut intents: Vec<Intent>, at: Option<UnixMillis>) -> Option<Intent> {
    intents.sort_by(|a, b| (a.created_at, &a.request).cmp(&(b.created_at, &b.request)));
    let before = intents.iter().rposition(|intent| at.is_some_and(|at| intent.created_at <= at));
    intents.into_iter().nth(before.unwrap_or(0))
}

/// Stores a call at its first sighting in the whole store.
pub(super) fn own_first(rows: &mut dyn RowsMut, key: &CallKey, event: Event) -> Result<()> {
    let sightings: Vec<Sighting> = sighting(event).into_iter().collect();
    match derive_from(rows, key, &sightings, Counters::UNKNOWN)? {
        Some(call) => rows.put_call(&call),
        None => Ok(()),
    }
}

/// Derives the owners of all calls in a conversation and in those that its turns started.
pub(super) fn derive_below(rows: &mut dyn RowsMut, thread: &ThreadId) -> Result<()> {
    let below = family(thread, |thread| rows.children_of(thread))?;
    below.iter().try_for_each(|thread| derive_in(rows, thread))
}

fn derive_in(rows: &mut dyn RowsMut, thread: &ThreadId) -> Result<()> {
    rows.calls_seen_in(thread)?.iter().try_for_each(|key| derive_owner(rows, key))
}

/// Derives the owners of all calls, as what older rules derived is to be corrected.
///
/// # Errors
///
/// As the rows'.
pub fn derive_owners(rows: &mut dyn RowsMut) -> Result<()> {
    let mut keys: Vec<CallKey> = Vec::new();
    rows.visit_call_rows(Scope::All, &mut |call| keys.push(call.key.clone()))?;
    keys.iter().try_for_each(|key| derive_owner(rows, key))
}

/// Lists a conversation and all that came of it by one relation, with what came of those.
fn family(
    thread: &ThreadId,
    next: impl Fn(&ThreadId) -> Result<Vec<ThreadId>>,
) -> Result<BTreeSet<ThreadId>> {
    let mut family = BTreeSet::from([thread.clone()]);
    let mut ahead = vec![thread.clone()];
    while let Some(thread) = ahead.pop() {
        for relative in next(&thread)? {
            if family.len() < RELATIVES_MAX && family.insert(relative.clone()) {
                ahead.push(relative);
            }
        }
    }
    Ok(family)
}

/// Derives a call's owner anew, and stores it where it changed.
pub(super) fn derive_owner(rows: &mut dyn RowsMut, key: &CallKey) -> Result<()> {
    let stored = rows.call_row(key)?;
    match derive(rows, key, stored.as_ref())? {
        Some(call) if stored.as_ref() != Some(&call) => rows.put_call(&call),
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
    let below = family(child, |thread| rows.forks_of(thread))?;
    below.iter().try_for_each(|thread| derive_in(rows, thread))
}

/// Tells whether one of the other sightings is in a conversation that this one was forked from.
///
/// In a ring of forks all are ancestors of each other, so that none of them comes first.
fn descends(rows: &dyn Rows, thread: &ThreadId, sightings: &[Sighting]) -> Result<bool> {
    let mut seen = BTreeSet::from([thread.clone()]);
    let mut thread = thread.clone();
    while let Some(parent) = rows.fork_parent(&thread)? {
        if seen.len() >= RELATIVES_MAX || !seen.insert(parent.clone()) {
            return Ok(false);
        }
        if sightings.iter().any(|sighting| sighting.thread == parent) {
            return Ok(true);
        }
        thread = parent;
    }
    Ok(false)
}
