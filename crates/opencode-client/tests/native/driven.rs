//! Does the client read, send to and follow a real OpenCode, and count what the model served?
//!
//! Starting a server takes seconds, so the first test puts many scenarios to one of them, each in a
//! session of its own.

use harness::{
    Answer, AskBody, Dispatch, Harness as _, NewThread, Pass, PromptMode, ReachError, Report,
    Reports, Scope, ThreadInfo, Verdict,
};
use opencode_client::{Config, Credentials, OpenCode};
use receipts::{MessageId, Output, Owner, Status, Thread, ThreadId};
use testkit::model::{Gate, Key, Reply, Usage};

use crate::bench::{self, Bench, follow, next, outcomes, prompt, read, tally, turn};

/// Asks for an object with a number.
const STRUCTURED: &str = r#""format":{"type":"json_schema","schema":{"type":"object","properties":{"answer":{"type":"number"}},"required":["answer"]}},"#;

#[tokio::test]
async fn a_real_opencode_is_driven_read_and_followed() {
    let bench = Bench::start();
    let (client, provider) = OpenCode::attach(&bench.config()).await.unwrap();
    assert_eq!(&*provider.version, testkit::agents::OPENCODE_VERSION);
    assert_eq!(provider.endpoint.as_ref(), bench.server.url());
    let process = provider.process.map(|process| process.pid);
    assert_eq!(process, cfg!(target_os = "linux").then(|| bench.server.id()));

    wrong_credentials_are_told(&bench).await;
    what_is_not_there_is_told(&client).await;

    let mut reports = client.subscribe(Scope::Everything).await.unwrap();
    assert_eq!(next(&mut *reports).await, Report::Connected(provider));
    sessions_are_made_and_listed(&bench, &client).await;
    a_turn_with_a_permission(&bench, &client, &mut *reports).await;
    a_permission_that_is_refused(&bench, &client, &mut *reports).await;
    a_question_that_is_answered(&bench, &client, &mut *reports).await;
    a_turn_with_a_subagent(&bench, &client).await;
    an_aborted_turn(&bench, &client, &mut *reports).await;
    a_prompt_without_a_reply(&bench, &client).await;
    a_session_that_poisons_reads(&bench, &client, &mut *reports).await;
    a_session_that_begins_poisoned(&bench, &client).await;
}

async fn wrong_credentials_are_told(bench: &Bench) {
    let wrong = Credentials::password("not the password");
    for config in
        [Config::new(&bench.server.url()), Config::new(&bench.server.url()).credentials(wrong)]
    {
        let error = OpenCode::attach(&config).await.unwrap_err();
        let expected = "GET /global/health: the password or user name was not accepted";
        assert_eq!(error.to_string(), expected);
        let client = OpenCode::new(&config).unwrap();
        let thread = ThreadId::new("ses_1").unwrap();
        let sent = prompt(&client, &thread, "hello", PromptMode::Turn).await.1;
        let is_told = matches!(&sent, Dispatch::NotSent(ReachError::Unauthorized { .. }));
        assert!(is_told, "{sent:?}");
    }
}

async fn what_is_not_there_is_told(client: &OpenCode) {
    let thread = ThreadId::new("ses_0000000000000000000000000").unwrap();
    let error = client.thread(&thread).await.unwrap_err();
    assert_eq!(error.to_string(), format!("GET /session/{thread}: not found"));
    let error = client.read_page(&thread, None).await.unwrap_err();
    assert_eq!(error.to_string(), format!("GET /session/{thread}: not found"));
}

