//! Calls, their owners and their sums (L14, U1, U2; ledger.md 7.5).

use receipts::{CallKey, Counter, Counters, Decrease, Fact, FactBody, Gap, UnixMillis};

use super::bench::{
    Bench, NOW, admitted, append, called, child, exec, id, key, prompt, request, sum, tokens,
    turn_id,
};
use crate::{
    Batch, Call, CallOwner, Coverage, EventBody, NewIntent, Recorded, Scope, Sighting, UsageBy,
    UsageGroup,
};

fn call(bench: &Bench<'_>, key: &str) -> Call {
    bench.read(|ledger| ledger.call(&id(key))).expect("the call is known")
}

fn decrease(call: &str, from: u64, to: u64) -> Gap {
    let decrease = Decrease { counter: Counter::Input, from: from.to_string(), to: to.to_string() };
    Gap::Decrease { call: id(call), decrease }
}

/// Ledger.md 7.5 and U1: a regression keeps the peak; A, B, A shows its decrease, once.
pub fn counters_keep_their_peak(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let see = |input, output| [called("q", "m/1", 2, tokens(input, output))];
    let first = bench.append(&session, &see(20, 5))[0].first();
    let raised = bench.append(&session, &see(40, 5));
    assert!(matches!(raised[..], [Recorded::Raised { first: held, .. }] if held == first));
    let body = EventBody::Raised { call: id("m/1"), counters: tokens(40, 5) };
    assert_eq!(bench.events(&session).pop().map(|event| event.body), Some(body));
    bench.write_nothing(|ledger| append(ledger, &session, &see(40, 5)));
    bench.append(&session, &see(20, 5));
    assert_eq!(bench.turn(&session, "q").gaps, [decrease("m/1", 40, 20)]);
    bench.write_nothing(|ledger| append(ledger, &session, &see(20, 5)));
    // One counter rises while the other falls.
    bench.append(&session, &see(30, 9));
    assert_eq!(call(bench, "m/1").counters, tokens(40, 9));
    let gaps = bench.turn(&session, "q").gaps;
    assert_eq!(gaps, [decrease("m/1", 40, 20), decrease("m/1", 40, 30)]);
    bench.write_nothing(|ledger| append(ledger, &session, &see(30, 9)));
}

/// Ledger.md 7.5 and U2: absent stays absent, zero is zero, and what is unknown is counted.
pub fn absent_usage_stays_absent(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    bench.capture(&session, "a");
    let driver = bench.drive(&session, "e");
    bench.intend(&session, "q", &driver);
    bench.append(&session, &[admitted("q")]);
    let usage = |bench: &Bench<'_>| bench.read(|ledger| ledger.input_usage(&key("a")));
    assert_eq!((usage(bench).usage, usage(bench).coverage), (None, coverage(0, 0)));
    assert_eq!(bench.read(|ledger| ledger.exec_usage(&exec("e"))), None);
    assert_eq!(bench.read(|ledger| ledger.session_usage(&session)), None);
    bench.append(&session, &[called("q", "m/1", 2, Counters::UNKNOWN)]);
    let unknown = usage(bench);
    assert_eq!((unknown.usage, unknown.coverage), (sum(&[Counters::UNKNOWN]), coverage(0, 1)));
    assert_eq!(unknown.usage.and_then(|usage| usage.input.value()), None);
    // An absent counter changes nothing, and a late count is the first.
    bench.append(&session, &[called("q", "m/2", 2, tokens(0, 7))]);
    let known = usage(bench);
    assert_eq!(known.coverage, coverage(1, 1));
    let sums = known.usage.map(|usage| (usage.input.value(), usage.cache_read.value()));
    assert_eq!(sums, Some((Some(0), None)));
    bench.append(&session, &[called("q", "m/1", 2, tokens(3, 3))]);
    bench.append(&session, &[called("q", "m/1", 2, Counters::UNKNOWN)]);
    assert_eq!(usage(bench).usage, sum(&[tokens(3, 3), tokens(0, 7)]));
    assert_eq!(usage(bench).gaps, []);
}

