//! Does a subscription find the next server by itself, when a real OpenCode dies and comes again?

use harness::{
    Dispatch, Harness as _, NewThread, Pass, ProcessIdentity, Prompt, PromptMode, Report, Reports,
    Scope,
};
use opencode_client::{Config, Credentials, OpenCode};
use receipts::{Observation, Owner, Status, Thread, ThreadId, UnixMillis};
use testkit::{
    agents,
    model::{Gate, Key, Model, Reply, Usage},
    opencode::{Home, Setup},
};

/// Takes reports into the fold until one is found.
async fn until<T>(
    reports: &mut dyn Reports,
    fold: &mut Thread,
    find: impl Fn(&Report) -> Option<T>,
) -> T {
    loop {
        let report = reports.next().await.expect("the client is open");
        if let Report::Seen { seen, .. } = &report {
            seen.iter().for_each(|seen| fold.observe(seen.observation.clone()));
        }
        if let Some(found) = find(&report) {
            return found;
        }
    }
}

async fn prompt(client: &OpenCode, thread: &ThreadId, key: &Key) {
    let prompt = Prompt {
        thread: thread.clone(),
        message: client.mint(UnixMillis(1_800_000_000_000), None),
        text: key.prompt("go on").into(),
        mode: PromptMode::Turn,
        agent: None,
        model: None,
    };
    assert_eq!(client.prompt(&prompt, Pass::unfenced()).await, Dispatch::Sent(()));
}

fn statuses(fold: &Thread) -> Vec<Status> {
    fold.receipts().into_iter().map(|receipt| receipt.completion.status).collect()
}

#[tokio::test]
async fn the_next_server_on_the_same_port_is_another_epoch() {
    let model = Model::start().unwrap();
    let home = Home::create(&Setup::new(&model.base_url())).unwrap();
    let agent = agents::opencode().unwrap();
    let first = testkit::opencode::OpenCode::start(&agent, &home).unwrap();
    let process = ProcessIdentity::of(first.id());
    let config = Config::new(&first.url()).credentials(Credentials::password(first.password()));
    let client = OpenCode::new(&config).unwrap();
    let (slow, after, gate) = (Key::new("slow"), Key::new("after"), Gate::new("never"));
    model.script(&slow, [Reply::text("begun").hold(&gate).stop(Usage::of(1, 1))]);
    model.script(&after, [Reply::text("here again").stop(Usage::of(10, 1))]);

    let made = client.create_thread(&NewThread::default(), Pass::unfenced()).await;
    let Dispatch::Sent(info) = made else { panic!("{made:?}") };
    let thread = info.thread;
    let mut fold = Thread::new(thread.clone());
    let mut reports = client.subscribe(Scope::Thread(thread.clone())).await.unwrap();
    prompt(&client, &thread, &slow).await;
    model.held_at(&gate).await;
    until(&mut *reports, &mut fold, |report| matches!(report, Report::Text { .. }).then_some(()))
        .await;
    first.kill().unwrap();
    let exited = until(&mut *reports, &mut fold, |report| {
        if let Report::Exited(process) = report { Some(*process) } else { None }
    })
    .await;
    assert_eq!(Some(exited), process);
    assert_eq!(client.owner(&thread).await, Ok(Owner::Dead));

    let second = testkit::opencode::OpenCode::start(&agent, &home).unwrap();
    let connected = until(&mut *reports, &mut fold, |report| {
        if let Report::Connected(provider) = report { Some(provider.process) } else { None }
    })
    .await;
    assert_eq!(connected, ProcessIdentity::of(second.id()));
    // It runs nothing of that session, and says so by itself once it was looked at twice.
    let idle =
        |report: &Report| matches!(report, Report::Owner { owner: Owner::Idle, .. }).then_some(());
    until(&mut *reports, &mut fold, idle).await;
    fold.observe(Observation::Owner(Owner::Idle));
    assert_eq!(statuses(&fold), [Status::Lost]);

    prompt(&client, &thread, &after).await;
    until(&mut *reports, &mut fold, idle).await;
    assert_eq!(statuses(&fold), [Status::Lost, Status::Completed]);
}
