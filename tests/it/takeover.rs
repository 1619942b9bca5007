//! Two processes want one session, and a person uses the same server.

use std::collections::BTreeSet;

use serde::Deserialize;
use testkit::{
    model::{Key, Reply, Usage},
    opencode::MODEL,
};

use crate::{
    desk::{Attached, number},
    server::{Outcome, Server},
};

/// What the server's own history says of a message.
#[derive(Debug, Deserialize)]
struct History {
    messages: Vec<Message>,
}

#[derive(Debug, Deserialize)]
struct Message {
    info: Info,
    parts: Vec<Part>,
}

#[derive(Debug, Deserialize)]
struct Info {
    role: String,
}

#[derive(Debug, Deserialize)]
struct Part {
    #[serde(default)]
    text: String,
}

#[derive(Debug, Deserialize)]
struct Session {
    id: String,
    thread: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Sessions {
    sessions: Vec<Session>,
}

fn thread(attached: &Attached, session: &str) -> Outcome<String> {
    let ran = attached.desk.run(&["sessions", "--json"])?;
    let found: Sessions = serde_json::from_str(&ran.stdout)?;
    let found = found.sessions.into_iter().find(|found| found.id == session);
    Ok(found.and_then(|found| found.thread).ok_or("the session has a conversation")?)
}

/// Each prompt is stored once and run at most once, or is proven to be nowhere (ledger.md 3 and 7).
#[tokio::test]
async fn l4_two_processes_that_contend_for_a_session_send_each_prompt_once() -> Outcome {
    let rounds = number("TURNBOOK_TAKEOVERS", 10);
    let attached = Attached::new()?;
    let mut prompts = Vec::new();
    for number in 0..rounds {
        let pair = ["a", "b"].map(|side| format!("round{number}{side}"));
        let children = pair.clone().map(|name| {
            let key = Key::new(&name);
            attached.desk.model.script(&key, [Reply::text("done").stop(Usage::of(10, 1))]);
            attached.run("s", &name, &key.prompt("work")).spawn()
        });
        for (name, child) in pair.into_iter().zip(children) {
            let output = child?.wait_with_output()?;
            let code = output.status.code();
            let said = String::from_utf8_lossy(&output.stderr);
            // Completed, absorbed by the other, or refused before or while it was sent.
            assert!(matches!(code, Some(0 | 13 | 15 | 20 | 23)), "{name}: {code:?} {said}");
            prompts.push((name, code, said.into_owned()));
        }
    }
    attached.recover()?;
    let server = attached.server.as_ref().ok_or("the server runs")?;
    let history = Server::of_url(&server.url(), &server.authorization())
        .history(&thread(&attached, "s")?)
        .await?;
    let history: History = serde_json::from_str(&history)?;
    let shown = attached.desk.shown("s")?;
    let not_sent: BTreeSet<&str> = shown
        .requests
        .iter()
        .filter(|request| request.delivery.state == "not_sent")
        .filter_map(|request| request.owner.labels.get("round").map(String::as_str))
        .collect();
    for (name, code, said) in &prompts {
        let key = Key::new(name);
        let mark = key.prompt("work");
        let is_it = |message: &&Message| {
            message.info.role == "user" && message.parts.iter().any(|part| part.text == mark)
        };
        let stored = history.messages.iter().filter(is_it).count();
        let calls = attached.desk.model.served_for(&key).len();
        assert!(calls <= 1, "{name} was run {calls} times");
        match stored {
            1 => assert!(!not_sent.contains(name.as_str()), "{name} is there, and said not to be"),
            // Refused before anything was intended, or proven to be nowhere.
            0 => {
                let is_told = not_sent.contains(name.as_str()) || *code == Some(23);
                assert!(is_told, "{name} is nowhere: {code:?} {said}");
                assert_eq!(calls, 0, "{name} was run and is nowhere");
            }
            more => panic!("{name} is there {more} times"),
        }
    }
    let verified = attached.desk.run(&["verify"])?;
    assert_eq!(verified.code, 0, "{verified:?}");
    Ok(())
}

/// Another client's prompts in the same conversation are recorded, and are nobody's (rule L5).
#[tokio::test]
async fn l5_what_a_person_asks_beside_us_has_no_owner() -> Outcome {
    let attached = Attached::new()?;
    let keys = ["ours", "theirs", "ours-again"].map(Key::new);
    let [ours, theirs, again] = &keys;
    for key in &keys {
        attached.desk.model.script(key, [Reply::text("done").stop(Usage::of(10, 1))]);
    }
    let output = attached.run("s", "1", &ours.prompt("work")).output()?;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let server = attached.server.as_ref().ok_or("the server runs")?;
    let person = Server::of_url(&server.url(), &server.authorization());
    let conversation = thread(&attached, "s")?;
    person.prompt(&conversation, "msg_person", &theirs.prompt("work"), MODEL).await?;
    let output = attached.run("s", "2", &again.prompt("work")).output()?;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    attached.recover()?;
    let shown = attached.desk.shown("s")?;
    let found: Vec<_> = shown
        .turns
        .iter()
        .map(|turn| {
            let round = turn.owner.as_ref().and_then(|owner| owner.labels.get("round"));
            (round.map(String::as_str), turn.status.as_str())
        })
        .collect();
    assert_eq!(found, [(Some("1"), "completed"), (None, "completed"), (Some("2"), "completed")]);
    Ok(())
}
