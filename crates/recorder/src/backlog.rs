//! What happened before we looked? Reading a history back, as far as it is not known.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use harness::{Cursor, Harness, Page, ReachError, Seen};
use receipts::{
    Author, Body, FactBody, Lineage, Message, MessageId, Observation, SessionId, Status, ThreadId,
    TurnId, UnixMillis,
};
use store::{EventBody, Ledger, OpenTurn, Result, Seq, Writer};

use crate::ask;

/// How long before an intent its prompt may stand in a history whose clock is another, and how far
/// a prompt may stand from where it stood when it was first seen.
const CLOCKS_APART_MS: i64 = 10 * 60 * 1000;

/// How far back a history is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Depth {
    /// To the turns that are open in the ledger, and the newest page at least.
    Open,
    /// Also to a page of which the ledger holds all turns, ended.
    Known,
    /// To its beginning.
    All,
}

/// What the ledger knows of a thread, to judge a page by.
#[derive(Debug, Default)]
struct Known {
    /// Prompts that must be seen, since their turns have not ended, with their times: a history
    /// that is older than that has lost them.
    open: BTreeMap<MessageId, Option<UnixMillis>>,
    /// When the oldest request that is not admitted was intended.
    intended: Option<UnixMillis>,
}

/// Reads a history back, the oldest first. A turn is in it whole or not at all.
///
/// # Errors
///
/// [`BacklogError`]; never a history that is cut short by an error.
pub(crate) async fn read_back(
    harness: &dyn Harness,
    writer: &Writer,
    (session, thread): (Option<&SessionId>, &ThreadId),
    depth: Depth,
) -> std::result::Result<Vec<Seen>, BacklogError> {
    let known = known(writer, session.cloned(), thread.clone()).await?;
    let mut pages: VecDeque<Page> = VecDeque::new();
    let mut before: Option<Cursor> = None;
    loop {
        let page = harness.read_page(thread, before.as_ref()).await?;
        before = page.older.clone();
        pages.push_front(page);
        let is_enough = match depth {
            _ if before.is_none() => true,
            Depth::All => false,
            Depth::Open => has_request(&pages) && reaches(&pages, &known),
            Depth::Known => {
                reaches(&pages, &known) && is_recorded(&pages, writer, (session, thread)).await?
            }
        };
        if is_enough {
            break;
        }
    }
    let seen: Vec<Seen> = pages.into_iter().flat_map(|page| page.seen).collect();
    Ok(if before.is_some() { whole_turns(seen) } else { seen })
}

