//! Small histories by hand, for what no recording shows.

use crate::{
    Answer, AnswerRole, Author, Body, Call, CallKey, CallUsage, Clock, Counters, Ending, Fact,
    FactBody, Failure, Finish, Gap, Generated, Kind, Lineage, Message, MessageId, Observation,
    Owner, Prompt, Status, Thread, ThreadId, Tools, TurnId, UnixMillis, Usage, Usd,
};

pub(super) fn id(text: &str) -> MessageId {
    MessageId::new(text).unwrap()
}

pub(super) fn thread() -> Thread {
    Thread::new(ThreadId::new("ses_1").unwrap())
}

pub(super) fn prompt(name: &str, at: i64) -> Message {
    Message {
        id: id(name),
        created: Some(UnixMillis(at)),
        lineage: Lineage::Own,
        body: Body::Prompt(Prompt {
            kind: Kind::Prompt,
            author: Author::Client,
            content: Some(u64::try_from(at).unwrap()),
            parts: 1,
            clock: Clock::Plausible,
        }),
        gaps: Vec::new(),
    }
}

/// The summary of a compaction, begun at 4.
fn summary_until(end: i64) -> Message {
    let mut summary = closed("s", 4, "c", Finish::Stop);
    if let Body::Answer(answer) = &mut summary.body {
        answer.role = AnswerRole::Summary;
        answer.completed = Some(UnixMillis(end));
    }
    summary
}

/// A prompt with the words of the one that was asked at 1.
fn saying_the_same(name: &str, at: i64) -> Message {
    let mut same = prompt(name, at);
    if let Body::Prompt(prompt) = &mut same.body {
        prompt.content = Some(1);
    }
    same
}

pub(super) fn generated(name: &str, at: i64, why: Generated) -> Message {
    let mut message = prompt(name, at);
    if let Body::Prompt(prompt) = &mut message.body {
        prompt.author = Author::Harness(why);
    }
    message
}

fn counters(input: u64, output: u64) -> Counters {
    Counters { input: Some(input), output: Some(output), ..Counters::UNKNOWN }
}

/// An open answer with one call of the given usage.
fn open(name: &str, at: i64, parent: &str, usage: CallUsage) -> Answer {
    let _ = at;
    Answer {
        parent: Some(id(parent)),
        completed: None,
        finish: None,
        ending: Ending::Plain,
        tools: Tools::default(),
        role: AnswerRole::Answer,
        calls: vec![Call { key: CallKey::new(name).unwrap(), usage }],
        text: None,
        provider: None,
        model: None,
        children: Vec::new(),
        parts: 1,
    }
}

fn message(name: &str, at: i64, answer: Answer) -> Message {
    Message {
        id: id(name),
        created: Some(UnixMillis(at)),
        lineage: Lineage::Own,
        body: Body::Answer(answer),
        gaps: Vec::new(),
    }
}

fn closed(name: &str, at: i64, parent: &str, finish: Finish) -> Message {
    let usage = CallUsage::Known(counters(10, 1));
    let mut answer = open(name, at, parent, usage);
    answer.completed = Some(UnixMillis(at + 1));
    answer.tools.closed = u32::from(finish == Finish::ToolCalls);
    answer.tools.client = answer.tools.closed;
    answer.finish = Some(finish);
    answer.text = Some(format!("text of {name}").into());
    message(name, at, answer)
}

fn fold(messages: impl IntoIterator<Item = Message>, owner: Owner) -> Thread {
    let mut thread = thread();
    for message in messages {
        thread.observe(Observation::Message(message));
    }
    thread.observe(Observation::Owner(owner));
    thread
}

fn statuses(thread: &Thread) -> Vec<(String, Status)> {
    thread
        .receipts()
        .into_iter()
        .map(|receipt| (receipt.turn.as_str().to_owned(), receipt.completion.status))
        .collect()
}

fn check(messages: impl IntoIterator<Item = Message>, owner: Owner, expected: &[(&str, Status)]) {
    let expected: Vec<_> =
        expected.iter().map(|(turn, status)| ((*turn).to_owned(), *status)).collect();
    assert_eq!(statuses(&fold(messages, owner)), expected);
}