async fn sessions_are_made_and_listed(bench: &Bench, client: &OpenCode) {
    let directory = bench.home.project().join("sub");
    std::fs::create_dir(&directory).unwrap();
    let directory = directory.to_str().unwrap();
    let new = NewThread { directory: Some(directory.into()), title: Some("a title".into()) };
    let Dispatch::Sent(made) = client.create_thread(&new, Pass::unfenced()).await else {
        panic!("no session was made");
    };
    let expected = ThreadInfo {
        thread: made.thread.clone(),
        parent: None,
        directory: new.directory.clone(),
        title: new.title.clone(),
        created: made.created,
    };
    assert!(made.created.is_some());
    assert_eq!(made, expected);
    // A client that did not make it is told the same.
    let other = OpenCode::new(&bench.config()).unwrap();
    assert_eq!(other.thread(&made.thread).await.unwrap(), expected);
    assert_eq!(other.children(&made.thread).await.unwrap(), []);
    assert_eq!(other.threads(Some(directory), 2).await.unwrap(), std::slice::from_ref(&expected));
    let Dispatch::Sent(newer) = client.create_thread(&new, Pass::unfenced()).await else {
        panic!("no second session was made");
    };
    assert_eq!(other.threads(Some(directory), 1).await.unwrap(), [newer]);
    assert_eq!(other.owner(&made.thread).await.unwrap(), Owner::Idle);
}

/// A tool, a permission for it, and an answer: two model calls.
async fn a_turn_with_a_permission(bench: &Bench, client: &OpenCode, reports: &mut dyn Reports) {
    let key = Key::new("tools");
    bench.model.script(
        &key,
        [
            Reply::tool("bash", r#"{"command":"echo hi","description":"says hi"}"#)
                .tool_calls(Usage::of(100, 20).cached(40)),
            Reply::new().and_reasoning("hm").and_text("done").stop(Usage::of(140, 9).reasoning(4)),
        ],
    );
    let thread = bench::thread(client).await;
    let request = turn(client, &thread, &key).await;
    let once = Answer::Permission(Verdict::Once);
    let followed = follow(client, reports, &thread, |ask| {
        let patterns = vec!["echo hi".into()];
        assert_eq!(ask.body, AskBody::Permission { permission: "bash".into(), patterns });
        once.clone()
    })
    .await;
    let [receipt] = &followed.receipts()[..] else { panic!("{followed:?}") };
    assert_eq!(receipt.turn.as_str(), request.as_str());
    assert_eq!(receipt.completion.status, Status::Completed);
    assert_eq!(receipt.completion.output, Some(Output::Text("done".into())));
    assert_eq!(receipt.gaps, []);
    assert_eq!(tally(&receipt.usage), bench.model.served_for(&key).iter().collect());
    // What was followed is what is read back, page by page.
    assert_eq!(read(client, &thread).await.receipts(), followed.receipts());
}

async fn a_permission_that_is_refused(bench: &Bench, client: &OpenCode, reports: &mut dyn Reports) {
    let key = Key::new("refused");
    let tool = Reply::tool("bash", r#"{"command":"echo no","description":"says no"}"#);
    bench.model.script(&key, [tool.tool_calls(Usage::of(50, 5))]);
    let thread = bench::thread(client).await;
    turn(client, &thread, &key).await;
    let reject = Answer::Permission(Verdict::Reject);
    let followed = follow(client, reports, &thread, |_| reject.clone()).await;
    assert_eq!(outcomes(&followed), [(Status::Stopped, None)]);
    assert_eq!(read(client, &thread).await.receipts(), followed.receipts());
    assert_eq!(client.asks(&thread).await.unwrap(), []);
}

async fn a_question_that_is_answered(bench: &Bench, client: &OpenCode, reports: &mut dyn Reports) {
    let key = Key::new("question");
    let question = r#"{"questions":[{"question":"Which one?","header":"One","options":[
        {"label":"A","description":"the first"},{"label":"B","description":"the other"}]}]}"#;
    bench.model.script(
        &key,
        [
            Reply::tool("question", question).tool_calls(Usage::of(60, 6)),
            Reply::text("B it is").stop(Usage::of(70, 7)),
        ],
    );
    let thread = bench::thread(client).await;
    turn(client, &thread, &key).await;
    let followed = follow(client, reports, &thread, |ask| {
        let AskBody::Questions(questions) = &ask.body else { panic!("{ask:?}") };
        let labels: Vec<_> =
            questions.iter().flat_map(|one| &one.choices).map(|choice| &*choice.label).collect();
        assert_eq!(labels, ["A", "B"]);
        Answer::Questions(vec![vec!["B".into()]])
    })
    .await;
    let expected = [(Status::Completed, Some(Output::Text("B it is".into())))];
    assert_eq!(outcomes(&followed), expected);
    let asked = bench.model.served_for(&key);
    assert_eq!(asked.len(), 2);
    assert_eq!(read(client, &thread).await.receipts(), followed.receipts());
}

