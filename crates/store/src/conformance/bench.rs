//! What do the cases work with? A store under test, short names and facts.

use std::{fmt, sync::Arc};

use receipts::{
    CallKey, Completion, Counters, ExecId, Fact, FactBody, Gap, IdError, InputKey, Kind, MessageId,
    Output, RequestId, SessionId, Status, ThreadId, TurnId, UnixMillis, Usage,
};

use super::Open;
use crate::{
    Access as _, Activity, Batch, Call, Capture, Captured, Current, Driver, Event, EventBody, Exec,
    Input, Intent, Labels, Ledger, LedgerWrite, NewExec, NewIntent, NewSession, Provider, Purpose,
    Recorded, Refusal, Reply, Result, Scope, Seq, Session, Sighting, Store, StoreError, TurnReport,
    TurnSelection, UsageBy, UsageGroup,
};

/// A store under test.
pub struct Bench<'a> {
    new: &'a dyn Fn() -> Open,
    open: Open,
    /// `None` only while it is closed and opened again.
    store: Option<Arc<dyn Store>>,
}

impl fmt::Debug for Bench<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bench").field("store", &self.store).finish_non_exhaustive()
    }
}

/// All that a ledger can say of itself.
#[derive(Debug, PartialEq)]
pub(super) struct Dump {
    pub(super) sessions: Vec<SessionDump>,
    pub(super) calls: Vec<(Call, Vec<Sighting>)>,
    pub(super) usage: Vec<Vec<(UsageGroup, Usage)>>,
}

#[derive(Debug, PartialEq)]
pub(super) struct SessionDump {
    pub(super) session: Session,
    pub(super) events: Vec<Event>,
    pub(super) inputs: Vec<(Captured, Option<TurnSelection>)>,
    pub(super) intents: Vec<Intent>,
    pub(super) execs: Vec<Exec>,
    pub(super) turns: Vec<TurnReport>,
    pub(super) usage: Option<Usage>,
    pub(super) activity: Activity,
    pub(super) unseen: Vec<Intent>,
}

impl<'a> Bench<'a> {
    pub(super) fn new(new: &'a dyn Fn() -> Open) -> Self {
        let open = new();
        let store = Some(open());
        Self { new, open, store }
    }

    /// Makes another, empty store.
    pub(super) fn another(&self) -> Self {
        Self::new(self.new)
    }

    pub(super) fn reopen(&mut self) {
        drop(self.store.take());
        self.store = Some((self.open)());
    }

    pub(super) fn store(&self) -> &dyn Store {
        self.store.as_deref().expect("it is open between two steps")
    }

    pub(super) fn shared(&self) -> Arc<dyn Store> {
        Arc::clone(self.store.as_ref().expect("it is open between two steps"))
    }

    /// Reads, and expects it to succeed.
    pub(super) fn read<T>(&self, work: impl FnOnce(&dyn Ledger) -> Result<T>) -> T {
        self.store().view(work).expect("the read succeeds")
    }

    /// Writes, and expects it to succeed.
    pub(super) fn write<T>(&self, work: impl FnOnce(&mut dyn LedgerWrite) -> Result<T>) -> T {
        self.try_write(work).expect("the write succeeds")
    }

    pub(super) fn try_write<T>(
        &self,
        work: impl FnOnce(&mut dyn LedgerWrite) -> Result<T>,
    ) -> Result<T> {
        self.store().update(work)
    }

    /// Expects a write that changes nothing, and says so.
    pub(super) fn write_nothing<T>(
        &self,
        work: impl FnOnce(&mut dyn LedgerWrite) -> Result<T>,
    ) -> T {
        let before = self.dump();
        let (value, written) = self.write(|ledger| Ok((work(ledger)?, ledger.writes())));
        assert_eq!(written, 0, "nothing is written");
        assert_eq!(self.dump(), before, "nothing changes");
        value
    }

    /// Expects a write that fails and leaves no trace.
    pub(super) fn fail<T>(
        &self,
        work: impl FnOnce(&mut dyn LedgerWrite) -> Result<T>,
    ) -> StoreError {
        let before = self.dump();
        let mut written = (0, 0);
        let result = self.try_write(|ledger| {
            written.0 = ledger.writes();
            let result = work(ledger);
            written.1 = ledger.writes();
            result
        });
        let Err(error) = result else { panic!("the write is refused") };
        assert_eq!(written.0, written.1, "a refused operation writes nothing");
        assert_eq!(self.dump(), before, "a refused write leaves no trace");
        error
    }

    pub(super) fn refused<T>(
        &self,
        work: impl FnOnce(&mut dyn LedgerWrite) -> Result<T>,
    ) -> Refusal {
        match self.fail(work) {
            StoreError::Refused { why } => why,
            other => panic!("a refusal, not: {other:?}"),
        }
    }

    pub(super) fn stale<T>(&self, work: impl FnOnce(&mut dyn LedgerWrite) -> Result<T>) -> Current {
        match self.fail(work) {
            StoreError::Stale { current } => current,
            other => panic!("stale, not: {other:?}"),
        }
    }

