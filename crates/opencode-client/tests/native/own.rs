//! Is a server of our own started, followed, and known to be dead when it is?

use std::{path::Path, time::Duration};

use harness::{Dispatch, Harness as _, PromptMode, ReachError, Report, Scope, Source};
use opencode_client::{OpenCode, OwnServer, Serve, ServeError};
use receipts::{Owner, Status};
use testkit::{
    agents,
    model::{Gate, Key, Model, Reply, Usage},
    opencode::Home,
};

use crate::bench::{home, next, prompt, small_pages, thread, turn};

fn serve(home: &Home, program: &Path) -> Serve {
    let command = home.command(program);
    let environment = command
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value?.to_str()?.to_owned())));
    Serve {
        program: program.to_owned(),
        directory: home.project(),
        environment: environment.collect(),
        ready_within: Duration::from_secs(30),
    }
}

#[tokio::test]
async fn an_own_server_dies_and_its_open_turn_is_lost_with_proof() {
    let model = Model::start().unwrap();
    let home = home(&model);
    let server = OwnServer::start(&serve(&home, &agents::opencode().unwrap().path)).await.unwrap();
    let process = server.process();
    let config = small_pages(server.config().database(home.database()));
    let (client, provider) = OpenCode::attach(&config).await.unwrap();
    assert_eq!((provider.process, &*provider.endpoint), (process, server.url()));

    let (key, gate) = (Key::new("open"), Gate::new("never"));
    model.script(&key, [Reply::text("half").hold(&gate).stop(Usage::of(1, 1))]);
    let mut reports = client.subscribe(Scope::Everything).await.unwrap();
    let thread = thread(&client).await;
    turn(&client, &thread, &key).await;
    model.held_at(&gate).await;
    server.stop().await.unwrap();

    let exited = loop {
        if let Report::Exited(process) = next(&mut *reports).await {
            break process;
        }
    };
    assert_eq!(Some(exited), process);
    assert_eq!(client.owner(&thread).await, Ok(Owner::Dead));
    let page = client.read_page(&thread, None).await.unwrap();
    assert_eq!((page.source, page.seen.len()), (Source::Files, 2));
    let mut fold = receipts::Thread::new(thread.clone());
    page.seen.into_iter().for_each(|seen| fold.observe(seen.observation));
    fold.observe(receipts::Observation::Owner(Owner::Dead));
    let statuses: Vec<_> =
        fold.receipts().into_iter().map(|receipt| receipt.completion.status).collect();
    assert_eq!(statuses, [Status::Lost]);

    let sent = prompt(&client, &thread, "more", PromptMode::Turn).await.1;
    let is_not_sent = matches!(&sent, Dispatch::NotSent(ReachError::Unreachable { .. }));
    assert!(is_not_sent, "{sent:?}");
}

#[tokio::test]
async fn a_program_that_does_not_get_ready_is_told_with_its_words() {
    let folder = tempfile::tempdir().unwrap();
    let serve = |program: &str| Serve {
        program: program.into(),
        ready_within: Duration::from_secs(10),
        ..Serve::new(folder.path())
    };
    let error = OwnServer::start(&serve("/no/such/program")).await.unwrap_err();
    assert!(matches!(&error, ServeError::Start { .. }), "{error}");
    let error = OwnServer::start(&serve("false")).await.unwrap_err();
    assert_eq!(error.to_string(), "false did not get ready (exit status: 1); it said: ");
}

/// How a program that starts a server of its own may be killed without a word.
#[tokio::test]
async fn an_own_server_does_not_outlive_whoever_started_it() {
    const STARTER: &str = "TURNBOOK_TEST_STARTER";
    let model = Model::start().unwrap();
    let home = home(&model);
    if std::env::var_os(STARTER).is_some() {
        let server = OwnServer::start(&serve(&home, &agents::opencode().unwrap().path)).await;
        println!("started {}", server.as_ref().unwrap().process().unwrap().pid);
        std::future::pending::<()>().await;
    }
    let name = "own::an_own_server_does_not_outlive_whoever_started_it";
    let mut starter = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(STARTER, "1")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let lines = std::io::BufReader::new(starter.stdout.take().unwrap());
    let pid = std::io::BufRead::lines(lines)
        .map_while(Result::ok)
        .find_map(|line| line.split_once("started ")?.1.parse::<u32>().ok())
        .unwrap();
    let server = harness::ProcessIdentity::of(pid).unwrap();
    assert_eq!(server.liveness(), harness::Liveness::Live);
    starter.kill().unwrap();
    starter.wait().unwrap();
    // The end of the server closes its output, which the starter's was no part of: look at it.
    while server.liveness() != harness::Liveness::Dead {
        tokio::task::yield_now().await;
    }
}