/// The vector of rule U7.
#[test]
fn u7_two_messages_with_a_decrease() {
    let sighting = |input| {
        let mut answer = open("a", 2, "p", CallUsage::Known(counters(input, 5)));
        answer.finish = Some(Finish::ToolCalls);
        message("a", 2, answer)
    };
    let mut last = open("b", 4, "p", CallUsage::Known(counters(10, 5)));
    last.finish = Some(Finish::Stop);
    last.completed = Some(UnixMillis(5));
    let last = message("b", 4, last);
    let mut thread = thread();
    for _ in 0..2 {
        for seen in [prompt("p", 1), sighting(20), sighting(40), sighting(30), last.clone()] {
            thread.observe(Observation::Message(seen));
        }
    }
    let [receipt] = thread.receipts().try_into().unwrap();
    let sums = (receipt.usage.input.value(), receipt.usage.output.value(), receipt.usage.calls);
    assert_eq!(sums, (Some(50), Some(10), 2));
    let decreases: Vec<_> =
        receipt.gaps.iter().filter(|gap| matches!(gap, Gap::Decrease { .. })).collect();
    // The second round shows 40 to 20 as well.
    assert_eq!(decreases.len(), 2);
}

#[test]
fn f4_a_status_is_decided_by_idle_only_where_messages_do_not_tell() {
    let unclosed = || message("a", 2, open("a", 2, "p", CallUsage::Open));
    let history = || [prompt("p", 1), unclosed()];
    check(history(), Owner::Unknown, &[("p", Status::Pending)]);
    check(history(), Owner::Busy, &[("p", Status::Pending)]);
    check(history(), Owner::Idle, &[("p", Status::Lost)]);
    check(history(), Owner::Dead, &[("p", Status::Lost)]);
    check([prompt("p", 1)], Owner::Unknown, &[("p", Status::Pending)]);
    check([prompt("p", 1)], Owner::Idle, &[("p", Status::Unanswered)]);
    check([prompt("p", 1)], Owner::Dead, &[("p", Status::Unanswered)]);
}

#[test]
fn f4_an_unknown_finish_closes_only_when_nothing_runs() {
    let history = || [prompt("p", 1), closed("a", 2, "p", Finish::Unknown("banana".into()))];
    check(history(), Owner::Unknown, &[("p", Status::Pending)]);
    check(history(), Owner::Idle, &[("p", Status::Completed)]);
    let gaps = fold(history(), Owner::Idle).receipts().pop().unwrap().gaps;
    assert_eq!(gaps, [Gap::UnknownFinish { message: id("a"), word: "banana".to_owned() }]);
}

/// A later run proves that the one before it ended; only a request that was waiting already when
/// the answer was closed may have been taken up by the same run.
#[test]
fn f4_an_unknown_finish_before_a_later_run_completed_unless_that_was_waiting() {
    let history = |word: &str, asked: i64| {
        [
            prompt("p", 1),
            closed("a", 2, "p", Finish::Unknown(word.into())),
            prompt("later", asked),
            closed("b", 30, "later", Finish::Stop),
        ]
    };
    // The answer was closed at 3.
    for (word, asked, expected) in [
        ("eos", 20, Status::Completed),
        ("eos", 2, Status::Completed),
        ("unknown", 20, Status::Completed),
        ("unknown", 2, Status::Absorbed),
        ("", 2, Status::Absorbed),
    ] {
        for owner in [Owner::Unknown, Owner::Idle] {
            let thread = fold(history(word, asked), owner);
            let receipt = thread.receipt(&TurnId::new("p").unwrap()).unwrap();
            assert_eq!(receipt.completion.status, expected, "{word:?}, {asked}");
            let gap = Gap::UnknownFinish { message: id("a"), word: word.to_owned() };
            assert_eq!(receipt.gaps.contains(&gap), expected == Status::Completed);
        }
    }
}

#[test]
fn f3_a_stop_with_a_tool_call_goes_on() {
    let mut first = closed("a", 2, "p", Finish::Stop);
    if let Body::Answer(answer) = &mut first.body {
        answer.tools = Tools { closed: 1, client: 1, ..Tools::default() };
    }
    check([prompt("p", 1), first.clone()], Owner::Unknown, &[("p", Status::Pending)]);
    let second = closed("b", 4, "p", Finish::Stop);
    check([prompt("p", 1), first, second], Owner::Unknown, &[("p", Status::Completed)]);
}

#[test]
fn a_run_that_ended_is_announced_only_when_its_owner_is_not_busy() {
    let history = || [prompt("p", 1), closed("a", 2, "p", Finish::Stop)];
    check(history(), Owner::Busy, &[("p", Status::Pending)]);
    check(history(), Owner::Idle, &[("p", Status::Completed)]);
    check(history(), Owner::Unknown, &[("p", Status::Completed)]);
}

