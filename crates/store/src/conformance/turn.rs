//! How a turn stands (L2, L11, L12; ledger.md 8).

use receipts::{Completion, Fact, FactBody, Gap, Kind, Status, UnixMillis};

use super::bench::{
    Bench, NOW, admitted, append, called, child, ended, gap, id, new_session, prompt, request,
    started, sum, tokens, turn_id, unanswered, without_answer,
};
use crate::{EventBody, OpenTurn, Recorded, Refusal, Reply, TurnReport};

fn completion(fact: &Fact) -> Option<Completion> {
    match &fact.body {
        FactBody::Completed(completion) => Some(completion.clone()),
        _ => None,
    }
}

/// The report of a turn says all that is known of it, and which request of ours is behind it.
pub fn a_turn_is_reported_whole(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let driver = bench.drive(&session, "e");
    let intent = bench.intend(&session, "q", &driver);
    let missing = Gap::MissingTime { message: id("m") };
    let end = ended("q", "m", Status::Completed, 9);
    let facts = [
        gap("q", missing.clone()),
        admitted("q"),
        started("q", "m", 2),
        called("q", "m/1", 2, tokens(1, 2)),
        child("q", "c"),
        end.clone(),
    ];
    let recorded = bench.append(&session, &facts);
    let expected = TurnReport {
        thread: id("s"),
        turn: id("q"),
        first: recorded[1].first(),
        request: Some(id("q")),
        origin: Some(intent.origin),
        kind: Some(Kind::Prompt),
        admitted_at: Some(UnixMillis(1)),
        status: Status::Completed,
        started_at: Some(UnixMillis(2)),
        started: Some(recorded[2].first()),
        completion: completion(&end),
        usage: sum(&[tokens(1, 2)]),
        children: vec![id("c")],
        gaps: vec![missing],
        contradictions: 0,
    };
    assert_eq!(bench.turn(&session, "q"), expected);
    assert_eq!(bench.read(|ledger| ledger.turns(&session)), [expected]);
    let read = |thread: &str, turn: &str| {
        bench.read(|ledger| ledger.turn(&session, &id(thread), &id(turn)))
    };
    assert_eq!((read("s", "other"), read("other", "q")), (None, None));
}

/// L2 and 7.2: a completion without a start invents no start, usage, driver or owner.
pub fn a_completion_alone_invents_nothing(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    bench.drive(&session, "e");
    bench.capture(&session, "a");
    let end = ended("q", "m", Status::Completed, 9);
    let recorded = bench.append(&session, &[end.clone()]);
    let expected = TurnReport {
        thread: id("s"),
        turn: id("q"),
        first: recorded[0].first(),
        request: None,
        origin: None,
        kind: None,
        admitted_at: None,
        status: Status::Completed,
        started_at: None,
        started: None,
        completion: completion(&end),
        usage: None,
        children: Vec::new(),
        gaps: Vec::new(),
        contradictions: 0,
    };
    assert_eq!(bench.turn(&session, "q"), expected);
}

/// A gap is no evidence that the harness has the turn.
pub fn a_gap_alone_shows_no_turn(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    bench.append(&session, &[gap("q", Gap::MissingTime { message: id("q") })]);
    assert_eq!(bench.read(|ledger| ledger.turns(&session)), []);
    assert_eq!(bench.read(|ledger| ledger.unsettled(&session)), []);
    let missing =
        bench.not_found(|l| l.record_exited(&session, &id("s"), &turn_id("q"), None, NOW));
    assert_eq!(missing, ("turn", "q".to_owned()));
}

/// L11: a turn starts once, when its earliest answer says, whatever was seen first.
pub fn a_turn_starts_once(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let starts = [started("a", "m1", 2), started("a", "m2", 5), started("a", "m0", 2)];
    let recorded = bench.append(&session, &starts);
    let first = recorded[0].first();
    // The second answer is that of another attempt; the third is earlier by its id alone.
    assert_eq!(recorded[..2], [Recorded::Appended(first), Recorded::Known(first)]);
    assert!(matches!(recorded[2], Recorded::Raised { first: held, .. } if held == first));
    let backwards: Vec<Fact> =
        starts.iter().rev().map(|fact| Fact { turn: id("b"), body: fact.body.clone() }).collect();
    bench.append(&session, &backwards);
    for turn in ["a", "b"] {
        let report = bench.turn(&session, turn);
        assert_eq!(report.started_at, Some(UnixMillis(2)));
        assert_eq!(report.contradictions, 0);
    }
    let kinds = bench.kinds(&session);
    assert_eq!(kinds.iter().filter(|kind| *kind == "started").count(), 2);
    bench.write_nothing(|ledger| append(ledger, &session, &starts));
    bench.write_nothing(|ledger| append(ledger, &session, &backwards));
    // An absent time comes first (F2).
    let unknown = Fact { turn: id("b"), body: FactBody::Started { message: id("m9"), at: None } };
    bench.append(&session, &[unknown]);
    assert_eq!(bench.turn(&session, "b").started_at, None);
}

