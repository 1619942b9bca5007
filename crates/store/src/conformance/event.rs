//! The event log: identity, order, contradictions, evidence (L1, L2, L6, L8, L9, L13).

use std::{sync::mpsc, thread};

use receipts::{FactBody, Gap, Status, UnixMillis};

use super::bench::{
    Bench, NOW, admitted, append, called, child, ended, gap, id, new_session, started, tokens,
};
use crate::{
    Access as _, Batch, EVIDENCE_BYTES_MAX, Event, EventBody, EvidenceDigest, Labels,
    OUTPUT_BYTES_MAX, Recorded, Refusal, Seq, StoreError,
};

/// L1: recorded again with equal content, an event gives its first number and writes nothing.
pub fn what_is_recorded_again_writes_nothing(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let facts = [
        admitted("q"),
        started("q", "m", 2),
        called("q", "m/1", 2, tokens(1, 2)),
        child("q", "c"),
        gap("q", Gap::MissingTime { message: id("m") }),
        ended("q", "m", Status::Completed, 3),
    ];
    let first = bench.append(&session, &facts);
    let numbers: Vec<Seq> = first.iter().map(|each| each.first()).collect();
    assert_eq!(first, numbers.iter().map(|seq| Recorded::Appended(*seq)).collect::<Vec<_>>());
    assert!(numbers.is_sorted_by(|a, b| a < b));
    bench.reopen();
    let again = bench.write_nothing(|ledger| append(ledger, &session, &facts));
    assert_eq!(again, numbers.iter().map(|seq| Recorded::Known(*seq)).collect::<Vec<_>>());
    let events = bench.events(&session);
    let expected = facts.iter().zip(numbers).map(|(fact, seq)| Event {
        seq,
        session: session.clone(),
        thread: Some(id("s")),
        turn: Some(fact.turn.clone()),
        recorded_at: NOW,
        evidence: None,
        body: EventBody::Fact(fact.body.clone()),
    });
    assert_eq!(events, expected.collect::<Vec<_>>());
}

/// L1: the identity holds session, thread and turn; 7.4: nothing crosses threads.
pub fn equal_facts_of_other_turns_are_other_events(bench: &mut Bench<'_>) {
    let sessions = [bench.session("s"), bench.session("other")];
    for session in &sessions {
        for thread in ["t1", "t2"] {
            for turn in ["q1", "q2"] {
                let (thread, facts) = (id(thread), [admitted(turn)]);
                let batch =
                    Batch { session, thread: &thread, facts: &facts, evidence: None, at: NOW };
                let recorded = bench.write(|ledger| ledger.append(&batch));
                assert!(matches!(recorded[..], [Recorded::Appended(_)]), "{recorded:?}");
            }
        }
        assert_eq!(bench.read(|ledger| ledger.turns(session)).len(), 4);
    }
}

/// L9: what contradicts a stored event is kept beside it, once, and the others are recorded.
pub fn a_contradiction_is_kept_beside_what_holds(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let first = ended("q", "m", Status::Completed, 3);
    let recorded = bench.append(&session, &[admitted("q"), first.clone()]);
    let held = recorded[1].first();
    let other = ended("q", "m", Status::Failed, 9);
    // A conflicting old turn beside a live one (7.12).
    let facts = [other.clone(), admitted("live"), started("live", "m2", 5)];
    let recorded = bench.append(&session, &facts);
    let Recorded::Contradicted { first: stays, seq } = recorded[0] else {
        panic!("contradicted, not: {recorded:?}");
    };
    assert_eq!(stays, held);
    assert!(recorded[1..].iter().all(|each| matches!(each, Recorded::Appended(_))));
    let again = bench.write_nothing(|ledger| append(ledger, &session, &[other.clone()]));
    assert_eq!(again, [Recorded::Contradicted { first: held, seq }]);
    let events = bench.read(|ledger| ledger.events(&session, Seq(seq.0 - 1), 1));
    let body = EventBody::Contradicted { first: held, latest: other.body };
    assert_eq!(events.into_iter().map(|event| event.body).collect::<Vec<_>>(), [body]);
    let turn = bench.turn(&session, "q");
    let FactBody::Completed(completion) = first.body else { panic!("it was a completion") };
    assert_eq!(
        (turn.status, turn.completion, turn.contradictions),
        (Status::Completed, Some(completion), 1)
    );
    assert_eq!(bench.status(&session, "live"), Status::Pending);
    bench.append(&session, &[ended("q", "m", Status::Lost, 9)]);
    assert_eq!(bench.turn(&session, "q").contradictions, 2);
}

