//! What may be asked of the ledger? The traits; their contract is ledger.md.

use std::fmt;

use receipts::{
    CallKey, ExecId, Fact, InputKey, RequestId, SessionId, ThreadId, TurnId, UnixMillis, Usage,
};

use crate::{
    call::{Call, Scope, Sighting},
    driver::{Driver, ProcessIdentity, Provider},
    effect::{Attempt, Effect},
    error::StoreError,
    event::{Event, EvidenceDigest, Recorded, Seq},
    exec::{Exec, ExecOutcome, NewExec},
    input::{Capture, Captured, Input},
    intent::{Dispatch, Intent, NewIntent},
    report::{Activity, InputReport, OpenTurn, TurnReport, UsageBy, UsageGroup, Violation},
    selection::{NewSelection, Position, TurnSelection},
    session::{NewSession, Session},
    text::{Endpoint, HarnessName},
};

/// The result of a store operation.
pub type Result<T> = std::result::Result<T, StoreError>;

/// One observation's facts, appended together or not at all.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// The session.
    pub session: &'a SessionId,
    /// The harness's conversation: the session's, or one that it started.
    pub thread: &'a ThreadId,
    /// The facts, calls and outputs before the completions that settle them (rule L8).
    pub facts: &'a [Fact],
    /// What they were read from; kept before with [`LedgerWrite::put_evidence`].
    pub evidence: Option<EvidenceDigest>,
    /// Now, by our clock.
    pub at: UnixMillis,
}

