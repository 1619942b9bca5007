//! What must a backend keep? Typed rows, without rules; the ledger's rules stand on them.

use receipts::{CallKey, ExecId, InputKey, RequestId, SessionId, ThreadId, TurnId, UnixMillis};

use crate::{
    call::{Call, Scope},
    event::{Event, EventBody, EvidenceDigest, Seq},
    exec::Exec,
    input::Captured,
    intent::Intent,
    ledger::Result,
    report::Violation,
    selection::TurnSelection,
    session::Session,
    text::HarnessName,
};

/// The identity of an event (rule L1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventId<'a> {
    /// The session.
    pub session: &'a SessionId,
    /// The harness's conversation.
    pub thread: Option<&'a ThreadId>,
    /// The harness's turn.
    pub turn: Option<&'a TurnId>,
    /// [`EventBody::kind`].
    pub kind: &'a str,
    /// [`EventBody::key`].
    pub key: &'a str,
}

/// An event that is about to be stored.
#[derive(Debug, Clone)]
pub struct NewEvent {
    /// The session.
    pub session: SessionId,
    /// The harness's conversation.
    pub thread: Option<ThreadId>,
    /// The harness's turn.
    pub turn: Option<TurnId>,
    /// When it is recorded, by our clock.
    pub recorded_at: UnixMillis,
    /// What it was read from; a kept digest.
    pub evidence: Option<EvidenceDigest>,
    /// What happened.
    pub body: EventBody,
}

impl NewEvent {
    /// Makes it an event with its place.
    #[must_use]
    pub fn at(self, seq: Seq) -> Event {
        Event {
            seq,
            session: self.session,
            thread: self.thread,
            turn: self.turn,
            recorded_at: self.recorded_at,
            evidence: self.evidence,
            body: self.body,
        }
    }
}

/// A turn that the harness's history showed; found without reading the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnRow {
    /// The session.
    pub session: SessionId,
    /// The harness's conversation.
    pub thread: ThreadId,
    /// The harness's turn.
    pub turn: TurnId,
    /// The first event that showed it.
    pub first: Seq,
    /// Whether it ended.
    pub state: TurnState,
}

/// Whether a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TurnState {
    /// It may still go on.
    Open,
    /// Its last attempt ended, or its provider is proven dead.
    Ended,
}