/// A subagent: a session of its own, which is followed with the one that started it.
async fn a_turn_with_a_subagent(bench: &Bench, client: &OpenCode) {
    let (parent, child) = (Key::new("parent"), Key::new("child"));
    let task = format!(
        r#"{{"description":"a task","prompt":"{}","subagent_type":"general"}}"#,
        child.prompt("do it")
    );
    bench.model.script(
        &parent,
        [
            Reply::tool("task", &task).tool_calls(Usage::of(80, 8)),
            Reply::text("done").stop(Usage::of(90, 9)),
        ],
    );
    bench.model.script(&child, [Reply::text("did it").stop(Usage::of(40, 4))]);
    let thread = bench::thread(client).await;
    let scope = Scope::Thread(thread.clone());
    let mut reports = client.subscribe(scope).await.unwrap();
    turn(client, &thread, &parent).await;
    let (fold, told) = follow_with_threads(&mut *reports, &thread).await;
    let children = client.children(&thread).await.unwrap();
    let [info] = &children[..] else { panic!("{children:?}") };
    assert_eq!(info.parent.as_ref(), Some(&thread));
    assert!(told.contains(&info.thread), "{told:?}");
    assert_eq!(fold.receipts()[0].children, std::slice::from_ref(&info.thread));
    let inner = read(client, &info.thread).await;
    for (fold, key, answer) in [(fold, parent, "done"), (inner, child, "did it")] {
        let expected = [(Status::Completed, Some(Output::Text(answer.into())))];
        assert_eq!(outcomes(&fold), expected);
        let used = tally(&fold.receipts()[0].usage);
        assert_eq!(used, bench.model.served_for(&key).iter().collect(), "{key}");
    }
}

/// Follows a thread until nothing runs in it any more; also gives the threads that were told.
async fn follow_with_threads(
    reports: &mut dyn Reports,
    thread: &ThreadId,
) -> (Thread, Vec<ThreadId>) {
    let mut fold = Thread::new(thread.clone());
    let mut told = Vec::new();
    while !bench::is_over(&fold) {
        let report = next(reports).await;
        if let Report::Thread(info) = &report {
            told.push(info.thread.clone());
        }
        assert_eq!(bench::fold(report, &mut fold), None);
    }
    (fold, told)
}

async fn an_aborted_turn(bench: &Bench, client: &OpenCode, reports: &mut dyn Reports) {
    let (key, gate) = (Key::new("slow"), Gate::new("never"));
    bench.model.script(&key, [Reply::text("half").hold(&gate).stop(Usage::of(1, 1))]);
    let thread = bench::thread(client).await;
    turn(client, &thread, &key).await;
    bench.model.held_at(&gate).await;
    assert_eq!(client.owner(&thread).await.unwrap(), Owner::Busy);
    assert_eq!(client.abort(&thread, Pass::unfenced()).await, Dispatch::Sent(()));
    let followed = follow(client, reports, &thread, |ask| panic!("{ask:?}")).await;
    let expected = [(Status::Interrupted, Some(Output::Partial("half".into())))];
    assert_eq!(outcomes(&followed), expected);
    assert_eq!(followed.receipts()[0].usage.unknown_calls, 1);
    assert_eq!(read(client, &thread).await.receipts(), followed.receipts());
}

async fn a_prompt_without_a_reply(bench: &Bench, client: &OpenCode) {
    let thread = bench::thread(client).await;
    let (request, sent) = prompt(client, &thread, "note", PromptMode::NoReply).await;
    assert_eq!(sent, Dispatch::Sent(()));
    // It is taken before it is stored.
    let stored = bench::until(async || {
        client.read_message(&thread, &request).await.unwrap().filter(bench::has_parts)
    })
    .await;
    assert_eq!(read(client, &thread).await.receipts().len(), 1, "{stored:?}");
    assert!(bench.model.served().iter().all(|call| call.prompt != "note"));
}

