//! A real OpenCode on the scripted model, and what is done with it in every test.

use std::time::Duration;

use harness::{
    Answer, Ask, Dispatch, Harness as _, ModelName, NewThread, Pass, Prompt, PromptMode, Report,
    Reports, Seen,
};
use opencode_client::{Config, Credentials, OpenCode};
use receipts::{
    Body, MessageId, Observation, Output, Owner, Status, Thread, ThreadId, UnixMillis, Usage,
};
use testkit::{
    agents,
    model::{Key, Model, Tally},
    opencode::{self, Home, MODEL, PROVIDER, Permissions, Setup, Verdict},
};
use tokio::time::timeout;

/// Nothing that is waited for takes so long.
const LIMIT: Duration = Duration::from_secs(30);
/// Pages are this small, so that every history has several.
const PAGE: u32 = 2;

/// A server, its home and its model; dropped in this order.
pub(crate) struct Bench {
    pub(crate) server: opencode::OpenCode,
    pub(crate) home: Home,
    pub(crate) model: Model,
}

impl Bench {
    pub(crate) fn start() -> Self {
        let model = Model::start().unwrap();
        let home = home(&model);
        let server = opencode::OpenCode::start(&agents::opencode().unwrap(), &home).unwrap();
        Self { server, home, model }
    }

    pub(crate) fn config(&self) -> Config {
        small_pages(
            Config::new(&self.server.url())
                .credentials(Credentials::password(self.server.password())),
        )
    }

    /// Reads as another client would; gives the status.
    pub(crate) async fn status_of(&self, route: &str) -> u16 {
        let answer = http()
            .get(format!("{}{route}", self.server.url()))
            .header("authorization", self.server.authorization())
            .send();
        timeout(LIMIT, answer).await.expect("an answer in time").unwrap().status().as_u16()
    }

