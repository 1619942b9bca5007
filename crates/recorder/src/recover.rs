//! What became of a session after a crash? A pure function of intents and native history (L10).

use harness::{Liveness, ProcessIdentity, Seen};
use receipts::{Owner, RequestId, SessionId, ThreadId};
use store::{Dispatch, Driver, Intent, Refusal, Session, StoreError};

use crate::{
    ask,
    backlog::{Depth, read_back},
    book::{owner_seen, record_exited},
    clock,
    error::DriveError,
    recorder::Recorder,
    thread::ThreadRecorder,
};

/// How long after it was intended a request that is in no history is taken for never stored: a
/// server that has just been started takes seconds to store what it took.
const STORED_WITHIN_MS: i64 = 15_000;
/// How often the end of a history is read until it stands still.
const LOOKS: u32 = 5;

/// What is known of the provider, beside what can be found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Belief {
    /// Nothing: only proof counts.
    Evidence,
    /// A person says that it is dead (rule L12).
    OwnerIsDead,
}

/// What a recovery found and did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// The session.
    pub session: SessionId,
    /// What is known of the run of its conversation.
    pub owner: Owner,
    /// How many facts were new.
    pub appended: usize,
    /// Requests that the history admitted now.
    pub admitted: Vec<RequestId>,
    /// Requests that are proven to be in no history.
    pub not_sent: Vec<RequestId>,
    /// Requests that are still open.
    pub open: Vec<RequestId>,
    /// How many turns are still running or waiting.
    pub pending: usize,
}

impl Recorder {
    /// Catches up a session, which must exist: reads its whole history, records what is new, and
    /// settles what was sent.
    ///
    /// It holds the session's lock, so that no send is under way. Doing it again changes nothing.
    ///
    /// # Errors
    ///
    /// [`DriveError`]; what was recorded before stands, and it may be done again.
    pub async fn recover(
        &self,
        session: &SessionId,
        belief: Belief,
    ) -> Result<Recovered, DriveError> {
        let lock = self.locks().take(session).await?;
        let id = session.clone();
        let (stored, before) = ask::view(self.writer(), move |ledger| {
            let stored =
                ledger.session(&id)?.ok_or_else(|| StoreError::not_found("session", &id))?;
            Ok((stored, ledger.open_intents(&id)?))
        })
        .await?;
        let (owner, appended) = match &stored.thread {
            Some(thread) => self.catch_up(&stored, thread, belief).await?,
            // Without a conversation nothing can have been sent to it.
            None => (Owner::Unknown, 0),
        };
        let recovered = self.settle(session, owner, before).await?;
        drop(lock);
        Ok(Recovered { appended, ..recovered })
    }

    /// Reads and records the conversation and those that it started.
    async fn catch_up(
        &self,
        session: &Session,
        root: &ThreadId,
        belief: Belief,
    ) -> Result<(Owner, usize), DriveError> {
        let is_dead = belief == Belief::OwnerIsDead || is_proven_dead(session.driver.as_ref());
        let known = if is_dead { Owner::Dead } else { Owner::Unknown };
        let mut appended = 0;
        let mut threads = vec![root.clone()];
        let mut at = 0;
        let mut root_owner = Owner::Unknown;
        while let Some(thread) = threads.get(at).cloned() {
            let (owner, seen) = self.read(session.id(), &thread, known).await?;
            if at == 0 {
                root_owner = owner;
            }
            if owner == Owner::Dead && at == 0 {
                let id = session.id().clone();
                let writer = self.writer().clone();
                blocking(move || record_exited(&writer, id, clock::now())).await??;
            }
            let (found, new) = self.record(session.id(), &thread, (owner, seen)).await?;
            appended += new;
            for child in found {
                if !threads.contains(&child) {
                    threads.push(child);
                }
            }
            at += 1;
        }
        Ok((root_owner, appended))
    }

