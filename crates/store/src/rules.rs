//! How do rows become a ledger? The traits, given to every backend that keeps rows.

mod append;
mod call;
mod effect;
mod request;
mod selection;
mod session;
mod turn;
mod verify;

use receipts::{
    CallKey, ExecId, InputKey, RequestId, SessionId, ThreadId, TurnId, UnixMillis, Usage,
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
    ledger::{Batch, Ledger, LedgerWrite, Result},
    report::{Activity, InputReport, OpenTurn, TurnReport, UsageBy, UsageGroup, Violation},
    rows::{Rows, RowsMut},
    selection::{NewSelection, Position, TurnSelection},
    session::{NewSession, Session},
    text::{Endpoint, HarnessName},
};

pub use call::derive_owners;

/// The largest output of a turn that is kept, in bytes.
pub const OUTPUT_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The largest single evidence that is kept, in bytes.
pub const EVIDENCE_BYTES_MAX: u64 = 256 * 1024 * 1024;

fn check_session(rows: &dyn Rows, id: &SessionId) -> Result<()> {
    if rows.has_session(id)? { Ok(()) } else { Err(StoreError::not_found("session", id)) }
}

fn need_session(rows: &dyn Rows, id: &SessionId) -> Result<Session> {
    rows.session_row(id)?.ok_or_else(|| StoreError::not_found("session", id))
}

impl<R: Rows> Ledger for R {
    fn session(&self, id: &SessionId) -> Result<Option<Session>> {
        self.session_row(id)
    }
    fn sessions(&self, after: Option<&SessionId>, limit: usize) -> Result<Vec<Session>> {
        if let Some(after) = after {
            check_session(self, after)?;
        }
        self.session_rows(after, limit)
    }
    fn session_of_thread(
        &self,
        harness: &HarnessName,
        thread: &ThreadId,
    ) -> Result<Option<SessionId>> {
        Rows::session_of_thread(self, harness, thread)
    }
    fn events(&self, session: &SessionId, after: Seq, limit: usize) -> Result<Vec<Event>> {
        check_session(self, session)?;
        self.event_rows(session, after, limit)
    }
    fn exec(&self, id: &ExecId) -> Result<Option<Exec>> {
        self.exec_row(id)
    }
    fn intent(&self, request: &RequestId) -> Result<Option<Intent>> {
        self.intent_row(request)
    }
    fn intent_of_turn(
        &self,
        session: &SessionId,
        thread: &ThreadId,
        turn: &TurnId,
    ) -> Result<Option<Intent>> {
        self.intent_row_of_turn(session, thread, turn)
    }
    fn open_intents(&self, session: &SessionId) -> Result<Vec<Intent>> {
        let mut intents = self.unseen_intents(session)?;
        intents.retain(Intent::is_open);
        Ok(intents)
    }
    fn unseen_intents(&self, session: &SessionId) -> Result<Vec<Intent>> {
        check_session(self, session)?;
        self.unseen_intent_rows(session)
    }
    fn activity(&self, session: &SessionId) -> Result<Activity> {
        turn::activity(self, session)
    }
    fn unsettled(&self, session: &SessionId) -> Result<Vec<OpenTurn>> {
        turn::unsettled(self, session)
    }
    fn turn(
        &self,
        session: &SessionId,
        thread: &ThreadId,
        turn: &TurnId,
    ) -> Result<Option<TurnReport>> {
        turn::turn(self, (session, thread, turn))
    }
    fn turns(&self, session: &SessionId) -> Result<Vec<TurnReport>> {
        turn::turns(self, session)
    }
    fn input_history(&self, session: &SessionId) -> Result<Vec<Captured>> {
        check_session(self, session)?;
        self.input_rows(session)
    }
    fn input_usage(&self, key: &InputKey) -> Result<InputReport> {
        turn::input(self, key)
    }
    fn exec_usage(&self, id: &ExecId) -> Result<Option<Usage>> {
        self.exec_row(id)?.ok_or_else(|| StoreError::not_found("exec", id))?;
        call::usage(self, Scope::Exec(id))
    }
    fn session_usage(&self, id: &SessionId) -> Result<Option<Usage>> {
        check_session(self, id)?;
        call::usage(self, Scope::Session(id))
    }
    fn usage_by(&self, by: UsageBy, since: Option<UnixMillis>) -> Result<Vec<(UsageGroup, Usage)>> {
        call::usage_by(self, by, since)
    }
    fn visit_calls(&self, scope: Scope<'_>, visit: &mut dyn FnMut(&Call)) -> Result<()> {
        self.visit_call_rows(scope, visit)
    }
    fn call(&self, key: &CallKey) -> Result<Option<Call>> {
        self.call_row(key)
    }
    fn sightings(&self, key: &CallKey) -> Result<Vec<Sighting>> {
        call::sightings(self, key)
    }
    fn selection(&self, input: &InputKey) -> Result<Option<TurnSelection>> {
        self.selection_row(input)
    }
    fn evidence(&self, digest: &EvidenceDigest) -> Result<Option<Vec<u8>>> {
        self.evidence_content(digest)
    }
    fn check_fence(&self, session: &SessionId, driver: &Driver) -> Result<()> {
        session::fence(self, session, driver).map(drop)
    }
    fn verify(&self) -> Result<Vec<Violation>> {
        verify::verify(self)
    }
}