    /// Posts a prompt as another client would, and waits for its answer; `fields` are further JSON
    /// fields of the body.
    pub(crate) async fn post(&self, thread: &ThreadId, key: &Key, fields: &str) {
        let text = key.prompt("go on");
        let body = format!(r#"{{{fields}"parts":[{{"type":"text","text":"{text}"}}]}}"#);
        let answer = http()
            .post(format!("{}/session/{thread}/message", self.server.url()))
            .header("authorization", self.server.authorization())
            .header("content-type", "application/json")
            .body(body)
            .send();
        let answer = timeout(LIMIT, answer).await.expect("an answer in time").unwrap();
        assert!(answer.status().is_success(), "{}", answer.status());
    }
}

/// Makes a session in the project, with a title, so that none is asked of the model.
pub(crate) async fn thread(client: &OpenCode) -> ThreadId {
    let new = NewThread { directory: None, title: Some("titled".into()) };
    match client.create_thread(&new, Pass::unfenced()).await {
        Dispatch::Sent(info) => info.thread,
        failed @ (Dispatch::NotSent(_) | Dispatch::Uncertain(_)) => panic!("{failed:?}"),
    }
}

/// Sends a prompt that chooses a script; gives its id.
pub(crate) async fn turn(client: &OpenCode, thread: &ThreadId, key: &Key) -> MessageId {
    let text = key.prompt("go on");
    let (id, sent) = prompt(client, thread, &text, PromptMode::Turn).await;
    assert_eq!(sent, Dispatch::Sent(()));
    id
}

/// Sends a prompt under a fresh id.
pub(crate) async fn prompt(
    client: &OpenCode,
    thread: &ThreadId,
    text: &str,
    mode: PromptMode,
) -> (MessageId, Dispatch) {
    let id = client.mint(UnixMillis(1_796_000_000_000), None).unwrap();
    let prompt = Prompt {
        thread: thread.clone(),
        message: Some(id.clone()),
        text: text.into(),
        mode,
        agent: None,
        model: Some(ModelName { provider: PROVIDER.into(), model: MODEL.into() }),
    };
    (id, client.prompt(&prompt, Pass::unfenced()).await)
}

/// A home in which the shell asks before it runs.
pub(crate) fn home(model: &Model) -> Home {
    let permissions = Permissions::all(Verdict::Allow).except("bash", Verdict::Ask);
    Home::create(&Setup::new(&model.base_url()).permissions(permissions)).unwrap()
}

/// The same with small pages, and with less patience for prompts that nobody will answer.
pub(crate) fn small_pages(mut config: Config) -> Config {
    config.limits.page = PAGE;
    config.limits.unanswered_grace = Duration::from_secs(1);
    config
}

pub(crate) async fn next(reports: &mut dyn Reports) -> Report {
    timeout(LIMIT, reports.next()).await.expect("a report in time").expect("a client that is open")
}

/// Folds what is reported of a thread until nothing runs in it any more, and answers what is asked.
///
/// Fails when anything was missed.
pub(crate) async fn follow(
    client: &OpenCode,
    reports: &mut dyn Reports,
    thread: &ThreadId,
    mut answer: impl FnMut(&Ask) -> Answer,
) -> Thread {
    let mut fold = Thread::new(thread.clone());
    loop {
        if let Some(ask) = observe(reports, &mut fold).await {
            assert_eq!(client.asks(thread).await.unwrap(), std::slice::from_ref(&ask));
            let sent = client.answer(&ask, &answer(&ask), Pass::unfenced()).await;
            assert_eq!(sent, Dispatch::Sent(()));
        }
        if is_over(&fold) {
            return fold;
        }
    }
}

/// Tells whether the turns that were seen have ended; a thread is idle also before its first.
pub(crate) fn is_over(fold: &Thread) -> bool {
    fold.owner() == Owner::Idle && !fold.receipts().is_empty()
}

/// Takes the next report into a fold, when it is of that thread; gives what is asked in it.
pub(crate) async fn observe(reports: &mut dyn Reports, thread: &mut Thread) -> Option<Ask> {
    fold(next(reports).await, thread)
}

/// Takes a report into a fold, when it is of that thread; gives what is asked in it.
pub(crate) fn fold(report: Report, fold: &mut Thread) -> Option<Ask> {
    match report {
        Report::Seen { thread, seen } if thread == *fold.id() => {
            // Idle was true of what was seen before.
            if fold.owner() == Owner::Idle {
                fold.observe(Observation::Owner(Owner::Unknown));
            }
            seen.into_iter().for_each(|seen| fold.observe(seen.observation));
            None
        }
        Report::Owner { thread, owner, .. } if thread == *fold.id() => {
            fold.observe(Observation::Owner(owner));
            None
        }
        Report::Asked(ask) if ask.thread == *fold.id() => Some(ask),
        report @ (Report::Missed { .. }
        | Report::Disconnected { .. }
        | Report::Unreadable { .. }
        | Report::Exited(_)) => panic!("{report:?}"),
        Report::Seen { .. }
        | Report::Owner { .. }
        | Report::Asked(_)
        | Report::Connected(_)
        | Report::Thread(_)
        | Report::ThreadDeleted(_)
        | Report::Text { .. }
        | Report::ToolStarted { .. }
        | Report::Answered { .. }
        | Report::Failed { .. } => None,
    }
}

/// Folds a history that is read by pages, when nothing runs in it.
pub(crate) async fn read(client: &OpenCode, thread: &ThreadId) -> Thread {
    let owner = client.owner(thread).await.unwrap();
    assert_eq!(owner, Owner::Idle);
    let mut pages = Vec::new();
    let mut before = None;
    loop {
        let page = client.read_page(thread, before.as_ref()).await.unwrap();
        assert!(page.seen.len() <= usize::try_from(PAGE).unwrap(), "{page:?}");
        pages.push(page.seen);
        before = page.older;
        if before.is_none() {
            break;
        }
    }
    let mut fold = Thread::new(thread.clone());
    pages.into_iter().rev().flatten().for_each(|seen| fold.observe(seen.observation));
    fold.observe(Observation::Owner(owner));
    fold
}

/// Asks again until there is something.
pub(crate) async fn until<T>(mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let asking = async {
        loop {
            if let Some(found) = ask().await {
                return found;
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(LIMIT, asking).await.expect("something in time")
}

pub(crate) fn has_parts(seen: &Seen) -> bool {
    match &seen.observation {
        Observation::Message(message) => match &message.body {
            Body::Prompt(prompt) => prompt.parts > 0,
            Body::Answer(_) | Body::Unknown => false,
        },
        Observation::Removed(_)
        | Observation::NoReply(_)
        | Observation::Owner(_)
        | Observation::Gap(_) => false,
    }
}

/// How each request ended and what it answered, in order.
pub(crate) fn outcomes(thread: &Thread) -> Vec<(Status, Option<Output>)> {
    let receipts = thread.receipts().into_iter();
    receipts.map(|receipt| (receipt.completion.status, receipt.completion.output)).collect()
}

/// What a receipt counts, in the words of the model's own tally.
pub(crate) fn tally(usage: &Usage) -> Tally {
    let known = |counter: Option<u64>| counter.unwrap_or(0);
    Tally {
        calls: usage.calls,
        unknown_calls: usage.unknown_calls,
        input: known(usage.input.value()),
        cache_read: known(usage.cache_read.value()),
        output: known(usage.output.value()),
        reasoning: known(usage.reasoning.value()),
    }
}

/// Another client than ours.
fn http() -> reqwest::Client {
    // A build with TLS wants somebody to name the cryptography; the first one did.
    let _named = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::new()
}
