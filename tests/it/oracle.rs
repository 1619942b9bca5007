//! The oracle: what the fold says of a real OpenCode's history equals what the model served.

use std::{collections::BTreeMap, time::Duration};

use serde::Deserialize;
use testkit::{
    agents,
    model::{CallKind, Ending, Finish, Gate, Key, Model, Reply, Served, Step, Tally, Usage},
    opencode::{Home, MODEL, OpenCode, SMALL_MODEL, Setup},
};

use crate::{
    desk::{Counters, Dice, number},
    fold::turnbook,
    rig::{Rig, request},
    server::{Outcome, Server},
};

/// One turn: what the model is to serve for it, and how it must end.
struct Scenario {
    name: &'static str,
    replies: Vec<Reply>,
    status: &'static str,
    model: &'static str,
}

fn scenarios() -> Vec<Scenario> {
    let turn = |name, status, replies| Scenario { name, replies, status, model: MODEL };
    let bash = r#"{"command":"echo hi","description":"says hi"}"#;
    vec![
        turn("text", "completed", vec![Reply::text("hello").stop(Usage::of(150, 7))]),
        turn(
            "tools",
            "completed",
            vec![
                Reply::tool("bash", bash).tool_calls(Usage::of(100, 20).cached(40)),
                Reply::new()
                    .and_reasoning("hm")
                    .and_text("done")
                    .stop(Usage::of(240, 50).cached(100).reasoning(30)),
            ],
        ),
        turn("silent", "completed", vec![Reply::text("no usage").step(Step::Finish(Finish::Stop))]),
        turn(
            "wrong-total",
            "completed",
            vec![Reply::text("odd").stop(Usage::of(100, 10).total(999))],
        ),
        turn(
            "length",
            "completed",
            vec![Reply::text("cut").finish(Finish::Length, Usage::of(120, 4_096))],
        ),
        turn(
            "filter",
            "failed",
            vec![Reply::text("part").finish(Finish::ContentFilter, Usage::of(120, 8))],
        ),
        turn(
            "stop-with-tool",
            "completed",
            vec![
                Reply::tool("bash", bash).finish(Finish::Stop, Usage::of(110, 11)),
                Reply::text("after").stop(Usage::of(130, 13)),
            ],
        ),
        turn("refused", "failed", vec![Reply::refuse(401, "no such key")]),
        turn(
            "retried",
            "completed",
            vec![Reply::refuse(500, "try again"), Reply::text("at last").stop(Usage::of(140, 9))],
        ),
        turn(
            "cut",
            "completed",
            vec![
                Reply::new().and_words("half of an answer", Duration::from_millis(200)).cut(),
                Reply::text("whole").stop(Usage::of(150, 9)),
            ],
        ),
        Scenario {
            name: "compacted",
            replies: vec![
                Reply::text("all said").stop(Usage::of(9_500, 50)),
                Reply::text("and on").stop(Usage::of(60, 6)),
            ],
            status: "completed",
            model: SMALL_MODEL,
        },
        turn("empty", "completed", vec![Reply::new().stop(Usage::of(90, 0))]),
    ]
}

#[derive(Debug, Deserialize)]
struct Printed {
    receipts: Vec<Receipt>,
}

#[derive(Debug, Deserialize)]
struct Receipt {
    request: String,
    status: String,
    usage: Counters,
}

/// The session's own history, folded by the program.
async fn folded(server: &Server, session: &str) -> Outcome<BTreeMap<String, Receipt>> {
    let history = server.history(session).await?;
    let args = ["fold", "opencode", "-", "--owner", "idle", "--json"];
    let output = turnbook(&args, history.as_bytes());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed: Printed = serde_json::from_slice(&output.stdout)?;
    let receipts = printed.receipts.into_iter();
    Ok(receipts.map(|receipt| (receipt.request.clone(), receipt)).collect())
}

/// Refused calls used nothing and leave no trace; see `docs/blind-spots.md`.
fn is_traced(call: &&Served) -> bool {
    call.ending != Ending::Refused && call.asked.kind != CallKind::Title
}

/// Every turn of every session: its status, and the usage that the model itself counted.
#[tokio::test]
async fn usage_per_request_equals_what_the_model_served() -> Outcome {
    let model = Model::start()?;
    let home = Home::create(&Setup::new(&model.base_url()))?;
    let server = Server::of(OpenCode::start(&agents::opencode()?, &home)?);
    let (mut found, mut expected) = (Vec::new(), Vec::new());
    for scenario in scenarios() {
        let session = server.new_session().await?;
        let key = Key::new(scenario.name);
        model.compaction(&key, [Reply::text("a summary").stop(Usage::of(400, 30))]);
        model.script(&key, scenario.replies);
        let before = model.served().len();
        let id = format!("msg_oracle_{}", scenario.name);
        server.prompt(&session, &id, &key.prompt("go on"), scenario.model).await?;
        let receipt = folded(&server, &session).await?.remove(&id).expect("the request was stored");
        let tally: Tally = model.served()[before..].iter().filter(is_traced).collect();
        found.push((scenario.name, receipt.status, Tally::from(&receipt.usage)));
        expected.push((scenario.name, scenario.status.to_owned(), tally));
    }
    assert_eq!(found, expected);
    Ok(())
}

