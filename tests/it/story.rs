//! A small ledger for the verbs that read: the acceptance story (ledger.md 6), and beside it a
//! session with everything that can be odd about turns and requests.

use std::path::Path;

use receipts::{
    CallKey, Completion, Counters, ExecId, Fact, FactBody, Failure, Finish, InputKey, Kind,
    MessageId, Output, RequestId, SessionId, Status, ThreadId, TurnId, UnixMillis, Usd,
};
use store::{
    Access as _, Batch, Capture, Dispatch, Driver, Effect, Endpoint, ExecOutcome, HarnessName,
    Input, Labels, LedgerWrite, NewExec, NewIntent, NewSession, ProcessIdentity, Provider, Purpose,
    Reply, Result,
};
use store_sqlite::SqliteStore;

/// When the story begins: 2026-03-01 09:00 in UTC, by every clock.
const BEGIN: i64 = 1_772_355_600_000;
const MINUTE: i64 = 60_000;

/// The time some minutes after the beginning.
fn minute(minutes: i64) -> UnixMillis {
    UnixMillis(BEGIN + minutes * MINUTE)
}

macro_rules! id {
    ($kind:ident, $text:expr) => {
        $kind::new($text).expect("a good id")
    };
}

/// Writes the whole story to a new store.
pub(crate) fn write(path: &Path) {
    let store = SqliteStore::open(path).expect("a new store can be made");
    store.update(|ledger| accepted(ledger)).expect("the story is lawful");
    store.update(|ledger| odd(ledger)).expect("the story is lawful");
    store.close().expect("it can be closed");
}

/// Ledger.md 6.
fn accepted(ledger: &mut dyn LedgerWrite) -> Result<()> {
    let session = id!(SessionId, "fix-parser");
    let thread = id!(ThreadId, "ses_accepted");
    begin(ledger, &session, &thread, "Fix the parser")?;
    capture(ledger, &session, "A", 0)?;
    let first = drive(ledger, &session, "exec-1", 0)?;
    intend(ledger, &session, &thread, ("q-1", "msg_1", 1), &first)?;
    ledger.mark_delivery(&id!(RequestId, "q-1"), &Dispatch::Sent)?;
    for input in [20, 40, 30] {
        let facts =
            [admitted("msg_1", 1), started("msg_1", "msg_2", 1), call("msg_1", "msg_2", input)];
        append(ledger, &session, &thread, &facts, 2)?;
    }
    capture(ledger, &session, "B", 3)?;
    drive(ledger, &session, "exec-2", 3)?;
    let end = Completion {
        output: Some(Output::Text("The parser is fixed.\n\nIt forgot the last token.".into())),
        ..ended("msg_3", Status::Completed, 1, 4)
    };
    let facts = [call("msg_1", "msg_3", 10), completed("msg_1", end)];
    append(ledger, &session, &thread, &facts, 4)
}

/// Others' turns, every kind of ending, and requests whose fate is open.
fn odd(ledger: &mut dyn LedgerWrite) -> Result<()> {
    let session = id!(SessionId, "fix-lexer");
    let thread = id!(ThreadId, "ses_odd");
    begin(ledger, &session, &thread, "Lexer \u{1b}[31mred")?;
    // Somebody else asked, in a terminal of theirs.
    let facts = [
        admitted("msg_10", 10),
        started("msg_10", "msg_11", 10),
        unknown_call("msg_10", "msg_11", 10),
        child("msg_10", "ses_child"),
        completed("msg_10", failed("msg_11", 10)),
    ];
    append(ledger, &session, &thread, &facts, 11)?;
    capture(ledger, &session, "C", 12)?;
    let driver = drive(ledger, &session, "exec-3", 12)?;
    let endpoint = Endpoint::new("http://127.0.0.1:4096").expect("a good endpoint");
    let process = ProcessIdentity { pid: 4711, start_time: 1 };
    let driver = ledger.describe_provider(&session, &driver, Some(&endpoint), Some(process))?;
    intend(ledger, &session, &thread, ("q-2", "msg_20", 13), &driver)?;
    append(ledger, &session, &thread, &[admitted("msg_20", 13)], 13)?;
    intend(ledger, &session, &thread, ("q-3", "msg_30", 14), &driver)?;
    let facts = [
        admitted("msg_30", 14),
        completed(
            "msg_20",
            Completion {
                message: None,
                absorbed_by: Some(id!(TurnId, "msg_30")),
                ..ended("msg_31", Status::Absorbed, 14, 15)
            },
        ),
        started("msg_30", "msg_31", 14),
        call("msg_30", "msg_31", 7000),
    ];
    append(ledger, &session, &thread, &facts, 15)?;
    // A subagent's turn, in a conversation of its own.
    let facts = [
        admitted("msg_c1", 15),
        started("msg_c1", "msg_c2", 15),
        call("msg_c1", "msg_c2", 300),
        completed("msg_c1", ended("msg_c2", Status::Completed, 15, 16)),
    ];
    append(ledger, &session, &id!(ThreadId, "ses_child"), &facts, 16)?;
    let _recorded =
        ledger.record_exited(&session, &thread, &id!(TurnId, "msg_30"), None, minute(17))?;
    let attempt = ledger.mean(&session, &Effect::Abort, &driver, minute(17))?;
    ledger.mark_effect(&session, (&Effect::Abort, attempt), &Dispatch::Sent, minute(17))?;
    for (request, turn) in [("q-4", "msg_40"), ("q-5", "msg_50"), ("q-6", "msg_60")] {
        intend(ledger, &session, &thread, (request, turn, 18), &driver)?;
    }
    let why = "no answer within 10000 ms".into();
    ledger.mark_delivery(&id!(RequestId, "q-4"), &Dispatch::Uncertain { why })?;
    let why = "the server refused it with status 400".into();
    ledger.mark_delivery(&id!(RequestId, "q-5"), &Dispatch::NotSent { why })?;
    ledger.release(&session, &driver)?;
    ledger.end_exec(&id!(ExecId, "exec-3"), ExecOutcome::Exited(0), minute(20))?;
    ledger.close_session(&session, minute(20))
}

