//! What can be read about turns, inputs and usage?

use receipts::{
    Completion, ExecId, Gap, InputKey, Kind, Output, RequestId, SessionId, Status, ThreadId,
    TurnId, UnixMillis, Usage,
};

use crate::{event::Seq, exec::ExecOutcome, input::Captured, intent::Origin};

/// How much of the calls is known (rule U2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coverage {
    /// Calls with usage.
    pub known: u64,
    /// Calls whose usage the harness never stored.
    pub unknown: u64,
}

impl Coverage {
    /// Reads the coverage of a sum.
    #[must_use]
    pub fn of(usage: &Usage) -> Self {
        Self {
            known: usage.calls.saturating_sub(usage.unknown_calls),
            unknown: usage.unknown_calls,
        }
    }
}

/// One turn as the ledger knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnReport {
    /// The harness's conversation.
    pub thread: ThreadId,
    /// The harness's id.
    pub turn: TurnId,
    /// The first event by which the harness's history showed it; a gap alone shows no turn.
    pub first: Seq,
    /// Our request, where we intended it.
    pub request: Option<RequestId>,
    /// Who it belongs to; `None` when nobody here intended it (rule L5).
    pub origin: Option<Origin>,
    /// What was asked for; `None` when its admission was never seen.
    pub kind: Option<Kind>,
    /// When the harness stored what was asked, by its clock.
    pub admitted_at: Option<UnixMillis>,
    /// How it stands: its last attempt's end, else `lost` when its provider is proven dead.
    pub status: Status,
    /// When the harness began to answer, by its clock; `None` when that is not known.
    pub started_at: Option<UnixMillis>,
    /// Whether the harness began to answer.
    pub started: Option<Seq>,
    /// The end of its last attempt.
    pub completion: Option<Completion>,
    /// What the calls that it owns used; `None` when it owns none.
    pub usage: Option<Usage>,
    /// Threads that it started.
    pub children: Vec<ThreadId>,
    /// What did not fit, in the order in which it was recorded.
    pub gaps: Vec<Gap>,
    /// How many events contradict what is stored (rule L9); an earlier start is none.
    pub contradictions: u64,
}

impl TurnReport {
    /// Gives what it answered.
    #[must_use]
    pub fn output(&self) -> Option<&Output> {
        self.completion.as_ref()?.output.as_ref()
    }
}

/// How much happened in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Activity {
    /// How many turns the harness's history showed, of the conversations that it started included.
    pub turns: u64,
    /// How many of them have not ended.
    pub open: u64,
    /// When its last event was recorded, by our clock; `None` before the first.
    pub last: Option<UnixMillis>,
}

/// A turn that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenTurn {
    /// The harness's conversation.
    pub thread: ThreadId,
    /// The harness's id.
    pub turn: TurnId,
    /// Our request, where we intended it.
    pub request: Option<RequestId>,
}

/// What came of one input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputReport {
    /// The input and its place.
    pub captured: Captured,
    /// What its turns used; `None` when they own no call (rule L2).
    pub usage: Option<Usage>,
    /// How much of that is known.
    pub coverage: Coverage,
    /// What did not fit in its turns.
    pub gaps: Vec<Gap>,
    /// How the last run that drove it ended; `None` until that run's end is recorded (rule L7).
    pub outcome: Option<ExecOutcome>,
    /// What its last answered turn answered.
    pub answer: Option<Output>,
}

/// By what usage is grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageBy {
    /// The model, with who served it.
    Model,
    /// The day of the call in UTC. For another time zone, group [`crate::Ledger::visit_calls`].
    Day,
    /// The session.
    Session,
    /// The input.
    Input,
    /// The run.
    Exec,
}

/// One group of a usage report; `None` inside is "not known" or "no owner".
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum UsageGroup {
    /// Provider and model.
    Model(Option<Box<str>>, Option<Box<str>>),
    /// Days since the Unix epoch, in UTC.
    Day(Option<i64>),
    /// The session.
    Session(SessionId),
    /// The input.
    Input(Option<InputKey>),
    /// The run.
    Exec(Option<ExecId>),
}

/// One thing in the store that breaks a law of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// The law, such as `L1`, or `checksum`.
    pub rule: &'static str,
    /// The thing.
    pub place: String,
    /// What is wrong, as a sentence for people.
    pub problem: String,
}
