//! Is a burst of events one read, and is the end of a run judged late enough?

use std::{collections::BTreeSet, time::Duration};

use harness::{PartKind, Report, Ticket};
use opencode_wire::Event;
use receipts::{MessageId, Owner, ThreadId};
use tokio::time::Instant;

use super::{Job, State};
use crate::{Config, server::Server};

const INTERVAL: Duration = Duration::from_millis(500);

struct Case {
    state: State,
    server: Server,
    now: Instant,
}

impl Case {
    fn new(scope: Option<BTreeSet<ThreadId>>) -> Self {
        let server = Server::new(&Config::new("http://127.0.0.1:1")).unwrap();
        Self { state: State::new(scope, INTERVAL), server, now: Instant::now() }
    }

    fn take(&mut self, kind: &str, properties: &str) -> Vec<Report> {
        let data = format!(r#"{{"payload":{{"type":"{kind}","properties":{properties}}}}}"#);
        self.state.take(Event::decode(&data).unwrap(), &self.server, self.now)
    }

    fn text_part(&mut self) -> Vec<Report> {
        let part =
            r#"{"sessionID":"ses_1","part":{"id":"prt_1","messageID":"msg_1","type":"text"}}"#;
        self.take("message.part.updated", part)
    }

    fn message(&mut self) -> Vec<Report> {
        self.take("message.updated", r#"{"sessionID":"ses_1","info":{"id":"msg_1"}}"#)
    }

    fn job(&mut self) -> Option<Job> {
        self.state.job(self.now)
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
    }
}

fn thread() -> ThreadId {
    ThreadId::new("ses_1").unwrap()
}

fn read(info: Option<&str>) -> Option<Job> {
    let message = MessageId::new("msg_1").unwrap();
    Some(Job::Read { thread: thread(), message, info: info.map(Into::into) })
}

fn look() -> Option<Job> {
    Some(Job::Look { thread: thread() })
}

fn owner(owner: Owner) -> Vec<Report> {
    vec![Report::Owner { thread: thread(), owner, ticket: Ticket::default() }]
}

#[test]
fn five_thousand_part_updates_are_few_reads() {
    let mut case = Case::new(None);
    let mut reads = 0;
    for _ in 0..5000 {
        assert_eq!(case.text_part(), []);
        case.pass(Duration::from_millis(1));
        reads += usize::from(case.job().is_some());
    }
    assert_eq!(reads, 10);
    assert!(case.state.wake_at().is_some(), "the last change is read too");
}

#[test]
fn a_changed_row_is_read_at_once_and_once() {
    let mut case = Case::new(None);
    case.message();
    case.message();
    case.text_part();
    assert_eq!(case.job(), read(Some(r#"{"id":"msg_1"}"#)));
    assert_eq!(case.job(), None);
    case.message();
    assert_eq!(case.job(), read(Some(r#"{"id":"msg_1"}"#)));
}

#[test]
fn an_idle_run_is_judged_after_what_changed_was_read() {
    let mut case = Case::new(None);
    let busy = r#"{"sessionID":"ses_1","status":{"type":"busy"}}"#;
    assert_eq!(case.take("session.status", busy), owner(Owner::Busy));
    assert_eq!(case.take("session.status", busy), []);
    case.text_part();
    assert_eq!(case.job(), read(None));
    case.text_part();
    case.take("session.idle", r#"{"sessionID":"ses_1"}"#);
    assert_eq!(case.job(), read(None), "although its time has not come");
    assert_eq!(case.job(), look());
    assert_eq!(case.job(), None);
    // Something is open: looked at again after the grace, and only an equal look settles it.
    let grace = Duration::from_secs(1);
    assert!(!case.state.is_settled(&thread(), 1, grace, case.now));
    case.pass(grace);
    assert_eq!(case.job(), look());
    assert!(!case.state.is_settled(&thread(), 2, grace, case.now));
    case.pass(grace);
    assert_eq!(case.job(), look());
    assert!(case.state.is_settled(&thread(), 2, grace, case.now));
}

#[test]
fn a_run_that_begins_again_is_not_settled_by_an_old_look() {
    let mut case = Case::new(None);
    case.take("session.idle", r#"{"sessionID":"ses_1"}"#);
    assert_eq!(case.job(), look());
    case.take("session.status", r#"{"sessionID":"ses_1","status":{"type":"busy"}}"#);
    assert!(!case.state.is_settled(&thread(), 1, Duration::ZERO, case.now));
}

#[test]
fn a_look_that_failed_is_taken_again() {
    let mut case = Case::new(None);
    case.take("session.idle", r#"{"sessionID":"ses_1"}"#);
    assert_eq!(case.job(), look());
    let pause = Duration::from_secs(1);
    case.state.look_failed(&thread(), case.now + pause);
    assert_eq!(case.job(), None);
    case.pass(pause);
    assert_eq!(case.job(), look());
    // A run that began meanwhile is looked at when it ends, not before.
    case.take("session.status", r#"{"sessionID":"ses_1","status":{"type":"busy"}}"#);
    case.state.look_failed(&thread(), case.now);
    assert_eq!(case.job(), None);
}

#[test]
fn a_hole_in_the_sequence_is_told() {
    let mut case = Case::new(None);
    let mut sync = |seq: u64| {
        let event = Event::Sync { thread: thread(), seq };
        case.state.take(event, &case.server, case.now)
    };
    assert_eq!(sync(7), []);
    assert_eq!(sync(8), []);
    let why = "events 9 to 10 were not told".to_owned();
    assert_eq!(sync(11), [Report::Missed { thread: thread(), why }]);
    assert_eq!(sync(11), [], "the same again is no hole");
}

#[test]
fn one_thread_is_followed_with_those_that_it_starts() {
    let mut case = Case::new(Some(BTreeSet::from([thread()])));
    let made = |id: &str, parent: &str| {
        format!(r#"{{"sessionID":"{id}","info":{{"id":"{id}","parentID":"{parent}"}}}}"#)
    };
    assert_eq!(case.take("session.created", &made("ses_9", "ses_8")), []);
    assert_eq!(case.take("session.created", &made("ses_2", "ses_1")).len(), 1);
    assert_eq!(case.take("session.created", &made("ses_3", "ses_2")).len(), 1);
    let idle = |id: &str| format!(r#"{{"sessionID":"{id}"}}"#);
    case.take("session.idle", &idle("ses_9"));
    case.take("session.idle", &idle("ses_3"));
    let expected = Job::Look { thread: ThreadId::new("ses_3").unwrap() };
    assert_eq!(case.job(), Some(expected));
    assert_eq!(case.job(), None);
}

#[test]
fn streamed_text_says_what_it_is_and_keeps_no_secret() {
    let mut case = Case::new(None);
    case.text_part();
    let delta = |part: &str| {
        format!(
            r#"{{"sessionID":"ses_1","messageID":"msg_1","partID":"{part}","field":"text","delta":"Bearer abcdefghij"}}"#
        )
    };
    let text = |kind| {
        let message = MessageId::new("msg_1").unwrap();
        vec![Report::Text { thread: thread(), message, kind, delta: "Bearer [redacted]".into() }]
    };
    assert_eq!(case.take("message.part.delta", &delta("prt_1")), text(PartKind::Text));
    assert_eq!(case.take("message.part.delta", &delta("prt_2")), text(PartKind::Other));
}