/// F5: the last attempt says how a turn stands, whatever the order in which they were recorded.
pub fn the_last_attempt_says_how_a_turn_stands(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let attempts = |turn: &str| {
        [
            (called(turn, "m1/1", 2, tokens(1, 1)), ended(turn, "m1", Status::Failed, 3)),
            (called(turn, "m2/1", 4, tokens(1, 1)), ended(turn, "m2", Status::Completed, 5)),
            // It was never closed, so that only its call says when it was.
            (called(turn, "m3/1", 6, tokens(1, 1)), lost(turn, "m3")),
        ]
    };
    let orders = [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1]];
    for (turn, order) in ["a", "b", "c", "d"].into_iter().zip(orders) {
        let attempts = attempts(turn);
        bench.append(&session, &[admitted(turn)]);
        for number in order {
            let (call, end) = attempts[number].clone();
            bench.append(&session, &[call, end]);
        }
        let report = bench.turn(&session, turn);
        assert_eq!((report.status, report.completion), (Status::Lost, completion(&attempts[2].1)));
    }
}

fn lost(turn: &str, message: &str) -> Fact {
    let completion = Completion { message: Some(id(message)), ..without_answer(Status::Lost) };
    Fact { turn: id(turn), body: FactBody::Completed(completion) }
}

/// A loss of which nothing tells the time is later than what was recorded before it.
pub fn an_end_without_a_time_follows_what_was_recorded_before(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    bench.append(&session, &[admitted("q"), ended("q", "m1", Status::Failed, 3)]);
    bench.append(&session, &[lost("q", "m2")]);
    assert_eq!(bench.status(&session, "q"), Status::Lost);
    bench.append(&session, &[ended("q", "m3", Status::Completed, 5)]);
    assert_eq!(bench.status(&session, "q"), Status::Completed);
}

/// Ledger.md 8: what is said of a request without an answer holds until the harness answers it.
pub fn an_unanswered_request_may_be_answered_later(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    bench.append(&session, &[admitted("q"), unanswered("q", Status::Unanswered)]);
    assert_eq!(bench.status(&session, "q"), Status::Unanswered);
    assert_eq!(bench.read(|ledger| ledger.unsettled(&session)), []);
    bench.append(&session, &[started("q", "m", 2)]);
    let report = bench.turn(&session, "q");
    assert_eq!((report.status, report.completion), (Status::Pending, None));
    let open = OpenTurn { thread: id("s"), turn: id("q"), request: None };
    assert_eq!(bench.read(|ledger| ledger.unsettled(&session)), [open]);
    bench.append(&session, &[ended("q", "m", Status::Completed, 3)]);
    assert_eq!(bench.status(&session, "q"), Status::Completed);
    // The start comes after what came of it.
    bench.append(&session, &[ended("r", "m", Status::Failed, 3), started("r", "m", 2)]);
    bench.append(&session, &[unanswered("r", Status::Unanswered)]);
    assert_eq!(bench.status(&session, "r"), Status::Failed);
    assert_eq!(bench.read(|ledger| ledger.unsettled(&session)), []);
}

/// Ledger.md 8: a prompt that was unanswered may be absorbed; the later evidence holds.
pub fn an_unanswered_request_may_be_absorbed(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let ends = [Status::Unanswered, Status::Absorbed, Status::NoReply];
    for (turn, order) in [("a", [0, 1]), ("b", [1, 0])] {
        let facts = order.map(|number| unanswered(turn, ends[number]));
        bench.append(&session, &facts);
        assert_eq!(bench.status(&session, turn), Status::Absorbed);
        bench.append(&session, &[unanswered(turn, Status::NoReply)]);
        assert_eq!(bench.status(&session, turn), Status::NoReply);
    }
}

/// A prompt that asks for no answer ends without one.
pub fn a_request_for_no_reply_is_reported_as_such(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let driver = bench.drive(&session, "e");
    let silent = crate::NewIntent { reply: Reply::NotAsked, ..prompt(&session, "q") };
    let intent = bench.write(|ledger| ledger.intend(&silent, &driver));
    assert_eq!(intent.reply, Reply::NotAsked);
    bench.append(&session, &[admitted("q"), unanswered("q", Status::NoReply)]);
    assert_eq!(bench.status(&session, "q"), Status::NoReply);
}

