//! Recovery: what a fold of the whole history adds to what was recorded before a crash (L10, L11).

use receipts::{
    Answer, AnswerRole, Author, Body, Call, CallKey, CallUsage, Clock, Ending, Fact, Failure,
    Finish, Kind, Lineage, Message, MessageId, Observation, Owner, Prompt, SessionId, Status,
    Thread, ThreadId, Tools, UnixMillis,
};

use super::bench::{Bench, append, id, key, sum, tokens};
use crate::TurnReport;

fn message(name: &str, at: i64, body: Body) -> Message {
    Message {
        id: id::<MessageId>(name),
        created: Some(UnixMillis(at)),
        lineage: Lineage::Own,
        body,
        gaps: Vec::new(),
    }
}

fn prompt(name: &str, at: i64) -> Message {
    let prompt = Prompt {
        kind: Kind::Prompt,
        author: Author::Client,
        content: None,
        parts: 1,
        clock: Clock::Plausible,
    };
    message(name, at, Body::Prompt(prompt))
}

/// An answer with one call, as it begins.
fn begun(name: &str, at: i64, parent: &str) -> (String, i64, Answer) {
    let call = Call { key: id::<CallKey>(&format!("{name}/1")), usage: CallUsage::Open };
    let answer = Answer {
        parent: Some(id(parent)),
        completed: None,
        finish: None,
        ending: Ending::Plain,
        tools: Tools::default(),
        role: AnswerRole::Answer,
        calls: vec![call],
        text: None,
        provider: Some("provider".into()),
        model: Some("model".into()),
        children: Vec::new(),
        parts: 1,
    };
    (name.to_owned(), at, answer)
}

fn open((name, at, answer): (String, i64, Answer)) -> Message {
    message(&name, at, Body::Answer(answer))
}

fn closed((name, at, mut answer): (String, i64, Answer), finish: Finish, input: u64) -> Message {
    answer.completed = Some(UnixMillis(at + 1));
    answer.tools.client = u32::from(finish == Finish::ToolCalls);
    answer.tools.closed = answer.tools.client;
    answer.finish = Some(finish);
    answer.text = Some(name.as_str().into());
    for call in &mut answer.calls {
        call.usage = CallUsage::Known(tokens(input, 5));
    }
    message(&name, at, Body::Answer(answer))
}

fn failed((name, at, mut answer): (String, i64, Answer)) -> Message {
    answer.completed = Some(UnixMillis(at + 1));
    answer.ending =
        Ending::Failed(Failure { name: "APIError".into(), message: "overloaded".into() });
    for call in &mut answer.calls {
        call.usage = CallUsage::Unknown;
    }
    message(&name, at, Body::Answer(answer))
}

/// What the history shows, one look after the other.
fn looks() -> Vec<Vec<Message>> {
    let (ours, theirs) = (prompt("ours", 1), prompt("theirs", 8));
    let first = closed(begun("m1", 2, "ours"), Finish::ToolCalls, 20);
    let last = closed(begun("m2", 4, "ours"), Finish::Stop, 10);
    vec![
        vec![ours.clone()],
        vec![ours.clone(), open(begun("m1", 2, "ours"))],
        vec![ours.clone(), first.clone()],
        vec![ours.clone(), first.clone(), open(begun("m2", 4, "ours"))],
        vec![ours.clone(), first.clone(), last.clone()],
        vec![ours.clone(), first.clone(), last.clone(), theirs.clone()],
        vec![ours, first, last, theirs, failed(begun("m3", 9, "theirs"))],
    ]
}

fn look(thread: &mut Thread, messages: Vec<Message>, owner: Owner) -> Vec<Fact> {
    thread.observe(Observation::Owner(owner));
    for message in messages {
        thread.observe(Observation::Message(message));
    }
    thread.take_facts()
}

/// Folds the whole history, of which nothing is remembered.
fn recovered() -> Vec<Fact> {
    let mut thread = Thread::new(id::<ThreadId>("s"));
    look(&mut thread, looks().pop().unwrap_or_default(), Owner::Idle)
}

fn set_up(bench: &Bench<'_>) -> SessionId {
    let session = bench.session("s");
    bench.capture(&session, "a");
    let driver = bench.drive(&session, "e");
    bench.intend(&session, "ours", &driver);
    session
}

/// What two ledgers of one history have in common: all but the numbers of events.
fn known(bench: &Bench<'_>, session: &SessionId) -> Vec<TurnReport> {
    let mut turns = bench.read(|ledger| ledger.turns(session));
    for turn in &mut turns {
        (turn.first, turn.started) = (crate::Seq::START, turn.started.map(|_| crate::Seq::START));
    }
    turns
}

/// L10: whenever a recorder dies, recovery ends in the ledger of one that did not; twice changes
/// nothing.
pub fn recovery_ends_where_no_crash_would_have(bench: &mut Bench<'_>) {
    let session = set_up(bench);
    let mut thread = Thread::new(id::<ThreadId>("s"));
    for messages in looks() {
        bench.append(&session, &look(&mut thread, messages, Owner::Unknown));
    }
    bench.append(&session, &look(&mut thread, Vec::new(), Owner::Idle));
    let expected = known(bench, &session);
    let statuses: Vec<_> = expected.iter().map(|turn| (turn.turn.as_str(), turn.status)).collect();
    assert_eq!(statuses, [("ours", Status::Completed), ("theirs", Status::Failed)]);
    let input = bench.read(|ledger| ledger.input_usage(&key("a")));
    assert_eq!(input.usage, sum(&[tokens(20, 5), tokens(10, 5)]));
    for crash in 0..=looks().len() {
        let mut bench = bench.another();
        let session = set_up(&bench);
        let mut thread = Thread::new(id::<ThreadId>("s"));
        for messages in looks().into_iter().take(crash) {
            bench.append(&session, &look(&mut thread, messages, Owner::Unknown));
        }
        bench.reopen();
        bench.append(&session, &recovered());
        assert_eq!(known(&bench, &session), expected, "after {crash} looks");
        bench.write_nothing(|ledger| append(ledger, &session, &recovered()));
        let kinds = bench.kinds(&session);
        let count = |kind: &str| kinds.iter().filter(|each| *each == kind).count();
        assert_eq!((count("started"), count("completed"), count("contradicted")), (2, 2, 0));
    }
}

/// L11: looks that come late, twice or backwards end in the same ledger.
pub fn the_order_of_looks_does_not_matter(bench: &mut Bench<'_>) {
    let end = |looks: Vec<Vec<Message>>| {
        let bench = bench.another();
        let session = set_up(&bench);
        for messages in looks {
            // Each is folded by another recorder, which remembers nothing.
            let mut thread = Thread::new(id::<ThreadId>("s"));
            bench.append(&session, &look(&mut thread, messages, Owner::Unknown));
        }
        bench.append(&session, &recovered());
        known(&bench, &session)
    };
    let backwards: Vec<_> = looks().into_iter().rev().collect();
    let twice: Vec<_> = looks().into_iter().chain(looks()).collect();
    let expected = end(looks());
    assert_eq!(end(backwards), expected);
    assert_eq!(end(twice), expected);
    assert_eq!(end(Vec::new()), expected);
}
