//! What can be done to a ledger? Generated operations over few names, so that they meet.

use proptest::{
    collection::vec as many,
    option,
    prelude::{Just, Strategy, any, prop_oneof},
    sample::select,
    strategy::ValueTree as _,
    test_runner::{Config, RngSeed, TestRunner},
};
use receipts::{
    CallKey, Completion, Counter, Counters, Decrease, ExecId, Fact, FactBody, Failure, Finish, Gap,
    InputKey, Kind, MessageId, Output, RequestId, SessionId, Status, ThreadId, TurnId, UnixMillis,
    Usd,
};
use store::{
    Attempt, Batch, Capture, Dispatch, Driver, Effect, Endpoint, EvidenceDigest, ExecOutcome,
    FlowName, HarnessName, Input, Labels, LedgerWrite, NewExec, NewIntent, NewSelection,
    NewSession, Position, ProcessIdentity, Provider, Purpose, Reply, Result, StoreError, Work,
};

/// Which driver an operation is made under.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Holder {
    Current,
    Stale,
}

/// One operation; numbers choose names.
#[derive(Debug, Clone)]
pub(crate) enum Operation {
    Drive(Drive),
    Send(Send),
    Record(Record),
    Choose(Choose),
}

/// Sessions, inputs, runs and drivers.
#[derive(Debug, Clone)]
pub(crate) enum Drive {
    Create(u8, Option<Box<str>>),
    Attach(u8, u8),
    Replace(u8, Holder, u8, Option<Box<str>>),
    Claim(u8, Holder, u8, Provider),
    Describe(u8, Holder, Option<u64>),
    Release(u8, Holder),
    Finish(u8, Holder, ExecOutcome),
    Close(u8),
    Start(u8, Option<u8>),
    End(u8, ExecOutcome),
}

/// Requests and effects.
#[derive(Debug, Clone)]
pub(crate) enum Send {
    Intend((u8, u8, u8), Option<u8>, Purpose, Reply, Holder),
    Learn(u8, u8),
    Mark(u8, Dispatch),
    Mean(u8, Effect, Holder),
    MarkEffect(u8, Effect, u64, Dispatch),
}

/// What was seen.
#[derive(Debug, Clone)]
pub(crate) enum Record {
    Append((u8, u8), Vec<Fact>, Option<u8>, i64),
    Exited(u8, u8, u8),
    Fork(u8, u8),
    Keep(u8, i64),
    Prune(i64),
}

/// Turn selections.
#[derive(Debug, Clone)]
pub(crate) enum Choose {
    Promise(u8, u8, u64, Holder),
    Select(u8, u8, u8, Holder),
    Consume(u8, u8, u64, Holder),
}

pub(crate) const NAMES: u8 = 3;

macro_rules! names {
    ($($name:ident: $type:ty, $prefix:literal;)*) => {
        $(pub(crate) fn $name(number: u8) -> $type {
            <$type>::new(format!(concat!($prefix, "{}"), number)).unwrap()
        })*
    };
}

names! {
    session: SessionId, "session é ";
    exec: ExecId, "exec";
    input: InputKey, "input";
    request: RequestId, "request";
    thread: ThreadId, "ses_a thread with a name";
    // Threads and turns share some texts, which the store keeps once.
    turn: TurnId, "ses_a thread with a name";
    message: MessageId, "msg_";
    call: CallKey, "msg_";
}

pub(crate) fn harness() -> HarnessName {
    HarnessName::new("opencode").unwrap()
}

pub(crate) fn evidence(number: u8) -> Vec<u8> {
    format!("evidence {number} ").repeat(usize::from(number) * 100).into_bytes()
}

fn name() -> impl Strategy<Value = u8> {
    0..NAMES
}

fn time() -> impl Strategy<Value = i64> {
    prop_oneof![0_i64..10, Just(i64::MIN), Just(i64::MAX)]
}

fn count() -> impl Strategy<Value = Option<u64>> {
    option::of(prop_oneof![0_u64..50, Just(u64::MAX)])
}

fn word() -> impl Strategy<Value = Option<Box<str>>> {
    select(vec![None, Some(Box::from("")), Some("word".into()), Some("日本語 'quoted'".into())])
}

