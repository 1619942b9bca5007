//! How are requests kept?

use receipts::{InputKey, RequestId, SessionId, TurnId};
use store::{
    Delivery, Dispatch, Generation, Intent, Origin, ProviderGeneration, Purpose, Reply, Result, Seq,
};

use super::{Place, labels};
use crate::{
    cells::Cells,
    schema::INTENT,
    transaction::{NewRow, Transaction},
};

fn read(cells: &mut Cells<'_>) -> Result<Intent> {
    let request = cells.id()?;
    let seq = Seq(cells.count()?);
    let session = cells.id()?;
    let thread = cells.id()?;
    let turn = cells.opt_id()?;
    let purpose = cells.choice(&[Purpose::Prompt, Purpose::Steer])?;
    let reply = cells.choice(&[Reply::Expected, Reply::NotAsked])?;
    let origin = Origin {
        input: cells.opt_id()?,
        exec: cells.id()?,
        generation: Generation(cells.count()?),
        provider_generation: ProviderGeneration(cells.count()?),
        labels: labels::read(cells)?,
    };
    let created_at = cells.time()?;
    let delivery = delivery(cells)?;
    let admitted = cells.opt_count()?.map(Seq);
    Ok(Intent {
        request,
        session,
        thread,
        turn,
        purpose,
        reply,
        origin,
        created_at,
        seq,
        delivery,
        admitted,
    })
}

fn delivery(cells: &mut Cells<'_>) -> Result<Delivery> {
    let code = cells.int()?;
    let why: Box<str> = cells.opt_text()?.unwrap_or_default().into();
    match code {
        0 => Ok(Delivery::Intended),
        1 => Ok(Delivery::Dispatched(Dispatch::Sent)),
        2 => Ok(Delivery::Dispatched(Dispatch::NotSent { why })),
        3 => Ok(Delivery::Dispatched(Dispatch::Uncertain { why })),
        _ => Err(cells.corrupt("its delivery has no meaning")),
    }
}

pub(super) fn find(tx: &Transaction<'_>, request: &RequestId) -> Result<Option<Intent>> {
    let Some(request) = tx.find_name(request.as_str())? else { return Ok(None) };
    tx.one(&INTENT, "SELECT * FROM intent WHERE request = ?1", [request], read)
}

pub(super) fn of_turn(tx: &Transaction<'_>, place: Place<'_>) -> Result<Option<Intent>> {
    let Some(place) = tx.find_place(place)? else { return Ok(None) };
    let sql = "SELECT * FROM intent
               WHERE session = ?1 AND thread = ?2 AND turn = ?3 AND turn <> 0";
    tx.one(&INTENT, sql, place, read)
}

pub(super) fn with_turn(tx: &Transaction<'_>, session: &SessionId) -> Result<Vec<Intent>> {
    let Some(session) = tx.find_name(session.as_str())? else { return Ok(Vec::new()) };
    let sql = "SELECT * FROM intent INDEXED BY intent_turn WHERE session = ?1 AND turn <> 0";
    tx.all(&INTENT, sql, [session], read)
}

pub(super) fn unseen(tx: &Transaction<'_>, session: &SessionId) -> Result<Vec<Intent>> {
    let Some(session) = tx.find_name(session.as_str())? else { return Ok(Vec::new()) };
    let sql = "SELECT * FROM intent INDEXED BY intent_unseen
               WHERE session = ?1 AND admitted IS NULL ORDER BY seq";
    tx.all(&INTENT, sql, [session], read)
}

pub(super) fn of_input(tx: &Transaction<'_>, input: &InputKey) -> Result<Vec<Intent>> {
    let Some(input) = tx.find_name(input.as_str())? else { return Ok(Vec::new()) };
    let sql = "SELECT * FROM intent WHERE input = ?1 AND input <> 0 ORDER BY seq";
    tx.all(&INTENT, sql, [input], read)
}

pub(super) fn put(tx: &Transaction<'_>, intent: &Intent) -> Result<()> {
    let origin = &intent.origin;
    let (delivery, why) = match &intent.delivery {
        Delivery::Intended => (0, None),
        Delivery::Dispatched(Dispatch::Sent) => (1, None),
        Delivery::Dispatched(Dispatch::NotSent { why }) => (2, Some(&**why)),
        Delivery::Dispatched(Dispatch::Uncertain { why }) => (3, Some(&**why)),
    };
    let row = NewRow::new()
        .int(tx.intern(intent.request.as_str())?)
        .count(intent.seq.0)
        .int(tx.intern(intent.session.as_str())?)
        .int(tx.intern(intent.thread.as_str())?)
        .int(tx.intern_opt(intent.turn.as_ref().map(TurnId::as_str))?)
        .int(match intent.purpose {
            Purpose::Prompt => 0,
            Purpose::Steer => 1,
        })
        .int(match intent.reply {
            Reply::Expected => 0,
            Reply::NotAsked => 1,
        })
        .int(tx.intern_opt(origin.input.as_ref().map(InputKey::as_str))?)
        .int(tx.intern(origin.exec.as_str())?)
        .count(origin.generation.0)
        .count(origin.provider_generation.0)
        .blob(labels::encode(&origin.labels))
        .int(intent.created_at.0)
        .int(delivery)
        .opt_text(why)
        .opt_count(intent.admitted.map(|seq| seq.0));
    tx.put(&INTENT, row)
}
