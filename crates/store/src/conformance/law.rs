//! Laws on generated ledgers: the backend does what the memory model does, in any order (L11, L14).

use proptest::{
    collection::vec,
    prelude::{Just, Strategy, any, prop_oneof},
    sample::select,
    test_runner::{Config, RngSeed, TestCaseError, TestRunner},
};
use receipts::{Fact, FactBody, Gap, Status, UnixMillis};

use super::bench::{
    Bench, NOW, admitted, called, child, ended, exec, gap, id, input, new_exec, new_session,
    started, tokens, unanswered,
};
use crate::{
    Attempt, Batch, Call, Capture, Dispatch, Effect, ExecOutcome, FlowName, LedgerWrite,
    MemoryStore, NewIntent, NewSelection, Position, Provider, Purpose, Reply, Result, Seq, Store,
};

fn runner() -> TestRunner {
    let cases = number("TURNBOOK_CASES").and_then(|cases| u32::try_from(cases).ok()).unwrap_or(256);
    let rng_seed = RngSeed::Fixed(number("TURNBOOK_SEED").unwrap_or(0));
    TestRunner::new(Config { cases, rng_seed, failure_persistence: None, ..Config::default() })
}

#[expect(clippy::disallowed_methods, reason = "how long and where to look is the tester's choice")]
fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// One thing that is done to a ledger; names are few, so that they meet.
#[derive(Debug, Clone)]
enum Op {
    CreateSession(&'static str),
    Attach(&'static str, &'static str),
    ReplaceInput(&'static str, Option<u64>, &'static str),
    StartExec(&'static str),
    EndExec(&'static str, i32),
    Claim(&'static str, &'static str, Provider),
    Release(&'static str),
    Finish(&'static str),
    Close(&'static str),
    Intend(NewIntent),
    LearnTurn(&'static str, &'static str),
    MarkDelivery(&'static str, Dispatch),
    Mean(&'static str, Effect),
    MarkEffect(&'static str, Effect, u64, Dispatch),
    Append(&'static str, &'static str, Vec<Fact>),
    Exited(&'static str, &'static str, &'static str),
    Fork(&'static str, &'static str),
    Selection(&'static str, &'static str, u64),
    Select(&'static str, &'static str),
    Consume(&'static str, u64),
    Evidence(u8),
    Prune(i64),
}

const SESSIONS: [&str; 2] = ["s0", "s1"];
const THREADS: [&str; 3] = ["t0", "t1", "t2"];
const TURNS: [&str; 3] = ["q0", "q1", "q2"];
const INPUTS: [&str; 3] = ["i0", "i1", "i2"];
const EXECS: [&str; 2] = ["e0", "e1"];

fn dispatch() -> impl Strategy<Value = Dispatch> {
    prop_oneof![
        Just(Dispatch::Sent),
        Just(Dispatch::NotSent { why: "no".into() }),
        Just(Dispatch::Uncertain { why: "maybe".into() }),
    ]
}

fn effect() -> impl Strategy<Value = Effect> {
    prop_oneof![
        Just(Effect::Abort),
        Just(Effect::CreateThread { title: "t".into() }),
        Just(Effect::Answer { ask: "p".into(), answer: "once".into() }),
    ]
}

fn fact() -> impl Strategy<Value = Fact> {
    let message = select(&["m0", "m1", "m2"][..]);
    let status = select(&[Status::Completed, Status::Failed, Status::Interrupted][..]);
    let alone = select(&[Status::Unanswered, Status::Absorbed, Status::NoReply][..]);
    let turn = || select(&TURNS[..]);
    prop_oneof![
        2 => turn().prop_map(admitted),
        2 => (turn(), message.clone(), 0_i64..4).prop_map(|(turn, m, at)| started(turn, m, at)),
        4 => sighting(),
        1 => (turn(), select(&THREADS[..])).prop_map(|(turn, thread)| child(turn, thread)),
        1 => (turn(), message.clone())
            .prop_map(|(turn, m)| gap(turn, Gap::MissingTime { message: id(m) })),
        2 => (turn(), message, status, 0_i64..4)
            .prop_map(|(turn, m, status, at)| ended(turn, m, status, at)),
        1 => (turn(), alone).prop_map(|(turn, status)| unanswered(turn, status)),
    ]
}

/// A model call; its key says what it used, as a copy of it does.
fn sighting() -> impl Strategy<Value = Fact> {
    let call = select(&["m0/1", "m0/2", "m1/1", "m2/1"][..]);
    (select(&TURNS[..]), call, 0_i64..4, 0_u64..3)
        .prop_map(|(turn, call, at, input)| called(turn, call, at, tokens(input, 1)))
}

fn intent() -> impl Strategy<Value = NewIntent> {
    let turn = proptest::option::of(select(&TURNS[..]));
    let purpose = select(&[Purpose::Prompt, Purpose::Prompt, Purpose::Steer][..]);
    let place = (select(&SESSIONS[..]), select(&THREADS[..]));
    (select(&TURNS[..]), place, turn, purpose).prop_map(
        |(request, (session, thread), turn, purpose)| NewIntent {
            request: id(request),
            session: id(session),
            thread: id(thread),
            turn: turn.map(id),
            purpose,
            reply: Reply::Expected,
            labels: crate::Labels::none(),
            created_at: NOW,
        },
    )
}

fn op() -> impl Strategy<Value = Op> {
    let session = || select(&SESSIONS[..]);
    let thread = || select(&THREADS[..]);
    let turn = || select(&TURNS[..]);
    let input = || select(&INPUTS[..]);
    let exec = || select(&EXECS[..]);
    let provider = select(&[Provider::Keep, Provider::Replace][..]);
    let capture = proptest::option::of(1_u64..3);
    prop_oneof![
        2 => session().prop_map(Op::CreateSession),
        1 => (session(), thread()).prop_map(|(s, t)| Op::Attach(s, t)),
        2 => (session(), capture, input()).prop_map(|(s, c, i)| Op::ReplaceInput(s, c, i)),
        1 => exec().prop_map(Op::StartExec),
        1 => (exec(), 0..2).prop_map(|(e, code)| Op::EndExec(e, code)),
        2 => (session(), exec(), provider).prop_map(|(s, e, p)| Op::Claim(s, e, p)),
        1 => session().prop_map(Op::Release),
        1 => session().prop_map(Op::Finish),
        1 => session().prop_map(Op::Close),
        4 => intent().prop_map(Op::Intend),
        2 => (turn(), turn()).prop_map(|(request, turn)| Op::LearnTurn(request, turn)),
        2 => (turn(), dispatch()).prop_map(|(request, d)| Op::MarkDelivery(request, d)),
        1 => (session(), effect()).prop_map(|(s, e)| Op::Mean(s, e)),
        1 => (session(), effect(), 1_u64..3, dispatch())
            .prop_map(|(s, e, attempt, d)| Op::MarkEffect(s, e, attempt, d)),
        8 => (session(), thread(), vec(fact(), 0..5)).prop_map(|(s, t, f)| Op::Append(s, t, f)),
        1 => (session(), thread(), turn()).prop_map(|(s, t, q)| Op::Exited(s, t, q)),
        1 => (thread(), thread()).prop_map(|(child, parent)| Op::Fork(child, parent)),
        1 => (input(), session(), 1_u64..3).prop_map(|(i, s, p)| Op::Selection(i, s, p)),
        2 => (input(), turn()).prop_map(|(i, request)| Op::Select(i, request)),
        1 => (input(), 1_u64..3).prop_map(|(i, p)| Op::Consume(i, p)),
        1 => (0_u8..3).prop_map(Op::Evidence),
        1 => (0_i64..4).prop_map(Op::Prune),
    ]
}

/// Does one thing, as whoever drives the session; gives what was said, as text.
fn apply(ledger: &mut dyn LedgerWrite, op: &Op) -> String {
    let said = match op {
        Op::CreateSession(session) => say(ledger.create_session(&new_session(session))),
        Op::Attach(session, thread) => say(ledger.attach_thread(&id(session), &id(thread))),
        Op::ReplaceInput(session, capture, new) => {
            let capture = capture.map(Capture);
            say(ledger.replace_input(&id(session), capture, &input(new), NOW))
        }
        Op::StartExec(name) => say(ledger.start_exec(&new_exec(name))),
        Op::EndExec(name, code) => {
            say(ledger.end_exec(&exec(name), ExecOutcome::Exited(*code), NOW))
        }
        Op::Append(session, thread, facts) => {
            let (session, thread) = (id(session), id(thread));
            let batch =
                Batch { session: &session, thread: &thread, facts, evidence: None, at: NOW };
            say(ledger.append(&batch))
        }
        Op::Exited(session, thread, turn) => {
            say(ledger.record_exited(&id(session), &id(thread), &id(turn), None, NOW))
        }
        Op::Fork(child, parent) => say(ledger.record_fork(&id(child), &id(parent))),
        Op::Close(session) => say(ledger.close_session(&id(session), NOW)),
        Op::LearnTurn(request, turn) => say(ledger.learn_turn(&id(request), &id(turn))),
        Op::MarkDelivery(request, dispatch) => say(ledger.mark_delivery(&id(request), dispatch)),
        Op::MarkEffect(session, effect, attempt, dispatch) => {
            say(ledger.mark_effect(&id(session), (effect, Attempt(*attempt)), dispatch, NOW))
        }
        Op::Evidence(content) => {
            say(ledger.put_evidence(&[*content], UnixMillis(i64::from(*content))))
        }
        Op::Prune(before) => say(ledger.prune_evidence(UnixMillis(*before))),
        Op::Claim(..)
        | Op::Release(_)
        | Op::Finish(_)
        | Op::Intend(_)
        | Op::Mean(..)
        | Op::Selection(..)
        | Op::Select(..)
        | Op::Consume(..) => fenced(ledger, op),
    };
    format!("{said}, {} rows", ledger.writes())
}

fn fenced(ledger: &mut dyn LedgerWrite, op: &Op) -> String {
    let session = match op {
        Op::Claim(session, ..) | Op::Release(session) | Op::Finish(session) => id(session),
        Op::Mean(session, _) | Op::Selection(_, session, _) => id(session),
        Op::Intend(new) => new.session.clone(),
        _ => id(SESSIONS[0]),
    };
    let current = match ledger.session(&session) {
        Ok(session) => session.and_then(|session| session.driver),
        Err(error) => return error.to_string(),
    };
    if let Op::Claim(_, name, provider) = op {
        return say(ledger.claim_driver(&session, current.as_ref(), &exec(name), *provider));
    }
    let Some(driver) = current else { return "nobody drives".to_owned() };
    match op {
        Op::Release(_) => say(ledger.release(&session, &driver)),
        Op::Finish(_) => say(ledger.finish(&session, &driver, ExecOutcome::Lost, NOW)),
        Op::Intend(new) => say(ledger.intend(new, &driver)),
        Op::Mean(_, effect) => say(ledger.mean(&session, effect, &driver, NOW)),
        Op::Selection(input, session, position) => {
            let new = NewSelection {
                input: id(input),
                flow: FlowName::new("flow").expect("good"),
                position: Position(*position),
                session: id(session),
            };
            say(ledger.turn_selection(&new, &driver))
        }
        Op::Select(input, request) => say(ledger.select_turn(&id(input), &id(request), &driver)),
        Op::Consume(input, position) => {
            say(ledger.consume_turn(&id(input), Position(*position), &driver))
        }
        other => panic!("{other:?} is not fenced"),
    }
}

fn say<T: std::fmt::Debug>(result: Result<T>) -> String {
    format!("{result:?}")
}

/// Every backend says what the strict memory model says, to anything, and ends as it does; what is
/// undone leaves no trace in either.
pub fn a_backend_does_what_the_model_does(bench: &mut Bench<'_>) {
    let rounds = vec((op(), any::<bool>()), 1..60);
    let result = runner().run(&rounds, |rounds| {
        let (mut bench, model) = (bench.another(), MemoryStore::new());
        for (op, is_kept) in &rounds {
            let said = [bench.store(), &model as &dyn Store].map(|store| {
                let mut said = String::new();
                let result = store.write(&mut |ledger| {
                    said = apply(ledger, op);
                    if *is_kept { Ok(()) } else { Err(crate::StoreError::not_found("", "")) }
                });
                assert_eq!(result.is_ok(), *is_kept);
                if said.starts_with("Err") && !said.ends_with(" 0 rows") {
                    said.push_str(": a refused operation has written");
                }
                said
            });
            if said[0] != said[1] || said[0].ends_with("has written") {
                let [backend, model] = &said;
                return Err(fail(&format!("{op:?}: {backend}, the model: {model}")));
            }
        }
        let mut evidence = Vec::new();
        for round in 0..2 {
            if round == 1 {
                bench.reopen();
            }
            let of_model = super::bench::dump_of(&model);
            if bench.dump() != of_model {
                return Err(fail(&format!("{:#?}\nthe model: {of_model:#?}", bench.dump())));
            }
            let content = |content: u8| {
                let digest = crate::EvidenceDigest::of(&[content]);
                bench.read(|ledger| ledger.evidence(&digest))
            };
            evidence.push((0..3).map(content).collect::<Vec<_>>());
            let violations = bench.read(|ledger| ledger.verify());
            if !violations.is_empty() {
                return Err(fail(&format!("{violations:?}")));
            }
        }
        assert_eq!(evidence[0], evidence[1]);
        Ok(())
    });
    result.expect("the backend and the model agree");
}

fn fail(why: &str) -> TestCaseError {
    TestCaseError::fail(why.to_owned())
}

/// What is learned of calls and forks, in any order.
fn learned() -> impl Strategy<Value = Vec<Op>> {
    let sighting = (select(&SESSIONS[..]), 0..THREADS.len(), sighting()).prop_map(
        |(session, thread, mut fact)| {
            // A message of one conversation was created at one time.
            if let FactBody::Call { message, at, .. } = &mut fact.body {
                let number = message.as_str().bytes().map(usize::from).sum::<usize>();
                *at = i64::try_from((number + thread) % 3).ok().map(UnixMillis);
            }
            Op::Append(session, THREADS[thread], vec![fact])
        },
    );
    // At most one parent for each, no ring: what contradicts is a matter of the first.
    let forks = vec(any::<bool>(), 2).prop_map(|is_fork| {
        let chain = [Op::Fork("t1", "t0"), Op::Fork("t2", "t1")];
        chain.into_iter().zip(is_fork).filter(|(_, is)| *is).map(|(op, _)| op).collect::<Vec<_>>()
    });
    let place = (select(&SESSIONS[..]), select(&THREADS[..]), select(&TURNS[..]));
    let start = (place, select(&THREADS[..])).prop_map(|((session, thread, turn), started)| {
        Op::Append(session, thread, vec![child(turn, started)])
    });
    (vec(sighting, 1..12), forks, vec(start, 0..4)).prop_map(|(mut ops, forks, starts)| {
        ops.extend(forks);
        ops.extend(starts);
        ops
    })
}

/// L14 and L11: importing a fork before its original, or anything before anything, ends in the
/// same owners and sums.
pub fn owners_do_not_depend_on_the_order_of_import(bench: &mut Bench<'_>) {
    let orders = learned().prop_flat_map(|ops| (Just(ops.clone()), Just(ops).prop_shuffle()));
    let result = runner().run(&orders, |(ops, shuffled)| {
        let ends = [ops, shuffled].map(|ops| {
            let bench = bench.another();
            bench.write(|ledger| {
                SESSIONS
                    .iter()
                    .try_for_each(|name| ledger.create_session(&new_session(name)).map(drop))?;
                ours(ledger)
            });
            bench.write(|ledger| {
                for op in &ops {
                    apply(ledger, op);
                }
                Ok(())
            });
            let violations = bench.read(|ledger| ledger.verify());
            let dump = bench.dump();
            let calls: Vec<Call> =
                dump.calls.into_iter().map(|(call, _)| numberless(call)).collect();
            (violations, calls, dump.usage)
        });
        if ends[0] == ends[1] { Ok(()) } else { Err(fail(&format!("{ends:?}"))) }
    });
    result.expect("the order of import does not matter");
}

/// One turn is ours.
fn ours(ledger: &mut dyn LedgerWrite) -> Result<()> {
    let session = id("s0");
    ledger.start_exec(&new_exec("e0"))?;
    ledger.replace_input(&session, None, &input("i0"), NOW)?;
    let driver = ledger.claim_driver(&session, None, &exec("e0"), Provider::Replace)?;
    let new = NewIntent { thread: id("t1"), ..super::bench::prompt(&session, "q0") };
    ledger.intend(&new, &driver).map(drop)
}

/// Event numbers, and the order in which two copies were told apart by nothing else, may differ.
fn numberless(mut call: Call) -> Call {
    call.owner.seq = Seq::START;
    call
}

/// L11: a turn ends up the same whatever the order in which its facts were recorded.
pub fn a_turn_does_not_depend_on_the_order_of_its_facts(bench: &mut Bench<'_>) {
    // Facts that contradict are a matter of the first: of each name there is one.
    let facts = vec(fact(), 1..12).prop_map(|facts| {
        let mut names = std::collections::BTreeSet::new();
        let is_first = |fact: &Fact| {
            let name = match &fact.body {
                FactBody::Started { message, .. } => format!("started {message}"),
                body => format!("{} {}", body.kind(), body.key()),
            };
            names.insert((fact.turn.clone(), name))
        };
        facts.into_iter().filter(is_first).collect::<Vec<_>>()
    });
    let orders = facts.prop_flat_map(|facts| (Just(facts.clone()), Just(facts).prop_shuffle()));
    let result = runner().run(&orders, |orders| {
        let ends = [orders.0, orders.1].map(|facts| {
            let bench = bench.another();
            bench.write(|ledger| ledger.create_session(&new_session("s")).map(drop));
            for fact in &facts {
                bench.append(&id("s"), std::slice::from_ref(fact));
            }
            let turns = bench.read(|ledger| ledger.turns(&id("s")));
            let mut known: Vec<_> = turns
                .into_iter()
                .map(|turn| {
                    let started = turn.started.is_some();
                    (turn.turn, turn.status, started, turn.started_at, turn.completion, turn.usage)
                })
                .collect();
            known.sort_by(|a, b| a.0.cmp(&b.0));
            let open = bench.read(|ledger| ledger.unsettled(&id("s"))).len();
            (known, open, bench.read(|ledger| ledger.verify()))
        });
        if ends[0] == ends[1] { Ok(()) } else { Err(fail(&format!("{ends:?}"))) }
    });
    result.expect("the order of facts does not matter");
}