/// The read half. All reads of one [`Store::read`] see one state.
///
/// Besides what each method says, every read may end in [`StoreError::Unavailable`] (retry) or
/// [`StoreError::Corrupt`] (stop).
#[expect(clippy::missing_errors_doc, reason = "the common errors are told once, above")]
pub trait Ledger {
    /// Finds a session.
    fn session(&self, id: &SessionId) -> Result<Option<Session>>;
    /// Lists at most `limit` sessions in the order of their creation, those after `after`.
    ///
    /// `after` must exist: else [`StoreError::NotFound`].
    fn sessions(&self, after: Option<&SessionId>, limit: usize) -> Result<Vec<Session>>;
    /// Finds the session that a harness's conversation belongs to.
    fn session_of_thread(
        &self,
        harness: &HarnessName,
        thread: &ThreadId,
    ) -> Result<Option<SessionId>>;
    /// Lists at most `limit` events of a session with a greater `seq` than `after`, in order.
    fn events(&self, session: &SessionId, after: Seq, limit: usize) -> Result<Vec<Event>>;
    /// Finds a run.
    fn exec(&self, id: &ExecId) -> Result<Option<Exec>>;
    /// Finds a request.
    fn intent(&self, request: &RequestId) -> Result<Option<Intent>>;
    /// Finds our request behind a turn.
    fn intent_of_turn(
        &self,
        session: &SessionId,
        thread: &ThreadId,
        turn: &TurnId,
    ) -> Result<Option<Intent>>;
    /// Lists a session's requests that are neither admitted nor proven absent, oldest first.
    fn open_intents(&self, session: &SessionId) -> Result<Vec<Intent>>;
    /// Lists a session's requests that the harness's history does not show, oldest first: those
    /// that are open, and those that are proven absent.
    fn unseen_intents(&self, session: &SessionId) -> Result<Vec<Intent>>;
    /// Tells how much happened in a session; reads neither its log nor its turns.
    fn activity(&self, session: &SessionId) -> Result<Activity>;
    /// Lists the turns of a session that the harness admitted and that have not ended.
    fn unsettled(&self, session: &SessionId) -> Result<Vec<OpenTurn>>;
    /// Reports a turn; `None` when the harness's history never showed it.
    fn turn(
        &self,
        session: &SessionId,
        thread: &ThreadId,
        turn: &TurnId,
    ) -> Result<Option<TurnReport>>;
    /// Lists the turns of a session, in the order of their first event.
    fn turns(&self, session: &SessionId) -> Result<Vec<TurnReport>>;
    /// Lists the inputs of a session, oldest first.
    fn input_history(&self, session: &SessionId) -> Result<Vec<Captured>>;
    /// Reports what came of an input; [`StoreError::NotFound`] when it was never captured.
    fn input_usage(&self, key: &InputKey) -> Result<InputReport>;
    /// Sums the calls owned by a run's turns, those of the conversations that these started included;
    /// `None` when there are none.
    fn exec_usage(&self, id: &ExecId) -> Result<Option<Usage>>;
    /// Sums the calls owned in a session; `None` when there are none.
    fn session_usage(&self, id: &SessionId) -> Result<Option<Usage>>;
    /// Sums all calls by group; a call without a time counts only when `since` is `None`.
    fn usage_by(&self, by: UsageBy, since: Option<UnixMillis>) -> Result<Vec<(UsageGroup, Usage)>>;
    /// Shows every call of a scope, in no particular order.
    fn visit_calls(&self, scope: Scope<'_>, visit: &mut dyn FnMut(&Call)) -> Result<()>;
    /// Finds a model call.
    fn call(&self, key: &CallKey) -> Result<Option<Call>>;
    /// Lists the sightings of a model call, in the order in which they were recorded.
    fn sightings(&self, key: &CallKey) -> Result<Vec<Sighting>>;
    /// Finds a turn selection.
    fn selection(&self, input: &InputKey) -> Result<Option<TurnSelection>>;
    /// Gives kept evidence; `None` when it was never kept or has been pruned.
    fn evidence(&self, digest: &EvidenceDigest) -> Result<Option<Vec<u8>>>;
    /// Checks that `driver` is the session's current one and may send (rule L6).
    ///
    /// [`StoreError::Stale`] when it is not current, [`crate::Refusal::DriverWithoutExec`] when
    /// nobody drives, [`crate::Refusal::SessionClosed`] when the session is closed.
    fn check_fence(&self, session: &SessionId, driver: &Driver) -> Result<()>;
    /// Holds the store against its own laws; lists every violation.
    fn verify(&self) -> Result<Vec<Violation>>;
}

/// The write half, inside one transaction, which sees its own writes.
///
/// Every operation is checked first and then applied: an operation that gives an error wrote
/// nothing, unless the engine failed, which fails the whole transaction. Besides what each method
/// says, [`StoreError::NotFound`] names what does not exist, and the errors of reads may occur.
#[expect(clippy::missing_errors_doc, reason = "the common errors are told once, above")]
pub trait LedgerWrite: Ledger {
    /// Creates a session; with equal fields, gives the stored one. The time is no difference.
    ///
    /// [`StoreError::Conflict`] names the field that differs.
    fn create_session(&mut self, new: &NewSession) -> Result<Session>;
    /// Ties a session to the harness's conversation, once; the same again changes nothing.
    ///
    /// [`StoreError::Conflict`] when the session has another, [`crate::Refusal::ThreadTaken`] when
    /// another session of the same harness has it.
    fn attach_thread(&mut self, session: &SessionId, thread: &ThreadId) -> Result<()>;
    /// Makes `input` the session's current one if `expected` is the current capture.
    ///
    /// [`StoreError::Stale`] with the current capture; refused for a closed session, for other
    /// work than the session is bound to, and for a key that was captured before. Turns that were
    /// intended before stay with their input (rule L5).
    fn replace_input(
        &mut self,
        session: &SessionId,
        expected: Option<Capture>,
        input: &Input,
        at: UnixMillis,
    ) -> Result<Capture>;
    /// Takes the session's driver if the whole current value is `expected` (`None`: never driven).
    ///
    /// [`StoreError::Stale`] with the current driver: of two claims with one expectation exactly
    /// one wins. Refused for a closed session. There is no force.
    fn claim_driver(
        &mut self,
        session: &SessionId,
        expected: Option<&Driver>,
        exec: &ExecId,
        provider: Provider,
    ) -> Result<Driver>;
    /// Records where the provider is reached and which process it is, under the fence.
    ///
    /// The generation stays; the same again changes nothing. Errors of [`Ledger::check_fence`].
    fn describe_provider(
        &mut self,
        session: &SessionId,
        driver: &Driver,
        endpoint: Option<&Endpoint>,
        process: Option<ProcessIdentity>,
    ) -> Result<Driver>;
    /// Lets go of the session; the provider goes on without a driver. No turn completes.
    ///
    /// [`StoreError::Stale`] with the current driver.
    fn release(&mut self, session: &SessionId, driver: &Driver) -> Result<Driver>;
    /// Lets go of the session whose provider ended; appends `exited`. No turn completes (L7).
    ///
    /// [`StoreError::Stale`] with the current driver.
    fn finish(
        &mut self,
        session: &SessionId,
        driver: &Driver,
        outcome: ExecOutcome,
        at: UnixMillis,
    ) -> Result<Driver>;
    /// Closes a session; again changes nothing. Turns and drivers stay as they are (rule L7).
    fn close_session(&mut self, session: &SessionId, at: UnixMillis) -> Result<()>;
    /// Records the start of a run; with equal fields, changes nothing.
    ///
    /// [`StoreError::Conflict`] names the field that differs.
    fn start_exec(&mut self, new: &NewExec) -> Result<()>;
    /// Records the end of a run, once; the same outcome again changes nothing.
    ///
    /// [`StoreError::Conflict`] when another outcome is stored.
    fn end_exec(&mut self, id: &ExecId, outcome: ExecOutcome, at: UnixMillis) -> Result<()>;
    /// Intends a request under the fence, and freezes its origin (rules L3, L5).
    ///
    /// The origin is the session's current input, the driver's exec, its provider generation and
    /// the labels. Errors of [`Ledger::check_fence`]; [`StoreError::Conflict`] when the request, or
    /// another for the same turn, is stored with other content: the first stays; also when the
    /// harness's history showed the turn before, which is then not ours. The same request again
    /// gives the stored one.
    fn intend(&mut self, new: &NewIntent, driver: &Driver) -> Result<Intent>;
    /// Records which native turn a request became, where the harness mints the id; once.
    ///
    /// [`StoreError::Conflict`] when the request has another turn, the turn another request, or when
    /// the harness's history showed the turn before the request was intended: then it is not ours.
    fn learn_turn(&mut self, request: &RequestId, turn: &TurnId) -> Result<Intent>;
    /// Records how an attempt to send ended; unfenced, and no admission (rules L3, L4, L6).
    ///
    /// The same again changes nothing. [`crate::Refusal::RequestSettled`] when the request is
    /// proven absent and this says otherwise, or is admitted and this says that it was not sent.
    fn mark_delivery(&mut self, request: &RequestId, dispatch: &Dispatch) -> Result<Intent>;
    /// Means something that is no prompt, under the fence, before it is sent (rule L3).
    ///
    /// Errors of [`Ledger::check_fence`]; [`crate::Refusal::EffectTried`] when an attempt before may
    /// have reached the harness, of an effect that happens once: read back instead (rule L4).
    fn mean(
        &mut self,
        session: &SessionId,
        effect: &Effect,
        driver: &Driver,
        at: UnixMillis,
    ) -> Result<Attempt>;
    /// Records how an attempt at an effect ended; unfenced. The same again changes nothing.
    ///
    /// [`StoreError::Conflict`] when another end is stored.
    fn mark_effect(
        &mut self,
        session: &SessionId,
        attempt: (&Effect, Attempt),
        dispatch: &Dispatch,
        at: UnixMillis,
    ) -> Result<()>;
    /// Appends all facts of one observation, unfenced (rule L6); one result for each fact.
    ///
    /// A fact that is stored with equal content writes nothing; with other content it is appended
    /// as `contradicted` (rule L9), except for usage, whose counters rise: a rise appends
    /// `raised`, a decrease appends a gap (rule U1). Facts of turns that nobody intended have no
    /// owner (rule L5). Rollups and owners of calls are corrected here (rule L14). A turn has one
    /// `started`: a later one, such as that of a second attempt, is known, an earlier one is kept
    /// beside it and moves [`TurnReport::started_at`] (rule L11).
    ///
    /// [`crate::Refusal::UnknownEvidence`]; [`StoreError::TooLarge`] for an output.
    fn append(&mut self, batch: &Batch<'_>) -> Result<Vec<Recorded>>;
    /// Records that a turn's provider is proven dead (rule L12); again changes nothing.
    ///
    /// A completion that is found later all the same says how the turn stands.
    /// [`crate::Refusal::TurnEnded`] when the turn has ended, [`StoreError::NotFound`] when the
    /// harness's history never showed it.
    #[expect(
        clippy::too_many_arguments,
        reason = "a turn has three names, and two facts go with it"
    )]
    fn record_exited(
        &mut self,
        session: &SessionId,
        thread: &ThreadId,
        turn: &TurnId,
        evidence: Option<EvidenceDigest>,
        at: UnixMillis,
    ) -> Result<Recorded>;
    /// Records that `child` was forked from `parent`: of two sightings of one call, the one in
    /// `parent` owns it (rule L14). Again changes nothing.
    ///
    /// [`StoreError::Conflict`] when `child` has another parent.
    fn record_fork(&mut self, child: &ThreadId, parent: &ThreadId) -> Result<()>;
    /// Promises that one turn of `new.input` will move a workflow; under the fence.
    ///
    /// The turn must be requested, and start, after the store's last event. The same again gives
    /// the stored selection; [`StoreError::Conflict`] names the field that differs. One that is
    /// unspent when another driver has taken over is made anew, for that driver.
    fn turn_selection(&mut self, new: &NewSelection, driver: &Driver) -> Result<TurnSelection>;
    /// Spends a selection on a turn that has started; under the fence.
    ///
    /// Refused as [`crate::Refusal::NotSelectable`]; a later turn may be selected only after the
    /// selected one failed or was interrupted. The same turn again changes nothing.
    fn select_turn(
        &mut self,
        input: &InputKey,
        request: &RequestId,
        driver: &Driver,
    ) -> Result<TurnSelection>;
    /// Takes the selected, completed turn; in the transaction that moves the workflow's cursor.
    ///
    /// [`StoreError::Stale`] when `position` or `driver` is not the selection's;
    /// [`crate::Refusal::SelectionNotReady`] and [`crate::Refusal::SelectionSpent`].
    fn consume_turn(
        &mut self,
        input: &InputKey,
        position: Position,
        driver: &Driver,
    ) -> Result<TurnReport>;
    /// Keeps evidence under its digest; the same content again writes nothing.
    ///
    /// [`StoreError::TooLarge`].
    fn put_evidence(&mut self, content: &[u8], at: UnixMillis) -> Result<EvidenceDigest>;
    /// Drops the content of evidence kept before `before`; digests and ledger stay. Gives how
    /// many contents were dropped.
    fn prune_evidence(&mut self, before: UnixMillis) -> Result<u64>;
    /// Counts the rows that this transaction wrote: zero needs no commit.
    fn writes(&self) -> u64;
}

