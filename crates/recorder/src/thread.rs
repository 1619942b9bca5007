//! How does an observation become durable, and who hears of it? (rules L6, L8, L10 and F12)

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use harness::{Evidence, Seen};
use receipts::{
    Author, Body, Completion, ExecId, Fact, FactBody, Failure, Gap, Lineage, Message, MessageId,
    Observation, Owner, SessionId, Status, Thread, ThreadId, TurnId, UnixMillis,
};
use store::{
    Batch, EVIDENCE_BYTES_MAX, LedgerWrite, Recorded, Refusal, Reply, StoreError, TurnReport,
    Writer,
};

/// How many settled turns stay in memory, so that a late sighting of them is still folded.
const SETTLED_TURNS_KEPT: usize = 64;
/// How many prompts are remembered as looked up, and how many wait with their own words.
const PROMPTS_REMEMBERED: usize = 1024;

/// Says what could not be recorded; nothing of it is lost (see [`ThreadRecorder::record`]).
#[derive(Debug, thiserror::Error)]
#[error("session {session}, thread {thread}: cannot record {facts} facts")]
pub struct RecordError {
    /// The session.
    pub session: SessionId,
    /// The thread.
    pub thread: ThreadId,
    /// How many facts wait, or were given up when they are refused.
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

impl RecordError {
    /// Tells whether what was refused is given up, so that the next call records the rest.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        is_refusal(&self.source)
    }
}

/// A fact with what it was read from.
type Entry = (Fact, Option<Evidence>);

/// What one call of [`ThreadRecorder::record`] did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// The facts that were new to the store, in the order in which they were appended.
    pub appended: Vec<Fact>,
    /// What happened to requests of our own, in the harness's order.
    pub events: Vec<LiveEvent>,
}

/// The recorder of one thread of one session.
///
/// Recording is unfenced (rule L6): any number of recorders may follow one thread, and the store
/// keeps each fact once. Its calls block on the store: run it on a thread that may.
#[derive(Debug)]
pub struct ThreadRecorder {
    writer: Writer,
    session: SessionId,
    fold: Thread,
    /// Whose requests are announced.
    exec: Option<ExecId>,
    /// Facts that the store has not confirmed, each with what it was read from.
    pending: Vec<Entry>,
    /// The words of messages that no fact named yet.
    answers: BTreeMap<MessageId, Evidence>,
    prompts: VecDeque<(MessageId, Evidence)>,
    /// Requests of which the ledger was asked, and of which it is to be asked.
    looked_up: BTreeSet<MessageId>,
    unlooked: BTreeSet<MessageId>,
}

impl ThreadRecorder {
    /// Starts to record a thread of a session, which must exist when something is recorded.
    ///
    /// The requests of `exec` are announced, others are recorded only.
    #[must_use]
    pub fn new(writer: Writer, session: SessionId, thread: ThreadId, exec: Option<ExecId>) -> Self {
        Self {
            writer,
            session,
            fold: Thread::new(thread),
            exec,
            pending: Vec::new(),
            answers: BTreeMap::new(),
            prompts: VecDeque::new(),
            looked_up: BTreeSet::new(),
            unlooked: BTreeSet::new(),
        }
    }

    /// Gives the fold of the thread, to read receipts from.
    #[must_use]
    pub fn fold(&self) -> &Thread {
        &self.fold
    }

    /// Gives the session.
    #[must_use]
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Takes what was seen; nothing is recorded before [`Self::record`].
    ///
    /// That a thread is idle holds until something else is seen in it: it is observed after the
    /// messages that it is true of.
    pub fn observe(&mut self, seen: Seen) {
        // Idle was true of what was seen before; a run may have begun with this.
        if matches!(seen.observation, Observation::Message(_)) && self.fold.owner() == Owner::Idle {
            self.fold.observe(Observation::Owner(Owner::Unknown));
        }
        if let Observation::Message(message) = &seen.observation {
            if is_request(message) && !self.looked_up.contains(&message.id) {
                self.unlooked.insert(message.id.clone());
            }
            if let Some(evidence) = seen.evidence {
                self.keep(message, evidence);
            }
        }
        self.fold.observe(seen.observation);
    }

    /// Asks the ledger which of the new requests were sent without asking for an answer.
    fn look_up(&mut self) -> Result<(), StoreError> {
        if self.unlooked.is_empty() {
            return Ok(());
        }
        let (session, thread, unlooked) = (&self.session, self.fold.id(), &self.unlooked);
        let silent = self.writer.view(|ledger| {
            let mut silent = Vec::new();
            for message in unlooked {
                let turn = TurnId::from(message);
                let intent = ledger.intent_of_turn(session, thread, &turn)?;
                if intent.is_some_and(|intent| intent.reply == Reply::NotAsked) {
                    silent.push(message.clone());
                }
            }
            Ok(silent)
        })?;
        for message in silent {
            self.fold.observe(Observation::NoReply(message));
        }
        if self.looked_up.len() >= PROMPTS_REMEMBERED {
            self.looked_up.clear();
        }
        self.looked_up.append(&mut self.unlooked);
        Ok(())
    }

