//! Whose request is it that the agent asks something for? Only for our own is anything answered.

use harness::{Ask, ReachError};
use receipts::{Kind, MessageId, Receipt, SessionId, Thread, ThreadId};
use store::Writer;

use crate::{
    ask,
    backlog::{BacklogError, Depth, read_back},
    recorder::Recorder,
};

/// How many subagents may have started each other.
const GENERATIONS: usize = 16;

/// What leads to a turn.
enum Trace {
    /// One of its answers.
    Answer(MessageId),
    /// A thread that it started.
    Child(ThreadId),
}

/// Tells whether a question leads to a request of this ledger that the harness has admitted.
///
/// It is followed in the agent's own history, by the fold that also says whose the usage is: a
/// prompt that the harness put in leads on to the request that drives it, a subagent to the turn
/// that started it. What cannot be followed is not ours.
///
/// # Errors
///
/// [`BacklogError`].
pub(crate) async fn is_ours(
    recorder: &Recorder,
    (session, root): (&SessionId, &ThreadId),
    asked: &Ask,
) -> Result<bool, BacklogError> {
    let mut thread = asked.thread.clone();
    let mut trace = match &asked.message {
        _ if thread != *root => match climb(recorder, &mut thread).await? {
            Some(trace) => trace,
            None => return Ok(false),
        },
        Some(message) => Trace::Answer(message.clone()),
        None => return Ok(false),
    };
    for _ in 0..GENERATIONS {
        if thread == *root {
            return is_intended(recorder, (session, &thread), &trace).await;
        }
        match climb(recorder, &mut thread).await? {
            Some(up) => trace = up,
            None => break,
        }
    }
    Ok(false)
}

/// Goes up to the thread that started this one.
async fn climb(recorder: &Recorder, thread: &mut ThreadId) -> Result<Option<Trace>, ReachError> {
    let info = recorder.harness().thread(thread).await?;
    let Some(parent) = info.parent else { return Ok(None) };
    Ok(Some(Trace::Child(std::mem::replace(thread, parent))))
}

/// Tells whether the turn that is traced was intended by us; that it is in the history admits it.
async fn is_intended(
    recorder: &Recorder,
    (session, thread): (&SessionId, &ThreadId),
    trace: &Trace,
) -> Result<bool, BacklogError> {
    let Some(receipt) = find(recorder, (session, thread), trace).await? else { return Ok(false) };
    if receipt.kind == Kind::Orphan {
        return Ok(false);
    }
    let (session, thread) = (session.clone(), thread.clone());
    let intent = ask::view(recorder.writer(), move |ledger| {
        ledger.intent_of_turn(&session, &thread, &receipt.turn)
    });
    Ok(intent.await?.is_some())
}

async fn find(
    recorder: &Recorder,
    (session, thread): (&SessionId, &ThreadId),
    trace: &Trace,
) -> Result<Option<Receipt>, BacklogError> {
    let writer: &Writer = recorder.writer();
    let place = (Some(session), thread);
    let seen = read_back(&**recorder.harness(), writer, place, Depth::Open).await?;
    let mut fold = Thread::new(thread.clone());
    seen.into_iter().for_each(|seen| fold.observe(seen.observation));
    fold.catch_up();
    // A subagent may be called again, by a later turn.
    Ok(fold.receipts().into_iter().rev().find(|receipt| match trace {
        Trace::Answer(message) => receipt.answers.contains(message),
        Trace::Child(child) => receipt.children.contains(child),
    }))
}