/// Reads rows of one state of the store.
///
/// Every method fails with [`crate::StoreError::Unavailable`] or [`crate::StoreError::Corrupt`].
#[expect(clippy::missing_errors_doc, reason = "the errors are told once, above")]
pub trait Rows {
    /// Tells whether there is a session, for less than it costs to read it.
    fn has_session(&self, id: &SessionId) -> Result<bool>;
    /// Finds a session.
    fn session_row(&self, id: &SessionId) -> Result<Option<Session>>;
    /// Lists sessions in the order in which they were first put, those after `after`.
    fn session_rows(&self, after: Option<&SessionId>, limit: usize) -> Result<Vec<Session>>;
    /// Finds the session that a harness's conversation belongs to.
    fn session_of_thread(
        &self,
        harness: &HarnessName,
        thread: &ThreadId,
    ) -> Result<Option<SessionId>>;
    /// Finds an input.
    fn input_row(&self, key: &InputKey) -> Result<Option<Captured>>;
    /// Lists the inputs of a session by capture.
    fn input_rows(&self, session: &SessionId) -> Result<Vec<Captured>>;
    /// Finds a run.
    fn exec_row(&self, id: &ExecId) -> Result<Option<Exec>>;
    /// Finds a request.
    fn intent_row(&self, request: &RequestId) -> Result<Option<Intent>>;
    /// Finds the request of a turn.
    fn intent_row_of_turn(
        &self,
        session: &SessionId,
        thread: &ThreadId,
        turn: &TurnId,
    ) -> Result<Option<Intent>>;
    /// Lists the requests of a session whose turn is known, in no particular order.
    fn intent_rows(&self, session: &SessionId) -> Result<Vec<Intent>>;
    /// Lists the requests of a session that are not admitted, by their event.
    fn unseen_intent_rows(&self, session: &SessionId) -> Result<Vec<Intent>>;
    /// Lists the requests of an input, by their event.
    fn intent_rows_of_input(&self, input: &InputKey) -> Result<Vec<Intent>>;
    /// Finds an event by its identity.
    fn event_row(&self, id: &EventId<'_>) -> Result<Option<Event>>;
    /// Lists at most `limit` events of a session after `after`, in order.
    fn event_rows(&self, session: &SessionId, after: Seq, limit: usize) -> Result<Vec<Event>>;
    /// Finds the last event of a session.
    fn last_event_row(&self, session: &SessionId) -> Result<Option<Event>>;
    /// Lists the events of a turn, in order.
    fn turn_event_rows(
        &self,
        session: &SessionId,
        thread: &ThreadId,
        turn: &TurnId,
    ) -> Result<Vec<Event>>;
    /// Finds a turn.
    fn turn_row(
        &self,
        session: &SessionId,
        thread: &ThreadId,
        turn: &TurnId,
    ) -> Result<Option<TurnRow>>;
    /// Lists at most `limit` turns of a session whose first event is after `after`, by that event.
    fn turn_rows(&self, session: &SessionId, after: Seq, limit: usize) -> Result<Vec<TurnRow>>;
    /// Counts the turns of a session, without reading them.
    fn turn_count(&self, session: &SessionId) -> Result<u64>;
    /// Lists the turns of a session that are [`TurnState::Open`], by their first event.
    fn open_turn_rows(&self, session: &SessionId) -> Result<Vec<TurnRow>>;
    /// Gives the place of the last event in the store.
    fn head(&self) -> Result<Seq>;
    /// Lists the `usage` events of a model call, in order.
    fn usage_rows(&self, call: &CallKey) -> Result<Vec<Event>>;
    /// Lists the model calls with a `usage` event in a conversation, each once.
    fn calls_seen_in(&self, thread: &ThreadId) -> Result<Vec<CallKey>>;
    /// Finds a model call.
    fn call_row(&self, key: &CallKey) -> Result<Option<Call>>;
    /// Shows every model call of a scope.
    fn visit_call_rows(&self, scope: Scope<'_>, visit: &mut dyn FnMut(&Call)) -> Result<()>;
    /// Gives the conversation that another was forked from.
    fn fork_parent(&self, child: &ThreadId) -> Result<Option<ThreadId>>;
    /// Lists the events, of any turn, that name a conversation as one that the turn started
    /// ([`receipts::FactBody::Child`]), in order.
    fn start_rows_of(&self, child: &ThreadId) -> Result<Vec<Event>>;
    /// Lists the conversations that turns of another one started, in no particular order.
    fn children_of(&self, parent: &ThreadId) -> Result<Vec<ThreadId>>;
    /// Lists the conversations that were forked from another, in no particular order.
    fn forks_of(&self, parent: &ThreadId) -> Result<Vec<ThreadId>>;
    /// Finds the turn selection of an input.
    fn selection_row(&self, input: &InputKey) -> Result<Option<TurnSelection>>;
    /// Tells whether evidence was ever kept, pruned or not.
    fn has_evidence(&self, digest: &EvidenceDigest) -> Result<bool>;
    /// Gives the content of evidence that is kept and not pruned.
    fn evidence_content(&self, digest: &EvidenceDigest) -> Result<Option<Vec<u8>>>;
    /// Checks what the engine alone can: its own structure, and the checksum of every row.
    fn check_rows(&self) -> Result<Vec<Violation>>;
}

/// Writes rows in one transaction, which sees its own writes.
///
/// `put_*` stores a row under its id, over an older one. The rules call nothing that could break
/// a uniqueness constraint; a backend may hold them all the same.
#[expect(clippy::missing_errors_doc, reason = "as for `Rows`")]
pub trait RowsMut: Rows {
    /// Stores a session.
    fn put_session(&mut self, row: &Session) -> Result<()>;
    /// Stores an input.
    fn put_input(&mut self, row: &Captured) -> Result<()>;
    /// Stores a run.
    fn put_exec(&mut self, row: &Exec) -> Result<()>;
    /// Stores a request.
    fn put_intent(&mut self, row: &Intent) -> Result<()>;
    /// Stores a new event and gives its place.
    fn add_event(&mut self, row: NewEvent) -> Result<Seq>;
    /// Stores a turn.
    fn put_turn(&mut self, row: &TurnRow) -> Result<()>;
    /// Stores a model call.
    fn put_call(&mut self, row: &Call) -> Result<()>;
    /// Stores where a conversation was forked from.
    fn put_fork(&mut self, child: &ThreadId, parent: &ThreadId) -> Result<()>;
    /// Stores a turn selection.
    fn put_selection(&mut self, row: &TurnSelection) -> Result<()>;
    /// Stores evidence with its content; a row whose content was dropped gets it back.
    fn put_evidence_row(
        &mut self,
        digest: &EvidenceDigest,
        content: &[u8],
        at: UnixMillis,
    ) -> Result<()>;
    /// Drops the contents of evidence kept before a time; gives how many.
    fn drop_evidence(&mut self, before: UnixMillis) -> Result<u64>;
    /// Counts the rows written in this transaction.
    fn written(&self) -> u64;
}
