//! What became of a session after a crash? A pure function of intents and native history (L10).

use std::collections::BTreeSet;

use harness::{Liveness, ReachError, Seen};
use receipts::{MessageId, Observation, Owner, RequestId, SessionId, ThreadId, UnixMillis};
use store::{Dispatch, Driver, Intent, Refusal, Session, StoreError};

use crate::{
    ask,
    backlog::{Depth, read_back},
    book::{owner_seen, record_exited},
    clock,
    error::DriveError,
    provider::liveness,
    recorder::Recorder,
    thread::ThreadRecorder,
};

/// How long after its last byte a request that is in no history is taken for never stored: a server
/// that has just been started takes seconds to store what it took.
const STORED_WITHIN_MS: i64 = 5_000;
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
    /// It waits for a send that is under way, so that nothing that it settles can still leave; it
    /// holds up no later one. Doing it again changes nothing.
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
        let read = ask::view(self.writer(), move |ledger| {
            let stored =
                ledger.session(&id)?.ok_or_else(|| StoreError::not_found("session", &id))?;
            Ok((stored, ledger.open_intents(&id)?))
        });
        let (stored, before) = read.await?;
        drop(lock);
        let found = match &stored.thread {
            Some(thread) => self.catch_up(&stored, thread, belief).await?,
            // Without a conversation nothing can have been sent to it.
            None => Found::nothing(),
        };
        self.settle(session, found, before).await
    }

    /// Reads and records the conversation and those that it started.
    async fn catch_up(
        &self,
        session: &Session,
        root: &ThreadId,
        belief: Belief,
    ) -> Result<Found, DriveError> {
        let is_dead = |driver: &Driver| liveness(driver) == Liveness::Dead;
        let death = match belief {
            Belief::OwnerIsDead => Death::Believed,
            Belief::Evidence if session.driver.as_ref().is_some_and(is_dead) => Death::Proven,
            Belief::Evidence => Death::Unproven,
        };
        let mut found = Found::nothing();
        let mut threads = vec![root.clone()];
        let mut recorders = Vec::new();
        let mut at = 0;
        while let Some(thread) = threads.get(at).cloned() {
            at += 1;
            let history = match self.read(session.id(), &thread, death).await {
                // A subagent's conversation was deleted; the ledger keeps what it has (rule F11).
                Err(DriveError::Reach(ReachError::NotFound { .. })) if at > 1 => continue,
                read => read?,
            };
            if at == 1 {
                found.owner = history.owner;
                found.looked_at = history.looked_at;
                found.shown = history.seen.iter().filter_map(message_id).collect();
            }
            let owner = history.owner;
            let mut recorder = self.recorder_of(session.id(), thread);
            if owner == Owner::Busy {
                recorder.observe(owner_seen(owner));
            }
            history.seen.into_iter().for_each(|seen| recorder.observe(seen));
            for child in recorder.fold().receipts().into_iter().flat_map(|it| it.children) {
                if !threads.contains(&child) {
                    threads.push(child);
                }
            }
            let (recorder, appended) = self.record(recorder).await?;
            found.appended += appended;
            recorders.push((recorder, owner));
        }
        self.judge(session, recorders, (found, death)).await
    }

    fn recorder_of(&self, session: &SessionId, thread: ThreadId) -> ThreadRecorder {
        ThreadRecorder::new(self.writer().clone(), session.clone(), thread, None)
    }

    /// Says what the histories alone do not tell, once all that they tell is recorded: only then is
    /// it known which turns the death of a provider leaves open.
    async fn judge(
        &self,
        session: &Session,
        recorders: Vec<(ThreadRecorder, Owner)>,
        (mut found, death): (Found, Death),
    ) -> Result<Found, DriveError> {
        let runs_nothing = found.owner == Owner::Idle && death == Death::Proven;
        if found.owner == Owner::Dead || runs_nothing {
            let (id, writer) = (session.id().clone(), self.writer().clone());
            blocking(move || record_exited(&writer, id, clock::now())).await??;
        }
        for (mut recorder, owner) in recorders {
            recorder.observe(owner_seen(owner));
            found.appended += self.record(recorder).await?.1;
        }
        Ok(found)
    }

    /// Reads a history and says what is known of its run at the end of that reading.
    async fn read(
        &self,
        session: &SessionId,
        thread: &ThreadId,
        death: Death,
    ) -> Result<History, DriveError> {
        let mut looked_at = clock::now();
        let place = (Some(session), thread);
        let mut seen = read_back(&**self.harness(), self.writer(), place, Depth::All).await?;
        if death == Death::Believed {
            return Ok(History { seen, owner: Owner::Dead, looked_at });
        }
        // Idle holds for what is read after it was told, if nothing was written meanwhile.
        for _ in 0..LOOKS {
            let owner = match (self.harness().owner(thread).await, death) {
                // Another process may serve the same conversations now, and run this one.
                (Ok(owner), _) => owner,
                (Err(error), Death::Proven) if error.is_transient() => Owner::Dead,
                // The history came from files: nothing is known of a run.
                (Err(error), _) if error.is_transient() => Owner::Unknown,
                (Err(error), _) => return Err(error.into()),
            };
            if matches!(owner, Owner::Dead | Owner::Unknown) {
                return Ok(History { seen, owner, looked_at });
            }
            looked_at = clock::now();
            let end = self.harness().read_page(thread, None).await?.seen;
            let tail: Vec<&Seen> = seen.iter().rev().take(2 * end.len()).collect();
            let is_still = end.iter().all(|message| tail.contains(&message));
            if is_still {
                return Ok(History { seen, owner, looked_at });
            }
            seen.extend(end);
        }
        Ok(History { seen, owner: Owner::Unknown, looked_at })
    }

    /// Records what was observed; what the store refuses for good stops nothing else (rule L9).
    async fn record(
        &self,
        recorder: ThreadRecorder,
    ) -> Result<(ThreadRecorder, usize), DriveError> {
        let recorded = blocking(move || {
            let mut recorder = recorder;
            let recording = match recorder.record(clock::now()) {
                Err(error) if error.is_refusal() => recorder.record(clock::now()),
                recording => recording,
            };
            recording.map(|recording| (recorder, recording.appended.len()))
        });
        recorded.await?.map_err(|error| error.source.into())
    }

    /// Settles the requests that were open before, by what the history shows now (rule L4).
    async fn settle(
        &self,
        session: &SessionId,
        found: Found,
        before: Vec<Intent>,
    ) -> Result<Recovered, DriveError> {
        let id = session.clone();
        let grace = i64::try_from(self.dispatch().as_millis()).unwrap_or(i64::MAX);
        let grace = grace.saturating_add(STORED_WITHIN_MS);
        Ok(ask::update(self.writer(), move |ledger| {
            let mut recovered = Recovered {
                session: id.clone(),
                owner: found.owner,
                appended: found.appended,
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
                } else if found.proves_absent(&intent, grace) {
                    let why = "it is not in the agent's own history".into();
                    match ledger.mark_delivery(&request, &Dispatch::NotSent { why }) {
                        Ok(_) => recovered.not_sent.push(request),
                        // Another recorder has settled it since.
                        Err(StoreError::Refused { why: Refusal::RequestSettled { .. } }) => {}
                        Err(error) => return Err(error),
                    }
                } else {
                    recovered.open.push(request);
                }
            }
            Ok(recovered)
        })
        .await?)
    }
}