    pub(super) fn conflict<T>(
        &self,
        work: impl FnOnce(&mut dyn LedgerWrite) -> Result<T>,
    ) -> (String, &'static str) {
        match self.fail(work) {
            StoreError::Conflict { what, field } => (what, field),
            other => panic!("a conflict, not: {other:?}"),
        }
    }

    pub(super) fn not_found<T>(
        &self,
        work: impl FnOnce(&mut dyn LedgerWrite) -> Result<T>,
    ) -> (&'static str, String) {
        match self.fail(work) {
            StoreError::NotFound { what, id } => (what, id),
            other => panic!("not found, not: {other:?}"),
        }
    }

    pub(super) fn dump(&self) -> Dump {
        self.read(dump)
    }

    /// Makes a session with the thread of the same name.
    pub(super) fn session(&self, name: &str) -> SessionId {
        self.write(|ledger| {
            ledger.create_session(&new_session(name))?;
            ledger.attach_thread(&id(name), &id(name))
        });
        id(name)
    }

    /// Starts a run, and takes the session's driver for it with a new provider.
    pub(super) fn drive(&self, session: &SessionId, exec: &str) -> Driver {
        self.write(|ledger| {
            ledger.start_exec(&new_exec(exec))?;
            let current = ledger.session(session)?.and_then(|session| session.driver);
            ledger.claim_driver(session, current.as_ref(), &id(exec), Provider::Replace)
        })
    }

    /// Makes an input the session's current one.
    pub(super) fn capture(&self, session: &SessionId, key: &str) -> Capture {
        self.write(|ledger| {
            let current = ledger.session(session)?.and_then(|session| session.capture());
            ledger.replace_input(session, current, &input(key), NOW)
        })
    }

    /// Intends a prompt for a turn of the session's thread.
    pub(super) fn intend(&self, session: &SessionId, name: &str, driver: &Driver) -> Intent {
        self.write(|ledger| ledger.intend(&prompt(session, name), driver))
    }

    /// Appends facts of the session's thread.
    pub(super) fn append(&self, session: &SessionId, facts: &[Fact]) -> Vec<Recorded> {
        self.write(|ledger| append(ledger, session, facts))
    }

    pub(super) fn turn(&self, session: &SessionId, turn: &str) -> TurnReport {
        let thread = id(session.as_str());
        self.read(|ledger| ledger.turn(session, &thread, &id(turn))).expect("the turn is known")
    }

    pub(super) fn status(&self, session: &SessionId, turn: &str) -> Status {
        self.turn(session, turn).status
    }

    pub(super) fn events(&self, session: &SessionId) -> Vec<Event> {
        self.read(|ledger| ledger.events(session, Seq::START, usize::MAX))
    }

    /// Gives the kinds of a session's events, in order.
    pub(super) fn kinds(&self, session: &SessionId) -> Vec<String> {
        self.events(session).iter().map(|event| event.body.kind().to_owned()).collect()
    }
}

/// Lets a store say all that it can of itself.
pub(super) fn dump_of(store: &dyn Store) -> Dump {
    store.view(dump).expect("the read succeeds")
}

fn dump(ledger: &dyn Ledger) -> Result<Dump> {
    let mut sessions = Vec::new();
    for session in ledger.sessions(None, usize::MAX)? {
        sessions.push(dump_session(ledger, session)?);
    }
    let mut calls = Vec::new();
    ledger.visit_calls(Scope::All, &mut |call| calls.push(call.clone()))?;
    calls.sort_by(|a, b| a.key.cmp(&b.key));
    let calls = calls.into_iter().map(|call| {
        let sightings = ledger.sightings(&call.key)?;
        Ok((call, sightings))
    });
    let by = [UsageBy::Model, UsageBy::Day, UsageBy::Session, UsageBy::Input, UsageBy::Exec];
    Ok(Dump {
        sessions,
        calls: calls.collect::<Result<_>>()?,
        usage: by.map(|by| ledger.usage_by(by, None)).into_iter().collect::<Result<_>>()?,
    })
}

fn dump_session(ledger: &dyn Ledger, session: Session) -> Result<SessionDump> {
    let name = session.id();
    let events = ledger.events(name, Seq::START, usize::MAX)?;
    let mut inputs = Vec::new();
    for captured in ledger.input_history(name)? {
        let selection = ledger.selection(&captured.input.key)?;
        inputs.push((captured, selection));
    }
    let mut intents = Vec::new();
    for event in &events {
        if let EventBody::Requested { request } = &event.body {
            intents.extend(ledger.intent(request)?);
        }
    }
    let mut execs = Vec::new();
    for intent in &intents {
        execs.extend(ledger.exec(&intent.origin.exec)?);
    }
    let turns = ledger.turns(name)?;
    let usage = ledger.session_usage(name)?;
    // What is told of all turns together is what is told of each.
    for turn in &turns {
        let alone = ledger.turn(name, &turn.thread, &turn.turn)?;
        assert_eq!(alone.as_ref(), Some(turn));
    }
    let (activity, unseen) = (ledger.activity(name)?, ledger.unseen_intents(name)?);
    let expected = Activity {
        turns: turns.len() as u64,
        open: ledger.unsettled(name)?.len() as u64,
        last: events.last().map(|event| event.recorded_at),
    };
    assert_eq!(activity, expected);
    let absent = |intent: &&Intent| intent.admitted.is_none();
    assert!(unseen.iter().eq(intents.iter().filter(absent)), "{unseen:?}");
    Ok(SessionDump { events, inputs, intents, execs, turns, usage, activity, unseen, session })
}