fn coverage(known: u64, unknown: u64) -> Coverage {
    Coverage { known, unknown }
}

/// U3: a sum that no longer fits is unknown; the calls are not.
pub fn a_sum_that_does_not_fit_is_unknown(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let calls = [tokens(u64::MAX, u64::MAX), tokens(u64::MAX, 0)];
    bench.append(&session, &[called("q", "m/1", 2, calls[0]), called("q", "m/2", 2, calls[1])]);
    bench.reopen();
    let usage = bench.read(|ledger| ledger.session_usage(&session));
    assert_eq!(usage, sum(&calls));
    let sums = usage.map(|usage| (usage.input.value(), usage.output.value()));
    assert_eq!(sums, Some((None, Some(u64::MAX))));
    assert_eq!(call(bench, "m/1").counters, calls[0]);
}

/// Money is kept exactly.
pub fn money_is_summed_exactly(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let cost = |text: &str| Counters { cost: receipts::Usd::parse(text), ..tokens(1, 1) };
    let calls = ["0.1", "0.2", "0.000000000000000000000000001"].map(cost);
    for (number, counters) in calls.iter().enumerate() {
        bench.append(&session, &[called("q", &format!("m{number}/1"), 2, *counters)]);
    }
    bench.reopen();
    assert_eq!(bench.read(|ledger| ledger.session_usage(&session)), sum(&calls));
    assert_eq!(call(bench, "m2/1").counters, calls[2]);
}

/// L14: every sighting of a call is kept; the call is counted once, with its first owner.
pub fn a_call_is_counted_once_in_the_store(bench: &mut Bench<'_>) {
    let (one, two) = (bench.session("one"), bench.session("two"));
    let counters = tokens(3, 4);
    let late = bench.append(&two, &[called("q2", "m/1", 9, counters)])[0].first();
    let early = bench.append(&one, &[called("q1", "m/1", 5, counters)])[0].first();
    let owner = CallOwner {
        seq: early,
        session: one.clone(),
        thread: id("one"),
        turn: id("q1"),
        input: None,
        exec: None,
    };
    let expected = Call {
        key: id("m/1"),
        counters,
        provider: Some("provider".into()),
        model: Some("model".into()),
        at: Some(UnixMillis(5)),
        owner,
    };
    assert_eq!(call(bench, "m/1"), expected);
    let sighting = |seq, session: &str, turn: &str, at| Sighting {
        seq,
        session: id(session),
        thread: id(session),
        turn: id(turn),
        message: id("m"),
        at: Some(UnixMillis(at)),
        counters,
        provider: Some("provider".into()),
        model: Some("model".into()),
    };
    let sightings = bench.read(|ledger| ledger.sightings(&id("m/1")));
    assert_eq!(sightings, [sighting(late, "two", "q2", 9), sighting(early, "one", "q1", 5)]);
    let usage = |session| bench.read(|ledger| ledger.session_usage(session));
    assert_eq!((usage(&one), usage(&two)), (sum(&[counters]), None));
    assert_eq!(
        (bench.turn(&two, "q2").usage, bench.turn(&one, "q1").usage),
        (None, sum(&[counters]))
    );
    assert_eq!(bench.read(|ledger| ledger.call(&id("other"))), None);
    assert_eq!(bench.read(|ledger| ledger.sightings(&id("other"))), []);
}

/// U1: a copy that shows more raises the call, and its own event says so.
pub fn a_first_sighting_says_itself_what_it_saw(bench: &mut Bench<'_>) {
    let (one, two) = (bench.session("one"), bench.session("two"));
    bench.append(&one, &[called("q", "m/1", 1, tokens(3, 4))]);
    let recorded = bench.append(&two, &[called("q", "m/1", 2, tokens(5, 4))]);
    assert!(matches!(recorded[..], [Recorded::Appended(_)]), "{recorded:?}");
    assert_eq!(bench.kinds(&two), ["usage"]);
    assert_eq!(call(bench, "m/1").counters, tokens(5, 4));
    assert_eq!(bench.read(|ledger| ledger.session_usage(&one)), sum(&[tokens(5, 4)]));
}

