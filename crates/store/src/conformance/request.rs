//! Requests: intended, sent, admitted (L3 to L5; ledger.md 7.1, 7.2, 7.4, 7.9).

use receipts::{Gap, Status};

use super::bench::{
    Bench, NOW, admitted, append, called, ended, exec, gap, id, key, prompt, request, started, sum,
    tokens, turn_id,
};
use crate::{
    Delivery, Dispatch, EventBody, Intent, Labels, NewIntent, Origin, Provider, Purpose, Recorded,
    Refusal, Reply,
};

fn not_sent() -> Dispatch {
    Dispatch::NotSent { why: "refused".into() }
}

fn uncertain() -> Dispatch {
    Dispatch::Uncertain { why: "timed out".into() }
}

/// L3 and L5: an intent freezes its origin; the same again gives the stored one.
pub fn an_intent_freezes_its_origin(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    bench.capture(&session, "a");
    let driver = bench.drive(&session, "e");
    let labels = Labels::new([("ticket", "7")]).expect("good labels");
    let new = NewIntent { labels: labels.clone(), ..prompt(&session, "q") };
    let intent = bench.write(|ledger| ledger.intend(&new, &driver));
    let event = bench.events(&session).pop().expect("it is recorded");
    assert_eq!(
        (event.turn, event.body),
        (Some(id("q")), EventBody::Requested { request: id("q") })
    );
    let expected = Intent {
        request: id("q"),
        session: session.clone(),
        thread: id("s"),
        turn: Some(id("q")),
        purpose: Purpose::Prompt,
        reply: Reply::Expected,
        origin: Origin {
            input: Some(key("a")),
            exec: exec("e"),
            generation: driver.generation,
            provider_generation: driver.provider_generation,
            labels,
        },
        created_at: NOW,
        seq: event.seq,
        delivery: Delivery::Intended,
        admitted: None,
    };
    assert_eq!(intent, expected);
    assert_eq!(bench.write_nothing(|ledger| ledger.intend(&new, &driver)), expected);
    bench.reopen();
    assert_eq!(bench.read(|ledger| ledger.intent(&request("q"))), Some(expected.clone()));
    let of_turn = bench.read(|l| l.intent_of_turn(&session, &id("s"), &turn_id("q")));
    assert_eq!(of_turn, Some(expected));
    // Its origin is that of its first time.
    bench.capture(&session, "b");
    let conflict = bench.conflict(|ledger| ledger.intend(&new, &driver));
    assert_eq!(conflict, ("request q".to_owned(), "origin"));
}

/// L1 and 7.4: a request is what it was first said to be; request ids do not cross threads.
pub fn another_request_of_one_id_is_a_conflict(bench: &mut Bench<'_>) {
    let (session, other) = (bench.session("s"), bench.session("other"));
    let driver = bench.drive(&session, "e");
    let other_driver = bench.drive(&other, "e2");
    let new = prompt(&session, "q");
    bench.write(|ledger| ledger.intend(&new, &driver));
    let labels = Labels::new([("a", "b")]).expect("good labels");
    let others = [
        ("thread", NewIntent { thread: id("t2"), ..new.clone() }),
        ("turn", NewIntent { turn: Some(id("q2")), ..new.clone() }),
        ("purpose", NewIntent { purpose: Purpose::Steer, ..new.clone() }),
        ("reply", NewIntent { reply: Reply::NotAsked, ..new.clone() }),
        ("origin", NewIntent { labels, ..new }),
    ];
    for (field, other) in others {
        let conflict = bench.conflict(|ledger| ledger.intend(&other, &driver));
        assert_eq!(conflict, ("request q".to_owned(), field));
    }
    let conflict = bench.conflict(|l| l.intend(&prompt(&other, "q"), &other_driver));
    assert_eq!(conflict, ("request q".to_owned(), "session"));
}

/// Ledger.md 7.2: contradictory origins for one turn are an error; the first stays.
pub fn a_turn_has_one_request(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let driver = bench.drive(&session, "e");
    let first = bench.intend(&session, "q", &driver);
    let second = NewIntent { request: id("q2"), ..prompt(&session, "q") };
    let conflict = bench.conflict(|ledger| ledger.intend(&second, &driver));
    assert_eq!(conflict, ("turn q".to_owned(), "origin"));
    let unknown = NewIntent { turn: None, ..second };
    bench.write(|ledger| ledger.intend(&unknown, &driver));
    let conflict = bench.conflict(|ledger| ledger.learn_turn(&request("q2"), &turn_id("q")));
    assert_eq!(conflict, ("turn q".to_owned(), "origin"));
    assert_eq!(bench.read(|ledger| ledger.intent(&request("q"))), Some(first));
    // One native id in two threads are two turns.
    let elsewhere = NewIntent { thread: id("t2"), request: id("q3"), ..prompt(&session, "q") };
    bench.write(|ledger| ledger.intend(&elsewhere, &driver));
}