/// L12: a proven death is ours to record, once, of a turn that is open; it is no completion.
pub fn a_proven_death_loses_open_turns(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let content = bench.write(|ledger| ledger.put_evidence(b"pid 7 is gone", NOW));
    bench.append(&session, &[admitted("q"), started("q", "m", 2)]);
    bench.append(&session, &[ended("done", "m2", Status::Completed, 3)]);
    let exited = |turn: &str| {
        let (session, turn) = (session.clone(), turn_id(turn));
        move |ledger: &mut dyn crate::LedgerWrite| {
            ledger.record_exited(&session, &id("s"), &turn, Some(content), NOW)
        }
    };
    let recorded = bench.write(exited("q"));
    assert_eq!(bench.write_nothing(exited("q")), Recorded::Known(recorded.first()));
    let event = bench.events(&session).pop().expect("it is there");
    assert_eq!((event.body, event.evidence), (EventBody::Exited, Some(content)));
    let report = bench.turn(&session, "q");
    assert_eq!((report.status, report.completion), (Status::Lost, None));
    assert_eq!(bench.read(|ledger| ledger.unsettled(&session)), []);
    assert_eq!(bench.refused(exited("done")), Refusal::TurnEnded { turn: id("done") });
    assert_eq!(bench.not_found(exited("nobody")), ("turn", "nobody".to_owned()));
    let unknown = crate::EvidenceDigest::of(b"never kept");
    let refused = bench
        .refused(|ledger| ledger.record_exited(&session, &id("s"), &id("q2"), Some(unknown), NOW));
    assert_eq!(refused, Refusal::UnknownEvidence);
}

/// A real completion that is found after the death was recorded says how the turn ended.
pub fn a_completion_outweighs_a_death(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    bench.append(&session, &[admitted("q"), started("q", "m", 2)]);
    bench.write(|l| l.record_exited(&session, &id("s"), &id("q"), None, NOW).map(drop));
    let end = ended("q", "m", Status::Completed, 9);
    bench.append(&session, &[end.clone()]);
    let report = bench.turn(&session, "q");
    assert_eq!((report.status, report.completion), (Status::Completed, completion(&end)));
    assert_eq!(report.contradictions, 0);
}

/// Open turns are found among many, with the requests behind them, in the order of their events.
pub fn open_turns_are_found_among_many(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let driver = bench.drive(&session, "e");
    bench.write(|ledger| {
        for number in 0..1500 {
            let turn = format!("q{number}");
            append(ledger, &session, &[admitted(&turn), ended(&turn, "m", Status::Completed, 3)])?;
        }
        Ok(())
    });
    bench.append(&session, &[admitted("z")]);
    bench.intend(&session, "a", &driver);
    bench.append(&session, &[admitted("a")]);
    // Another conversation of the session, and one of another session.
    let other = bench.session("other");
    bench.append(&other, &[admitted("b")]);
    let open = |turn: &str, request: Option<&str>| OpenTurn {
        thread: id("s"),
        turn: id(turn),
        request: request.map(id),
    };
    let unsettled = bench.read(|ledger| ledger.unsettled(&session));
    assert_eq!(unsettled, [open("z", None), open("a", Some("a"))]);
    let turns = bench.read(|ledger| ledger.turns(&session));
    assert_eq!(turns.len(), 1502);
    assert!(turns.is_sorted_by(|a, b| a.first < b.first));
    bench.write(|ledger| ledger.create_session(&new_session("empty")));
    assert_eq!(bench.read(|ledger| ledger.turns(&id("empty"))), []);
}

/// A turn that only its answers show is a turn, too.
pub fn an_orphan_keeps_its_usage(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let dangling = Gap::DanglingParent { message: id("m") };
    let facts = [
        started("gone", "m", 2),
        called("gone", "m/1", 2, tokens(3, 4)),
        gap("gone", dangling.clone()),
    ];
    bench.append(&session, &facts);
    let report = bench.turn(&session, "gone");
    assert_eq!((report.usage, report.gaps), (sum(&[tokens(3, 4)]), vec![dangling]));
    let kinds = [Kind::Summarize, Kind::Shell].map(|kind| {
        let body = FactBody::Admitted { kind, at: None };
        Fact { turn: id(kind.as_str()), body }
    });
    bench.append(&session, &kinds);
    assert_eq!(bench.read(|ledger| ledger.unsettled(&session)).len(), 3);
    assert_eq!(bench.read(|ledger| ledger.intent(&request("gone"))), None);
}