/// L14: the turn that we intended owns a call, before any that was only seen, however early.
pub fn the_turn_that_we_intended_owns_its_calls(bench: &mut Bench<'_>) {
    let (ours, theirs) = (bench.session("ours"), bench.session("theirs"));
    bench.capture(&ours, "a");
    let driver = bench.drive(&ours, "e");
    // Not even the ancestor of our conversation comes before us.
    bench.write(|ledger| ledger.record_fork(&id("ours"), &id("theirs")));
    bench.append(&theirs, &[called("copy", "m/1", 1, tokens(3, 4))]);
    bench.append(&theirs, &[called("copy", "m/2", 1, tokens(5, 6))]);
    bench.intend(&ours, "q", &driver);
    bench.append(&ours, &[called("q", "m/1", 5, tokens(3, 4))]);
    let unknown = NewIntent { turn: None, ..prompt(&ours, "r") };
    bench.write(|ledger| ledger.intend(&unknown, &driver));
    bench.append(&ours, &[called("native", "m/2", 5, tokens(5, 6))]);
    let owner = |key| {
        let owner = call(bench, key).owner;
        (owner.turn, owner.input, owner.exec)
    };
    assert_eq!(owner("m/1"), (id("q"), Some(id("a")), Some(id("e"))));
    assert_eq!(owner("m/2"), (id("copy"), None, None));
    bench.write(|ledger| ledger.learn_turn(&request("r"), &turn_id("native")));
    assert_eq!(owner("m/2"), (id("native"), Some(id("a")), Some(id("e"))));
    let usage = bench.read(|ledger| ledger.input_usage(&key("a"))).usage;
    assert_eq!(usage, sum(&[tokens(3, 4), tokens(5, 6)]));
    assert_eq!(bench.read(|ledger| ledger.session_usage(&theirs)), None);
}