/// Ledger.md 7.1: what the harness showed before we meant it is not ours.
pub fn an_echo_before_the_intent_is_not_ours(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let driver = bench.drive(&session, "e");
    bench.append(&session, &[admitted("old"), started("old", "m", 2)]);
    let conflict = bench.conflict(|l| l.intend(&prompt(&session, "old"), &driver));
    assert_eq!(conflict, ("turn old".to_owned(), "origin"));
    let later = NewIntent { turn: None, ..prompt(&session, "q") };
    bench.write(|ledger| ledger.intend(&later, &driver));
    let conflict = bench.conflict(|ledger| ledger.learn_turn(&request("q"), &turn_id("old")));
    assert_eq!(conflict, ("turn old".to_owned(), "origin"));
    bench.append(&session, &[ended("old", "m", Status::Completed, 3)]);
    let report = bench.turn(&session, "old");
    assert_eq!((report.request, report.origin), (None, None));
    let open = bench.read(|ledger| ledger.open_intents(&session));
    assert_eq!(open.iter().map(|i| i.request.as_str()).collect::<Vec<_>>(), ["q"]);
}

/// L3 and 7.4: only the harness's own history admits a request; nothing else starts or ends it.
pub fn only_the_history_admits_a_request(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let driver = bench.drive(&session, "e");
    let intent = bench.intend(&session, "q", &driver);
    let sent = bench.write(|ledger| ledger.mark_delivery(&request("q"), &Dispatch::Sent));
    let delivery = Delivery::Dispatched(Dispatch::Sent);
    assert_eq!(sent, Intent { delivery, ..intent });
    bench.append(&session, &[gap("q", Gap::MissingTime { message: id("q") })]);
    assert_eq!(bench.read(|ledger| ledger.turns(&session)), []);
    assert_eq!(bench.read(|ledger| ledger.unsettled(&session)), []);
    assert_eq!(bench.read(|ledger| ledger.open_intents(&session)), [sent.clone()]);
    let recorded = bench.append(&session, &[admitted("q"), started("q", "m", 2)]);
    let admitted = Intent { admitted: Some(recorded[0].first()), ..sent };
    assert_eq!(bench.read(|ledger| ledger.intent(&request("q"))), Some(admitted));
    assert_eq!(bench.read(|ledger| ledger.open_intents(&session)), []);
    assert_eq!(bench.status(&session, "q"), Status::Pending);
}

/// L4 and L6: how a send ended is recorded by anyone; what is proven is not unsaid.
pub fn what_is_proven_of_a_send_stays(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let driver = bench.drive(&session, "e");
    for name in ["absent", "stored", "open"] {
        bench.intend(&session, name, &driver);
    }
    // After a takeover, by whoever was about to send.
    bench.drive(&session, "e2");
    let mark = |name: &str, dispatch: &Dispatch| {
        bench.write(|ledger| ledger.mark_delivery(&request(name), dispatch)).delivery
    };
    for dispatch in [uncertain(), Dispatch::Sent, uncertain(), not_sent()] {
        assert_eq!(mark("absent", &dispatch), Delivery::Dispatched(dispatch));
    }
    bench.write_nothing(|ledger| ledger.mark_delivery(&request("absent"), &not_sent()));
    for dispatch in [Dispatch::Sent, uncertain(), Dispatch::NotSent { why: "other".into() }] {
        let refused = bench.refused(|l| l.mark_delivery(&request("absent"), &dispatch));
        assert_eq!(refused, Refusal::RequestSettled { request: id("absent") });
    }
    mark("stored", &uncertain());
    bench.append(&session, &[admitted("stored")]);
    let refused = bench.refused(|l| l.mark_delivery(&request("stored"), &not_sent()));
    assert_eq!(refused, Refusal::RequestSettled { request: id("stored") });
    mark("stored", &Dispatch::Sent);
    let open = bench.read(|ledger| ledger.open_intents(&session));
    assert_eq!(open.iter().map(|i| i.request.as_str()).collect::<Vec<_>>(), ["open"]);
    let missing = bench.not_found(|l| l.mark_delivery(&request("nobody"), &Dispatch::Sent));
    assert_eq!(missing, ("request", "nobody".to_owned()));
}

