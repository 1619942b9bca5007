//! Sessions, inputs, drivers and runs (ledger.md 3).

use std::thread;

use receipts::{Status, UnixMillis};

use super::bench::{
    Bench, NOW, admitted, called, ended, exec, harness, id, input, key, new_exec, new_session,
    prompt, started, sum, tokens,
};
use crate::{
    Access as _, Capture, Captured, Current, CurrentInput, Driver, Endpoint, EventBody, Exec,
    ExecEnd, ExecOutcome, Generation, HarnessName, Input, Labels, NewSession, ProcessIdentity,
    Provider, ProviderGeneration, Refusal, Session, StoreError, Work,
};

/// Ledger.md 3: creating is idempotent on the id; the time of another attempt is no difference.
pub fn a_session_is_created_once(bench: &mut Bench<'_>) {
    let new = new_session("s");
    let session =
        Session { fixed: new.clone(), thread: None, input: None, driver: None, closed_at: None };
    assert_eq!(bench.write(|ledger| ledger.create_session(&new)), session);
    let later = NewSession { created_at: UnixMillis(NOW.0 + 1), ..new };
    assert_eq!(bench.write_nothing(|ledger| ledger.create_session(&later)), session);
    assert_eq!(bench.read(|ledger| ledger.session(&id("s"))), Some(session));
    assert_eq!(bench.read(|ledger| ledger.session(&id("other"))), None);
}

/// Ledger.md 3: different immutable fields are an error that names the field.
pub fn another_session_of_one_id_is_a_conflict(bench: &mut Bench<'_>) {
    let new = new_session("s");
    bench.write(|ledger| ledger.create_session(&new));
    let labels = Labels::new([("a", "b")]).expect("good labels");
    let others = [
        ("harness", NewSession { harness: HarnessName::new("x").expect("good"), ..new.clone() }),
        ("workdir", NewSession { workdir: None, ..new.clone() }),
        ("title", NewSession { title: Some("t".into()), ..new.clone() }),
        ("labels", NewSession { labels, ..new }),
    ];
    for (field, other) in others {
        let conflict = bench.conflict(|ledger| ledger.create_session(&other));
        assert_eq!(conflict, ("session s".to_owned(), field));
    }
}