fn holder() -> impl Strategy<Value = Holder> {
    prop_oneof![8 => Just(Holder::Current), 1 => Just(Holder::Stale)]
}

fn counters() -> impl Strategy<Value = Counters> {
    let cost = select(vec![None, Some("0"), Some("0.0000001"), Some("12.5"), Some("1e3")]);
    (count(), count(), count(), count(), count(), count(), cost).prop_map(
        |(input, cache_read, cache_write, cache_write_1h, output, reasoning, cost)| Counters {
            input,
            cache_read,
            cache_write,
            cache_write_1h,
            output,
            reasoning,
            cost: cost.and_then(Usd::parse),
        },
    )
}

fn gap() -> impl Strategy<Value = Gap> {
    (name(), word()).prop_flat_map(|(number, word)| {
        let message = message(number);
        let text = word.as_deref().unwrap_or_default().to_owned();
        let decrease =
            Decrease { counter: Counter::CacheWrite1h, from: "2".into(), to: text.clone() };
        select(vec![
            Gap::MissingTime { message: message.clone() },
            Gap::ClockStep { message: message.clone() },
            Gap::Unreadable {
                message: word.is_some().then(|| message.clone()),
                path: text.clone(),
                problem: "no number".into(),
            },
            Gap::UnknownFinish { message: message.clone(), word: text },
            Gap::DanglingParent { message: message.clone() },
            Gap::NoParent { message: message.clone() },
            Gap::UnknownUsage { call: call(number) },
            Gap::Decrease { call: call(number), decrease },
            Gap::Overflow { counter: Counter::Cost },
            Gap::NeverClosed { message: message.clone() },
            Gap::Contradiction { message: message.clone() },
            Gap::Removed { message: message.clone() },
            Gap::Overwritten { message },
        ])
    })
}

fn completion() -> impl Strategy<Value = Completion> {
    let finish = select(vec![
        None,
        Some(Finish::Stop),
        Some(Finish::ToolCalls),
        Some(Finish::Unknown("odd".into())),
    ]);
    let output = (0_u8..4, word()).prop_map(|(kind, word)| {
        let word = word.unwrap_or_default();
        [Output::Text, Output::Partial, Output::Value].get(usize::from(kind)).map(|of| of(word))
    });
    let failure = option::of(word()).prop_map(|message| {
        let message = message.flatten().unwrap_or_default();
        (!message.is_empty()).then(|| Failure { name: "Error".into(), message })
    });
    let names = (option::of(name()), option::of(name()));
    let times = (option::of(time()), option::of(time()));
    (names, select(Status::ALL.to_vec()), failure, finish, times, output).prop_map(
        |((answer, by), status, failure, finish, (started_at, completed_at), output)| Completion {
            message: answer.map(message),
            status,
            failure,
            finish,
            absorbed_by: by.map(turn),
            started_at: started_at.map(UnixMillis),
            completed_at: completed_at.map(UnixMillis),
            output,
        },
    )
}

fn fact() -> impl Strategy<Value = Fact> {
    let at = || option::of(time()).prop_map(|at| at.map(UnixMillis));
    let kind = select(vec![Kind::Prompt, Kind::Summarize, Kind::Shell, Kind::Orphan]);
    let body = prop_oneof![
        1 => (kind, at()).prop_map(|(kind, at)| FactBody::Admitted { kind, at }),
        1 => (name(), at()).prop_map(|(of, at)| FactBody::Started { message: message(of), at }),
        3 => (name(), name(), at(), counters(), word(), word()).prop_map(
            |(key, of, at, counters, provider, model)| FactBody::Call {
                key: call(key),
                message: message(of),
                at,
                counters,
                provider,
                model,
            }
        ),
        1 => name().prop_map(|of| FactBody::Child { thread: thread(of) }),
        1 => name().prop_map(|of| FactBody::Generated { message: message(of) }),
        2 => completion().prop_map(FactBody::Completed),
        1 => gap().prop_map(FactBody::Gap),
    ];
    (name(), body).prop_map(|(of, body)| Fact { turn: turn(of), body })
}