/// One structured answer makes the read of its prompt alone fail, and each that reaches down to the
/// oldest message over it.
async fn a_session_that_poisons_reads(bench: &Bench, client: &OpenCode, reports: &mut dyn Reports) {
    let (one, two, three) = (Key::new("one"), Key::new("two"), Key::new("three"));
    bench.model.script(&one, [Reply::text("first").stop(Usage::of(10, 1))]);
    bench.model.script(&two, [Reply::structured(r#"{"answer":42}"#).tool_calls(Usage::of(20, 2))]);
    bench.model.script(&three, [Reply::text("third").stop(Usage::of(30, 3))]);
    let thread = bench::thread(client).await;
    bench.post(&thread, &one, "").await;
    bench.post(&thread, &two, STRUCTURED).await;
    bench.post(&thread, &three, "").await;
    assert_eq!(bench.status_of(&format!("/session/{thread}/message")).await, 400);

    let paged = read(client, &thread).await;
    let answers = [
        Output::Text("first".into()),
        Output::Value(r#"{"answer":42}"#.into()),
        Output::Text("third".into()),
    ];
    assert_eq!(outcomes(&paged), answers.map(|answer| (Status::Completed, Some(answer))));
    for (receipt, key) in paged.receipts().iter().zip([&one, &two, &three]) {
        assert_eq!(receipt.gaps, []);
        assert_eq!(tally(&receipt.usage), bench.model.served_for(key).iter().collect(), "{key}");
    }
    // What was told live is the same, with a prompt that cannot be read by itself.
    let mut followed = Thread::new(thread.clone());
    while followed.receipts() != paged.receipts() {
        bench::observe(reports, &mut followed).await;
    }
    let poisoned = MessageId::from(&paged.receipts()[1].turn);
    a_prompt_that_cannot_be_read_by_itself(bench, client, &thread, &poisoned).await;
}

async fn a_prompt_that_cannot_be_read_by_itself(
    bench: &Bench,
    client: &OpenCode,
    thread: &ThreadId,
    poisoned: &MessageId,
) {
    let route = format!("/session/{thread}/message/{poisoned}");
    assert_eq!(bench.status_of(&route).await, 400);
    let error = client.read_message(thread, poisoned).await.unwrap_err();
    assert!(matches!(&error, ReachError::Refused { status: 400, .. }), "{error}");
    // With the database at hand nothing is missing.
    let config = bench.config().database(bench.home.database());
    let with_files = OpenCode::new(&config).unwrap();
    let stored = with_files.read_message(thread, poisoned).await.unwrap().unwrap();
    assert!(bench::has_parts(&stored), "{stored:?}");
    let paged = read(client, thread).await;
    assert_eq!(read(&with_files, thread).await.receipts(), paged.receipts());
}

/// Where the prompt is the oldest message no page gives it: it is told as a gap.
async fn a_session_that_begins_poisoned(bench: &Bench, client: &OpenCode) {
    let key = Key::new("first-of-all");
    bench.model.script(&key, [Reply::structured(r#"{"answer":7}"#).tool_calls(Usage::of(20, 2))]);
    let thread = bench::thread(client).await;
    bench.post(&thread, &key, STRUCTURED).await;
    let config = bench.config().database(bench.home.database());
    let with_files = OpenCode::new(&config).unwrap();
    let expected = [(Status::Completed, Some(Output::Value(r#"{"answer":7}"#.into())))];
    for (client, gaps) in [(client, 1), (&with_files, 0)] {
        let fold = read(client, &thread).await;
        assert_eq!(outcomes(&fold), expected);
        let receipt = &fold.receipts()[0];
        assert_eq!(receipt.gaps.len(), gaps, "{receipt:?}");
        assert_eq!(tally(&receipt.usage), bench.model.served_for(&key).iter().collect());
    }
}
