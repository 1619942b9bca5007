//! What is sent and is no prompt (L3; ledger.md 7.7).

use super::bench::{Bench, NOW};
use crate::{Attempt, Dispatch, Effect, EventBody, Refusal, Stage};

fn not_sent() -> Dispatch {
    Dispatch::NotSent { why: "refused".into() }
}

/// Ledger.md 7.7: an answer that may have been sent is never sent again, also after a restart.
pub fn what_happens_once_is_not_tried_twice(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let driver = bench.drive(&session, "e");
    let answer = Effect::Answer { ask: "per_1".into(), answer: "once".into() };
    let create = Effect::CreateThread { title: "t".into() };
    for effect in [answer, create] {
        let mean =
            |bench: &Bench<'_>| bench.write(|ledger| ledger.mean(&session, &effect, &driver, NOW));
        assert_eq!(mean(bench), Attempt(1));
        bench.reopen();
        let tried = Refusal::EffectTried { effect: effect.clone() };
        assert_eq!(bench.refused(|l| l.mean(&session, &effect, &driver, NOW)), tried);
        // Proven not to have reached the agent: it may be tried again.
        bench.write(|l| l.mark_effect(&session, (&effect, Attempt(1)), &not_sent(), NOW));
        bench.write_nothing(|l| l.mark_effect(&session, (&effect, Attempt(1)), &not_sent(), NOW));
        assert_eq!(mean(bench), Attempt(2));
        let uncertain = Dispatch::Uncertain { why: "reset".into() };
        bench.write(|l| l.mark_effect(&session, (&effect, Attempt(2)), &uncertain, NOW));
        assert_eq!(bench.refused(|l| l.mean(&session, &effect, &driver, NOW)), tried);
        let sent = Dispatch::Sent;
        let conflict =
            bench.conflict(|l| l.mark_effect(&session, (&effect, Attempt(2)), &sent, NOW));
        assert_eq!(conflict, ("attempt 2".to_owned(), "dispatch"));
        let missing =
            bench.not_found(|l| l.mark_effect(&session, (&effect, Attempt(3)), &sent, NOW));
        assert_eq!(missing, ("attempt", "3".to_owned()));
    }
}

/// An abort may be asked for as often as people wish; each is on record before it is sent.
pub fn an_abort_may_be_asked_for_again(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let driver = bench.drive(&session, "e");
    let mean = || bench.write(|ledger| ledger.mean(&session, &Effect::Abort, &driver, NOW));
    let attempts = [mean(), mean()];
    assert!(attempts[0] < attempts[1]);
    let effect = |attempt, stage| EventBody::Effect { effect: Effect::Abort, attempt, stage };
    let sent = Dispatch::Sent;
    bench.write(|l| l.mark_effect(&session, (&Effect::Abort, attempts[0]), &sent, NOW));
    let bodies: Vec<EventBody> = bench.events(&session).into_iter().map(|e| e.body).collect();
    let expected = [
        effect(attempts[0], Stage::Meant),
        effect(attempts[1], Stage::Meant),
        effect(attempts[0], Stage::Dispatched(Dispatch::Sent)),
    ];
    assert_eq!(bodies, expected);
}

/// L6: effects are fenced; how they ended may be told by anyone.
pub fn an_effect_is_meant_under_the_fence(bench: &mut Bench<'_>) {
    let session = bench.session("s");
    let old = bench.drive(&session, "e1");
    let answer = Effect::Answer { ask: "per_1".into(), answer: "once".into() };
    bench.write(|ledger| ledger.mean(&session, &answer, &old, NOW));
    let new = bench.drive(&session, "e2");
    bench.stale(|ledger| ledger.mean(&session, &Effect::Abort, &old, NOW));
    bench.write(|l| l.mark_effect(&session, (&answer, Attempt(1)), &not_sent(), NOW));
    assert_eq!(bench.write(|l| l.mean(&session, &answer, &new, NOW)), Attempt(2));
    bench.write(|ledger| ledger.close_session(&session, NOW));
    let closed = Refusal::SessionClosed { session: session.clone() };
    assert_eq!(bench.refused(|l| l.mean(&session, &Effect::Abort, &new, NOW)), closed);
}