#[test]
fn f1_a_dangling_parent_keeps_its_usage_in_an_orphan_group() {
    let thread = fold([closed("a", 2, "gone", Finish::Stop)], Owner::Idle);
    let [receipt] = thread.receipts().try_into().unwrap();
    assert_eq!((receipt.kind, receipt.turn.as_str()), (Kind::Orphan, "gone"));
    assert_eq!(receipt.usage.input.value(), Some(10));
    assert_eq!(receipt.gaps, [Gap::DanglingParent { message: id("a") }]);
}

#[test]
fn f1_compaction_loops_belong_to_the_request_that_drives_the_run() {
    let mut history = vec![prompt("p", 1), closed("a0", 2, "p", Finish::ToolCalls)];
    for n in 1..=50 {
        let at = n * 10;
        let (compaction, summary) = (format!("c{n}"), format!("s{n}"));
        let (go_on, answer) = (format!("g{n}"), format!("a{n}"));
        history.push(generated(&compaction, at, Generated::Compaction));
        let mut summary = closed(&summary, at + 2, &compaction, Finish::Stop);
        if let Body::Answer(answer) = &mut summary.body {
            answer.role = AnswerRole::Summary;
        }
        history.push(summary);
        history.push(generated(&go_on, at + 4, Generated::Continue));
        history.push(closed(&answer, at + 6, &go_on, Finish::ToolCalls));
    }
    history.push(closed("end", 1_000, "g50", Finish::Stop));
    for order in [history.clone(), history.into_iter().rev().collect()] {
        let thread = fold(order, Owner::Idle);
        let [receipt] = thread.receipts().try_into().unwrap();
        assert_eq!(receipt.turn, TurnId::new("p").unwrap());
        assert_eq!((receipt.attempts, receipt.usage.calls), (1, 102));
        assert_eq!(receipt.completion.status, Status::Completed);
    }
}

#[test]
fn f1_an_unmarked_replay_after_an_overflow_belongs_to_its_request() {
    let mut refused = closed("a", 2, "p", Finish::Stop);
    if let Body::Answer(answer) = &mut refused.body {
        answer.calls.clear();
        answer.finish = None;
        answer.ending = Ending::Failed(Failure { name: "Overflow".into(), message: "".into() });
    }
    let history = [
        prompt("p", 1),
        refused,
        generated("c", 3, Generated::OverflowCompaction),
        summary_until(5),
        saying_the_same("again", 6),
        closed("b", 7, "again", Finish::Stop),
        // Said again by the client, later: a request of its own.
        saying_the_same("later", 9),
        closed("d", 10, "later", Finish::Stop),
    ];
    let thread = fold(history, Owner::Idle);
    let expected = [("p".to_owned(), Status::Completed), ("later".to_owned(), Status::Completed)];
    assert_eq!(statuses(&thread), expected);
}

/// What was asked while the summary was made stands before the replay, and is answered under it.
#[test]
fn f1_a_prompt_queued_during_an_overflow_summary_is_absorbed_by_the_replay() {
    let history = [
        prompt("p", 1),
        closed("a", 2, "p", Finish::ToolCalls),
        generated("c", 3, Generated::OverflowCompaction),
        summary_until(10),
        prompt("queued", 6),
        saying_the_same("again", 11),
        closed("b", 12, "again", Finish::Stop),
        saying_the_same("twice", 30),
        closed("d", 31, "twice", Finish::Stop),
    ];
    // Newest first too, as a client reads pages: the replay is seen before its request.
    for order in [history.to_vec(), history.iter().rev().cloned().collect()] {
        let receipts = fold(order, Owner::Idle).receipts();
        let told: Vec<_> = receipts
            .iter()
            .map(|receipt| (receipt.turn.as_str(), receipt.completion.status, receipt.usage.calls))
            .collect();
        let expected = [
            ("p", Status::Completed, 3),
            ("queued", Status::Absorbed, 0),
            ("twice", Status::Completed, 1),
        ];
        assert_eq!(told, expected);
        assert_eq!(receipts[0].generated, [id("c"), id("again")]);
        assert_eq!(receipts[1].completion.absorbed_by, TurnId::new("p").ok());
    }
}

/// A prompt that says the same before the summary was closed is none of the harness's.
#[test]
fn f1_a_prompt_that_says_the_same_during_the_summary_is_no_replay() {
    let history = [
        prompt("p", 1),
        closed("a", 2, "p", Finish::ToolCalls),
        generated("c", 3, Generated::OverflowCompaction),
        summary_until(10),
        saying_the_same("same", 6),
        saying_the_same("again", 11),
        closed("b", 12, "again", Finish::Stop),
    ];
    let expected = [("p", Status::Completed), ("same", Status::Absorbed)];
    check(history.clone(), Owner::Idle, &expected);
    check(history.into_iter().rev(), Owner::Idle, &expected);
}

