//! How do a receipt, a recovery and a watch look? Over fixed values.

use harness::{Ask, AskBody, AskId, Choice, Place, Provider, Question, ReachError, Report};
use receipts::{
    Completion, Counters, ExecId, Fact, FactBody, Failure, Finish, Gap, InputKey, Kind, MessageId,
    Output, Owner, RequestId, SessionId, Status, ThreadId, TurnId, UnixMillis, Usage, Usd,
};
use recorder::{Recovered, Told};
use store::{
    Delivery, Dispatch, Generation, Intent, Labels, Origin, ProviderGeneration, Purpose, Reply,
    Seq, TurnReport,
};

use super::{
    ask_human, driven_human, driven_json, recovered_human, recovered_json, watched_human,
    watched_json,
};
use crate::{
    print::style::{Paint, Style},
    verb::{
        recover::Outcome,
        watch::{Line, What},
    },
};

fn style(width: Option<usize>) -> Style {
    Style { width, paint: Paint::Plain, zone: "UTC".parse().unwrap() }
}

fn session() -> SessionId {
    SessionId::new("tidy").unwrap()
}

fn thread() -> ThreadId {
    ThreadId::new("ses_1").unwrap()
}

fn turn() -> TurnId {
    TurnId::new("msg_1").unwrap()
}

fn request(name: &str) -> RequestId {
    RequestId::new(name).unwrap()
}

fn answer() -> MessageId {
    MessageId::new("msg_2").unwrap()
}

fn origin() -> Origin {
    Origin {
        input: Some(InputKey::new("task-42").unwrap()),
        exec: ExecId::new("exec_1").unwrap(),
        generation: Generation(3),
        provider_generation: ProviderGeneration(1),
        labels: Labels::new([("task", "42")]).unwrap(),
    }
}

fn intent(delivery: Delivery) -> Intent {
    Intent {
        request: request("req_1"),
        session: session(),
        thread: thread(),
        turn: Some(turn()),
        purpose: Purpose::Prompt,
        reply: Reply::Expected,
        origin: origin(),
        created_at: UnixMillis(1_764_560_039_000),
        seq: Seq(4),
        delivery,
        admitted: None,
    }
}

fn counters() -> Counters {
    Counters {
        input: Some(1_234),
        output: Some(56),
        cost: Usd::parse("0.0021"),
        ..Counters::UNKNOWN
    }
}

fn completion(status: Status) -> Completion {
    Completion {
        message: Some(answer()),
        status,
        failure: None,
        finish: Some(Finish::Stop),
        absorbed_by: None,
        started_at: Some(UnixMillis(1_764_560_040_000)),
        completed_at: Some(UnixMillis(1_764_560_044_200)),
        output: Some(Output::Text("All is tidy.\nNothing is left.".into())),
    }
}

fn report(completion: Completion, calls: &[Counters]) -> TurnReport {
    let mut usage = Usage::default();
    calls.iter().for_each(|call| usage.add(call));
    TurnReport {
        kind: None,
        admitted_at: None,
        thread: thread(),
        turn: turn(),
        first: Seq(5),
        request: Some(request("req_1")),
        origin: Some(origin()),
        status: completion.status,
        started_at: completion.started_at,
        started: Some(Seq(6)),
        completion: Some(completion),
        usage: (!calls.is_empty()).then_some(usage),
        children: Vec::new(),
        gaps: Vec::new(),
        contradictions: 0,
    }
}

fn completed() -> TurnReport {
    report(completion(Status::Completed), &[counters()])
}

/// A turn that failed in the middle, with everything that a receipt can tell.
fn failed() -> TurnReport {
    let failure = Failure {
        name: "APIError".into(),
        message: "the provider is \u{1b}[31moverloaded\u{1b}[0m, and says so at some length".into(),
    };
    let completion = Completion {
        failure: Some(failure),
        output: Some(Output::Partial("All is".into())),
        ..completion(Status::Failed)
    };
    let gaps = vec![Gap::NeverClosed { message: answer() }];
    TurnReport { gaps, ..report(completion, &[counters(), Counters::UNKNOWN]) }
}

