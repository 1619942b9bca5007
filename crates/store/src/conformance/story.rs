//! The acceptance story (ledger.md 6).

use receipts::{Counter, Decrease, Gap, Output, Status};

use super::bench::{Bench, admitted, append, called, ended, exec, id, key, started, sum, tokens};
use crate::{Coverage, Event, EventBody, InputReport, Recorded};

/// Ledger.md 6, whole; the store is closed and opened again between any two steps.
pub fn the_acceptance_story(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    bench.capture(&session, "a");
    let d1 = bench.drive(&session, "e1");
    let intent = bench.intend(&session, "q", &d1);
    bench.write(|ledger| ledger.mark_delivery(&id("q"), &crate::Dispatch::Sent));
    bench.reopen();
    // The first step, seen three times.
    for (round, tokens_in) in [20, 40, 30].into_iter().enumerate() {
        let facts =
            [admitted("q"), started("q", "m1", 2), called("q", "m1/1", 2, tokens(tokens_in, 5))];
        let recorded = bench.append(&session, &facts);
        let is_new = recorded.iter().map(|each| matches!(each, Recorded::Appended(_)));
        assert_eq!(is_new.collect::<Vec<_>>(), [round == 0; 3]);
        bench.reopen();
    }
    assert_eq!(bench.status(&session, "q"), Status::Pending);
    // Another input, another driver, another provider.
    bench.capture(&session, "b");
    let d2 = bench.drive(&session, "e2");
    assert_ne!(d1.provider_generation, d2.provider_generation);
    bench.reopen();
    // The whole history, read twice.
    let history = [
        admitted("q"),
        started("q", "m1", 2),
        called("q", "m1/1", 2, tokens(30, 5)),
        called("q", "m2/1", 4, tokens(10, 5)),
        ended("q", "m2", Status::Completed, 5),
    ];
    bench.append(&session, &history);
    bench.reopen();
    let (_, written) = bench.write(|ledger| {
        let recorded = append(ledger, &session, &history)?;
        Ok((recorded, ledger.writes()))
    });
    assert_eq!(written, 0);
    inputs_are_told_apart(bench, &session);
    let completed = bench.kinds(&session).iter().filter(|kind| *kind == "completed").count();
    assert_eq!(completed, 1);
    // Every event of the turn is attributed to the first run.
    let events = bench.events(&session);
    let of_turn: Vec<&Event> = events.iter().filter(|event| event.turn.is_some()).collect();
    assert!(of_turn.len() >= 7, "{of_turn:?}");
    for event in of_turn {
        let (thread, turn) = (event.thread.as_ref(), event.turn.as_ref());
        let owner = bench.read(|ledger| {
            ledger.intent_of_turn(&session, thread.expect("a turn has one"), turn.expect("it is"))
        });
        assert_eq!(owner.map(|intent| intent.origin.exec), Some(exec("e1")), "{event:?}");
    }
    let turn = bench.turn(&session, "q");
    assert_eq!(
        (turn.origin, turn.usage),
        (Some(intent.origin), sum(&[tokens(40, 5), tokens(10, 5)]))
    );
    assert_eq!(bench.read(|ledger| ledger.exec_usage(&exec("e2"))), None);
    let is_exec_open = |body: &EventBody| !matches!(body, EventBody::Exited);
    assert!(bench.events(&session).iter().all(|event| is_exec_open(&event.body)));
}

fn inputs_are_told_apart(bench: &Bench<'_>, session: &receipts::SessionId) {
    let usage = sum(&[tokens(40, 5), tokens(10, 5)]);
    let decrease = Decrease { counter: Counter::Input, from: "40".to_owned(), to: "30".to_owned() };
    let gaps = vec![Gap::Decrease { call: id("m1/1"), decrease }];
    let report = |name| bench.read(|ledger| ledger.input_usage(&key(name)));
    let captured = bench.read(|ledger| ledger.input_history(session));
    let expected = InputReport {
        captured: captured[0].clone(),
        usage,
        coverage: Coverage { known: 2, unknown: 0 },
        gaps,
        outcome: None,
        answer: Some(Output::Text("m2".into())),
    };
    assert_eq!(report("a"), expected);
    let expected = InputReport {
        captured: captured[1].clone(),
        usage: None,
        coverage: Coverage { known: 0, unknown: 0 },
        gaps: Vec::new(),
        outcome: None,
        answer: None,
    };
    assert_eq!(report("b"), expected);
}