/// Events come in order and in pages; those of other sessions lie between them.
pub fn events_are_read_in_pages(bench: &mut Bench<'_>) {
    let (session, other) = (bench.session("s"), bench.session("other"));
    for number in 0..5 {
        bench.append(&session, &[admitted(&format!("q{number}"))]);
        bench.append(&other, &[admitted("q"), child("q", &format!("c{number}"))]);
    }
    let all = bench.events(&session);
    assert_eq!(all.len(), 5);
    for limit in 1..7 {
        let mut paged = Vec::new();
        let mut after = Seq::START;
        loop {
            let page = bench.read(|ledger| ledger.events(&session, after, limit));
            assert!(page.len() <= limit);
            let Some(last) = page.last() else { break };
            after = last.seq;
            paged.extend(page);
        }
        assert_eq!(paged, all);
    }
    let result = bench.store().view(|ledger| ledger.events(&id("nobody"), Seq::START, 1));
    assert!(matches!(result, Err(StoreError::NotFound { what: "session", .. })), "{result:?}");
}

/// L6: whoever saw evidence may record it, with or without a driver, after any takeover.
pub fn recording_needs_no_driver(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    bench.append(&session, &[admitted("q1")]);
    let driver = bench.drive(&session, "e1");
    bench.drive(&session, "e2");
    bench.write(|ledger| ledger.close_session(&session, NOW));
    bench.append(&session, &[admitted("q2")]);
    bench.stale(|ledger| ledger.release(&session, &driver));
    assert_eq!(bench.read(|ledger| ledger.turns(&session)).len(), 2);
    let missing = bench.not_found(|ledger| append(ledger, &id("nobody"), &[admitted("q")]));
    assert_eq!(missing, ("session", "nobody".to_owned()));
}

#[derive(Debug, thiserror::Error)]
#[error("the caller gave up")]
struct GaveUp;

/// Ledger.md 7.10: a failing write leaves no partial output or usage; also where it wrote before.
pub fn a_failing_write_leaves_no_trace(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    bench.append(&session, &[admitted("q")]);
    let before = bench.dump();
    let result = bench.try_write(|ledger| {
        ledger.create_session(&new_session("other"))?;
        let content = ledger.put_evidence(b"seen", NOW)?;
        append(ledger, &session, &[called("q", "m/1", 2, tokens(1, 1))])?;
        append(ledger, &session, &[ended("q", "m", Status::Completed, 3)])?;
        assert_eq!(
            ledger.turn(&session, &id("s"), &id("q"))?.map(|t| t.status),
            Some(Status::Completed)
        );
        assert!(ledger.evidence(&content)?.is_some());
        Err::<(), _>(StoreError::unavailable(GaveUp))
    });
    assert!(matches!(result, Err(StoreError::Unavailable { .. })), "{result:?}");
    assert_eq!(bench.dump(), before);
    assert_eq!(bench.read(|ledger| ledger.evidence(&EvidenceDigest::of(b"seen"))), None);
    bench.reopen();
    assert_eq!(bench.dump(), before);
    // The same facts are new when they come again.
    let facts = [called("q", "m/1", 2, tokens(1, 1)), ended("q", "m", Status::Completed, 3)];
    let recorded = bench.append(&session, &facts);
    assert!(recorded.iter().all(|each| matches!(each, Recorded::Appended(_))), "{recorded:?}");
}

/// L8: a reader sees a completion with all that it settles, and waits for no writer.
pub fn a_read_sees_one_state(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    bench.append(&session, &[admitted("q")]);
    let (store, name) = (bench.shared(), session.clone());
    let (wrote, has_written) = mpsc::channel();
    let (look, may_go_on) = mpsc::channel::<()>();
    let writer = thread::spawn(move || {
        store.update(|ledger| {
            let facts =
                [called("q", "m/1", 2, tokens(1, 1)), ended("q", "m", Status::Completed, 3)];
            append(ledger, &name, &facts)?;
            wrote.send(()).expect("the case waits");
            may_go_on.recv().expect("the case looks");
            Ok(())
        })
    });
    has_written.recv().expect("the writer writes");
    let during = bench.turn(&session, "q");
    assert_eq!((during.status, during.usage), (Status::Pending, None));
    let store = bench.shared();
    store
        .view(|ledger| {
            let before = ledger.turn(&session, &id("s"), &id("q"))?;
            look.send(()).expect("the writer waits");
            writer.join().expect("no panic")?;
            assert_eq!(ledger.turn(&session, &id("s"), &id("q"))?, before);
            Ok(())
        })
        .expect("the read succeeds");
    let after = bench.turn(&session, "q");
    assert_eq!((after.status, after.usage.map(|usage| usage.calls)), (Status::Completed, Some(1)));
}