/// Now, by our clock.
pub(super) const NOW: UnixMillis = UnixMillis(1_796_071_237_000);

pub(super) fn id<T: TryFrom<String, Error = IdError>>(text: &str) -> T {
    T::try_from(text.to_owned()).expect("names in cases are good ids")
}

pub(super) fn harness() -> crate::HarnessName {
    crate::HarnessName::new("opencode").expect("it is not empty")
}

pub(super) fn new_session(name: &str) -> NewSession {
    NewSession {
        id: id(name),
        harness: harness(),
        created_at: NOW,
        workdir: Some("/work".into()),
        title: None,
        labels: Labels::none(),
    }
}

pub(super) fn new_exec(name: &str) -> NewExec {
    NewExec {
        id: id(name),
        parent: None,
        argv: vec!["turnbook".into(), "run".into()],
        cwd: None,
        started_at: NOW,
    }
}

pub(super) fn input(key: &str) -> Input {
    Input {
        key: id(key),
        prompt: Some("do it".into()),
        skill: None,
        cwd: None,
        model: None,
        work: None,
        labels: Labels::none(),
    }
}

/// A prompt named `name` for the turn of that name in the session's thread.
pub(super) fn prompt(session: &SessionId, name: &str) -> NewIntent {
    NewIntent {
        request: id(name),
        session: session.clone(),
        thread: id(session.as_str()),
        turn: Some(id(name)),
        purpose: Purpose::Prompt,
        reply: Reply::Expected,
        labels: Labels::none(),
        created_at: NOW,
    }
}

pub(super) fn append(
    ledger: &mut dyn LedgerWrite,
    session: &SessionId,
    facts: &[Fact],
) -> Result<Vec<Recorded>> {
    let thread: ThreadId = id(session.as_str());
    ledger.append(&Batch { session, thread: &thread, facts, evidence: None, at: NOW })
}

fn fact(turn: &str, body: FactBody) -> Fact {
    Fact { turn: id(turn), body }
}

pub(super) fn admitted(turn: &str) -> Fact {
    fact(turn, FactBody::Admitted { kind: Kind::Prompt, at: Some(UnixMillis(1)) })
}

pub(super) fn started(turn: &str, message: &str, at: i64) -> Fact {
    fact(turn, FactBody::Started { message: id(message), at: Some(UnixMillis(at)) })
}

pub(super) fn tokens(input: u64, output: u64) -> Counters {
    Counters { input: Some(input), output: Some(output), ..Counters::UNKNOWN }
}

/// A call of the message that its key begins with.
pub(super) fn called(turn: &str, key: &str, at: i64, counters: Counters) -> Fact {
    let message: MessageId = id(key.split('/').next().unwrap_or(key));
    let body = FactBody::Call {
        key: id::<CallKey>(key),
        message,
        at: Some(UnixMillis(at)),
        counters,
        provider: Some("provider".into()),
        model: Some("model".into()),
    };
    fact(turn, body)
}

pub(super) fn child(turn: &str, thread: &str) -> Fact {
    fact(turn, FactBody::Child { thread: id(thread) })
}

pub(super) fn gap(turn: &str, gap: Gap) -> Fact {
    fact(turn, FactBody::Gap(gap))
}

/// The end of an attempt with its last answer, which says its own name.
pub(super) fn ended(turn: &str, message: &str, status: Status, at: i64) -> Fact {
    let text = match status {
        Status::Completed => Some(Output::Text(message.into())),
        _ => None,
    };
    let completion = Completion {
        message: Some(id(message)),
        completed_at: Some(UnixMillis(at)),
        output: text,
        ..without_answer(status)
    };
    fact(turn, FactBody::Completed(completion))
}

/// The end of a request that was not answered.
pub(super) fn unanswered(turn: &str, status: Status) -> Fact {
    fact(turn, FactBody::Completed(without_answer(status)))
}

pub(super) fn without_answer(status: Status) -> Completion {
    Completion {
        message: None,
        status,
        failure: None,
        finish: None,
        absorbed_by: None,
        started_at: None,
        completed_at: None,
        output: None,
    }
}

/// Sums calls.
pub(super) fn sum(calls: &[Counters]) -> Option<Usage> {
    let mut usage = Usage::default();
    calls.iter().for_each(|call| usage.add(call));
    (!calls.is_empty()).then_some(usage)
}

/// Names the exec of a run.
pub(super) fn exec(name: &str) -> ExecId {
    id(name)
}

/// Names a turn.
pub(super) fn turn_id(name: &str) -> TurnId {
    id(name)
}

/// Names a request.
pub(super) fn request(name: &str) -> RequestId {
    id(name)
}

/// Names an input.
pub(super) fn key(name: &str) -> InputKey {
    id(name)
}
