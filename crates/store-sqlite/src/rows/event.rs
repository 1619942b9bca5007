//! How are events kept?

use std::fmt::Write as _;

use receipts::{CallKey, FactBody, SessionId, ThreadId, TurnId};
use store::{Event, EventBody, EventId, NewEvent, Result, Seq};

use super::{Place, evidence};
use crate::{
    body,
    cells::Cells,
    codec::Undecoded,
    schema::EVENT,
    transaction::{NONE, NewRow, Transaction},
};

/// How long a digest of a key is; shorter keys stand for themselves.
const DIGEST_BYTES: usize = 16;

/// What tells the key of an event from others in the index.
fn digest(key: &str) -> Vec<u8> {
    if key.len() < DIGEST_BYTES {
        return key.as_bytes().to_vec();
    }
    blake3::hash(key.as_bytes()).as_bytes().iter().copied().take(DIGEST_BYTES).collect()
}

/// What an unknown event's key is called: the key itself where it is short, else its digest.
fn key_of(digest: &[u8]) -> Box<str> {
    match std::str::from_utf8(digest) {
        Ok(key) if digest.len() < DIGEST_BYTES => key.into(),
        Ok(_) | Err(_) => {
            let mut hex = String::with_capacity(2 * digest.len());
            for byte in digest {
                write!(hex, "{byte:02x}").expect("writing to a string succeeds");
            }
            hex.into()
        }
    }
}

fn read(cells: &mut Cells<'_>) -> Result<Event> {
    let seq = Seq(cells.count()?);
    let session = cells.id()?;
    let thread = cells.opt_id()?;
    let turn = cells.opt_id()?;
    let kind = cells.int()?;
    let kind = cells.transaction().name(kind)?;
    let key = cells.bytes()?;
    let recorded_at = cells.time()?;
    let evidence = match cells.opt_int()? {
        Some(id) => Some(evidence::digest(cells.transaction(), id)?),
        None => None,
    };
    cells.skip();
    let form = cells.int()?;
    let body = match body::read(cells.transaction(), &kind, form, cells.bytes()?) {
        Ok(body) => body,
        Err(Undecoded::Unknown) => EventBody::Unknown { kind: (*kind).into(), key: key_of(key) },
        Err(Undecoded::Malformed) => return Err(cells.corrupt("its body is not readable")),
        Err(Undecoded::Store(error)) => return Err(error),
    };
    Ok(Event { seq, session, thread, turn, recorded_at, evidence, body })
}

pub(super) fn find(tx: &Transaction<'_>, id: &EventId<'_>) -> Result<Option<Event>> {
    let names = [
        Some(id.session.as_str()),
        id.thread.map(ThreadId::as_str),
        id.turn.map(TurnId::as_str),
        Some(id.kind),
    ];
    let mut ids = [NONE; 4];
    for (id, name) in ids.iter_mut().zip(names) {
        if let Some(name) = name {
            let Some(found) = tx.find_name(name)? else { return Ok(None) };
            *id = found;
        }
    }
    let [session, thread, turn, kind] = ids;
    let sql = "SELECT * FROM event
               WHERE session = ?1 AND thread = ?2 AND turn = ?3 AND kind = ?4 AND key = ?5";
    tx.one(&EVENT, sql, (session, thread, turn, kind, digest(id.key)), read)
}

pub(super) fn list(
    tx: &Transaction<'_>,
    session: &SessionId,
    after: Seq,
    limit: usize,
) -> Result<Vec<Event>> {
    let Some(session) = tx.find_name(session.as_str())? else { return Ok(Vec::new()) };
    let sql = "SELECT * FROM event INDEXED BY event_session
               WHERE session = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";
    tx.all(&EVENT, sql, (session, after.0.cast_signed(), super::limit(limit)), read)
}

pub(super) fn last(tx: &Transaction<'_>, session: &SessionId) -> Result<Option<Event>> {
    let Some(session) = tx.find_name(session.as_str())? else { return Ok(None) };
    let sql = "SELECT * FROM event INDEXED BY event_session
               WHERE session = ?1 ORDER BY seq DESC LIMIT 1";
    tx.one(&EVENT, sql, [session], read)
}

pub(super) fn starts_of(tx: &Transaction<'_>, child: &ThreadId) -> Result<Vec<Event>> {
    if tx.find_name(child.as_str())?.is_none() {
        return Ok(Vec::new());
    }
    let body = FactBody::Child { thread: child.clone() };
    let sql = "SELECT * FROM event INDEXED BY event_start
               WHERE key = ?1 AND form = 3 AND substr(body, 1, 1) = x'03' ORDER BY seq";
    tx.all(&EVENT, sql, [digest(&body.key())], read)
}

pub(super) fn children_of(tx: &Transaction<'_>, parent: &ThreadId) -> Result<Vec<ThreadId>> {
    let Some(parent) = tx.find_name(parent.as_str())? else { return Ok(Vec::new()) };
    let sql = "SELECT * FROM event INDEXED BY event_child
               WHERE thread = ?1 AND form = 3 AND substr(body, 1, 1) = x'03'";
    let events = tx.all(&EVENT, sql, [parent], read)?;
    let child = |event: Event| {
        if let EventBody::Fact(FactBody::Child { thread }) = event.body {
            Some(thread)
        } else {
            None
        }
    };
    Ok(events.into_iter().filter_map(child).collect())
}

pub(super) fn of_turn(tx: &Transaction<'_>, place: Place<'_>) -> Result<Vec<Event>> {
    let Some(place) = tx.find_place(place)? else { return Ok(Vec::new()) };
    let sql = "SELECT * FROM event INDEXED BY event_identity
               WHERE session = ?1 AND thread = ?2 AND turn = ?3 ORDER BY seq";
    tx.all(&EVENT, sql, place, read)
}

pub(super) fn of_call(tx: &Transaction<'_>, call: &CallKey) -> Result<Vec<Event>> {
    let Some(call) = tx.find_name(call.as_str())? else { return Ok(Vec::new()) };
    let sql = "SELECT * FROM event WHERE call = ?1 AND call <> 0 ORDER BY seq";
    tx.all(&EVENT, sql, [call], read)
}

pub(super) fn head(tx: &Transaction<'_>) -> Result<Seq> {
    if let Some(seq) = tx.head() {
        return Ok(seq);
    }
    let head = tx.number("SELECT max(seq) FROM event", ())?;
    let head = head.map_or(Seq::START, |seq| Seq(seq.cast_unsigned()));
    tx.set_head(head);
    Ok(head)
}

pub(super) fn add(tx: &Transaction<'_>, event: &NewEvent) -> Result<Seq> {
    let seq = Seq(head(tx)?.0 + 1);
    let key = event.body.key();
    let written = body::write(tx, &event.body, &key)?;
    let evidence = match &event.evidence {
        Some(digest) => evidence::find(tx, digest)?,
        None => None,
    };
    let row = NewRow::new()
        .count(seq.0)
        .int(tx.intern(event.session.as_str())?)
        .int(tx.intern_opt(event.thread.as_ref().map(ThreadId::as_str))?)
        .int(tx.intern_opt(event.turn.as_ref().map(TurnId::as_str))?)
        .int(tx.intern(event.body.kind())?)
        .blob(digest(&key))
        .int(event.recorded_at.0)
        .opt_int(evidence)
        .int(written.call)
        .int(written.form)
        .blob(written.body);
    tx.add(&EVENT, row)?;
    tx.set_head(seq);
    Ok(seq)
}