/// What is done in one write transaction.
pub type WriteWork<'a> = dyn FnMut(&mut dyn LedgerWrite) -> Result<()> + 'a;

/// What is done in one read transaction.
pub type ReadWork<'a> = dyn FnMut(&dyn Ledger) -> Result<()> + 'a;

/// A durable ledger, shared by threads.
///
/// Use [`Access::view`] and [`Access::update`].
pub trait Store: fmt::Debug + Send + Sync {
    /// Runs reads against one state; never waits for a writer.
    ///
    /// # Errors
    ///
    /// What `work` gives, or [`StoreError::Unavailable`].
    fn read(&self, work: &mut ReadWork<'_>) -> Result<()>;
    /// Runs one transaction: commits durably when `work` succeeds, else undoes all of it.
    ///
    /// # Errors
    ///
    /// What `work` gives; [`StoreError::Unavailable`] when nothing was written,
    /// [`StoreError::OutcomeUnknown`] when that is not known.
    fn write(&self, work: &mut WriteWork<'_>) -> Result<()>;
}

/// [`Store`] with values: what generic methods add to a dyn-compatible trait.
pub trait Access: Store {
    /// Reads a value from one state.
    ///
    /// # Errors
    ///
    /// As [`Store::read`].
    fn view<T>(&self, work: impl FnOnce(&dyn Ledger) -> Result<T>) -> Result<T> {
        let (mut work, mut value) = (Some(work), None);
        self.read(&mut |ledger| {
            if let Some(work) = work.take() {
                value = Some(work(ledger)?);
            }
            Ok(())
        })?;
        Ok(value.expect("a successful read has run its work"))
    }

    /// Runs one transaction and gives its value once it is durable.
    ///
    /// # Errors
    ///
    /// As [`Store::write`].
    fn update<T>(&self, work: impl FnOnce(&mut dyn LedgerWrite) -> Result<T>) -> Result<T> {
        let (mut work, mut value) = (Some(work), None);
        self.write(&mut |ledger| {
            if let Some(work) = work.take() {
                value = Some(work(ledger)?);
            }
            Ok(())
        })?;
        Ok(value.expect("a successful write has run its work"))
    }
}

impl<S: Store + ?Sized> Access for S {}
