//! What does a backend do, in the plainest form? A ledger in memory, strict on purpose.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
};

use receipts::{
    CallKey, ExecId, FactBody, InputKey, RequestId, SessionId, ThreadId, TurnId, UnixMillis,
};

use crate::{
    call::{Call, Scope},
    event::{Event, EventBody, EvidenceDigest, Seq},
    exec::Exec,
    input::{Capture, Captured},
    intent::Intent,
    ledger::{ReadWork, Result, Store, WriteWork},
    report::Violation,
    rows::{EventId, NewEvent, Rows, RowsMut, TurnRow, TurnState},
    selection::TurnSelection,
    session::Session,
    text::HarnessName,
};

/// A ledger that lives as long as its last handle; for tests, and as the model of a backend.
///
/// A handle is cheap to clone and names the same ledger. Where an engine would report a broken
/// constraint, this one panics: the rules must never come so far. A write copies the tables that
/// it touches, so that its cost grows with the ledger; readers never wait for it.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    committed: RwLock<Arc<Tables>>,
    /// Held for a whole write: one writer at a time.
    writing: Mutex<()>,
}

impl MemoryStore {
    /// Makes an empty ledger.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn committed(&self) -> Arc<Tables> {
        Arc::clone(&self.shared.committed.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// A work that panics leaves nothing half done: what it wrote is in no committed table.
    fn lock(&self) -> MutexGuard<'_, ()> {
        self.shared.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for MemoryStore {
    fn read(&self, work: &mut ReadWork<'_>) -> Result<()> {
        work(&*self.committed())
    }

    fn write(&self, work: &mut WriteWork<'_>) -> Result<()> {
        let _writing = self.lock();
        let mut tables = Tables { written: 0, ..Tables::clone(&self.committed()) };
        work(&mut tables)?;
        let mut committed = self.shared.committed.write().unwrap_or_else(PoisonError::into_inner);
        *committed = Arc::new(tables);
        Ok(())
    }
}

/// One identity of an event (rule L1).
type Identity = (SessionId, Option<ThreadId>, Option<TurnId>, Box<str>, String);
type TurnId3 = (SessionId, ThreadId, TurnId);

/// A table that is shared until it is written.
type Table<K, V> = Arc<BTreeMap<K, V>>;
type Index<K> = Arc<BTreeSet<K>>;

/// One state of the ledger; a copy shares all tables.
#[derive(Debug, Clone, Default)]
struct Tables {
    sessions: Table<SessionId, (usize, Session)>,
    session_order: Arc<Vec<SessionId>>,
    inputs: Table<InputKey, Captured>,
    inputs_of_session: Table<(SessionId, Capture), InputKey>,
    execs: Table<ExecId, Exec>,
    intents: Table<RequestId, Intent>,
    intent_of_turn: Table<TurnId3, RequestId>,
    events: Table<Seq, Arc<Event>>,
    identities: Table<Identity, Seq>,
    events_of_session: Index<(SessionId, Seq)>,
    events_of_turn: Index<(TurnId3, Seq)>,
    usage_of_call: Index<(CallKey, Seq)>,
    calls_of_thread: Table<ThreadId, BTreeSet<CallKey>>,
    turns: Table<TurnId3, TurnRow>,
    turns_of_session: Table<(SessionId, Seq), TurnId3>,
    calls: Table<CallKey, Call>,
    calls_of_turn: Table<TurnId3, BTreeSet<CallKey>>,
    starts_of_child: Table<ThreadId, BTreeSet<Seq>>,
    children_of_thread: Table<ThreadId, BTreeSet<ThreadId>>,
    forks: Table<ThreadId, ThreadId>,
    selections: Table<InputKey, TurnSelection>,
    evidence: Table<EvidenceDigest, Kept>,
    written: u64,
}

/// When evidence was kept, and its content until it is dropped.
type Kept = (UnixMillis, Option<Arc<[u8]>>);

impl Tables {
    fn events_at<'a>(&'a self, seqs: impl Iterator<Item = &'a Seq>) -> Vec<Event> {
        seqs.filter_map(|seq| self.events.get(seq)).map(|event| Event::clone(event)).collect()
    }

    fn intents_where(&self, keep: impl Fn(&Intent) -> bool) -> Vec<Intent> {
        let mut found: Vec<Intent> =
            self.intents.values().filter(|intent| keep(intent)).cloned().collect();
        found.sort_by_key(|intent| intent.seq);
        found
    }
}

fn place(session: &SessionId, thread: &ThreadId, turn: &TurnId) -> TurnId3 {
    (session.clone(), thread.clone(), turn.clone())
}

fn is_in(call: &Call, scope: Scope<'_>) -> bool {
    let owner = &call.owner;
    match scope {
        Scope::All => true,
        Scope::Session(session) => owner.session == *session,
        Scope::Input(input) => owner.input.as_ref() == Some(input),
        Scope::Exec(exec) => owner.exec.as_ref() == Some(exec),
        Scope::Turn(session, thread, turn) => {
            owner.session == *session && owner.thread == *thread && owner.turn == *turn
        }
    }
}

impl Rows for Tables {
    fn has_session(&self, id: &SessionId) -> Result<bool> {
        Ok(self.sessions.contains_key(id))
    }
    fn session_row(&self, id: &SessionId) -> Result<Option<Session>> {
        Ok(self.sessions.get(id).map(|(_, session)| session.clone()))
    }
    fn session_rows(&self, after: Option<&SessionId>, limit: usize) -> Result<Vec<Session>> {
        let from = after.and_then(|id| self.sessions.get(id)).map_or(0, |(order, _)| order + 1);
        let ids = self.session_order.iter().skip(from).take(limit);
        Ok(ids.filter_map(|id| self.sessions.get(id)).map(|(_, row)| row.clone()).collect())
    }
    fn session_of_thread(
        &self,
        harness: &HarnessName,
        thread: &ThreadId,
    ) -> Result<Option<SessionId>> {
        let mut sessions = self.sessions.values().map(|(_, session)| session);
        let found = sessions.find(|session| {
            session.fixed.harness == *harness && session.thread.as_ref() == Some(thread)
        });
        Ok(found.map(|session| session.id().clone()))
    }
    fn input_row(&self, key: &InputKey) -> Result<Option<Captured>> {
        Ok(self.inputs.get(key).cloned())
    }
    fn input_rows(&self, session: &SessionId) -> Result<Vec<Captured>> {
        let keys = self.inputs_of_session.range((session.clone(), Capture(0))..);
        let keys = keys.take_while(|((of, _), _)| of == session).map(|(_, key)| key);
        Ok(keys.filter_map(|key| self.inputs.get(key)).cloned().collect())
    }
    fn exec_row(&self, id: &ExecId) -> Result<Option<Exec>> {
        Ok(self.execs.get(id).cloned())
    }
    fn intent_row(&self, request: &RequestId) -> Result<Option<Intent>> {
        Ok(self.intents.get(request).cloned())
    }
    fn intent_row_of_turn(
        &self,
        session: &SessionId,
        thread: &ThreadId,
        turn: &TurnId,
    ) -> Result<Option<Intent>> {
        let request = self.intent_of_turn.get(&place(session, thread, turn));
        Ok(request.and_then(|request| self.intents.get(request)).cloned())
    }
    fn intent_rows(&self, session: &SessionId) -> Result<Vec<Intent>> {
        Ok(self.intents_where(|intent| intent.session == *session && intent.turn.is_some()))
    }
    fn unseen_intent_rows(&self, session: &SessionId) -> Result<Vec<Intent>> {
        Ok(self.intents_where(|intent| intent.session == *session && intent.admitted.is_none()))
    }
    fn intent_rows_of_input(&self, input: &InputKey) -> Result<Vec<Intent>> {
        Ok(self.intents_where(|intent| intent.origin.input.as_ref() == Some(input)))
    }
    fn event_row(&self, id: &EventId<'_>) -> Result<Option<Event>> {
        let identity = (
            id.session.clone(),
            id.thread.cloned(),
            id.turn.cloned(),
            Box::from(id.kind),
            id.key.to_owned(),
        );
        let event = self.identities.get(&identity).and_then(|seq| self.events.get(seq));
        Ok(event.map(|event| Event::clone(event)))
    }
    fn event_rows(&self, session: &SessionId, after: Seq, limit: usize) -> Result<Vec<Event>> {
        let rows = self.events_of_session.range((session.clone(), Seq(after.0 + 1))..);
        let rows = rows.take_while(|(of, _)| of == session).take(limit);
        Ok(self.events_at(rows.map(|(_, seq)| seq)))
    }
    fn last_event_row(&self, session: &SessionId) -> Result<Option<Event>> {
        let mut rows = self
            .events_of_session
            .range((session.clone(), Seq::START)..=(session.clone(), Seq(u64::MAX)));
        Ok(rows
            .next_back()
            .and_then(|(_, seq)| self.events.get(seq))
            .map(|event| Event::clone(event)))
    }
    fn turn_event_rows(
        &self,
        session: &SessionId,
        thread: &ThreadId,
        turn: &TurnId,
    ) -> Result<Vec<Event>> {
        let turn = place(session, thread, turn);
        let rows = self.events_of_turn.range((turn.clone(), Seq::START)..);
        Ok(self.events_at(rows.take_while(|(of, _)| *of == turn).map(|(_, seq)| seq)))
    }
    fn turn_row(
        &self,
        session: &SessionId,
        thread: &ThreadId,
        turn: &TurnId,
    ) -> Result<Option<TurnRow>> {
        Ok(self.turns.get(&place(session, thread, turn)).cloned())
    }
    fn turn_rows(&self, session: &SessionId, after: Seq, limit: usize) -> Result<Vec<TurnRow>> {
        let turns = self.turns_of_session.range((session.clone(), Seq(after.0 + 1))..);
        let turns = turns.take_while(|((of, _), _)| of == session).take(limit);
        Ok(turns.filter_map(|(_, turn)| self.turns.get(turn)).cloned().collect())
    }
    fn turn_count(&self, session: &SessionId) -> Result<u64> {
        Ok(self.turn_rows(session, Seq::START, usize::MAX)?.len() as u64)
    }
    fn open_turn_rows(&self, session: &SessionId) -> Result<Vec<TurnRow>> {
        let rows = self.turn_rows(session, Seq::START, usize::MAX)?;
        Ok(rows.into_iter().filter(|row| row.state == TurnState::Open).collect())
    }
    fn head(&self) -> Result<Seq> {
        Ok(self.events.last_key_value().map_or(Seq::START, |(seq, _)| *seq))
    }
    fn usage_rows(&self, call: &CallKey) -> Result<Vec<Event>> {
        let rows = self.usage_of_call.range((call.clone(), Seq::START)..);
        Ok(self.events_at(rows.take_while(|(of, _)| of == call).map(|(_, seq)| seq)))
    }
    fn calls_seen_in(&self, thread: &ThreadId) -> Result<Vec<CallKey>> {
        Ok(self.calls_of_thread.get(thread).into_iter().flatten().cloned().collect())
    }
    fn call_row(&self, key: &CallKey) -> Result<Option<Call>> {
        Ok(self.calls.get(key).cloned())
    }
    fn visit_call_rows(&self, scope: Scope<'_>, visit: &mut dyn FnMut(&Call)) -> Result<()> {
        if let Scope::Turn(session, thread, turn) = scope {
            let keys = self.calls_of_turn.get(&place(session, thread, turn));
            let calls = keys.into_iter().flatten().filter_map(|key| self.calls.get(key));
            calls.for_each(visit);
        } else {
            self.calls.values().filter(|call| is_in(call, scope)).for_each(visit);
        }
        Ok(())
    }
    fn fork_parent(&self, child: &ThreadId) -> Result<Option<ThreadId>> {
        Ok(self.forks.get(child).cloned())
    }
    fn start_rows_of(&self, child: &ThreadId) -> Result<Vec<Event>> {
        Ok(self.events_at(self.starts_of_child.get(child).into_iter().flatten()))
    }
    fn children_of(&self, parent: &ThreadId) -> Result<Vec<ThreadId>> {
        Ok(self.children_of_thread.get(parent).into_iter().flatten().cloned().collect())
    }
    fn forks_of(&self, parent: &ThreadId) -> Result<Vec<ThreadId>> {
        let forks = self.forks.iter().filter(|(_, of)| *of == parent);
        Ok(forks.map(|(child, _)| child.clone()).collect())
    }
    fn selection_row(&self, input: &InputKey) -> Result<Option<TurnSelection>> {
        Ok(self.selections.get(input).cloned())
    }
    fn has_evidence(&self, digest: &EvidenceDigest) -> Result<bool> {
        Ok(self.evidence.contains_key(digest))
    }
    fn evidence_content(&self, digest: &EvidenceDigest) -> Result<Option<Vec<u8>>> {
        let content = self.evidence.get(digest).and_then(|(_, content)| content.as_ref());
        Ok(content.map(|content| content.to_vec()))
    }
    fn check_rows(&self) -> Result<Vec<Violation>> {
        Ok(Vec::new())
    }
}

impl RowsMut for Tables {
    fn put_session(&mut self, row: &Session) -> Result<()> {
        if let Some(thread) = &row.thread {
            let holder = Rows::session_of_thread(self, &row.fixed.harness, thread)?;
            assert!(holder.is_none_or(|id| id == *row.id()), "thread {thread} has two sessions");
        }
        let order = match self.sessions.get(row.id()) {
            Some((order, _)) => *order,
            None => {
                Arc::make_mut(&mut self.session_order).push(row.id().clone());
                self.session_order.len() - 1
            }
        };
        Arc::make_mut(&mut self.sessions).insert(row.id().clone(), (order, row.clone()));
        self.written += 1;
        Ok(())
    }
    fn put_input(&mut self, row: &Captured) -> Result<()> {
        let key = row.input.key.clone();
        let number = (row.session.clone(), row.capture);
        let stored = Arc::make_mut(&mut self.inputs).insert(key.clone(), row.clone());
        assert_eq!(stored, None, "input {key} is put twice");
        let other = Arc::make_mut(&mut self.inputs_of_session).insert(number, key);
        assert_eq!(other, None, "a session has two inputs of one number");
        self.written += 1;
        Ok(())
    }
    fn put_exec(&mut self, row: &Exec) -> Result<()> {
        Arc::make_mut(&mut self.execs).insert(row.fixed.id.clone(), row.clone());
        self.written += 1;
        Ok(())
    }
    fn put_intent(&mut self, row: &Intent) -> Result<()> {
        if let Some(turn) = &row.turn {
            let turn = place(&row.session, &row.thread, turn);
            let holder = Arc::make_mut(&mut self.intent_of_turn).insert(turn, row.request.clone());
            assert!(holder.is_none_or(|request| request == row.request), "a turn has two requests");
        }
        Arc::make_mut(&mut self.intents).insert(row.request.clone(), row.clone());
        self.written += 1;
        Ok(())
    }
    fn add_event(&mut self, row: NewEvent) -> Result<Seq> {
        let seq = Seq(self.head()?.0 + 1);
        let event = row.at(seq);
        let identity = (
            event.session.clone(),
            event.thread.clone(),
            event.turn.clone(),
            Box::from(event.body.kind()),
            event.body.key(),
        );
        let stored = Arc::make_mut(&mut self.identities).insert(identity, seq);
        assert_eq!(stored, None, "an event is added twice: {event:?}");
        Arc::make_mut(&mut self.events_of_session).insert((event.session.clone(), seq));
        if let (Some(thread), Some(turn)) = (&event.thread, &event.turn) {
            let turn = place(&event.session, thread, turn);
            Arc::make_mut(&mut self.events_of_turn).insert((turn, seq));
            if let EventBody::Fact(FactBody::Call { key, .. }) = &event.body {
                Arc::make_mut(&mut self.usage_of_call).insert((key.clone(), seq));
                let calls = Arc::make_mut(&mut self.calls_of_thread);
                calls.entry(thread.clone()).or_default().insert(key.clone());
            }
            if let EventBody::Fact(FactBody::Child { thread: child }) = &event.body {
                let starts = Arc::make_mut(&mut self.starts_of_child);
                starts.entry(child.clone()).or_default().insert(seq);
                let children = Arc::make_mut(&mut self.children_of_thread);
                children.entry(thread.clone()).or_default().insert(child.clone());
            }
        }
        Arc::make_mut(&mut self.events).insert(seq, Arc::new(event));
        self.written += 1;
        Ok(seq)
    }
    fn put_turn(&mut self, row: &TurnRow) -> Result<()> {
        let turn = place(&row.session, &row.thread, &row.turn);
        let first = (row.session.clone(), row.first);
        let stored = Arc::make_mut(&mut self.turns).insert(turn.clone(), row.clone());
        assert!(stored.is_none_or(|stored| stored.first == row.first), "a turn began twice");
        let other = Arc::make_mut(&mut self.turns_of_session).insert(first, turn.clone());
        assert!(other.is_none_or(|other| other == turn), "two turns begin with one event");
        self.written += 1;
        Ok(())
    }
    fn put_call(&mut self, row: &Call) -> Result<()> {
        let turn_of =
            |call: &Call| place(&call.owner.session, &call.owner.thread, &call.owner.turn);
        let stored = Arc::make_mut(&mut self.calls).insert(row.key.clone(), row.clone());
        let index = Arc::make_mut(&mut self.calls_of_turn);
        if let Some(stored) = stored
            && let Some(calls) = index.get_mut(&turn_of(&stored))
        {
            calls.remove(&stored.key);
        }
        index.entry(turn_of(row)).or_default().insert(row.key.clone());
        self.written += 1;
        Ok(())
    }
    fn put_fork(&mut self, child: &ThreadId, parent: &ThreadId) -> Result<()> {
        let stored = Arc::make_mut(&mut self.forks).insert(child.clone(), parent.clone());
        assert_eq!(stored, None, "thread {child} is forked twice");
        self.written += 1;
        Ok(())
    }
    fn put_selection(&mut self, row: &TurnSelection) -> Result<()> {
        Arc::make_mut(&mut self.selections).insert(row.fixed.input.clone(), row.clone());
        self.written += 1;
        Ok(())
    }
    fn put_evidence_row(
        &mut self,
        digest: &EvidenceDigest,
        content: &[u8],
        at: UnixMillis,
    ) -> Result<()> {
        assert_eq!(EvidenceDigest::of(content), *digest, "evidence is kept under another address");
        Arc::make_mut(&mut self.evidence).insert(*digest, (at, Some(Arc::from(content))));
        self.written += 1;
        Ok(())
    }
    fn drop_evidence(&mut self, before: UnixMillis) -> Result<u64> {
        let mut dropped = 0;
        for (at, content) in Arc::make_mut(&mut self.evidence).values_mut() {
            if *at < before && content.take().is_some() {
                dropped += 1;
            }
        }
        self.written += dropped;
        Ok(dropped)
    }
    fn written(&self) -> u64 {
        self.written
    }
}

#[cfg(test)]
mod tests;