fn dispatch() -> impl Strategy<Value = Dispatch> {
    select(vec![
        Dispatch::Sent,
        Dispatch::NotSent { why: "refused".into() },
        Dispatch::Uncertain { why: "".into() },
    ])
}

fn effect() -> impl Strategy<Value = Effect> {
    select(vec![
        Effect::CreateThread { title: "a title".into() },
        Effect::Abort,
        Effect::Answer { ask: "per_1".into(), answer: "once".into() },
        Effect::Answer { ask: "per_2".into(), answer: "reject".into() },
    ])
}

fn outcome() -> impl Strategy<Value = ExecOutcome> {
    select(vec![ExecOutcome::Exited(-1), ExecOutcome::Killed(9), ExecOutcome::Lost])
}

fn drive_operation() -> impl Strategy<Value = Drive> {
    let provider = select(vec![Provider::Keep, Provider::Replace]);
    let title = select(vec![None, None, Some(Box::from("t"))]);
    prop_oneof![
        2 => (name(), title).prop_map(|(id, title)| Drive::Create(id, title)),
        1 => (name(), name()).prop_map(|(id, thread)| Drive::Attach(id, thread)),
        2 => (name(), holder(), name(), word())
            .prop_map(|(id, holder, key, text)| Drive::Replace(id, holder, key, text)),
        4 => (name(), holder(), name(), provider)
            .prop_map(|(id, holder, by, provider)| Drive::Claim(id, holder, by, provider)),
        1 => (name(), holder(), option::of(any::<u64>()))
            .prop_map(|(id, holder, process)| Drive::Describe(id, holder, process)),
        1 => (name(), holder()).prop_map(|(id, holder)| Drive::Release(id, holder)),
        1 => (name(), holder(), outcome())
            .prop_map(|(id, holder, outcome)| Drive::Finish(id, holder, outcome)),
        1 => (name(), 0_u8..8).prop_map(|(id, rarely)| match rarely {
            0 => Drive::Close(id),
            _ => Drive::Create(id, None),
        }),
        2 => (name(), option::weighted(0.2, name()))
            .prop_map(|(id, parent)| Drive::Start(id, parent)),
        1 => (name(), outcome()).prop_map(|(id, outcome)| Drive::End(id, outcome)),
    ]
}

fn send_operation() -> impl Strategy<Value = Send> {
    let purpose = select(vec![Purpose::Prompt, Purpose::Prompt, Purpose::Steer]);
    let reply = select(vec![Reply::Expected, Reply::NotAsked]);
    prop_oneof![
        4 => ((name(), name(), name()), option::of(name()), purpose, reply, holder())
            .prop_map(|(ids, turn, purpose, reply, holder)| {
                Send::Intend(ids, turn, purpose, reply, holder)
            }),
        1 => (name(), name()).prop_map(|(request, turn)| Send::Learn(request, turn)),
        1 => (name(), dispatch()).prop_map(|(request, how)| Send::Mark(request, how)),
        1 => (name(), effect(), holder()).prop_map(|(id, what, by)| Send::Mean(id, what, by)),
        1 => (name(), effect(), 0_u64..3, dispatch())
            .prop_map(|(id, what, number, how)| Send::MarkEffect(id, what, number, how)),
    ]
}

fn record_operation() -> impl Strategy<Value = Record> {
    prop_oneof![
        8 => ((name(), name()), many(fact(), 0..4), option::of(name()), time())
            .prop_map(|(place, facts, from, at)| Record::Append(place, facts, from, at)),
        1 => (name(), name(), name()).prop_map(|(id, thread, turn)| Record::Exited(id, thread, turn)),
        1 => (name(), name()).prop_map(|(child, parent)| Record::Fork(child, parent)),
        2 => (name(), time()).prop_map(|(content, at)| Record::Keep(content, at)),
        1 => time().prop_map(Record::Prune),
    ]
}

