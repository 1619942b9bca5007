//! Which statement answers which question about rows? One file for each group of tables.

mod call;
mod check;
mod driver;
mod event;
mod evidence;
mod exec;
mod input;
mod intent;
mod labels;
mod selection;
mod session;
mod turn;

use receipts::{CallKey, ExecId, InputKey, RequestId, SessionId, ThreadId, TurnId, UnixMillis};
use store::{
    Call, Captured, Event, EventId, EvidenceDigest, Exec, HarnessName, Intent, NewEvent, Result,
    Rows, RowsMut, Scope, Seq, Session, TurnRow, TurnSelection, Violation,
};

use crate::transaction::Transaction;

/// A turn by its three names.
type Place<'a> = (&'a SessionId, &'a ThreadId, &'a TurnId);

/// A page's size as a number that SQLite takes.
fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

impl Transaction<'_> {
    /// Finds the ids of a turn's three names; `None` when no row can have them.
    fn find_place(&self, (session, thread, turn): Place<'_>) -> Result<Option<[i64; 3]>> {
        let Some(session) = self.find_name(session.as_str())? else { return Ok(None) };
        let Some(thread) = self.find_name(thread.as_str())? else { return Ok(None) };
        Ok(self.find_name(turn.as_str())?.map(|turn| [session, thread, turn]))
    }
}

impl Rows for Transaction<'_> {
    fn has_session(&self, id: &SessionId) -> Result<bool> {
        Ok(session::row_id(self, id)?.is_some())
    }
    fn session_row(&self, id: &SessionId) -> Result<Option<Session>> {
        session::find(self, id)
    }
    fn session_rows(&self, after: Option<&SessionId>, limit: usize) -> Result<Vec<Session>> {
        session::list(self, after, limit)
    }
    fn session_of_thread(
        &self,
        harness: &HarnessName,
        thread: &ThreadId,
    ) -> Result<Option<SessionId>> {
        session::of_thread(self, harness, thread)
    }
    fn input_row(&self, key: &InputKey) -> Result<Option<Captured>> {
        input::find(self, key)
    }
    fn input_rows(&self, session: &SessionId) -> Result<Vec<Captured>> {
        input::list(self, session)
    }
    fn exec_row(&self, id: &ExecId) -> Result<Option<Exec>> {
        exec::find(self, id)
    }
    fn intent_row(&self, request: &RequestId) -> Result<Option<Intent>> {
        intent::find(self, request)
    }
    fn intent_row_of_turn(
        &self,
        session: &SessionId,
        thread: &ThreadId,
        turn: &TurnId,
    ) -> Result<Option<Intent>> {
        intent::of_turn(self, (session, thread, turn))
    }
    fn intent_rows(&self, session: &SessionId) -> Result<Vec<Intent>> {
        intent::with_turn(self, session)
    }
    fn unseen_intent_rows(&self, session: &SessionId) -> Result<Vec<Intent>> {
        intent::unseen(self, session)
    }
    fn intent_rows_of_input(&self, input: &InputKey) -> Result<Vec<Intent>> {
        intent::of_input(self, input)
    }
    fn event_row(&self, id: &EventId<'_>) -> Result<Option<Event>> {
        event::find(self, id)
    }
    fn event_rows(&self, session: &SessionId, after: Seq, limit: usize) -> Result<Vec<Event>> {
        event::list(self, session, after, limit)
    }
    fn last_event_row(&self, session: &SessionId) -> Result<Option<Event>> {
        event::last(self, session)
    }
    fn turn_event_rows(
        &self,
        session: &SessionId,
        thread: &ThreadId,
        turn: &TurnId,
    ) -> Result<Vec<Event>> {
        event::of_turn(self, (session, thread, turn))
    }
    fn turn_row(
        &self,
        session: &SessionId,
        thread: &ThreadId,
        turn: &TurnId,
    ) -> Result<Option<TurnRow>> {
        turn::find(self, (session, thread, turn))
    }
    fn turn_rows(&self, session: &SessionId, after: Seq, limit: usize) -> Result<Vec<TurnRow>> {
        turn::list(self, session, after, limit)
    }
    fn turn_count(&self, session: &SessionId) -> Result<u64> {
        turn::count(self, session)
    }
    fn open_turn_rows(&self, session: &SessionId) -> Result<Vec<TurnRow>> {
        turn::open(self, session)
    }
    fn head(&self) -> Result<Seq> {
        event::head(self)
    }
    fn usage_rows(&self, call: &CallKey) -> Result<Vec<Event>> {
        event::of_call(self, call)
    }
    fn calls_seen_in(&self, thread: &ThreadId) -> Result<Vec<CallKey>> {
        call::seen_in(self, thread)
    }
    fn call_row(&self, key: &CallKey) -> Result<Option<Call>> {
        call::find(self, key)
    }
    fn visit_call_rows(&self, scope: Scope<'_>, visit: &mut dyn FnMut(&Call)) -> Result<()> {
        call::visit(self, scope, visit)
    }
    fn fork_parent(&self, child: &ThreadId) -> Result<Option<ThreadId>> {
        turn::fork_parent(self, child)
    }
    fn start_rows_of(&self, child: &ThreadId) -> Result<Vec<Event>> {
        event::starts_of(self, child)
    }
    fn children_of(&self, parent: &ThreadId) -> Result<Vec<ThreadId>> {
        event::children_of(self, parent)
    }
    fn forks_of(&self, parent: &ThreadId) -> Result<Vec<ThreadId>> {
        turn::forks_of(self, parent)
    }
    fn selection_row(&self, input: &InputKey) -> Result<Option<TurnSelection>> {
        selection::find(self, input)
    }
    fn has_evidence(&self, digest: &EvidenceDigest) -> Result<bool> {
        Ok(evidence::find(self, digest)?.is_some())
    }
    fn evidence_content(&self, digest: &EvidenceDigest) -> Result<Option<Vec<u8>>> {
        evidence::content(self, digest)
    }
    fn check_rows(&self) -> Result<Vec<Violation>> {
        check::check(self)
    }
}

impl RowsMut for Transaction<'_> {
    fn put_session(&mut self, row: &Session) -> Result<()> {
        session::put(self, row)
    }
    fn put_input(&mut self, row: &Captured) -> Result<()> {
        input::put(self, row)
    }
    fn put_exec(&mut self, row: &Exec) -> Result<()> {
        exec::put(self, row)
    }
    fn put_intent(&mut self, row: &Intent) -> Result<()> {
        intent::put(self, row)
    }
    fn add_event(&mut self, row: NewEvent) -> Result<Seq> {
        event::add(self, &row)
    }
    fn put_turn(&mut self, row: &TurnRow) -> Result<()> {
        turn::put(self, row)
    }
    fn put_call(&mut self, row: &Call) -> Result<()> {
        call::put(self, row)
    }
    fn put_fork(&mut self, child: &ThreadId, parent: &ThreadId) -> Result<()> {
        turn::put_fork(self, child, parent)
    }
    fn put_selection(&mut self, row: &TurnSelection) -> Result<()> {
        selection::put(self, row)
    }
    fn put_evidence_row(
        &mut self,
        digest: &EvidenceDigest,
        content: &[u8],
        at: UnixMillis,
    ) -> Result<()> {
        evidence::put(self, digest, content, at)
    }
    fn drop_evidence(&mut self, before: UnixMillis) -> Result<u64> {
        evidence::drop_before(self, before)
    }
    fn written(&self) -> u64 {
        Self::written(self)
    }
}
