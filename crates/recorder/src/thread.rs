//! How does an observation become durable, and who hears of it? (rules L6, L8, L10 and F12)

use std::sync::Arc;

use receipts::{
    Completion, Fact, FactBody, Failure, MessageId, Observation, SessionId, Status, Thread,
    ThreadId, TurnId, UnixMillis,
};
use store::{Access as _, Batch, Ledger, Recorded, Reply, Store, StoreError};

/// How many settled turns stay in memory, so that a late sighting of them is still folded.
const SETTLED_TURNS_KEPT: usize = 64;

/// Says what could not be recorded; nothing of it is lost (see [`ThreadRecorder::record`]).
#[derive(Debug, thiserror::Error)]
#[error("session {session}, thread {thread}: cannot record {facts} facts")]
pub struct RecordError {
    /// The session.
    pub session: SessionId,
    /// The thread.
    pub thread: ThreadId,
    /// How many facts wait.
    pub facts: usize,
    /// Why; its variant says what to do.
    pub source: StoreError,
}

/// Something that happened to a request of our own, told once its facts are stored (rule F12).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveEvent {
    /// The harness began to answer.
    TurnStarted {
        /// The turn.
        turn: TurnId,
    },
    /// The turn did not complete.
    Error {
        /// The turn.
        turn: TurnId,
        /// What went wrong; `None` where the harness stored no error.
        failure: Option<Failure>,
    },
    /// An attempt ended.
    TurnCompleted {
        /// The turn.
        turn: TurnId,
        /// How.
        status: Status,
    },
}

/// What one call of [`ThreadRecorder::record`] did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// How many facts were new to the store.
    pub appended: usize,
    /// What happened to requests of our own, in the harness's order.
    pub events: Vec<LiveEvent>,
}

/// The recorder of one thread of one session.
///
/// Recording is unfenced (rule L6): any number of recorders may follow one thread, and the store
/// keeps each fact once.
#[derive(Debug)]
pub struct ThreadRecorder {
    store: Arc<dyn Store>,
    session: SessionId,
    thread: Thread,
    /// Facts that the store has not confirmed.
    pending: Vec<Fact>,
}

impl ThreadRecorder {
    /// Starts to record a thread of a session, which must exist.
    ///
    /// What was sent with the wish for no answer is read from the stored intents.
    ///
    /// # Errors
    ///
    /// [`StoreError`], as the reads of [`Ledger`].
    pub fn open(
        store: Arc<dyn Store>,
        session: SessionId,
        thread: ThreadId,
    ) -> Result<Self, StoreError> {
        let silent = store.view(|ledger| silent_requests(ledger, &session, &thread))?;
        let mut fold = Thread::new(thread);
        for request in silent {
            fold.observe(Observation::NoReply(request));
        }
        Ok(Self { store, session, thread: fold, pending: Vec::new() })
    }

    /// Gives the fold of the thread, to read receipts from.
    #[must_use]
    pub fn fold(&self) -> &Thread {
        &self.thread
    }

    /// Takes an observation; nothing is recorded before [`Self::record`].
    pub fn observe(&mut self, observation: Observation) {
        self.thread.observe(observation);
    }

    /// Appends all that became known, in one transaction, and then tells what happened.
    ///
    /// # Errors
    ///
    /// [`RecordError`]: nothing was announced, and the facts are kept for the next call, which
    /// may be made at once or after more observations. When the outcome is unknown the next call
    /// finds out: facts that are stored already are not stored again, and the events that belong
    /// to them are told then.
    pub fn record(&mut self, now: UnixMillis) -> Result<Recording, RecordError> {
        let unconfirmed = self.pending.len();
        self.pending.extend(self.thread.take_facts());
        if self.pending.is_empty() {
            return Ok(Recording::default());
        }
        let (session, thread) = (&self.session, self.thread.id());
        let facts = &self.pending;
        let appended = self.store.update(|ledger| {
            let batch = Batch { session, thread, facts, evidence: None, at: now };
            let recorded = ledger.append(&batch)?;
            // Only now, with its admission stored, is a turn known to be ours.
            let mut ours = Vec::with_capacity(facts.len());
            for fact in facts {
                ours.push(ledger.intent_of_turn(session, thread, &fact.turn)?.is_some());
            }
            Ok((recorded, ours))
        });
        let (recorded, ours) = appended.map_err(|source| RecordError {
            session: session.clone(),
            thread: thread.clone(),
            facts: facts.len(),
            source,
        })?;
        let mut recording = Recording::default();
        for (at, fact) in std::mem::take(&mut self.pending).into_iter().enumerate() {
            let is_new = matches!(recorded.get(at), Some(Recorded::Appended(_)));
            recording.appended += usize::from(is_new);
            // A fact whose append failed before may have been stored by that very attempt.
            let is_untold = is_new || at < unconfirmed;
            if is_untold && ours.get(at).copied().unwrap_or(false) {
                announce(fact, &mut recording.events);
            }
        }
        self.thread.forget_settled(SETTLED_TURNS_KEPT);
        Ok(recording)
    }
}

fn silent_requests(
    ledger: &dyn Ledger,
    session: &SessionId,
    thread: &ThreadId,
) -> Result<Vec<MessageId>, StoreError> {
    let open = ledger.open_intents(session)?;
    let mut turns: Vec<TurnId> = ledger.turns(session)?.into_iter().map(|turn| turn.turn).collect();
    turns.extend(open.into_iter().filter_map(|intent| intent.turn));
    let mut silent = Vec::new();
    for turn in turns {
        let intent = ledger.intent_of_turn(session, thread, &turn)?;
        if intent.is_some_and(|intent| intent.reply == Reply::NotAsked) {
            silent.push(MessageId::from(&turn));
        }
    }
    Ok(silent)
}

fn announce(fact: Fact, events: &mut Vec<LiveEvent>) {
    let turn = fact.turn;
    match fact.body {
        FactBody::Started { .. } => events.push(LiveEvent::TurnStarted { turn }),
        FactBody::Completed(Completion { status, failure, .. }) => {
            if status != Status::Completed {
                events.push(LiveEvent::Error { turn: turn.clone(), failure });
            }
            events.push(LiveEvent::TurnCompleted { turn, status });
        }
        FactBody::Admitted { .. }
        | FactBody::Call { .. }
        | FactBody::Child { .. }
        | FactBody::Generated { .. }
        | FactBody::Gap(_) => {}
    }
}