/// An abort in the middle of an answer, and a kill: the call is unknown, and said to be.
#[tokio::test]
async fn a_cut_call_is_unknown_and_later_turns_work() -> Outcome {
    let model = Model::start()?;
    let home = Home::create(&Setup::new(&model.base_url()))?;
    let agent = agents::opencode()?;
    let start = || OpenCode::start(&agent, &home).map(Server::of);
    let server = start()?;
    let (aborted, killed, after) = (Key::new("aborted"), Key::new("killed"), Key::new("after"));
    let (first, second) = (Gate::new("abort"), Gate::new("kill"));
    model.script(&aborted, [Reply::text("half").hold(&first).stop(Usage::of(1, 1))]);
    model.script(&killed, [Reply::text("half").hold(&second).stop(Usage::of(1, 1))]);
    model.script(&after, [Reply::text("still here").stop(Usage::of(100, 5))]);

    let session = server.new_session().await?;
    let aborting = async {
        model.held_at(&first).await;
        server.abort(&session).await
    };
    let text = aborted.prompt("take your time");
    let prompted = server.prompt(&session, "msg_oracle_aborted", &text, MODEL);
    let (abort, prompt) = tokio::join!(aborting, prompted);
    abort?;
    prompt?;

    let text = killed.prompt("die");
    let prompted = server.prompt(&session, "msg_oracle_killed", &text, MODEL);
    tokio::select! {
        () = model.held_at(&second) => {}
        ended = prompted => panic!("the turn ended before the kill: {ended:?}"),
    }
    server.kill()?;
    let server = start()?;
    let text = after.prompt("and now?");
    server.prompt(&session, "msg_oracle_after", &text, MODEL).await?;

    let unknown = Tally { calls: 1, unknown_calls: 1, ..Tally::default() };
    let known = Tally { calls: 1, input: 100, output: 5, ..Tally::default() };
    let found: Vec<_> = folded(&server, &session)
        .await?
        .into_values()
        .map(|receipt| (receipt.request, receipt.status, Tally::from(&receipt.usage)))
        .collect();
    let row = |request: &str, status: &str, tally| (request.to_owned(), status.to_owned(), tally);
    assert_eq!(
        found,
        [
            row("msg_oracle_aborted", "interrupted", unknown),
            row("msg_oracle_after", "completed", known),
            row("msg_oracle_killed", "lost", unknown),
        ]
    );
    Ok(())
}

/// The same through recorder and ledger, in five conversations at once, aborts among the turns.
#[tokio::test(flavor = "multi_thread")]
async fn the_ledgers_usage_per_request_equals_what_the_model_served() -> Outcome {
    let turns = number("TURNBOOK_ORACLE_TURNS", 15);
    let rig = Rig::on_sqlite().await?;
    let mut seats = Vec::new();
    for name in ["a", "b", "c", "d", "e"] {
        seats.push(rig.seat(name).await?);
    }
    let mut dice = Dice::new();
    let (mut found, mut expected) = (Vec::new(), Vec::new());
    for number in 0..turns {
        let seat = &mut seats[usize::try_from(number % 5)?];
        let all = scenarios();
        let choice = usize::try_from(dice.roll(all.len() as u64 + 1))?;
        let name = format!("turn{number}");
        let key = Key::new(&name);
        let before = rig.model.served().len();
        let (scenario, model, status) = match all.into_iter().nth(choice) {
            Some(scenario) => {
                let summary = Reply::text("a summary").stop(Usage::of(400, 30));
                rig.model.compaction(&key, [summary]);
                rig.model.script(&key, scenario.replies);
                (scenario.name, scenario.model, scenario.status)
            }
            None => {
                let gate = Gate::new(&name);
                rig.model.script(&key, [Reply::text("half").hold(&gate).stop(Usage::of(1, 1))]);
                ("aborted", MODEL, "interrupted")
            }
        };
        let sent = seat.drive.prompt(request(&name, key.prompt("go on"), model)?).await?;
        if scenario == "aborted" {
            rig.model.held_at(&Gate::new(&name)).await;
            seat.drive.abort().await?;
        }
        seat.ended().await?;
        let turn = sent.turn.ok_or("the turn is minted")?;
        let report = rig.writer.view(|ledger| ledger.turn(&seat.session, &seat.thread, &turn))?;
        let report = report.ok_or("the turn is in the ledger")?;
        let served = rig.model.until(|calls| is_over(calls.get(before..)?)).await;
        let usage = report.usage.unwrap_or_default();
        found.push((scenario, report.status.to_string(), tally(&usage)));
        expected.push((scenario, status.to_owned(), served));
    }
    assert_eq!(found, expected);
    // What each session and the whole store used is the same again.
    let all: Tally =
        rig.model.served().iter().filter(is_traced).map(known).collect::<Vec<_>>().iter().collect();
    let sum = seats.iter().try_fold(receipts::Usage::default(), |mut sum, seat| {
        let usage = rig.writer.view(|ledger| ledger.session_usage(&seat.session))?;
        sum.merge(&usage.unwrap_or_default());
        Ok::<_, store::StoreError>(sum)
    })?;
    assert_eq!(tally(&sum), all);
    assert_eq!(rig.writer.view(|ledger| ledger.verify())?, []);
    Ok(())
}

/// The tally of the calls of one turn, once none of them is under way.
fn is_over(calls: &[Served]) -> Option<Tally> {
    let is_over = calls.iter().all(|call| call.ending != Ending::Open);
    is_over.then(|| calls.iter().filter(is_traced).map(known).collect::<Vec<_>>().iter().collect())
}

/// What the agent never got to know of a call, nobody can have recorded.
fn known(call: &Served) -> Served {
    let mut call = call.clone();
    if call.ending == Ending::ClientGone {
        call.usage.clear();
    }
    call
}

fn tally(usage: &receipts::Usage) -> Tally {
    Tally {
        calls: usage.calls,
        unknown_calls: usage.unknown_calls,
        input: usage.input.value().unwrap_or(0),
        cache_read: usage.cache_read.value().unwrap_or(0),
        output: usage.output.value().unwrap_or(0),
        reasoning: usage.reasoning.value().unwrap_or(0),
    }
}
