//! What happened before we looked? Reading a history back, as far as it is not known.

use std::collections::{BTreeSet, VecDeque};

use harness::{Cursor, Harness, Page, ReachError, Seen};
use receipts::{
    Author, Body, Message, MessageId, Observation, SessionId, Status, ThreadId, TurnId, UnixMillis,
};
use store::{Result, Writer};

use crate::ask;

/// How long before an intent its prompt may stand in a history whose clock is another.
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
    /// Prompts that must be seen: their turns have not ended.
    open: BTreeSet<MessageId>,
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
        let open = ledger.unsettled(&session)?;
        let open = open.into_iter().filter(|turn| turn.thread == thread);
        let intents = ledger.open_intents(&session)?;
        let intents = intents.into_iter().filter(|intent| intent.thread == thread);
        Ok(Known {
            open: open.map(|turn| MessageId::from(&turn.turn)).collect(),
            intended: intents.map(|intent| intent.created_at).min(),
        })
    })
    .await
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

fn is_request(message: &Message) -> bool {
    matches!(&message.body, Body::Prompt(prompt) if prompt.author == Author::Client)
}

fn has_request(pages: &VecDeque<Page>) -> bool {
    messages(pages).any(is_request)
}

/// Tells whether all that is open in the ledger would be in the pages.
fn reaches(pages: &VecDeque<Page>, known: &Known) -> bool {
    let seen: BTreeSet<&MessageId> = messages(pages).map(|message| &message.id).collect();
    let oldest = messages(pages).find_map(|message| message.created);
    let is_before = |at: UnixMillis| {
        oldest.is_some_and(|oldest| oldest.0 < at.0.saturating_sub(CLOCKS_APART_MS))
    };
    known.open.iter().all(|prompt| seen.contains(prompt)) && known.intended.is_none_or(is_before)
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
    let thread = thread.clone();
    ask::view(writer, move |ledger| {
        for turn in &turns {
            let report = ledger.turn(&session, &thread, turn)?;
            if report.is_none_or(|report| report.status == Status::Pending) {
                return Ok(false);
            }
        }
        Ok(!turns.is_empty())
    })
    .await
}

/// Cuts a piece of a history at its first request, and leaves out what answers an older one.
fn whole_turns(seen: Vec<Seen>) -> Vec<Seen> {
    let first = seen.iter().position(|seen| message(seen).is_some_and(is_request));
    let Some(first) = first else { return Vec::new() };
    let prompts: BTreeSet<MessageId> = seen
        .iter()
        .skip(first)
        .filter_map(message)
        .filter(|message| matches!(message.body, Body::Prompt(_)))
        .map(|message| message.id.clone())
        .collect();
    let is_of_a_seen_turn = |seen: &Seen| match message(seen).map(|message| &message.body) {
        Some(Body::Answer(answer)) => {
            answer.parent.as_ref().is_none_or(|parent| prompts.contains(parent))
        }
        Some(Body::Prompt(_) | Body::Unknown) | None => true,
    };
    seen.into_iter().skip(first).filter(is_of_a_seen_turn).collect()
}