    /// Remembers the words of a message that will not change any more, until a fact names it.
    fn keep(&mut self, message: &Message, evidence: Evidence) {
        if evidence.as_str().len() as u64 > EVIDENCE_BYTES_MAX {
            return;
        }
        match &message.body {
            Body::Answer(answer) if answer.completed.is_some() => {
                self.answers.insert(message.id.clone(), evidence);
            }
            Body::Prompt(_) => {
                self.prompts.retain(|(id, _)| *id != message.id);
                self.prompts.push_back((message.id.clone(), evidence));
                if self.prompts.len() > SETTLED_TURNS_KEPT {
                    self.prompts.pop_front();
                }
            }
            Body::Answer(_) | Body::Unknown => {}
        }
    }

    /// Appends all that became known, in one transaction, and then tells what happened.
    ///
    /// # Errors
    ///
    /// [`RecordError`]: nothing was announced. When the store refuses a fact for good, it is given
    /// up and all others are recorded by the next call (rule L9); of an output that is too large
    /// the end is recorded, with a gap in place of the output.
    /// Else the facts are kept for the next call, which may be made at once or after more
    /// observations. When the outcome is unknown the next call finds out: facts that are stored
    /// already are not stored again, and the events that belong to them are told then.
    pub fn record(&mut self, now: UnixMillis) -> Result<Recording, RecordError> {
        self.look_up().map_err(|source| self.error(0, source))?;
        let facts = self.fold.take_facts();
        self.pending.extend(facts.into_iter().map(|fact| {
            let evidence = evidence_of(&fact, &mut self.answers, &mut self.prompts);
            (fact, evidence)
        }));
        // What no fact named now belongs to turns that the ledger holds already.
        self.answers.clear();
        if self.pending.is_empty() {
            return Ok(Recording::default());
        }
        let facts: Arc<[Entry]> = std::mem::take(&mut self.pending).into();
        match self.append(&facts, now) {
            Ok(recording) => {
                self.fold.forget_settled(SETTLED_TURNS_KEPT);
                Ok(recording)
            }
            Err(source) => {
                self.pending = facts.to_vec();
                if is_refusal(&source) {
                    self.give_up_refused(now);
                }
                Err(self.error(facts.len(), source))
            }
        }
    }

    fn error(&self, facts: usize, source: StoreError) -> RecordError {
        let (session, thread) = (self.session.clone(), self.fold.id().clone());
        RecordError { session, thread, facts, source }
    }

    fn append(&self, facts: &Arc<[Entry]>, now: UnixMillis) -> Result<Recording, StoreError> {
        let (session, thread) = (self.session.clone(), self.fold.id().clone());
        let exec = self.exec.clone();
        let shared = Arc::clone(facts);
        let stored = self.writer.update(move |ledger| {
            let mut stored = Vec::with_capacity(shared.len());
            for (fact, evidence) in &*shared {
                stored.push(append_one(ledger, (&session, &thread), (fact, evidence), now)?);
            }
            // Only now, with its admission stored, is a turn known to be ours.
            let mut ours = BTreeMap::new();
            for (fact, _) in &*shared {
                if exec.is_some() && !ours.contains_key(&fact.turn) {
                    let intent = ledger.intent_of_turn(&session, &thread, &fact.turn)?;
                    let is_ours = intent.map(|intent| intent.origin.exec) == exec;
                    let report = match is_ours {
                        true => ledger.turn(&session, &thread, &fact.turn)?,
                        false => None,
                    };
                    ours.insert(fact.turn.clone(), report);
                }
            }
            Ok((stored, ours))
        })?;
        let (stored, ours) = stored;
        let mut recording = Recording::default();
        for ((fact, _), recorded) in facts.iter().zip(stored) {
            // Another recorder may have been faster; the fold gives each fact out once.
            if let Some(Some(report)) = ours.get(&fact.turn) {
                announce(fact, (recorded, report), &mut recording.events);
            }
            if matches!(recorded, Recorded::Appended(_)) {
                recording.appended.push(fact.clone());
            }
        }
        Ok(recording)
    }

    /// Gives up what the store refuses for good, and keeps all else, in its order (rule L9).
    fn give_up_refused(&mut self, now: UnixMillis) {
        let facts = std::mem::take(&mut self.pending);
        let mut by_turn: BTreeMap<TurnId, Vec<Entry>> = BTreeMap::new();
        for entry in &facts {
            by_turn.entry(entry.0.turn.clone()).or_default().push(entry.clone());
        }
        by_turn.retain(|_, facts| self.refuses(facts, now).is_some());
        for entry in facts {
            match by_turn.contains_key(&entry.0.turn) {
                true => self.pending.extend(self.acceptable(entry, now)),
                // Stored or not, they are told with the next call, which stores nothing twice.
                false => self.pending.push(entry),
            }
        }
    }

    /// Gives what the store takes of a fact.
    fn acceptable(&self, entry: Entry, now: UnixMillis) -> Vec<Entry> {
        let Some(error) = self.refuses(std::slice::from_ref(&entry), now) else {
            return vec![entry];
        };
        let (turn, kind) = (entry.0.turn.clone(), entry.0.body.kind());
        tracing::warn!(%turn, kind, %error, "a fact is not recorded as it is");
        let rest = without_output(entry, &error);
        if self.refuses(&rest, now).is_some() { Vec::new() } else { rest }
    }

