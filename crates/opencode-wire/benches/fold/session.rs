//! What is a session of any length in which one answer changes again and again?

use receipts::{
    Answer, AnswerRole, Author, Body, Call, CallKey, CallUsage, Clock, Counters, Ending, Fact,
    Finish, Generated, Kind, Lineage, Message, MessageId, Observation, Prompt, Thread, Tools,
    UnixMillis,
};

use super::recorded;

/// Turns of one prompt and one answer each.
pub(super) struct Session {
    thread: Thread,
    changes: u32,
}

impl Session {
    /// Makes a session of so many messages, whose facts were taken.
    pub(super) fn with(messages: usize) -> Self {
        let mut thread = Thread::new(recorded::thread());
        for turn in 0..messages / 2 {
            thread.observe(Observation::Message(prompt(turn)));
            thread.observe(Observation::Message(answer(turn, 1)));
        }
        let facts = thread.take_facts();
        assert!(facts.len() >= messages, "each message makes a fact, {} were made", facts.len());
        Self { thread, changes: 1 }
    }

    /// Observes the answer of a turn with one token more, and takes what became known by it.
    pub(super) fn change(&mut self, turn: usize) -> Vec<Fact> {
        self.changes += 1;
        self.thread.observe(Observation::Message(answer(turn, self.changes)));
        let facts = self.thread.take_facts();
        assert_eq!(facts.len(), 1, "the call used more");
        facts
    }
}

/// In which order a history is seen.
#[derive(Debug, Clone, Copy)]
pub(super) enum Order {
    /// As it was made.
    OldestFirst,
    /// As a client pages back.
    NewestFirst,
}

/// One request whose run is compacted so many times: each time the harness puts in a prompt for a
/// summary and one to go on.
pub(super) fn loops(count: usize, order: Order) -> Vec<Observation> {
    let mut messages = vec![prompt(0), answer(0, 1)];
    for turn in 1..=count {
        let at = turn * 10;
        let (compaction, go_on) = (format!("msg_c{turn}"), format!("msg_g{turn}"));
        let summary = (format!("msg_s{turn}"), AnswerRole::Summary, Finish::Stop);
        let step = (format!("msg_t{turn}"), AnswerRole::Answer, Finish::ToolCalls);
        messages.push(generated(&compaction, at, Generated::Compaction));
        messages.push(step_of(&compaction, at + 2, summary));
        messages.push(generated(&go_on, at + 4, Generated::Continue));
        messages.push(step_of(&go_on, at + 6, step));
    }
    let messages = messages.into_iter().map(Observation::Message);
    match order {
        Order::OldestFirst => messages.collect(),
        Order::NewestFirst => messages.rev().collect(),
    }
}

fn generated(name: &str, at: usize, why: Generated) -> Message {
    let body = Body::Prompt(Prompt {
        kind: Kind::Prompt,
        author: Author::Harness(why),
        content: Some(1),
        parts: 1,
        clock: Clock::Plausible,
    });
    message(name.to_owned(), at, body)
}

fn step_of(parent: &str, at: usize, (name, role, finish): (String, AnswerRole, Finish)) -> Message {
    let mut step = answer(0, 1);
    if let Body::Answer(answer) = &mut step.body {
        answer.parent = MessageId::new(parent).ok();
        answer.completed = i64::try_from(at + 1).ok().map(UnixMillis);
        answer.role = role;
        answer.finish = Some(finish);
        for call in &mut answer.calls {
            call.key = CallKey::new(&name).expect("the key is sound");
        }
    }
    message(name, at, step.body)
}

fn message(name: String, at: usize, body: Body) -> Message {
    Message {
        id: MessageId::new(name).expect("the id is sound"),
        created: i64::try_from(at).ok().map(UnixMillis),
        lineage: Lineage::Own,
        body,
        gaps: Vec::new(),
    }
}

fn prompt(turn: usize) -> Message {
    let body = Body::Prompt(Prompt {
        kind: Kind::Prompt,
        author: Author::Client,
        content: Some(0),
        parts: 1,
        clock: Clock::Plausible,
    });
    message(format!("msg_p{turn}"), turn * 2, body)
}

fn answer(turn: usize, tokens: u32) -> Message {
    let name = format!("msg_a{turn}");
    let counters = Counters { input: Some(u64::from(tokens)), ..Counters::UNKNOWN };
    let call = Call {
        key: CallKey::new(&name).expect("the key is sound"),
        usage: CallUsage::Known(counters),
    };
    let body = Body::Answer(Answer {
        parent: MessageId::new(format!("msg_p{turn}")).ok(),
        completed: i64::try_from(turn * 2 + 1).ok().map(UnixMillis),
        finish: Some(Finish::Stop),
        ending: Ending::Plain,
        tools: Tools::default(),
        role: AnswerRole::Answer,
        calls: vec![call],
        text: Some("done".into()),
        provider: None,
        model: None,
        children: Vec::new(),
        parts: 3,
    });
    message(name, turn * 2 + 1, body)
}