#[test]
fn a_receipt_says_how_the_turn_ended_and_what_it_used() {
    let truncated = Completion { finish: Some(Finish::Length), ..completion(Status::Completed) };
    let absorbed = Completion {
        absorbed_by: Some(TurnId::new("msg_9").unwrap()),
        output: None,
        ..completion(Status::Absorbed)
    };
    let told =
        |report: &TurnReport, width| driven_human(&session(), (None, Some(report)), &style(width));
    let told = [
        told(&completed(), None),
        told(&report(truncated, &[counters()]), None),
        told(&report(absorbed, &[]), None),
        told(&failed(), None),
        told(&failed(), Some(60)),
    ];
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn without_a_receipt_it_is_told_what_became_of_the_prompt() {
    let dispatched = |dispatch| Some(intent(Delivery::Dispatched(dispatch)));
    let why = || "POST /session/ses_1/prompt_async: no answer within 10000 ms".into();
    let told = [
        dispatched(Dispatch::NotSent { why: why() }),
        dispatched(Dispatch::Uncertain { why: why() }),
        dispatched(Dispatch::Sent),
        Some(intent(Delivery::Intended)),
    ]
    .map(|intent| driven_human(&session(), (intent.as_ref(), None), &style(None)));
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn a_driven_turn_is_one_object() {
    let sent = intent(Delivery::Dispatched(Dispatch::Sent));
    let why = "POST /session/ses_1/prompt_async: cannot be reached".into();
    let not_sent = intent(Delivery::Dispatched(Dispatch::NotSent { why }));
    let told = [
        driven_json(&session(), Some(&sent), Some(&completed())),
        driven_json(&session(), Some(&not_sent), None),
    ];
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn a_recovery_says_what_is_new_and_what_stays_open() {
    let found = |owner, appended, pending| Recovered {
        session: session(),
        owner,
        appended,
        admitted: Vec::new(),
        not_sent: Vec::new(),
        open: Vec::new(),
        pending,
    };
    let settled = Recovered {
        admitted: vec![request("req_1"), request("req_2")],
        not_sent: vec![request("req_3")],
        open: vec![request("req_4")],
        ..found(Owner::Busy, 1_200, 2)
    };
    let outcomes = [
        Ok(found(Owner::Unknown, 0, 0)),
        Ok(found(Owner::Unknown, 0, 1)),
        Ok(found(Owner::Idle, 1, 0)),
        Ok(found(Owner::Dead, 3, 0)),
        Ok(settled),
        Err("GET /session/ses_1/message: no answer within 10000 ms".to_owned()),
    ]
    .map(|found| Outcome { session: session(), found });
    let human = outcomes.iter().map(|outcome| recovered_human(outcome, &style(None)));
    let json = outcomes.iter().map(recovered_json);
    insta::assert_snapshot!(human.chain(json).collect::<Vec<_>>().join("\n"));
}

fn asks() -> [Ask; 2] {
    let ask = |id: &str, body| Ask {
        id: AskId::new(id).unwrap(),
        thread: thread(),
        message: Some(answer()),
        body,
    };
    let permission =
        AskBody::Permission { permission: "bash".into(), patterns: vec!["rm -r target".into()] };
    let choice = |label: &str, description: &str| Choice {
        label: label.into(),
        description: description.into(),
    };
    let question = Question {
        text: "Which branch?".into(),
        choices: vec![choice("main", "what is released"), choice("next", "what is to come")],
        multiple: false,
    };
    [ask("per_1", permission), ask("que_1", AskBody::Questions(vec![question]))]
}

#[test]
fn what_is_asked_is_listed_with_its_choices() {
    insta::assert_snapshot!(asks().iter().map(ask_human).collect::<String>());
}

fn facts() -> Vec<Fact> {
    let message = answer();
    let at = Some(UnixMillis(1_764_560_040_000));
    let call = FactBody::Call {
        key: receipts::CallKey::new("msg_2").unwrap(),
        message: message.clone(),
        at,
        counters: counters(),
        provider: Some("fake".into()),
        model: Some("m1".into()),
    };
    let bodies = [
        FactBody::Admitted { kind: Kind::Prompt, at },
        FactBody::Started { message, at },
        call,
        FactBody::Completed(completion(Status::Completed)),
    ];
    bodies.into_iter().map(|body| Fact { turn: turn(), body }).collect()
}

#[test]
fn a_watch_tells_what_is_recorded_and_who_is_reached() {
    let provider = Provider {
        version: "1.18.33".into(),
        endpoint: "http://127.0.0.1:4096".into(),
        process: None,
    };
    let place = Place::new("GET /event");
    let [permission, questions] = asks();
    let told = [
        Told::Live(Report::Connected(provider)),
        Told::Recorded { session: session(), thread: thread(), facts: facts() },
        Told::Live(Report::Asked(permission)),
        Told::Live(Report::Asked(questions)),
        Told::CaughtUp,
        Told::Unread {
            thread: Some(thread()),
            error: ReachError::TimedOut { place, after_ms: 10_000 },
        },
        Told::Live(Report::Disconnected { why: "the stream ended".into() }),
    ];
    let mut what: Vec<What> = told.into_iter().map(What::Told).collect();
    what.push(What::NotReached("cannot be reached: connection refused".to_owned()));
    let lines: Vec<Line> = what
        .into_iter()
        .map(|what| Line { url: "http://127.0.0.1:4096".to_owned(), what })
        .collect();
    let now = UnixMillis(1_764_560_045_000);
    let human = |width| lines.iter().flat_map(move |line| watched_human(line, now, &style(width)));
    let json = lines.iter().flat_map(watched_json);
    insta::assert_snapshot!(
        human(None).chain(human(Some(72))).chain(json).collect::<Vec<_>>().join("\n")
    );
}