/// L14: of a fork and its original the original owns, in whatever order all that is learned.
pub fn a_fork_inherits_and_earns_nothing_again(bench: &mut Bench<'_>) {
    let steps: [&dyn Fn(&Bench<'_>); 4] = [
        // The copy claims to be older; forks are learned from their far end, too.
        &|bench| drop(bench.append(&id("leaf"), &[called("c", "m/1", 1, tokens(3, 4))])),
        &|bench| drop(bench.append(&id("root"), &[called("q", "m/1", 5, tokens(3, 4))])),
        &|bench| bench.write(|ledger| ledger.record_fork(&id("leaf"), &id("middle"))),
        &|bench| bench.write(|ledger| ledger.record_fork(&id("middle"), &id("root"))),
    ];
    for order in permutations() {
        let bench = bench.another();
        bench.session("root");
        bench.session("leaf");
        for number in order {
            steps[number](&bench);
        }
        let owner = call(&bench, "m/1").owner;
        assert_eq!((owner.thread, owner.turn), (id("root"), id("q")), "{order:?}");
        assert_eq!(bench.read(|ledger| ledger.session_usage(&id("leaf"))), None);
        assert_eq!(bench.read(|ledger| ledger.verify()), []);
    }
}

/// L14 and L11: what a subagent used is owned by the turn that started it, at whatever remove, in
/// whatever order all that is learned.
pub fn a_subagent_is_owned_by_the_turn_that_started_it(bench: &mut Bench<'_>) {
    let see = |bench: &Bench<'_>, session: &str, thread: &str, fact: Fact| {
        let (session, thread, facts) = (id(session), id(thread), [fact]);
        let batch =
            Batch { session: &session, thread: &thread, facts: &facts, evidence: None, at: NOW };
        drop(bench.write(|ledger| ledger.append(&batch)));
    };
    let steps: [&dyn Fn(&Bench<'_>); 4] = [
        &|bench| see(bench, "ours", "ours", child("q", "child")),
        &|bench| see(bench, "ours", "child", child("task", "grandchild")),
        &|bench| see(bench, "ours", "grandchild", called("deep", "m/1", 5, tokens(3, 4))),
        // A copy that nobody here asked for claims to be older.
        &|bench| see(bench, "theirs", "theirs", called("copy", "m/1", 1, tokens(3, 4))),
    ];
    for order in permutations() {
        let bench = bench.another();
        let (ours, theirs) = (bench.session("ours"), bench.session("theirs"));
        bench.capture(&ours, "a");
        let driver = bench.drive(&ours, "e");
        bench.intend(&ours, "q", &driver);
        // What becomes of the session later moves nothing.
        bench.capture(&ours, "b");
        for number in order {
            steps[number](&bench);
        }
        let CallOwner { session, thread, turn, input, exec: run, .. } = call(&bench, "m/1").owner;
        assert_eq!((session, thread), (ours, id("grandchild")), "{order:?}");
        assert_eq!((turn, input, run), (id("deep"), Some(id("a")), Some(id("e"))), "{order:?}");
        let sums = bench
            .read(|ledger| Ok((ledger.exec_usage(&exec("e"))?, ledger.session_usage(&theirs)?)));
        assert_eq!(sums, (sum(&[tokens(3, 4)]), None), "{order:?}");
        assert_eq!(bench.read(|ledger| ledger.verify()), []);
    }
}

/// L14: a subagent that is given further work is owned by the request that came last before it.
pub fn further_work_of_a_subagent_is_owned_by_its_own_request(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let driver = bench.drive(&session, "e");
    for (name, at) in [("q1", 10), ("q2", 20)] {
        bench.capture(&session, name);
        let new = NewIntent { created_at: UnixMillis(at), ..prompt(&session, name) };
        bench.write(|ledger| ledger.intend(&new, &driver));
    }
    let thread = id("child");
    let calls = [("m0/1", 5), ("m1/1", 10), ("m2/1", 19), ("m3/1", 30)];
    let facts = calls.map(|(key, at)| called("task", key, at, tokens(1, 1)));
    let batch =
        Batch { session: &session, thread: &thread, facts: &facts, evidence: None, at: NOW };
    bench.write(|ledger| ledger.append(&batch).map(drop));
    bench.append(&session, &[child("q2", "child"), child("q1", "child")]);
    let owners = calls.map(|(key, _)| call(bench, key).owner.input);
    assert_eq!(owners, ["q1", "q1", "q1", "q2"].map(|input| Some(id(input))));
}

/// L14: a subagent of a turn that is learned to be ours later is ours with it; one that starts
/// itself, or is started in a ring, ends nowhere.
pub fn a_subagent_becomes_ours_with_its_turn(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    bench.capture(&session, "a");
    let driver = bench.drive(&session, "e");
    let unknown = NewIntent { turn: None, ..prompt(&session, "r") };
    bench.write(|ledger| ledger.intend(&unknown, &driver));
    for (thread, fact) in [
        ("child", called("task", "m/1", 5, tokens(3, 4))),
        ("child", child("task", "child")),
        ("child", child("task", "ring")),
        ("ring", child("task", "child")),
        ("s", child("native", "child")),
    ] {
        let (thread, facts) = (id(thread), [fact]);
        let batch =
            Batch { session: &session, thread: &thread, facts: &facts, evidence: None, at: NOW };
        bench.write(|ledger| ledger.append(&batch).map(drop));
    }
    assert_eq!(call(bench, "m/1").owner.input, None);
    bench.write(|ledger| ledger.learn_turn(&request("r"), &turn_id("native")));
    assert_eq!(call(bench, "m/1").owner.input, Some(id("a")));
}

fn permutations() -> Vec<[usize; 4]> {
    let mut all = Vec::new();
    for code in 0..256_usize {
        let order = [code / 64, code / 16 % 4, code / 4 % 4, code % 4];
        if (0..4).all(|number| order.contains(&number)) {
            all.push(order);
        }
    }
    all
}

/// A conversation was forked from one other; a ring of forks makes nobody the ancestor.
pub fn a_fork_has_one_parent(bench: &mut Bench<'_>) {
    bench.write(|ledger| ledger.record_fork(&id("child"), &id("parent")));
    bench.write_nothing(|ledger| ledger.record_fork(&id("child"), &id("parent")));
    let conflict = bench.conflict(|ledger| ledger.record_fork(&id("child"), &id("other")));
    assert_eq!(conflict, ("thread child".to_owned(), "fork"));
    for name in ["child", "parent"] {
        bench.session(name);
    }
    bench.append(&id("child"), &[called("q", "m/1", 5, tokens(3, 4))]);
    bench.append(&id("parent"), &[called("q", "m/1", 9, tokens(3, 4))]);
    assert_eq!(call(bench, "m/1").owner.thread, id("parent"));
    bench.write(|ledger| ledger.record_fork(&id("parent"), &id("child")));
    assert_eq!(call(bench, "m/1").owner.thread, id("child"));
    bench.write(|ledger| ledger.record_fork(&id("self"), &id("self")));
}

/// An unknown time is earlier than no known one.
pub fn a_sighting_without_a_time_owns_last(bench: &mut Bench<'_>) {
    let (one, two) = (bench.session("one"), bench.session("two"));
    let mut timeless = called("q", "m/1", 0, tokens(1, 1));
    if let FactBody::Call { at, .. } = &mut timeless.body {
        *at = None;
    }
    bench.append(&one, &[timeless]);
    assert_eq!((call(bench, "m/1").owner.session, call(bench, "m/1").at), (id("one"), None));
    bench.append(&two, &[called("q", "m/1", 9, tokens(1, 1))]);
    assert_eq!(call(bench, "m/1").owner.session, id("two"));
}

/// The same usage, grouped by all that it can be grouped by.
pub fn usage_is_grouped(bench: &mut Bench<'_>) {
    let day = 24 * 60 * 60 * 1000;
    let (ours, theirs) = (bench.session("ours"), bench.session("theirs"));
    bench.capture(&ours, "a");
    let driver = bench.drive(&ours, "e");
    bench.intend(&ours, "q", &driver);
    let (c1, c2, c3, c4) = (tokens(1, 1), tokens(2, 2), tokens(4, 4), tokens(8, 8));
    bench.append(&ours, &[called("q", "m1/1", day, c1), called("q", "m2/1", 2 * day - 1, c2)]);
    bench.append(&theirs, &[called("x", "m3/1", -1, c3)]);
    let body = FactBody::Call {
        key: id("m4/1"),
        message: id("m4"),
        at: None,
        counters: c4,
        provider: None,
        model: Some("other".into()),
    };
    bench.append(&theirs, &[Fact { turn: id("x"), body }]);
    let sum = |calls: &[Counters]| sum(calls).expect("there are some");
    let by = |by, since| bench.read(|ledger| ledger.usage_by(by, since));
    let usual = UsageGroup::Model(Some("provider".into()), Some("model".into()));
    let other = UsageGroup::Model(None, Some("other".into()));
    assert_eq!(
        by(UsageBy::Model, None),
        [(other, sum(&[c4])), (usual.clone(), sum(&[c1, c2, c3]))]
    );
    let expected = [
        (UsageGroup::Day(None), sum(&[c4])),
        (UsageGroup::Day(Some(-1)), sum(&[c3])),
        (UsageGroup::Day(Some(1)), sum(&[c1, c2])),
    ];
    assert_eq!(by(UsageBy::Day, None), expected);
    let expected = [
        (UsageGroup::Session(id("ours")), sum(&[c1, c2])),
        (UsageGroup::Session(id("theirs")), sum(&[c3, c4])),
    ];
    assert_eq!(by(UsageBy::Session, None), expected);
    let expected = [
        (UsageGroup::Input(None), sum(&[c3, c4])),
        (UsageGroup::Input(Some(id("a"))), sum(&[c1, c2])),
    ];
    assert_eq!(by(UsageBy::Input, None), expected);
    let expected = [
        (UsageGroup::Exec(None), sum(&[c3, c4])),
        (UsageGroup::Exec(Some(id("e"))), sum(&[c1, c2])),
    ];
    assert_eq!(by(UsageBy::Exec, None), expected);
    // From a time on, that time included; what has no time is not known to be later.
    let since = |at| by(UsageBy::Model, Some(UnixMillis(at)));
    assert_eq!(since(day + 1), [(usual.clone(), sum(&[c2]))]);
    assert_eq!(since(2 * day - 1), [(usual.clone(), sum(&[c2]))]);
    assert_eq!(since(i64::MIN), [(usual, sum(&[c1, c2, c3]))]);
    assert_eq!(since(2 * day), []);
}

/// The calls of each scope are those that it owns.
pub fn calls_are_shown_by_scope(bench: &mut Bench<'_>) {
    let (ours, theirs) = (bench.session("ours"), bench.session("theirs"));
    bench.capture(&ours, "a");
    let driver = bench.drive(&ours, "e");
    bench.intend(&ours, "q", &driver);
    bench.append(&ours, &[called("q", "m1/1", 1, tokens(1, 1))]);
    bench.append(&ours, &[called("x", "m2/1", 1, tokens(1, 1))]);
    bench.append(&theirs, &[called("q", "m3/1", 1, tokens(1, 1))]);
    let shown = |scope: Scope<'_>| {
        let mut keys: Vec<CallKey> = Vec::new();
        bench.read(|ledger| ledger.visit_calls(scope, &mut |call| keys.push(call.key.clone())));
        keys.sort();
        keys.iter().map(|key| key.as_str().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(shown(Scope::All), ["m1/1", "m2/1", "m3/1"]);
    assert_eq!(shown(Scope::Session(&ours)), ["m1/1", "m2/1"]);
    assert_eq!(shown(Scope::Input(&key("a"))), ["m1/1"]);
    assert_eq!(shown(Scope::Exec(&exec("e"))), ["m1/1"]);
    assert_eq!(shown(Scope::Turn(&ours, &id("ours"), &id("x"))), ["m2/1"]);
    assert_eq!(shown(Scope::Turn(&theirs, &id("ours"), &id("x"))), [""; 0]);
    let result = |name: &str| bench.not_found(|ledger| ledger.exec_usage(&exec(name)).map(drop));
    assert_eq!(result("nobody"), ("exec", "nobody".to_owned()));
    let missing = bench.not_found(|ledger| ledger.input_usage(&key("nobody")).map(drop));
    assert_eq!(missing, ("input", "nobody".to_owned()));
    let missing = bench.not_found(|ledger| ledger.session_usage(&id("nobody")).map(drop));
    assert_eq!(missing, ("session", "nobody".to_owned()));
}

/// L7: an input's outcome is the end of the run that drove it last, and of no turn.
pub fn the_outcome_of_an_input_is_that_of_its_run(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    bench.capture(&session, "a");
    let first = bench.drive(&session, "e1");
    bench.intend(&session, "q1", &first);
    let second = bench.drive(&session, "e2");
    bench.intend(&session, "q2", &second);
    let outcome = |bench: &Bench<'_>| bench.read(|l| l.input_usage(&key("a"))).outcome;
    bench.write(|l| l.end_exec(&exec("e1"), crate::ExecOutcome::Exited(0), NOW));
    assert_eq!(outcome(bench), None);
    bench.write(|l| l.end_exec(&exec("e2"), crate::ExecOutcome::Killed(9), NOW));
    assert_eq!(outcome(bench), Some(crate::ExecOutcome::Killed(9)));
}
