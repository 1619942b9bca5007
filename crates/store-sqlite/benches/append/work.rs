//! What is appended? What a recorder sees of turns with two model calls, one fact at a time.

use receipts::{
    CallKey, Completion, Counters, Fact, FactBody, Finish, Kind, MessageId, Output, SessionId,
    Status, ThreadId, TurnId, UnixMillis, Usd,
};
use store::{Access as _, Batch, HarnessName, Labels, LedgerWrite, NewSession, Result, Writer};
use store_sqlite::SqliteStore;

/// The appends of one caller, in a session of its own.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    session: SessionId,
    thread: ThreadId,
    pub(crate) facts: Vec<Fact>,
}

const MADE: &str = "the texts are fit for it";

impl Work {
    pub(crate) fn new(caller: usize, facts: usize) -> Self {
        let session = SessionId::new(format!("session-{caller}")).expect(MADE);
        let thread = ThreadId::new(format!("ses_1f3c7d2b9ffe{caller:04}")).expect(MADE);
        let facts = (0..facts).map(|number| fact(caller, number)).collect();
        Self { session, thread, facts }
    }

    pub(crate) fn session(&self) -> &SessionId {
        &self.session
    }

    /// Creates the session.
    pub(crate) fn prepare(&self, writer: &Writer) {
        let new = self.new_session();
        writer.update(move |ledger| ledger.create_session(&new)).expect("it is created");
    }

    pub(crate) fn prepare_alone(&self, store: &SqliteStore) {
        let new = self.new_session();
        store.update(|ledger| ledger.create_session(&new)).expect("it is created");
    }

    fn new_session(&self) -> NewSession {
        NewSession {
            id: self.session.clone(),
            harness: HarnessName::new("opencode").expect(MADE),
            created_at: UnixMillis(0),
            workdir: None,
            title: None,
            labels: Labels::none(),
        }
    }

    /// Appends fact by fact, each acknowledged before the next.
    pub(crate) fn append_all(&self, writer: &Writer) {
        for number in 0..self.facts.len() {
            let work = self.one(number);
            writer.update(move |ledger| work.append(ledger, 0)).expect("it is appended");
        }
    }

    fn one(&self, number: usize) -> Self {
        let fact = self.facts.get(number).expect("there are so many").clone();
        Self { session: self.session.clone(), thread: self.thread.clone(), facts: vec![fact] }
    }

    pub(crate) fn append(&self, ledger: &mut dyn LedgerWrite, number: usize) -> Result<()> {
        let facts = self.facts.get(number..=number).expect("there are so many");
        let batch = Batch {
            session: &self.session,
            thread: &self.thread,
            facts,
            evidence: None,
            at: UnixMillis(1_796_071_237_341),
        };
        ledger.append(&batch).map(drop)
    }
}

/// The fact at a place in the history of a caller's session; five make a turn.
fn fact(caller: usize, number: usize) -> Fact {
    let id = |kind: &str, number: usize| format!("{kind}_22e3026dd001{caller:04}{number:08}");
    let message = |number: usize| MessageId::new(id("msg", number)).expect(MADE);
    let turn = number - number % 5;
    let at = i64::try_from(number).ok().map(UnixMillis);
    let body = match number % 5 {
        0 => FactBody::Admitted { kind: Kind::Prompt, at },
        1 => FactBody::Started { message: message(turn + 1), at },
        step @ (2 | 3) => FactBody::Call {
            key: CallKey::new(id("prt", number)).expect(MADE),
            message: message(turn + step - 1),
            at,
            counters: Counters {
                input: Some(12_345),
                cache_read: Some(67_890),
                output: Some(321),
                reasoning: Some(123),
                cost: Usd::parse("0.012345"),
                ..Counters::UNKNOWN
            },
            provider: Some("anthropic".into()),
            model: Some("claude-opus-5".into()),
        },
        _ => FactBody::Completed(Completion {
            message: Some(message(turn + 2)),
            status: Status::Completed,
            failure: None,
            finish: Some(Finish::Stop),
            absorbed_by: None,
            started_at: at,
            completed_at: at,
            output: Some(Output::Text("All tests pass now. ".repeat(20).into())),
        }),
    };
    Fact { turn: TurnId::new(id("msg", turn)).expect(MADE), body }
}
