//! `turnbook run` and what stands beside it, on a real OpenCode.

use std::io::Read as _;

use rustix::process::{Pid, Signal, kill_process};
use testkit::{
    model::{Gate, Key, Reply, Usage},
    opencode::{Permissions, Verdict},
};

use crate::{
    desk::{Desk, Ran},
    server::Outcome,
};

#[test]
fn a_turn_streams_its_answer_and_leaves_a_receipt() -> Outcome {
    let desk = Desk::new()?;
    let (first, second) = (Key::new("first"), Key::new("second"));
    desk.model.script(&first, [Reply::text("hello").stop(Usage::of(150, 7))]);
    desk.model.script(&second, [Reply::text("again").stop(Usage::of(160, 8))]);
    let ran = desk.run(&["run", "--session", "greet", &first.prompt("say hello")])?;
    assert_eq!((ran.code, &*ran.stdout), (0, "hello\n"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("input 150, ") && ran.stderr.contains("output 7, "),
        "{}",
        ran.stderr
    );
    let ran = desk.run(&["run", "--session", "greet", "--json", &second.prompt("once more")])?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains(r#""text": "again""#), "{}", ran.stdout);
    let shown = desk.shown("greet")?;
    let turns: Vec<_> = shown
        .turns
        .iter()
        .map(|turn| {
            let usage = turn.usage.as_ref();
            (turn.status.as_str(), usage.and_then(|usage| usage.input), turn.owner.is_some())
        })
        .collect();
    assert_eq!(turns, [("completed", Some(150), true), ("completed", Some(160), true)]);
    let verified = desk.run(&["verify"])?;
    assert_eq!(verified.code, 0, "{verified:?}");
    let recovered = desk.run(&["recover"])?;
    assert_eq!(recovered.code, 0, "{recovered:?}");
    assert!(recovered.stdout.contains("nothing new"), "{recovered:?}");
    Ok(())
}

#[test]
fn the_exit_code_says_how_the_turn_ended() -> Outcome {
    let permissions = Permissions::all(Verdict::Allow).except("bash", Verdict::Ask);
    let desk = Desk::with(|setup| setup.permissions(permissions))?;
    let (refused, asks) = (Key::new("refused"), Key::new("asks"));
    desk.model.script(&refused, [Reply::refuse(401, "no such key")]);
    let bash = r#"{"command":"echo hi","description":"says hi"}"#;
    desk.model.script(&asks, [Reply::tool("bash", bash).tool_calls(Usage::of(10, 2))]);
    let failed = desk.run(&["run", "--session", "s", &refused.prompt("fail")])?;
    assert_eq!(failed.code, 10, "{failed:?}");
    assert!(failed.stderr.contains("error     APIError"), "{failed:?}");
    // Nobody is at the terminal: what is asked is rejected.
    let stopped = desk.run(&["run", "--session", "s", &asks.prompt("ask")])?;
    assert_eq!(stopped.code, 12, "{stopped:?}");
    let asked = desk.model.served_for(&asks).len();
    assert_eq!(asked, 1);
    Ok(())
}

#[tokio::test]
async fn a_turn_is_aborted_by_ctrl_c_and_from_elsewhere() -> Outcome {
    let desk = Desk::new()?;
    for (name, from_elsewhere) in [("pressed", false), ("elsewhere", true)] {
        let (key, gate) = (Key::new(name), Gate::new(name));
        desk.model.script(&key, [Reply::text("half").hold(&gate).stop(Usage::of(9, 9))]);
        let mut child = desk.turnbook(&["run", "--session", name, &key.prompt("go")]).spawn()?;
        desk.model.held_at(&gate).await;
        if from_elsewhere {
            let aborted = desk.run(&["abort", name])?;
            assert_eq!(aborted.code, 0, "{aborted:?}");
        } else {
            let pid = Pid::from_child(&child);
            kill_process(pid, Signal::INT)?;
        }
        let mut stdout = String::new();
        child.stdout.take().ok_or("piped")?.read_to_string(&mut stdout)?;
        let ran = Ran::of(child.wait_with_output()?);
        assert_eq!((ran.code, &*stdout), (11, "half\n"), "{}", ran.stderr);
    }
    Ok(())
}

/// Whoever steers takes the session for a moment; the server stays that of the run, and a further
/// run would otherwise start a second one on the same conversation.
#[tokio::test]
async fn a_session_that_was_steered_is_still_that_of_the_run_that_drives_it() -> Outcome {
    let desk = Desk::new()?;
    let (key, gate) = (Key::new("held"), Gate::new("held"));
    desk.model.script(&key, [Reply::text("half").hold(&gate).stop(Usage::of(9, 9))]);
    let child = desk.turnbook(&["run", "--session", "s", &key.prompt("go")]).spawn()?;
    desk.model.held_at(&gate).await;
    let steered = desk.run(&["steer", "s", "and be quick"])?;
    assert_eq!(steered.code, 0, "{steered:?}");
    let refused = desk.run(&["run", "--session", "s", "me too"])?;
    assert_eq!(refused.code, 23, "{refused:?}");
    let aborted = desk.run(&["abort", "s"])?;
    assert_eq!(aborted.code, 0, "{aborted:?}");
    let ran = Ran::of(child.wait_with_output()?);
    assert_eq!((ran.code, &*ran.stdout), (11, "half\n"), "{}", ran.stderr);
    Ok(())
}
