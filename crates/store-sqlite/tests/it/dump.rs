//! What does a ledger say? Every answer of it, as one text.

use std::fmt::{Debug, Write as _};

use store::{Ledger, Result, Scope, Seq, UsageBy};

use crate::operation::{
    NAMES, call, evidence, exec, harness, input, request, session, thread, turn,
};

/// Asks for what is stored as such, without what the rules make of it.
pub(crate) fn dump_stored(ledger: &dyn Ledger) -> Result<String> {
    let mut text = String::new();
    let mut say = |what: &str, answer: &dyn Debug| {
        writeln!(text, "{what}: {answer:?}").unwrap();
    };
    for session in ledger.sessions(None, usize::MAX)? {
        say("session", &session);
        for event in ledger.events(session.id(), Seq::START, usize::MAX)? {
            say("event", &event);
        }
        say("inputs", &ledger.input_history(session.id())?);
    }
    for number in 0..NAMES {
        say("exec", &ledger.exec(&exec(number))?);
        say("intent", &ledger.intent(&request(number))?);
        say("call", &ledger.call(&call(number))?);
        say("selection", &ledger.selection(&input(number))?);
        let digest = store::EvidenceDigest::of(&evidence(number));
        say("evidence", &ledger.evidence(&digest)?.map(|content| content.len()));
    }
    Ok(text)
}

/// Asks everything that can be asked about the names of [`crate::operation`].
pub(crate) fn dump(ledger: &dyn Ledger) -> Result<String> {
    let mut text = String::new();
    let mut say = |what: &str, answer: &dyn Debug| {
        writeln!(text, "{what}: {answer:?}").unwrap();
    };
    let mut after = None;
    while let Some(session) = ledger.sessions(after.as_ref(), 1)?.pop() {
        say("session", &session);
        after = Some(session.id().clone());
    }
    for number in 0..NAMES {
        let (session, thread) = (session(number), thread(number));
        say("events", &ledger.events(&session, Seq::START, usize::MAX));
        say("second event", &ledger.events(&session, Seq(1), 1));
        say("open intents", &ledger.open_intents(&session));
        say("unsettled", &ledger.unsettled(&session));
        say("turns", &ledger.turns(&session));
        say("inputs", &ledger.input_history(&session));
        say("session usage", &ledger.session_usage(&session));
        say("session of thread", &ledger.session_of_thread(&harness(), &thread)?);
        say("exec", &ledger.exec(&exec(number))?);
        say("exec usage", &ledger.exec_usage(&exec(number)));
        say("input usage", &ledger.input_usage(&input(number)));
        say("intent", &ledger.intent(&request(number))?);
        say("call", &ledger.call(&call(number))?);
        say("sightings", &ledger.sightings(&call(number))?);
        say("selection", &ledger.selection(&input(number))?);
        let digest = store::EvidenceDigest::of(&evidence(number));
        say("evidence", &ledger.evidence(&digest)?);
        for native in 0..NAMES {
            let turn = turn(native);
            say("intent of turn", &ledger.intent_of_turn(&session, &thread, &turn)?);
            say("turn", &ledger.turn(&session, &thread, &turn)?);
        }
    }
    for by in [UsageBy::Model, UsageBy::Day, UsageBy::Session, UsageBy::Input, UsageBy::Exec] {
        say("usage", &ledger.usage_by(by, None)?);
    }
    let mut calls = Vec::new();
    ledger.visit_calls(Scope::All, &mut |call| calls.push(call.clone()))?;
    calls.sort_by(|one, other| one.key.cmp(&other.key));
    say("calls", &calls);
    Ok(text)
}