fn choose_operation() -> impl Strategy<Value = Choose> {
    prop_oneof![
        1 => (name(), name(), 0_u64..3, holder())
            .prop_map(|(id, key, at, by)| Choose::Promise(id, key, at, by)),
        1 => (name(), name(), name(), holder())
            .prop_map(|(id, key, request, by)| Choose::Select(id, key, request, by)),
        1 => (name(), name(), 0_u64..3, holder())
            .prop_map(|(id, key, at, by)| Choose::Consume(id, key, at, by)),
    ]
}

/// Anything that a caller may ask for.
pub(crate) fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        16 => drive_operation().prop_map(Operation::Drive),
        8 => send_operation().prop_map(Operation::Send),
        13 => record_operation().prop_map(Operation::Record),
        3 => choose_operation().prop_map(Operation::Choose),
    ]
}

/// A history that touches every table, always the same one.
pub(crate) fn history() -> Vec<Operation> {
    let mut operations = vec![
        Operation::Drive(Drive::Create(0, None)),
        Operation::Drive(Drive::Start(0, None)),
        Operation::Drive(Drive::Claim(0, Holder::Current, 0, Provider::Replace)),
        Operation::Drive(Drive::Replace(0, Holder::Current, 0, Some("a prompt".into()))),
        Operation::Choose(Choose::Promise(0, 0, 1, Holder::Current)),
    ];
    let rng_seed = RngSeed::Fixed(7);
    let mut runner = TestRunner::new(Config { rng_seed, ..Config::default() });
    let others = many(operation(), 150).new_tree(&mut runner).expect("nothing is filtered");
    operations.extend(others.current());
    operations
}

/// Does an operation; gives what it answered, for comparison.
pub(crate) fn apply(ledger: &mut dyn LedgerWrite, operation: &Operation) -> String {
    match run(ledger, operation) {
        Ok(answer) => answer,
        Err(error) => format!("{error:?}"),
    }
}

fn driver(ledger: &dyn LedgerWrite, id: u8, holder: Holder) -> Result<Option<Driver>> {
    let current = ledger.session(&session(id))?.and_then(|session| session.driver);
    Ok(match holder {
        Holder::Current => current,
        Holder::Stale => current.map(|driver| driver.released()),
    })
}

fn held(ledger: &dyn LedgerWrite, id: u8, holder: Holder) -> Result<Driver> {
    driver(ledger, id, holder)?.ok_or_else(|| StoreError::not_found("driver", id))
}

fn run(ledger: &mut dyn LedgerWrite, operation: &Operation) -> Result<String> {
    match operation {
        Operation::Drive(operation) => drive(ledger, operation),
        Operation::Send(operation) => send(ledger, operation),
        Operation::Record(operation) => record(ledger, operation),
        Operation::Choose(operation) => choose(ledger, operation),
    }
}

fn said(answer: impl std::fmt::Debug) -> Result<String> {
    Ok(format!("{answer:?}"))
}

fn drive(ledger: &mut dyn LedgerWrite, operation: &Drive) -> Result<String> {
    let now = UnixMillis(1);
    match operation {
        Drive::Create(id, title) => said(ledger.create_session(&NewSession {
            id: session(*id),
            harness: harness(),
            created_at: now,
            workdir: Some("/tmp".into()),
            title: title.clone(),
            labels: Labels::new([("b", "2"), ("a", "")]).unwrap(),
        })?),
        Drive::Attach(id, of) => said(ledger.attach_thread(&session(*id), &thread(*of))?),
        Drive::Replace(id, holder, key, text) => {
            let current = ledger.session(&session(*id))?.and_then(|session| session.capture());
            let expected = match holder {
                Holder::Current => current,
                Holder::Stale => Some(Capture(77)),
            };
            let new = Input {
                key: input(*key),
                prompt: text.clone(),
                skill: None,
                cwd: Some("".into()),
                model: text.clone(),
                work: (*key == 0).then(|| Work::new("work").unwrap()),
                labels: Labels::none(),
            };
            said(ledger.replace_input(&session(*id), expected, &new, now)?)
        }
        Drive::Claim(id, holder, by, provider) => {
            let expected = driver(ledger, *id, *holder)?;
            said(ledger.claim_driver(&session(*id), expected.as_ref(), &exec(*by), *provider)?)
        }
        Drive::Describe(id, holder, process) => {
            let driver = held(ledger, *id, *holder)?;
            let endpoint = Endpoint::new("http://127.0.0.1:1").unwrap();
            let process = process.map(|start_time| ProcessIdentity { pid: u32::MAX, start_time });
            said(ledger.describe_provider(&session(*id), &driver, Some(&endpoint), process)?)
        }
        Drive::Release(id, holder) => {
            let driver = held(ledger, *id, *holder)?;
            said(ledger.release(&session(*id), &driver)?)
        }
        Drive::Finish(id, holder, outcome) => {
            let driver = held(ledger, *id, *holder)?;
            said(ledger.finish(&session(*id), &driver, *outcome, now)?)
        }
        Drive::Close(id) => said(ledger.close_session(&session(*id), now)?),
        Drive::Start(id, parent) => said(ledger.start_exec(&NewExec {
            id: exec(*id),
            parent: parent.map(exec),
            argv: vec!["turnbook".into(), "".into(), "run".into()],
            cwd: None,
            started_at: UnixMillis(i64::MIN),
        })?),
        Drive::End(id, outcome) => said(ledger.end_exec(&exec(*id), *outcome, now)?),
    }
}