/// Evidence is kept once for each content; the ledger stays whole without it.
pub fn evidence_is_kept_until_it_is_pruned(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let old = bench.write(|ledger| ledger.put_evidence(b"old", UnixMillis(10)));
    let new = bench.write(|ledger| ledger.put_evidence(b"new", UnixMillis(20)));
    assert_eq!((old, new), (EvidenceDigest::of(b"old"), EvidenceDigest::of(b"new")));
    let again = bench.write_nothing(|ledger| ledger.put_evidence(b"old", UnixMillis(30)));
    assert_eq!(again, old);
    let (thread, facts) = (id("s"), [admitted("q")]);
    let batch =
        Batch { session: &session, thread: &thread, facts: &facts, evidence: None, at: NOW };
    bench.write(|ledger| ledger.append(&Batch { evidence: Some(old), ..batch }));
    let unknown = EvidenceDigest::of(b"never kept");
    let refused =
        bench.refused(|ledger| ledger.append(&Batch { evidence: Some(unknown), ..batch }));
    assert_eq!(refused, Refusal::UnknownEvidence);
    bench.reopen();
    let content = |digest| bench.read(|ledger| ledger.evidence(&digest));
    assert_eq!(content(old), Some(b"old".to_vec()));
    assert_eq!(bench.write(|ledger| ledger.prune_evidence(UnixMillis(20))), 1);
    assert_eq!(bench.write_nothing(|ledger| ledger.prune_evidence(UnixMillis(20))), 0);
    assert_eq!((content(old), content(new)), (None, Some(b"new".to_vec())));
    assert_eq!(bench.events(&session)[0].evidence, Some(old));
    // What was pruned may be named, and be kept anew.
    let facts = [child("q", "c")];
    bench.write(|l| l.append(&Batch { evidence: Some(old), facts: &facts, ..batch }));
    bench.write(|ledger| ledger.put_evidence(b"old", UnixMillis(40)));
    assert_eq!(content(old), Some(b"old".to_vec()));
    assert_eq!(content(unknown), None);
}

/// Evidence comes in every size, the empty one included, byte for byte.
pub fn evidence_comes_back_byte_for_byte(bench: &mut Bench<'_>) {
    let contents = [Vec::new(), vec![0; 3], (0..=255).cycle().take(1 << 20).collect::<Vec<u8>>()];
    let digests = contents.clone().map(|c| bench.write(|ledger| ledger.put_evidence(&c, NOW)));
    bench.reopen();
    for (digest, content) in digests.into_iter().zip(contents) {
        assert_eq!(digest, EvidenceDigest::of(&content));
        assert!(bench.read(|ledger| ledger.evidence(&digest)) == Some(content), "{digest}");
    }
}

/// One value that is too large is refused whole, with the facts beside it.
pub fn what_is_too_large_is_refused(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let size = usize::try_from(OUTPUT_BYTES_MAX).expect("it fits") + 1;
    let long = ended("q", "m", Status::Completed, 3);
    let FactBody::Completed(mut completion) = long.body else { panic!("it is a completion") };
    completion.output = Some(receipts::Output::Text("x".repeat(size).into()));
    let facts =
        [admitted("q"), receipts::Fact { turn: id("q"), body: FactBody::Completed(completion) }];
    let error = bench.fail(|ledger| append(ledger, &session, &facts));
    assert!(matches!(error, StoreError::TooLarge { limit: OUTPUT_BYTES_MAX, .. }), "{error:?}");
    // Zeroed pages that nobody reads cost nothing.
    let size = usize::try_from(EVIDENCE_BYTES_MAX).expect("it fits") + 1;
    let error = bench.fail(|ledger| ledger.put_evidence(&vec![0; size], NOW));
    assert!(matches!(error, StoreError::TooLarge { limit: EVIDENCE_BYTES_MAX, .. }), "{error:?}");
}

/// L13: odd but legal texts survive in every place.
pub fn odd_texts_come_back_as_they_were(bench: &mut Bench<'_>) {
    let odd = "a b\n\u{1F980}\u{202E}'\";--\\%_\u{FFFF}";
    let mut new = new_session(odd);
    new.title = Some("".into());
    new.workdir = Some(odd.into());
    new.labels = Labels::new([(odd, ""), ("plain", odd)]).expect("good labels");
    bench.write(|ledger| ledger.create_session(&new));
    let session = id(odd);
    bench.append(&session, &[admitted(odd), started(odd, odd, i64::MIN), child(odd, odd)]);
    let problem = Gap::Unreadable { message: None, path: odd.to_owned(), problem: String::new() };
    bench.append(
        &session,
        &[gap(odd, problem.clone()), ended(odd, odd, Status::Completed, i64::MAX)],
    );
    bench.reopen();
    assert_eq!(bench.read(|ledger| ledger.session(&session)).map(|s| s.fixed), Some(new));
    let turn = bench.turn(&session, odd);
    assert_eq!((turn.gaps, turn.children), (vec![problem], vec![id(odd)]));
    assert_eq!(turn.started_at, Some(UnixMillis(i64::MIN)));
}