/// An answer that is seen with an earlier time stands there, whichever time was seen first.
#[test]
fn l11_an_answer_keeps_the_earliest_of_its_times() {
    let seen = |at| closed("a", at, "p", Finish::Stop);
    let late = [prompt("p", 1), prompt("q", 5), seen(2), seen(9)];
    let places = |order: Vec<Message>| {
        let thread = fold(order, Owner::Idle);
        let receipts = thread.receipts();
        receipts.iter().map(|receipt| receipt.completion.started_at).collect::<Vec<_>>()
    };
    assert_eq!(places(late.to_vec()), [Some(UnixMillis(2)), None]);
    assert_eq!(places(late.into_iter().rev().collect()), [Some(UnixMillis(2)), None]);
}

/// Where a clock stepped back inside a run, its end is told by the answer that was made last.
#[test]
fn f6_an_error_never_stands_beside_another_status() {
    let failed = |name: &str, at, completed| {
        let mut message = closed(name, at, "p", Finish::Stop);
        if let Body::Answer(answer) = &mut message.body {
            answer.finish = None;
            answer.ending = Ending::Failed(Failure { name: name.into(), message: "m".into() });
            answer.completed = Some(UnixMillis(completed));
        }
        message
    };
    let mut stop = closed("stop", 10, "p", Finish::Stop);
    if let Body::Answer(answer) = &mut stop.body {
        answer.completed = Some(UnixMillis(20));
    }
    let told = |history: Vec<Message>| {
        let [receipt] = fold(history, Owner::Idle).receipts().try_into().unwrap();
        let end = receipt.completion;
        let error = end.failure.map(|failure| failure.name.to_string());
        (end.status, error, end.completed_at)
    };
    // It stands last, and was closed long before the other.
    let early = failed("early", 100, 5);
    let found = told(vec![prompt("p", 1), stop.clone(), early]);
    assert_eq!(found, (Status::Completed, None, Some(UnixMillis(20))));
    let mut stepped = stop;
    stepped.created = Some(UnixMillis(100));
    let found = told(vec![prompt("p", 1), failed("late", 10, 30), stepped]);
    assert_eq!(found, (Status::Failed, Some("late".to_owned()), Some(UnixMillis(30))));
}

#[test]
fn f5_a_settled_attempt_keeps_its_status_and_notes_the_contradiction() {
    let mut thread = fold([prompt("p", 1), closed("a", 2, "p", Finish::Stop)], Owner::Idle);
    let first = thread.take_facts();
    assert_eq!(completions(&first), [Status::Completed]);
    let mut failed = closed("a", 2, "p", Finish::Stop);
    if let Body::Answer(answer) = &mut failed.body {
        answer.ending = Ending::Failed(Failure { name: "Late".into(), message: "".into() });
    }
    thread.observe(Observation::Message(failed.clone()));
    let facts = thread.take_facts();
    assert_eq!(completions(&facts), [Status::Failed]);
    assert!(
        facts
            .iter()
            .any(|fact| { fact.body == FactBody::Gap(Gap::Contradiction { message: id("a") }) })
    );
    assert_eq!(statuses(&thread), [("p".to_owned(), Status::Completed)]);
    thread.observe(Observation::Message(failed));
    assert_eq!(thread.take_facts(), []);
}

/// Found by fuzzing: a sum that went beyond what can be kept comes back exactly.
#[test]
fn u3_a_sum_of_costs_depends_on_no_order() {
    let call = |cost: &str| Counters { cost: Usd::parse(cost), ..Counters::UNKNOWN };
    let of = |costs: &[&str]| {
        let mut usage = Usage::default();
        costs.iter().for_each(|cost| usage.add(&call(cost)));
        usage
    };
    let most = "79228162514264337593543950335";
    let (all, turned) = (of(&[most, "3", "0.000104"]), of(&["0.000104", "3", most]));
    assert_eq!((all, all.cost()), (turned, None));
    let mut rest = all;
    rest.unmerge(&of(&[most]));
    assert_eq!((rest.cost(), rest), (Usd::parse("3.000104"), of(&["3", "0.000104"])));
}

/// Found by fuzzing: the turn of a prompt is made only after its gaps were noted.
#[test]
fn l1_what_does_not_fit_in_a_prompt_is_said_once() {
    let mut timeless = prompt("p", 1);
    timeless.created = None;
    let mut thread = fold([timeless.clone()], Owner::Idle);
    let gap = FactBody::Gap(Gap::MissingTime { message: id("p") });
    let said = thread.take_facts().into_iter().filter(|fact| fact.body == gap).count();
    assert_eq!(said, 1);
    thread.observe(Observation::Message(timeless));
    assert_eq!(thread.take_facts(), []);
}