fn send(ledger: &mut dyn LedgerWrite, operation: &Send) -> Result<String> {
    let now = UnixMillis(2);
    match operation {
        Send::Intend((of, id, to), native, purpose, reply, holder) => {
            let driver = held(ledger, *id, *holder)?;
            let new = NewIntent {
                request: request(*of),
                session: session(*id),
                thread: thread(*to),
                turn: native.map(turn),
                purpose: *purpose,
                reply: *reply,
                labels: Labels::new([("step", "1")]).unwrap(),
                created_at: now,
            };
            said(ledger.intend(&new, &driver)?)
        }
        Send::Learn(of, native) => said(ledger.learn_turn(&request(*of), &turn(*native))?),
        Send::Mark(of, how) => said(ledger.mark_delivery(&request(*of), how)?),
        Send::Mean(id, effect, holder) => {
            let driver = held(ledger, *id, *holder)?;
            said(ledger.mean(&session(*id), effect, &driver, now)?)
        }
        Send::MarkEffect(id, effect, number, how) => {
            let attempt = (effect, Attempt(*number));
            said(ledger.mark_effect(&session(*id), attempt, how, now)?)
        }
    }
}

fn record(ledger: &mut dyn LedgerWrite, operation: &Record) -> Result<String> {
    match operation {
        Record::Append((id, to), facts, from, at) => said(ledger.append(&Batch {
            session: &session(*id),
            thread: &thread(*to),
            facts,
            evidence: from.map(|from| EvidenceDigest::of(&evidence(from))),
            at: UnixMillis(*at),
        })?),
        Record::Exited(id, of, native) => {
            let (session, thread, turn) = (session(*id), thread(*of), turn(*native));
            said(ledger.record_exited(&session, &thread, &turn, None, UnixMillis(3))?)
        }
        Record::Fork(child, parent) => said(ledger.record_fork(&thread(*child), &thread(*parent))?),
        Record::Keep(content, at) => {
            said(ledger.put_evidence(&evidence(*content), UnixMillis(*at))?)
        }
        Record::Prune(before) => said(ledger.prune_evidence(UnixMillis(*before))?),
    }
}

fn choose(ledger: &mut dyn LedgerWrite, operation: &Choose) -> Result<String> {
    match operation {
        Choose::Promise(id, key, position, holder) => {
            let driver = held(ledger, *id, *holder)?;
            let new = NewSelection {
                input: input(*key),
                flow: FlowName::new("flow").unwrap(),
                position: Position(*position),
                session: session(*id),
            };
            said(ledger.turn_selection(&new, &driver)?)
        }
        Choose::Select(id, key, of, holder) => {
            let driver = held(ledger, *id, *holder)?;
            said(ledger.select_turn(&input(*key), &request(*of), &driver)?)
        }
        Choose::Consume(id, key, position, holder) => {
            let driver = held(ledger, *id, *holder)?;
            said(ledger.consume_turn(&input(*key), Position(*position), &driver)?)
        }
    }
}