    /// Reads a history and says what is known of its run at the end of that reading.
    async fn read(
        &self,
        session: &SessionId,
        thread: &ThreadId,
        known: Owner,
    ) -> Result<(Owner, Vec<Seen>), DriveError> {
        let place = (Some(session), thread);
        let mut seen = read_back(&**self.harness(), self.writer(), place, Depth::All).await?;
        if known == Owner::Dead {
            return Ok((known, seen));
        }
        // Idle holds for what is read after it was told, if nothing was written meanwhile.
        for _ in 0..LOOKS {
            let owner = match self.harness().owner(thread).await {
                Ok(owner) => owner,
                // The history came from files: nothing is known of a run.
                Err(error) if error.is_transient() => return Ok((Owner::Unknown, seen)),
                Err(error) => return Err(error.into()),
            };
            let end = self.harness().read_page(thread, None).await?.seen;
            let tail: Vec<&Seen> = seen.iter().rev().take(2 * end.len()).collect();
            let is_still = end.iter().all(|message| tail.contains(&message));
            if is_still {
                return Ok((owner, seen));
            }
            seen.extend(end);
        }
        Ok((Owner::Unknown, seen))
    }

    async fn record(
        &self,
        session: &SessionId,
        thread: &ThreadId,
        (owner, seen): (Owner, Vec<Seen>),
    ) -> Result<(Vec<ThreadId>, usize), DriveError> {
        let mut recorder =
            ThreadRecorder::new(self.writer().clone(), session.clone(), thread.clone(), None);
        blocking(move || {
            seen.into_iter().for_each(|seen| recorder.observe(seen));
            recorder.observe(owner_seen(owner));
            let receipts = recorder.fold().receipts();
            let children =
                receipts.into_iter().flat_map(|receipt| receipt.children).collect::<Vec<_>>();
            let recording = recorder.record(clock::now());
            recording.map(|recording| (children, recording.appended.len()))
        })
        .await?
        .map_err(|error| error.source.into())
    }

    /// Settles the requests that were open before, by what the history shows now (rule L4).
    async fn settle(
        &self,
        session: &SessionId,
        owner: Owner,
        before: Vec<Intent>,
    ) -> Result<Recovered, DriveError> {
        let (id, now) = (session.clone(), clock::now());
        Ok(ask::update(self.writer(), move |ledger| {
            let mut recovered = Recovered {
                session: id.clone(),
                owner,
                appended: 0,
                admitted: Vec::new(),
                not_sent: Vec::new(),
                open: Vec::new(),
                pending: ledger.unsettled(&id)?.len(),
            };
            for old in &before {
                let Some(intent) = ledger.intent(&old.request)? else { continue };
                let request = intent.request.clone();
                if intent.admitted.is_some() {
                    recovered.admitted.push(request);
                } else if is_absent(&intent, owner, now.0) {
                    let why = "it is not in the agent's own history".into();
                    match ledger.mark_delivery(&request, &Dispatch::NotSent { why }) {
                        Ok(_)
                        | Err(StoreError::Refused { why: Refusal::RequestSettled { .. } }) => {}
                        Err(error) => return Err(error),
                    }
                    recovered.not_sent.push(request);
                } else {
                    recovered.open.push(request);
                }
            }
            Ok(recovered)
        })
        .await?)
    }
}

/// Tells whether a request that no history shows will never be in it.
///
/// Nobody is sending, since the lock is held. Whoever took the request is dead, or has had time to
/// store it and runs nothing.
fn is_absent(intent: &Intent, owner: Owner, now: i64) -> bool {
    match owner {
        Owner::Dead => true,
        Owner::Idle => now.saturating_sub(intent.created_at.0) >= STORED_WITHIN_MS,
        Owner::Busy | Owner::Unknown => false,
    }
}

fn is_proven_dead(driver: Option<&Driver>) -> bool {
    driver.and_then(|driver| driver.process).is_some_and(|process| {
        let identity = ProcessIdentity { pid: process.pid, start_time: process.start_time };
        identity.liveness() == Liveness::Dead
    })
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, DriveError> {
    tokio::task::spawn_blocking(work).await.map_err(|_panicked| DriveError::Interrupted)
}