fn begin(
    ledger: &mut dyn LedgerWrite,
    session: &SessionId,
    thread: &ThreadId,
    title: &str,
) -> Result<()> {
    ledger.create_session(&NewSession {
        id: session.clone(),
        harness: HarnessName::new("opencode").expect("a good name"),
        created_at: minute(0),
        workdir: Some("/home/me/project".into()),
        title: Some(title.into()),
        labels: Labels::new([("team", "compiler")]).expect("good labels"),
    })?;
    ledger.attach_thread(session, thread)
}

fn capture(
    ledger: &mut dyn LedgerWrite,
    session: &SessionId,
    key: &str,
    minutes: i64,
) -> Result<()> {
    let input = Input {
        key: id!(InputKey, key),
        prompt: Some(format!("Do {key}.\nAnd test it.").into()),
        skill: None,
        cwd: None,
        model: None,
        work: None,
        labels: Labels::none(),
    };
    let current = ledger.session(session)?.and_then(|session| session.capture());
    let _capture: Capture = ledger.replace_input(session, current, &input, minute(minutes))?;
    Ok(())
}

fn drive(
    ledger: &mut dyn LedgerWrite,
    session: &SessionId,
    exec: &str,
    minutes: i64,
) -> Result<Driver> {
    let exec = id!(ExecId, exec);
    ledger.start_exec(&NewExec {
        id: exec.clone(),
        parent: None,
        argv: vec!["turnbook".into(), "run".into()],
        cwd: None,
        started_at: minute(minutes),
    })?;
    let current = ledger.session(session)?.and_then(|session| session.driver);
    ledger.claim_driver(session, current.as_ref(), &exec, Provider::Replace)
}

fn intend(
    ledger: &mut dyn LedgerWrite,
    session: &SessionId,
    thread: &ThreadId,
    (request, turn, minutes): (&str, &str, i64),
    driver: &Driver,
) -> Result<()> {
    let new = NewIntent {
        request: id!(RequestId, request),
        session: session.clone(),
        thread: thread.clone(),
        turn: Some(id!(TurnId, turn)),
        purpose: Purpose::Prompt,
        reply: Reply::Expected,
        labels: Labels::new([("step", request)]).expect("good labels"),
        created_at: minute(minutes),
    };
    ledger.intend(&new, driver)?;
    Ok(())
}

fn append(
    ledger: &mut dyn LedgerWrite,
    session: &SessionId,
    thread: &ThreadId,
    facts: &[Fact],
    minutes: i64,
) -> Result<()> {
    let seen = format!("what was read in minute {minutes}");
    let evidence = ledger.put_evidence(seen.as_bytes(), minute(minutes))?;
    let batch = Batch { session, thread, facts, evidence: Some(evidence), at: minute(minutes) };
    for recorded in ledger.append(&batch)? {
        let _seq = recorded.first();
    }
    Ok(())
}

fn fact(turn: &str, body: FactBody) -> Fact {
    Fact { turn: id!(TurnId, turn), body }
}

fn admitted(turn: &str, minutes: i64) -> Fact {
    fact(turn, FactBody::Admitted { kind: Kind::Prompt, at: Some(minute(minutes)) })
}

fn started(turn: &str, message: &str, minutes: i64) -> Fact {
    let message = id!(MessageId, message);
    fact(turn, FactBody::Started { message, at: Some(minute(minutes)) })
}

fn counted(turn: &str, message: &str, minutes: i64, counters: Counters) -> Fact {
    fact(
        turn,
        FactBody::Call {
            key: id!(CallKey, format!("{message} 1")),
            message: id!(MessageId, message),
            at: Some(minute(minutes)),
            counters,
            provider: Some("scripted".into()),
            model: Some("small".into()),
        },
    )
}

/// A call of the acceptance story: five tokens out.
fn call(turn: &str, message: &str, input: u64) -> Fact {
    let cost = Usd::parse("0.0025");
    let counters = Counters { input: Some(input), output: Some(5), cost, ..Counters::UNKNOWN };
    counted(turn, message, 2, counters)
}

/// The agent never stored what this one used; and it was made on the next day.
fn unknown_call(turn: &str, message: &str, minutes: i64) -> Fact {
    counted(turn, message, minutes + 14 * 60, Counters::UNKNOWN)
}

fn child(turn: &str, thread: &str) -> Fact {
    fact(turn, FactBody::Child { thread: id!(ThreadId, thread) })
}

fn completed(turn: &str, completion: Completion) -> Fact {
    fact(turn, FactBody::Completed(completion))
}

fn ended(message: &str, status: Status, start: i64, end: i64) -> Completion {
    Completion {
        message: Some(id!(MessageId, message)),
        status,
        failure: None,
        finish: Some(Finish::Stop),
        absorbed_by: None,
        started_at: Some(minute(start)),
        completed_at: Some(minute(end)),
        output: None,
    }
}

fn failed(message: &str, start: i64) -> Completion {
    Completion {
        failure: Some(Failure {
            name: "APIError".into(),
            message: "the provider said \u{1b}[2J no".into(),
        }),
        output: Some(Output::Partial("I was about to".into())),
        ..ended(message, Status::Failed, start, start)
    }
}
