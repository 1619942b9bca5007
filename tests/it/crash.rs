//! Whatever is killed, and whenever: the ledger ends as if nothing had been (rule L10).

use std::{
    collections::BTreeMap,
    process::Child,
    sync::mpsc::{RecvTimeoutError, channel},
    time::Duration,
};

use testkit::model::{Gate, Key, Reply, Tally, Usage};

use crate::{
    desk::{Attached, Dice, Owner, Shown, number},
    server::Outcome,
};

const SESSIONS: u64 = 3;
/// Longer than a turn of the workload takes: some are killed too late.
const TURN_MS: u64 = 2_500;

/// Kills a child after a time, unless it ends before.
fn kill_after(child: Child, time: Duration) -> Outcome {
    let (ended, is_ended) = channel::<()>();
    let pid = rustix::process::Pid::from_child(&child);
    let waiter = std::thread::spawn(move || {
        let output = child.wait_with_output();
        // The killer may be past waiting.
        let _heard = ended.send(());
        output
    });
    if let Err(RecvTimeoutError::Timeout) = is_ended.recv_timeout(time) {
        // It may have ended just now.
        let _killed = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
    waiter.join().map_err(|_panicked| "the waiter panicked")??;
    Ok(())
}

fn script(attached: &Attached, key: &Key) {
    let bash = r#"{"command":"echo hi","description":"says hi"}"#;
    attached.desk.model.script(
        key,
        [
            Reply::tool("bash", bash).tool_calls(Usage::of(100, 20).cached(40)),
            Reply::new()
                .and_words("a few words of an answer", Duration::from_millis(50))
                .stop(Usage::of(240, 50).cached(100).reasoning(30)),
        ],
    );
}

fn round(owner: Option<&Owner>) -> Option<&str> {
    owner?.labels.get("round").map(String::as_str)
}

/// Every event of a session, one JSON text each.
fn events(attached: &Attached, session: &str) -> Outcome<Vec<String>> {
    let ran = attached.desk.run(&["log", session, "--json"])?;
    Ok(ran.stdout.lines().map(str::to_owned).collect())
}

/// Checks that what was there is still there, and remembers what is there now.
fn nothing_is_missing(
    attached: &Attached,
    session: &str,
    known: &mut BTreeMap<String, Vec<String>>,
) -> Outcome {
    let now = events(attached, session)?;
    let before = known.entry(session.to_owned()).or_default();
    assert_eq!(now.get(..before.len()), Some(before.as_slice()), "events of {session} changed");
    *before = now;
    Ok(())
}

fn count(events: &[String], turn: &str, kind: &str) -> usize {
    let (turn, kind) = (format!("\"turn\":\"{turn}\""), format!("\"kind\":\"{kind}\""));
    events.iter().filter(|event| event.contains(&turn) && event.contains(&kind)).count()
}

/// The recorder is killed at random moments of its work.
#[tokio::test]
async fn l10_a_killed_recorder_loses_and_doubles_nothing() -> Outcome {
    let rounds = number("TURNBOOK_CRASHES", 8);
    let attached = Attached::new()?;
    let mut dice = Dice::new();
    let mut known = BTreeMap::new();
    for number in 0..rounds {
        let session = format!("s{}", number % SESSIONS);
        let name = format!("round{number}");
        let key = Key::new(&name);
        script(&attached, &key);
        let child = attached.run(&session, &name, &key.prompt("work")).spawn()?;
        kill_after(child, Duration::from_millis(dice.roll(TURN_MS)))?;
        if number >= SESSIONS || attached.desk.shown(&session).is_ok() {
            nothing_is_missing(&attached, &session, &mut known)?;
        }
        // A call that has begun ends on its own: the server lives.
        if !attached.desk.model.served_for(&key).is_empty() {
            attached.desk.model.wait_for_end(&key, 2).await;
        }
    }
    attached.recover()?;
    let mut seen = BTreeMap::new();
    for number in 0..SESSIONS.min(rounds) {
        let session = format!("s{number}");
        let Ok(shown) = attached.desk.shown(&session) else { continue };
        nothing_is_missing(&attached, &session, &mut known)?;
        let events = known.get(&session).cloned().unwrap_or_default();
        judge(&shown, &events, &mut seen);
    }
    for number in 0..rounds {
        let name = format!("round{number}");
        let served = attached.desk.model.served_for(&Key::new(&name));
        let expected: Tally = served.iter().collect();
        let expected = (!served.is_empty()).then_some(expected);
        assert_eq!(seen.remove(&name).flatten(), expected, "{name}");
    }
    assert!(seen.is_empty(), "{seen:?}");
    let before = events(&attached, "s0")?;
    assert_eq!(attached.recover()?, 1, "nothing is left to recover");
    assert_eq!(events(&attached, "s0")?, before);
    let verified = attached.desk.run(&["verify"])?;
    assert_eq!(verified.code, 0, "{verified:?}");
    Ok(())
}

/// Notes each round with the usage of its one turn; `None` for one that was proven not sent.
fn judge(shown: &Shown, events: &[String], seen: &mut BTreeMap<String, Option<Tally>>) {
    for turn in &shown.turns {
        let round = round(turn.owner.as_ref()).expect("nobody else prompts").to_owned();
        // A prompt of a later round may have come while this one ran, and been answered with it.
        assert!(matches!(&*turn.status, "completed" | "absorbed"), "{round}: {turn:?}");
        let started = usize::from(turn.usage.is_some());
        for (kind, times) in [("admitted", 1), ("started", started), ("completed", 1)] {
            assert_eq!(count(events, &turn.turn, kind), times, "{round}: {kind}");
        }
        let usage = turn.usage.as_ref().map(Tally::from);
        assert!(seen.insert(round.clone(), usage).is_none(), "{round} has two turns");
    }
    for request in &shown.requests {
        let round = round(Some(&request.owner)).expect("every request has its round").to_owned();
        assert_eq!(request.delivery.state, "not_sent", "{round}");
        assert!(seen.insert(round.clone(), None).is_none(), "{round} was sent as well");
    }
}

/// The server is killed in the middle of turns: they are lost, with proof, and later ones work.
#[tokio::test]
async fn l12_a_killed_server_loses_its_open_turn_and_no_other() -> Outcome {
    let rounds = number("TURNBOOK_SERVER_CRASHES", 2);
    let mut attached = Attached::new()?;
    let mut expected = Vec::new();
    for number in 0..rounds {
        let (lost, after) =
            (Key::new(&format!("lost{number}")), Key::new(&format!("after{number}")));
        let gate = Gate::new(&format!("gate{number}"));
        attached.desk.model.script(&lost, [Reply::text("half").hold(&gate).stop(Usage::of(1, 1))]);
        attached.desk.model.script(&after, [Reply::text("here").stop(Usage::of(100, 5))]);
        let child = attached.run("s", "lost", &lost.prompt("die")).spawn()?;
        attached.desk.model.held_at(&gate).await;
        attached.kill()?;
        let output = child.wait_with_output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(14), "{said}");
        attached.start_again()?;
        let output = attached.run("s", "after", &after.prompt("and now?")).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        expected.extend([("lost", None, 1), ("completed", Some(100), 0)]);
    }
    let shown = attached.desk.shown("s")?;
    let found: Vec<_> = shown
        .turns
        .iter()
        .map(|turn| {
            let usage = turn.usage.as_ref().expect("each made a call");
            (turn.status.as_str(), usage.input, usage.unknown_calls)
        })
        .collect();
    assert_eq!(found, expected);
    let verified = attached.desk.run(&["verify"])?;
    assert_eq!(verified.code, 0, "{verified:?}");
    Ok(())
}