impl<R: RowsMut> LedgerWrite for R {
    fn create_session(&mut self, new: &NewSession) -> Result<Session> {
        session::create(self, new)
    }
    fn attach_thread(&mut self, session: &SessionId, thread: &ThreadId) -> Result<()> {
        session::attach_thread(self, session, thread)
    }
    fn replace_input(
        &mut self,
        session: &SessionId,
        expected: Option<Capture>,
        input: &Input,
        at: UnixMillis,
    ) -> Result<Capture> {
        session::replace_input(self, session, expected, (input, at))
    }
    fn claim_driver(
        &mut self,
        session: &SessionId,
        expected: Option<&Driver>,
        exec: &ExecId,
        provider: Provider,
    ) -> Result<Driver> {
        session::claim(self, session, expected, (exec, provider))
    }
    fn describe_provider(
        &mut self,
        session: &SessionId,
        driver: &Driver,
        endpoint: Option<&Endpoint>,
        process: Option<ProcessIdentity>,
    ) -> Result<Driver> {
        session::describe(self, session, driver, (endpoint, process))
    }
    fn release(&mut self, session: &SessionId, driver: &Driver) -> Result<Driver> {
        let mut row = session::held(self, session, driver)?;
        let next = driver.released();
        row.driver = Some(next.clone());
        self.put_session(&row)?;
        Ok(next)
    }
    fn finish(
        &mut self,
        session: &SessionId,
        driver: &Driver,
        outcome: ExecOutcome,
        at: UnixMillis,
    ) -> Result<Driver> {
        session::finish(self, session, driver, (outcome, at))
    }
    fn close_session(&mut self, session: &SessionId, at: UnixMillis) -> Result<()> {
        session::close(self, session, at)
    }
    fn start_exec(&mut self, new: &NewExec) -> Result<()> {
        session::start_exec(self, new)
    }
    fn end_exec(&mut self, id: &ExecId, outcome: ExecOutcome, at: UnixMillis) -> Result<()> {
        session::end_exec(self, id, (outcome, at))
    }
    fn intend(&mut self, new: &NewIntent, driver: &Driver) -> Result<Intent> {
        request::intend(self, new, driver)
    }
    fn learn_turn(&mut self, request: &RequestId, turn: &TurnId) -> Result<Intent> {
        request::learn_turn(self, request, turn)
    }
    fn mark_delivery(&mut self, request: &RequestId, dispatch: &Dispatch) -> Result<Intent> {
        request::mark(self, request, dispatch)
    }
    fn mean(
        &mut self,
        session: &SessionId,
        effect: &Effect,
        driver: &Driver,
        at: UnixMillis,
    ) -> Result<Attempt> {
        effect::mean(self, session, effect, (driver, at))
    }
    fn mark_effect(
        &mut self,
        session: &SessionId,
        attempt: (&Effect, Attempt),
        dispatch: &Dispatch,
        at: UnixMillis,
    ) -> Result<()> {
        effect::mark(self, session, attempt, (dispatch, at))
    }
    fn append(&mut self, batch: &Batch<'_>) -> Result<Vec<Recorded>> {
        append::append(self, batch)
    }
    fn record_exited(
        &mut self,
        session: &SessionId,
        thread: &ThreadId,
        turn: &TurnId,
        evidence: Option<EvidenceDigest>,
        at: UnixMillis,
    ) -> Result<Recorded> {
        append::exited(self, (session, thread, turn), evidence, at)
    }
    fn record_fork(&mut self, child: &ThreadId, parent: &ThreadId) -> Result<()> {
        call::fork(self, child, parent)
    }
    fn turn_selection(&mut self, new: &NewSelection, driver: &Driver) -> Result<TurnSelection> {
        selection::make(self, new, driver)
    }
    fn select_turn(
        &mut self,
        input: &InputKey,
        request: &RequestId,
        driver: &Driver,
    ) -> Result<TurnSelection> {
        selection::select(self, input, request, driver)
    }
    fn consume_turn(
        &mut self,
        input: &InputKey,
        position: Position,
        driver: &Driver,
    ) -> Result<TurnReport> {
        selection::consume(self, input, position, driver)
    }
    fn put_evidence(&mut self, content: &[u8], at: UnixMillis) -> Result<EvidenceDigest> {
        append::evidence(self, content, at)
    }
    fn prune_evidence(&mut self, before: UnixMillis) -> Result<u64> {
        self.drop_evidence(before)
    }
    fn writes(&self) -> u64 {
        self.written()
    }
}