fn completions(facts: &[Fact]) -> Vec<Status> {
    facts
        .iter()
        .filter_map(|fact| match &fact.body {
            FactBody::Completed(completion) => Some(completion.status),
            FactBody::Admitted { .. }
            | FactBody::Started { .. }
            | FactBody::Call { .. }
            | FactBody::Child { .. }
            | FactBody::Generated { .. }
            | FactBody::Gap(_) => None,
        })
        .collect()
}

/// The clock steps back an hour between two turns: the second prompt is stored and never run.
#[test]
fn f2_a_prompt_after_a_clock_step_is_not_absorbed_by_the_turn_before_it() {
    let mut late = prompt("late", 1);
    if let Body::Prompt(prompt) = &mut late.body {
        prompt.clock = Clock::SteppedBack;
    }
    let history = [prompt("p", 100), closed("a", 101, "p", Finish::Stop), late];
    let expected = [("late", Status::Unanswered), ("p", Status::Completed)];
    check(history.clone(), Owner::Idle, &expected);
    check(history.into_iter().rev(), Owner::Idle, &expected);
}

/// Forgetting bounds memory; what is forgotten is neither changed nor said again.
#[test]
fn forgotten_turns_stay_forgotten() {
    let history: Vec<Message> = (0..100)
        .flat_map(|n| {
            let (p, a) = (format!("p{n}"), format!("a{n}"));
            [prompt(&p, n * 10 + 1), closed(&a, n * 10 + 2, &p, Finish::Stop)]
        })
        .collect();
    let mut thread = fold(history.clone(), Owner::Idle);
    assert_eq!(completions(&thread.take_facts()).len(), 100);
    thread.forget_settled(3);
    assert_eq!(thread.receipts().len(), 3);
    for message in history {
        thread.observe(Observation::Message(message));
    }
    assert_eq!(thread.take_facts(), []);
    assert_eq!(thread.receipts().len(), 3);
}

/// Found by fuzzing: an earlier sighting shows a child that the later one no longer does.
#[test]
fn l11_a_child_stays_a_child_in_any_order() {
    let early = {
        let mut answer = open("a", 2, "p", CallUsage::Open);
        answer.children = vec![ThreadId::new("child").unwrap()];
        message("a", 2, answer)
    };
    let late = closed("a", 2, "p", Finish::Stop);
    for order in [[early.clone(), late.clone()], [late, early]] {
        let [receipt] = fold(order, Owner::Idle).receipts().try_into().unwrap();
        assert_eq!(receipt.children, [ThreadId::new("child").unwrap()]);
    }
}

/// Found by fuzzing: an answer without a parent, too, says whose run a compaction does not follow.
#[test]
fn l11_an_answer_without_a_parent_ends_the_way_in_any_order() {
    let mut orphan = closed("o", 8, "p", Finish::Stop);
    if let Body::Answer(answer) = &mut orphan.body {
        answer.parent = None;
    }
    let compaction = generated("c", 15, Generated::Compaction);
    let run = || [prompt("p", 1), closed("a", 2, "p", Finish::ToolCalls)].into_iter();
    let before = run().chain([orphan.clone(), compaction.clone()]);
    let after = run().chain([compaction, orphan]);
    let expected = [("p", Status::Lost), ("c", Status::Unanswered)];
    check(before, Owner::Idle, &expected);
    check(after, Owner::Idle, &expected);
}

/// Found by fuzzing: what absorbed a request may be forgotten before the request is.
#[test]
fn an_absorbed_request_stays_absorbed_when_its_answerer_is_forgotten() {
    let mut answerer = prompt("p", 1);
    answerer.created = None;
    if let Body::Prompt(prompt) = &mut answerer.body {
        prompt.clock = Clock::SteppedBack;
    }
    let history = [prompt("queued", 5), answerer, closed("a", 7, "p", Finish::Stop)];
    let mut thread = fold(history, Owner::Idle);
    let _facts = thread.take_facts();
    thread.forget_settled(1);
    let queued = TurnId::new("queued").unwrap();
    assert_eq!(
        thread.receipt(&queued).map(|receipt| receipt.completion.status),
        Some(Status::Absorbed)
    );
}

/// Sums the usage of a whole thread, however it is attributed.
pub(super) fn total(thread: &Thread) -> Usage {
    let mut usage = thread.unattributed();
    for receipt in thread.receipts() {
        usage.merge(&receipt.usage);
    }
    usage
}