/// Says why a history was not read back.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BacklogError {
    /// The agent did not give it.
    #[error(transparent)]
    Reach(#[from] ReachError),
    /// The ledger did not say what it knows.
    #[error(transparent)]
    Store(#[from] store::StoreError),
}

async fn known(writer: &Writer, session: Option<SessionId>, thread: ThreadId) -> Result<Known> {
    let Some(session) = session else { return Ok(Known::default()) };
    ask::view(writer, move |ledger| {
        let mut open = BTreeMap::new();
        for turn in ledger.unsettled(&session)?.iter().filter(|turn| turn.thread == thread) {
            open.insert(MessageId::from(&turn.turn), admitted_at(ledger, &session, turn)?);
        }
        let intents = ledger.open_intents(&session)?;
        let intents = intents.into_iter().filter(|intent| intent.thread == thread);
        Ok(Known { open, intended: intents.map(|intent| intent.created_at).min() })
    })
    .await
}

/// When a turn's prompt was stored, by the harness's clock; the first event of a turn tells.
fn admitted_at(
    ledger: &dyn Ledger,
    session: &SessionId,
    open: &OpenTurn,
) -> Result<Option<UnixMillis>> {
    let Some(turn) = ledger.turn(session, &open.thread, &open.turn)? else { return Ok(None) };
    let first = ledger.events(session, Seq(turn.first.0.saturating_sub(1)), 1)?;
    Ok(first.into_iter().find_map(|event| {
        if let EventBody::Fact(FactBody::Admitted { at, .. }) = event.body { at } else { None }
    }))
}

fn messages(pages: &VecDeque<Page>) -> impl DoubleEndedIterator<Item = &Message> {
    pages.iter().flat_map(|page| &page.seen).filter_map(message)
}

fn message(seen: &Seen) -> Option<&Message> {
    match &seen.observation {
        Observation::Message(message) => Some(message),
        Observation::Removed(_)
        | Observation::NoReply(_)
        | Observation::Owner(_)
        | Observation::Gap(_) => None,
    }
}

fn is_own(message: &Message) -> bool {
    message.lineage == Lineage::Own
}

fn is_request(message: &Message) -> bool {
    is_own(message)
        && matches!(&message.body, Body::Prompt(prompt) if prompt.author == Author::Client)
}

/// Tells whether the newest turn is in the pages, or there is none: what was copied when the thread
/// was forked stands before all of its own.
fn has_request(pages: &VecDeque<Page>) -> bool {
    messages(pages).any(is_request) || messages(pages).any(|message| !is_own(message))
}

/// Tells whether all that is open in the ledger would be in the pages.
fn reaches(pages: &VecDeque<Page>, known: &Known) -> bool {
    let seen: BTreeSet<&MessageId> = messages(pages).map(|message| &message.id).collect();
    let oldest = messages(pages).find_map(|message| message.created);
    // Every page before this one is older still.
    let is_before = |at: UnixMillis| {
        oldest.is_some_and(|oldest| oldest.0 < at.0.saturating_sub(CLOCKS_APART_MS))
    };
    let is_reached = |(prompt, at): (&MessageId, &Option<UnixMillis>)| {
        seen.contains(prompt) || at.is_some_and(is_before)
    };
    known.open.iter().all(is_reached) && known.intended.is_none_or(is_before)
}

/// Tells whether the ledger holds every turn of the oldest page, ended.
async fn is_recorded(
    pages: &VecDeque<Page>,
    writer: &Writer,
    (session, thread): (Option<&SessionId>, &ThreadId),
) -> Result<bool> {
    let (Some(oldest), Some(session)) = (pages.front(), session.cloned()) else {
        return Ok(false);
    };
    let requests = oldest.seen.iter().filter_map(message).filter(|message| is_request(message));
    let turns: Vec<TurnId> = requests.map(|message| (&message.id).into()).collect();
    // What was copied is in no ledger of this thread, and nothing of its own stands before it.
    let is_copied = oldest.seen.iter().filter_map(message).any(|message| !is_own(message));
    let thread = thread.clone();
    ask::view(writer, move |ledger| {
        for turn in &turns {
            let report = ledger.turn(&session, &thread, turn)?;
            if report.is_none_or(|report| report.status == Status::Pending) {
                return Ok(false);
            }
        }
        Ok(is_copied || !turns.is_empty())
    })
    .await
}

/// Cuts a piece of a history at its first request, and leaves out what answers an older one.
///
/// A prompt that the harness put in belongs to the turn of the answer before it: it goes with that
/// answer, and what answers it goes with it.
fn whole_turns(seen: Vec<Seen>) -> Vec<Seen> {
    let mut prompts: BTreeSet<MessageId> = seen
        .iter()
        .filter_map(message)
        .filter(|message| is_request(message))
        .map(|message| message.id.clone())
        .collect();
    let mut follows_whole = false;
    let mut is_whole = |seen: &Seen| {
        let Some(message) = message(seen) else { return true };
        match &message.body {
            Body::Prompt(_) if prompts.contains(&message.id) => true,
            Body::Prompt(_) => {
                if follows_whole {
                    prompts.insert(message.id.clone());
                }
                follows_whole
            }
            Body::Answer(answer) => {
                follows_whole = answer.parent.as_ref().is_some_and(|it| prompts.contains(it));
                follows_whole
            }
            Body::Unknown => true,
        }
    };
    seen.into_iter().filter(|seen| is_whole(seen)).collect()
}