/// Whether the provider that the session was driven through last is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Death {
    /// A person says so, of whatever serves the session.
    Believed,
    /// Its process is gone.
    Proven,
    Unproven,
}

/// A history, and what is known of its run at the end of it.
struct History {
    seen: Vec<Seen>,
    owner: Owner,
    /// When its end was asked for last, by our clock.
    looked_at: UnixMillis,
}

/// What a recovery found out before it settles anything.
struct Found {
    owner: Owner,
    appended: usize,
    /// The messages of the session's conversation.
    shown: BTreeSet<MessageId>,
    /// When the end of that was asked for last, by our clock.
    looked_at: UnixMillis,
}

impl Found {
    fn nothing() -> Self {
        let (owner, looked_at) = (Owner::Unknown, clock::now());
        Self { owner, appended: 0, shown: BTreeSet::new(), looked_at }
    }

    /// Tells whether a request will never be in a history that does not show it.
    ///
    /// Nothing of it can still leave. Whoever took it is dead, or has had time to store it and runs
    /// nothing. One whose native id is not known cannot be looked for.
    fn proves_absent(&self, intent: &Intent, grace: i64) -> bool {
        let Some(turn) = &intent.turn else { return false };
        if self.shown.contains(&MessageId::from(turn)) {
            return false;
        }
        match self.owner {
            Owner::Dead => true,
            Owner::Idle => self.looked_at.0.saturating_sub(intent.created_at.0) >= grace,
            Owner::Busy | Owner::Unknown => false,
        }
    }
}

fn message_id(seen: &Seen) -> Option<MessageId> {
    match &seen.observation {
        Observation::Message(message) => Some(message.id.clone()),
        Observation::Removed(_)
        | Observation::NoReply(_)
        | Observation::Owner(_)
        | Observation::Gap(_) => None,
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, DriveError> {
    tokio::task::spawn_blocking(work).await.map_err(|_panicked| DriveError::Interrupted)
}