/// Sessions are listed by creation, in pages, whatever their ids and times.
pub fn sessions_are_listed_as_they_were_created(bench: &mut Bench<'_>) {
    let names = ["m", "a", "z", "b"];
    for (number, name) in (0..).zip(names) {
        let new = NewSession { created_at: UnixMillis(-number), ..new_session(name) };
        bench.write(|ledger| ledger.create_session(&new));
    }
    bench.write(|ledger| ledger.close_session(&id("m"), NOW));
    let page = |after: Option<&str>, limit| {
        let after = after.map(id);
        let sessions = bench.read(|ledger| ledger.sessions(after.as_ref(), limit));
        sessions.iter().map(|session| session.id().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(page(None, 10), names);
    assert_eq!(page(None, 2), ["m", "a"]);
    assert_eq!(page(Some("a"), 2), ["z", "b"]);
    assert_eq!(page(Some("b"), 2), [""; 0]);
    let after = id("nobody");
    let result = bench.store().view(|ledger| ledger.sessions(Some(&after), 1));
    assert!(matches!(result, Err(StoreError::NotFound { what: "session", .. })), "{result:?}");
}

/// A session has one conversation, and a conversation one session of its harness.
pub fn a_thread_belongs_to_one_session(bench: &mut Bench<'_>) {
    for name in ["s", "other"] {
        bench.write(|ledger| ledger.create_session(&new_session(name)));
    }
    let foreign =
        NewSession { harness: HarnessName::new("acp").expect("good"), ..new_session("foreign") };
    bench.write(|ledger| ledger.create_session(&foreign));
    bench.write(|ledger| ledger.attach_thread(&id("s"), &id("t")));
    bench.write_nothing(|ledger| ledger.attach_thread(&id("s"), &id("t")));
    let conflict = bench.conflict(|ledger| ledger.attach_thread(&id("s"), &id("t2")));
    assert_eq!(conflict, ("session s".to_owned(), "thread"));
    let refused = bench.refused(|ledger| ledger.attach_thread(&id("other"), &id("t")));
    assert_eq!(refused, Refusal::ThreadTaken { session: id("s") });
    // The ids of two harnesses have nothing to do with each other.
    bench.write(|ledger| ledger.attach_thread(&id("foreign"), &id("t")));
    let of =
        |harness: &HarnessName| bench.read(|ledger| ledger.session_of_thread(harness, &id("t")));
    assert_eq!(of(&harness()), Some(id("s")));
    assert_eq!(of(&foreign.harness), Some(id("foreign")));
}

/// Ledger.md 3: an input replaces the current one by compare-and-set on the capture.
pub fn an_input_replaces_the_one_that_was_expected(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let replace = |expected, new: &str| {
        let new = input(new);
        bench.write(|ledger| ledger.replace_input(&id("s"), expected, &new, NOW))
    };
    assert_eq!(replace(None, "a"), Capture(1));
    assert_eq!(replace(Some(Capture(1)), "b"), Capture(2));
    for expected in [None, Some(Capture(1)), Some(Capture(3))] {
        let current =
            bench.stale(|ledger| ledger.replace_input(&session, expected, &input("c"), NOW));
        assert_eq!(current, Current::Capture(Some(Capture(2))));
    }
    let captured = |name, number| Captured {
        session: session.clone(),
        capture: Capture(number),
        at: NOW,
        input: input(name),
    };
    let history = bench.read(|ledger| ledger.input_history(&session));
    assert_eq!(history, [captured("a", 1), captured("b", 2)]);
    let current = bench.read(|ledger| ledger.session(&session)).and_then(|session| session.input);
    assert_eq!(current, Some(CurrentInput { key: key("b"), capture: Capture(2) }));
    let bodies: Vec<EventBody> = bench.events(&session).into_iter().map(|e| e.body).collect();
    let event = |name, number| EventBody::Captured { input: key(name), capture: Capture(number) };
    assert_eq!(bodies, [event("a", 1), event("b", 2)]);
}

/// Ledger.md 3: a key is captured once in the whole store.
pub fn an_input_is_captured_once(bench: &mut Bench<'_>) {
    let (session, other) = (bench.session("s"), bench.session("other"));
    bench.capture(&session, "a");
    bench.capture(&session, "b");
    let refused =
        bench.refused(|ledger| ledger.replace_input(&session, Some(Capture(2)), &input("a"), NOW));
    assert_eq!(refused, Refusal::InputCaptured { input: key("a") });
    let refused = bench.refused(|ledger| ledger.replace_input(&other, None, &input("b"), NOW));
    assert_eq!(refused, Refusal::InputCaptured { input: key("b") });
}

/// Ledger.md 3: a session that is bound to work takes inputs of that work only.
pub fn an_input_of_other_work_is_refused(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let of = |name: &str, work: Option<&str>| Input {
        work: work.map(|work| Work::new(work).expect("good")),
        ..input(name)
    };
    let replace = |expected, new: Input| {
        bench.write(|ledger| ledger.replace_input(&id("s"), expected, &new, NOW))
    };
    let first = replace(None, of("a", None));
    let bound = replace(Some(first), of("b", Some("w")));
    let same = replace(Some(bound), of("c", Some("w")));
    for other in [of("d", Some("other")), of("e", None)] {
        let refused =
            bench.refused(|ledger| ledger.replace_input(&session, Some(same), &other, NOW));
        assert_eq!(refused, Refusal::WorkDiffers { session: session.clone() });
    }
}

/// Ledger.md 3: the whole current driver must be the expected one; the numbers rise as they say.
pub fn a_driver_is_claimed_by_its_whole_value(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    for name in ["e1", "e2"] {
        bench.write(|ledger| ledger.start_exec(&new_exec(name)));
    }
    let first =
        bench.write(|ledger| ledger.claim_driver(&session, None, &exec("e1"), Provider::Replace));
    let expected = Driver {
        exec: Some(exec("e1")),
        generation: Generation(1),
        provider_generation: ProviderGeneration(1),
        provider_exec: Some(exec("e1")),
        endpoint: None,
        process: None,
    };
    assert_eq!(first, expected);
    let endpoint = Endpoint::new("http://127.0.0.1:4096").expect("good");
    let process = Some(ProcessIdentity { pid: 7, start_time: 8 });
    let described =
        bench.write(|ledger| ledger.describe_provider(&session, &first, Some(&endpoint), process));
    assert_eq!(described, Driver { endpoint: Some(endpoint), process, ..first.clone() });
    // Equal but for the process: stale all the same.
    for stale in [None, Some(&first)] {
        let current =
            bench.stale(|ledger| ledger.claim_driver(&session, stale, &exec("e2"), Provider::Keep));
        assert_eq!(current, Current::Driver(Some(Box::new(described.clone()))));
    }
    let kept = bench.write(|ledger| {
        ledger.claim_driver(&session, Some(&described), &exec("e2"), Provider::Keep)
    });
    let expected = Driver { exec: Some(exec("e2")), generation: Generation(2), ..described };
    assert_eq!(kept, expected);
    let replaced = bench
        .write(|ledger| ledger.claim_driver(&session, Some(&kept), &exec("e2"), Provider::Replace));
    let expected = Driver {
        exec: Some(exec("e2")),
        generation: Generation(3),
        provider_generation: ProviderGeneration(2),
        provider_exec: Some(exec("e2")),
        endpoint: None,
        process: None,
    };
    assert_eq!(replaced, expected);
    let stored = bench.read(|ledger| ledger.session(&session)).expect("it is there");
    assert_eq!((stored.driver, stored.thread), (Some(replaced), Some(id("s"))));
}

/// Ledger.md 3: of two racing claims with one expectation exactly one wins.
pub fn one_of_two_racing_claims_wins(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    for round in 0..8 {
        let expected = bench.read(|ledger| ledger.session(&session)).and_then(|s| s.driver);
        let names = [format!("a{round}"), format!("b{round}")];
        let claims = names.clone().map(|name| {
            let (store, session, expected) = (bench.shared(), session.clone(), expected.clone());
            thread::spawn(move || {
                store.update(|ledger| {
                    ledger.start_exec(&new_exec(&name))?;
                    let exec = exec(&name);
                    ledger.claim_driver(&session, expected.as_ref(), &exec, Provider::Keep)
                })
            })
        });
        let results = claims.map(|claim| claim.join().expect("no claim panics"));
        let current = bench.read(|ledger| ledger.session(&session)).and_then(|s| s.driver);
        let won: Vec<_> = results.iter().filter_map(|result| result.as_ref().ok()).collect();
        assert_eq!(won, current.iter().collect::<Vec<_>>());
        let lost = results.iter().filter_map(|result| match result {
            Err(StoreError::Stale { current: Current::Driver(current) }) => Some(current.clone()),
            _ => None,
        });
        assert_eq!(lost.collect::<Vec<_>>(), [current.map(Box::new)]);
    }
}

/// Who drives must be a run that is known.
pub fn a_driver_is_a_run_that_was_started(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let missing = bench.not_found(|ledger| {
        ledger.claim_driver(&session, None, &exec("nobody"), Provider::Replace)
    });
    assert_eq!(missing, ("exec", "nobody".to_owned()));
    bench.write(|ledger| ledger.start_exec(&new_exec("e")));
    let missing = bench.not_found(|ledger| {
        ledger.claim_driver(&id("nobody"), None, &exec("e"), Provider::Replace)
    });
    assert_eq!(missing, ("session", "nobody".to_owned()));
}

/// Ledger.md 3 and 7.8: a stale holder, and a driver without a run, are refused before any byte.
pub fn only_the_current_driver_passes_the_fence(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let old = bench.drive(&session, "e1");
    let new = bench.drive(&session, "e2");
    let current = |driver: &Driver| Current::Driver(Some(Box::new(driver.clone())));
    let fence = |driver: &Driver| bench.store().view(|ledger| ledger.check_fence(&id("s"), driver));
    assert!(matches!(fence(&new), Ok(())));
    assert!(
        matches!(fence(&old), Err(StoreError::Stale { current: found }) if found == current(&new))
    );
    assert_eq!(bench.stale(|l| l.intend(&prompt(&session, "q"), &old)), current(&new));
    assert_eq!(bench.stale(|l| l.describe_provider(&session, &old, None, None)), current(&new));
    assert_eq!(bench.stale(|l| l.release(&session, &old)), current(&new));
    let outcome = ExecOutcome::Lost;
    assert_eq!(bench.stale(|l| l.finish(&session, &old, outcome, NOW)), current(&new));
}

/// Ledger.md 3: a driver without a run cannot send.
pub fn nobody_passes_the_fence_after_a_release(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let driver = bench.drive(&session, "e");
    let fence = |driver: &Driver| bench.store().view(|ledger| ledger.check_fence(&id("s"), driver));
    let released = bench.write(|ledger| ledger.release(&session, &driver));
    let nobody = Refusal::DriverWithoutExec { session: session.clone() };
    assert!(matches!(fence(&released), Err(StoreError::Refused { why }) if why == nobody));
    assert_eq!(bench.refused(|l| l.intend(&prompt(&session, "q"), &released)), nobody);
    assert_eq!(bench.refused(|l| l.describe_provider(&session, &released, None, None)), nobody);
    assert!(matches!(fence(&driver), Err(StoreError::Stale { .. })));
}

/// Ledger.md 3: a release leaves a live provider without a driver, and completes no turn.
pub fn a_release_leaves_the_provider(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let driver = bench.drive(&session, "e");
    bench.intend(&session, "q", &driver);
    bench.append(&session, &[admitted("q"), started("q", "m", 2)]);
    let endpoint = Endpoint::new("here").expect("good");
    let driver =
        bench.write(|ledger| ledger.describe_provider(&session, &driver, Some(&endpoint), None));
    let released = bench.write(|ledger| ledger.release(&session, &driver));
    assert_eq!(released, Driver { exec: None, generation: Generation(2), ..driver });
    assert_eq!(bench.status(&session, "q"), Status::Pending);
    assert_eq!(bench.kinds(&session), ["requested", "admitted", "started"]);
}

/// Ledger.md 3, 7.10 and L7: a finish is evidence of the driver's end, and of nothing else.
pub fn a_finish_ends_the_driver_alone(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let driver = bench.drive(&session, "e");
    bench.intend(&session, "q", &driver);
    bench.append(&session, &[admitted("q"), started("q", "m", 2)]);
    let outcome = ExecOutcome::Exited(3);
    let finished = bench.write(|ledger| ledger.finish(&session, &driver, outcome, NOW));
    let expected = Driver { exec: None, generation: Generation(2), ..driver.clone() };
    assert_eq!(finished, expected);
    let last = bench.events(&session).pop().map(|event| event.body);
    let generation = Generation(1);
    assert_eq!(
        last,
        Some(EventBody::DriverFinished { exec: Some(exec("e")), generation, outcome })
    );
    assert_eq!(bench.status(&session, "q"), Status::Pending);
    assert_eq!(bench.read(|ledger| ledger.exec(&exec("e"))).and_then(|exec| exec.end), None);
    // The session is resumed; the old driver's finish comes late.
    let resumed = bench.drive(&session, "e2");
    bench.stale(|ledger| ledger.finish(&session, &driver, outcome, NOW));
    let stored = bench.read(|ledger| ledger.session(&session)).expect("it is there");
    assert_eq!((stored.driver, stored.closed_at), (Some(resumed), None));
}

/// Ledger.md 3 and L7: what is closed takes no input, driver or prompt; what was seen is recorded.
pub fn a_closed_session_is_only_recorded(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let driver = bench.drive(&session, "e");
    bench.capture(&session, "a");
    bench.intend(&session, "q", &driver);
    bench.append(&session, &[admitted("q")]);
    let before = bench.read(|ledger| ledger.session(&session)).expect("it is there");
    bench.write(|ledger| ledger.close_session(&session, NOW));
    bench.write_nothing(|ledger| ledger.close_session(&session, UnixMillis(NOW.0 + 1)));
    let closed = bench.read(|ledger| ledger.session(&session));
    assert_eq!(closed, Some(Session { closed_at: Some(NOW), ..before }));
    let refusal = Refusal::SessionClosed { session: session.clone() };
    assert_eq!(
        bench.refused(|l| l.replace_input(&session, Some(Capture(1)), &input("b"), NOW)),
        refusal
    );
    assert_eq!(
        bench.refused(|l| l.claim_driver(&session, Some(&driver), &exec("e"), Provider::Keep)),
        refusal
    );
    assert_eq!(bench.refused(|l| l.intend(&prompt(&session, "q2"), &driver)), refusal);
    assert_eq!(bench.status(&session, "q"), Status::Pending);
    bench.append(&session, &[ended("q", "m", Status::Completed, 3)]);
    assert_eq!(bench.status(&session, "q"), Status::Completed);
    bench.write(|ledger| ledger.release(&session, &driver));
}

/// L7 and 7.10: a turn's end, of whatever kind, ends no run, no driver and no session.
pub fn the_end_of_a_turn_ends_nothing_else(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let driver = bench.drive(&session, "e");
    bench.capture(&session, "a");
    let before = bench.read(|ledger| ledger.session(&session));
    for (name, status) in [("q1", Status::Interrupted), ("q2", Status::Completed)] {
        bench.intend(&session, name, &driver);
        bench.append(&session, &[admitted(name), ended(name, "m", status, 3)]);
        assert_eq!(bench.status(&session, name), status);
    }
    assert_eq!(bench.read(|ledger| ledger.session(&session)), before);
    assert_eq!(bench.read(|ledger| ledger.exec(&exec("e"))).and_then(|exec| exec.end), None);
    assert_eq!(bench.read(|ledger| ledger.input_usage(&key("a"))).outcome, None);
}

/// A run is recorded once; another with its id is a conflict that names the field.
pub fn a_run_starts_and_ends_once(bench: &mut Bench<'_>) {
    let new = new_exec("e");
    bench.write(|ledger| ledger.start_exec(&new));
    bench.write_nothing(|ledger| ledger.start_exec(&new));
    let mut others = [new.clone(), new.clone(), new.clone(), new.clone()];
    others[0].parent = Some(exec("e"));
    others[1].argv.pop();
    others[2].cwd = Some("/".into());
    others[3].started_at = UnixMillis(0);
    for (field, other) in ["parent", "argv", "cwd", "started_at"].into_iter().zip(others) {
        let conflict = bench.conflict(|ledger| ledger.start_exec(&other));
        assert_eq!(conflict, ("exec e".to_owned(), field));
    }
    let orphan = crate::NewExec { parent: Some(exec("nobody")), ..new_exec("e2") };
    assert_eq!(bench.not_found(|l| l.start_exec(&orphan)), ("exec", "nobody".to_owned()));
    assert_eq!(
        bench.not_found(|l| l.end_exec(&exec("nobody"), ExecOutcome::Lost, NOW)),
        ("exec", "nobody".to_owned())
    );
    let outcome = ExecOutcome::Killed(9);
    bench.write(|ledger| ledger.end_exec(&exec("e"), outcome, NOW));
    bench.write_nothing(|ledger| ledger.end_exec(&exec("e"), outcome, UnixMillis(0)));
    let conflict = bench.conflict(|ledger| ledger.end_exec(&exec("e"), ExecOutcome::Lost, NOW));
    assert_eq!(conflict, ("exec e".to_owned(), "outcome"));
    let end = Some(ExecEnd { at: NOW, outcome });
    assert_eq!(bench.read(|ledger| ledger.exec(&exec("e"))), Some(Exec { fixed: new, end }));
    assert_eq!(bench.read(|ledger| ledger.exec(&exec("nobody"))), None);
}

/// Ledger.md 7.3: input and driver are replaced mid-turn; usage stays with the first.
pub fn a_turn_stays_with_the_input_it_was_intended_for(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let first = bench.drive(&session, "e1");
    bench.capture(&session, "a");
    let intent = bench.intend(&session, "q1", &first);
    // Work is bound, and another run takes over, while the first turn runs.
    let bound = Input { work: Some(Work::new("w").expect("good")), ..input("b") };
    bench.write(|ledger| ledger.replace_input(&session, Some(Capture(1)), &bound, NOW));
    let second = bench.drive(&session, "e2");
    bench.reopen();
    // The new run recovers the attribution from the intent; it has nothing to send again.
    assert_eq!(bench.read(|ledger| ledger.open_intents(&session)), [intent.clone()]);
    let calls = [tokens(20, 5), tokens(7, 1)];
    bench.append(
        &session,
        &[admitted("q1"), started("q1", "m1", 2), called("q1", "m1/1", 2, calls[0])],
    );
    bench.intend(&session, "q2", &second);
    bench.append(&session, &[admitted("q2"), called("q2", "m2/1", 3, calls[1])]);
    assert_eq!(bench.turn(&session, "q1").origin, Some(intent.origin));
    let usage = |name| bench.read(|ledger| ledger.input_usage(&key(name))).usage;
    assert_eq!((usage("a"), usage("b")), (sum(&calls[..1]), sum(&calls[1..])));
    let usage = |name| bench.read(|ledger| ledger.exec_usage(&exec(name)));
    assert_eq!((usage("e1"), usage("e2")), (sum(&calls[..1]), sum(&calls[1..])));
}