    /// Tries to append facts; gives the error when they are refused for good.
    fn refuses(&self, facts: &[Entry], now: UnixMillis) -> Option<StoreError> {
        let (session, thread) = (self.session.clone(), self.fold.id().clone());
        let shared: Arc<[Entry]> = facts.into();
        let tried = self.writer.update(move |ledger| {
            for (fact, evidence) in &*shared {
                let _recorded = append_one(ledger, (&session, &thread), (fact, evidence), now)?;
            }
            Ok(())
        });
        tried.err().filter(is_refusal)
    }
}

/// Says that an attempt ended with an output that is too large to keep; nothing of other facts.
fn without_output((fact, evidence): Entry, error: &StoreError) -> Vec<Entry> {
    let FactBody::Completed(completion) = fact.body else { return Vec::new() };
    let gap = Gap::Unreadable {
        message: completion.message.clone(),
        path: "$.output".to_owned(),
        problem: error.to_string(),
    };
    let completion = Completion { output: None, ..completion };
    let turn = fact.turn;
    vec![
        (Fact { turn: turn.clone(), body: FactBody::Gap(gap) }, None),
        (Fact { turn, body: FactBody::Completed(completion) }, evidence),
    ]
}

fn is_request(message: &Message) -> bool {
    let is_own = message.lineage == Lineage::Own;
    is_own && matches!(&message.body, Body::Prompt(prompt) if prompt.author == Author::Client)
}

/// Tells whether the same again will be refused again.
fn is_refusal(error: &StoreError) -> bool {
    match error {
        StoreError::TooLarge { .. } | StoreError::Conflict { .. } => true,
        StoreError::Refused { why } => !matches!(why, Refusal::UnknownEvidence),
        StoreError::Stale { .. }
        | StoreError::NotFound { .. }
        | StoreError::Unavailable { .. }
        | StoreError::OutcomeUnknown { .. }
        | StoreError::Corrupt { .. }
        | StoreError::TooNew { .. }
        | StoreError::Foreign { .. }
        | _ => false,
    }
}

fn append_one(
    ledger: &mut dyn LedgerWrite,
    (session, thread): (&SessionId, &ThreadId),
    (fact, evidence): (&Fact, &Option<Evidence>),
    at: UnixMillis,
) -> Result<Recorded, StoreError> {
    let evidence = match evidence {
        Some(evidence) => Some(ledger.put_evidence(evidence.as_str().as_bytes(), at)?),
        None => None,
    };
    let facts = std::slice::from_ref(fact);
    let recorded = ledger.append(&Batch { session, thread, facts, evidence, at })?;
    recorded.into_iter().next().ok_or_else(|| StoreError::not_found("fact", &fact.turn))
}

/// Takes the words that a fact was read from: each message's are kept with the first fact that
/// names it, and a prompt's with the end of its turn, since harnesses rewrite prompts until then.
fn evidence_of(
    fact: &Fact,
    answers: &mut BTreeMap<MessageId, Evidence>,
    prompts: &mut VecDeque<(MessageId, Evidence)>,
) -> Option<Evidence> {
    match &fact.body {
        FactBody::Call { message, .. } => answers.remove(message),
        FactBody::Completed(completion) => {
            let answer = completion.message.as_ref().and_then(|message| answers.remove(message));
            answer.or_else(|| {
                let at = prompts.iter().position(|(id, _)| *id == MessageId::from(&fact.turn))?;
                prompts.remove(at).map(|(_, evidence)| evidence)
            })
        }
        FactBody::Admitted { .. }
        | FactBody::Started { .. }
        | FactBody::Child { .. }
        | FactBody::Generated { .. }
        | FactBody::Gap(_) => None,
    }
}

/// Tells what happened. Of an end that contradicts the stored one, the stored one is told: it holds
/// (rule F5), and whoever waits for the end waits for that.
fn announce(fact: &Fact, (recorded, report): (Recorded, &TurnReport), events: &mut Vec<LiveEvent>) {
    let turn = fact.turn.clone();
    let stored = match recorded {
        Recorded::Contradicted { .. } => report.completion.as_ref(),
        Recorded::Appended(_) | Recorded::Known(_) | Recorded::Raised { .. } => None,
    };
    match &fact.body {
        FactBody::Started { .. } => events.push(LiveEvent::TurnStarted { turn }),
        FactBody::Completed(completion) => {
            let Completion { status, failure, .. } = stored.unwrap_or(completion);
            if *status != Status::Completed {
                events.push(LiveEvent::Error { turn: turn.clone(), failure: failure.clone() });
            }
            events.push(LiveEvent::TurnCompleted { turn, status: *status });
        }
        FactBody::Admitted { .. }
        | FactBody::Call { .. }
        | FactBody::Child { .. }
        | FactBody::Generated { .. }
        | FactBody::Gap(_) => {}
    }
}