/// Where the harness mints the id, the echo gives the turn its owner, with all that was seen of it.
pub fn a_turn_may_be_learned_from_its_echo(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    bench.capture(&session, "a");
    let driver = bench.drive(&session, "e");
    let new = NewIntent { turn: None, ..prompt(&session, "q") };
    let intent = bench.write(|ledger| ledger.intend(&new, &driver));
    assert_eq!((&intent.turn, intent.is_open()), (&None, true));
    let facts = [admitted("native"), called("native", "m/1", 2, tokens(3, 4))];
    let recorded = bench.append(&session, &facts);
    assert_eq!(bench.read(|ledger| ledger.input_usage(&key("a"))).usage, None);
    let learned = bench.write(|ledger| ledger.learn_turn(&request("q"), &turn_id("native")));
    let admitted = Some(recorded[0].first());
    let expected = Intent { turn: Some(id("native")), admitted, ..intent };
    assert_eq!(learned, expected);
    let again = bench.write_nothing(|ledger| ledger.learn_turn(&request("q"), &turn_id("native")));
    assert_eq!(again, expected);
    let conflict = bench.conflict(|ledger| ledger.learn_turn(&request("q"), &turn_id("other")));
    assert_eq!(conflict, ("request q".to_owned(), "turn"));
    assert_eq!(bench.read(|l| l.input_usage(&key("a"))).usage, sum(&[tokens(3, 4)]));
    let missing = bench.not_found(|ledger| ledger.learn_turn(&request("nobody"), &turn_id("t")));
    assert_eq!(missing, ("request", "nobody".to_owned()));
    // The same intent again, which says nothing of the turn, is the same.
    assert_eq!(bench.write_nothing(|ledger| ledger.intend(&new, &driver)), expected);
}

/// L5: a turn that nobody here intended borrows nothing from today's input, driver or work.
pub fn a_foreign_turn_has_no_owner(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    bench.capture(&session, "a");
    let driver = bench.drive(&session, "e");
    bench.intend(&session, "ours", &driver);
    let facts = [
        admitted("theirs"),
        called("theirs", "m/1", 2, tokens(3, 4)),
        ended("theirs", "m", Status::Completed, 3),
    ];
    bench.append(&session, &facts);
    let report = bench.turn(&session, "theirs");
    assert_eq!((report.request, report.origin), (None, None));
    assert_eq!(bench.read(|ledger| ledger.exec_usage(&exec("e"))), None);
    let input = bench.read(|ledger| ledger.input_usage(&key("a")));
    assert_eq!((input.usage, input.answer), (None, None));
    assert_eq!(bench.read(|ledger| ledger.session_usage(&session)), sum(&[tokens(3, 4)]));
}

/// Ledger.md 7.9: a result without an admission completes no other request, also after a restart;
/// two readers of one result get one number.
pub fn a_result_completes_its_own_turn_alone(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let driver = bench.drive(&session, "e");
    let result = [ended("unknown", "m", Status::Completed, 3)];
    let first = bench.append(&session, &result);
    bench.reopen();
    bench.intend(&session, "later", &driver);
    let second = bench.write_nothing(|ledger| append(ledger, &session, &result));
    assert_eq!(second, [Recorded::Known(first[0].first())]);
    bench.append(&session, &[admitted("later")]);
    assert_eq!(bench.status(&session, "later"), Status::Pending);
    assert_eq!(bench.turn(&session, "unknown").request, None);
}

/// A request of a session without an input has an owner without one; a takeover keeps it.
pub fn a_takeover_keeps_what_was_intended(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let driver = bench.drive(&session, "e1");
    let intent = bench.intend(&session, "q", &driver);
    assert_eq!(intent.origin.input, None);
    bench.write(|ledger| {
        ledger.start_exec(&super::bench::new_exec("e2"))?;
        ledger.claim_driver(&session, Some(&driver), &exec("e2"), Provider::Keep)
    });
    bench.reopen();
    assert_eq!(bench.read(|ledger| ledger.open_intents(&session)), [intent.clone()]);
    bench.append(&session, &[admitted("q"), ended("q", "m", Status::Completed, 3)]);
    assert_eq!(bench.turn(&session, "q").origin, Some(intent.origin));
}
