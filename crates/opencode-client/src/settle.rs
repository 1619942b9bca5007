//! Does anything still run in a session? Two equal looks tell, one never does.
//!
//! Source: opencode-ai 1.18.33: the status of a run is in the memory of one server and one
//! directory, and an absent entry is the same for "idle" as for "never heard of". Idle is told
//! early (before an abort has written its message) and late (seconds after a prompt was taken).

use harness::{Page, ReachError, Seen};
use opencode_wire::RunStatus;
use receipts::{Body, Observation, Owner, ThreadId};
use std::{collections::BTreeMap, time::Duration};
use verbatim::{RawValue, digest};

use crate::{
    config::Limits,
    http::Route,
    server::{Known, Server},
};

/// How many messages one look takes in: more than a run writes between two looks.
pub(crate) const LOOK: u32 = 20;
/// After so many looks that all differ, nothing is known.
const LOOKS_MAX: u32 = 5;

/// What the end of a history says about whether a run may still write to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// The newest prompt has an answer and nothing in it is open.
    Closed,
    /// A step or a tool of the newest prompt is open.
    Open,
    /// The newest prompt has no answer.
    Unanswered,
}

impl Rest {
    /// Judges the end of a history; `seen` is the oldest first.
    pub(crate) fn of(seen: &[Seen]) -> Self {
        let messages: Vec<_> = seen
            .iter()
            .filter_map(|seen| match &seen.observation {
                Observation::Message(message) => Some(message),
                Observation::Removed(_)
                | Observation::NoReply(_)
                | Observation::Owner(_)
                | Observation::Gap(_) => None,
            })
            .collect();
        let last = messages.iter().rposition(|message| matches!(message.body, Body::Prompt(_)));
        let prompt = last.and_then(|at| messages.get(at)).map(|message| &message.id);
        let mut rest = if prompt.is_some() { Self::Unanswered } else { Self::Closed };
        for (at, message) in messages.iter().enumerate() {
            let Body::Answer(answer) = &message.body else { continue };
            let is_to_last = answer.parent.as_ref() == prompt;
            if !is_to_last && last.is_some_and(|last| at < last) {
                continue;
            }
            if answer.completed.is_none() || answer.tools.open > 0 {
                return Self::Open;
            }
            if is_to_last {
                rest = Self::Closed;
            }
        }
        rest
    }

    /// How far two equal looks have to be apart before nothing more is expected.
    pub(crate) fn grace(self, limits: &Limits) -> Duration {
        match self {
            Self::Closed => Duration::ZERO,
            Self::Open => limits.open_grace,
            Self::Unanswered => limits.unanswered_grace,
        }
    }
}

/// One look at a session.
#[derive(Debug)]
pub(crate) enum Look {
    /// The server says that it runs.
    Running,
    /// The server says something that this build does not know.
    Unclear,
    /// The server says nothing; this is the end of its history.
    Quiet {
        page: Page,
        rest: Rest,
        /// Equal for equal ends of histories.
        digest: u64,
    },
}

impl Server {
    /// Looks at the run of a session and, when there is none, at the end of its history.
    pub(crate) async fn look(&self, thread: &ThreadId) -> Result<Look, ReachError> {
        let known = self.known(thread).await?;
        match self.run_status(&known).await? {
            Some(RunStatus::Busy | RunStatus::Retry { .. }) => return Ok(Look::Running),
            Some(RunStatus::Unknown(_)) => return Ok(Look::Unclear),
            Some(RunStatus::Idle) | None => {}
        }
        let page = self.page(thread, None, LOOK).await?;
        let texts = page.seen.iter().filter_map(|seen| seen.evidence.as_ref());
        let digest = digest(texts.map(harness::Evidence::as_str));
        let rest = Rest::of(&page.seen);
        Ok(Look::Quiet { page, rest, digest })
    }

    /// Looks until it is sure.
    pub(crate) async fn owner(&self, thread: &ThreadId) -> Result<Owner, ReachError> {
        let mut last = None;
        for _ in 0..LOOKS_MAX {
            let look = match self.look(thread).await {
                Ok(look) => look,
                Err(error) if error.is_transient() && self.is_dead() => return Ok(Owner::Dead),
                Err(error) => return Err(error),
            };
            match look {
                Look::Running => return Ok(Owner::Busy),
                Look::Unclear => return Ok(Owner::Unknown),
                Look::Quiet { rest: Rest::Closed, .. } => return Ok(Owner::Idle),
                Look::Quiet { digest, .. } if last == Some(digest) => return Ok(Owner::Idle),
                Look::Quiet { rest, digest, .. } => {
                    last = Some(digest);
                    tokio::time::sleep(rest.grace(&self.http.limits)).await;
                }
            }
        }
        Ok(Owner::Unknown)
    }

    /// The status of a session's run, asked in the session's own directory; `None` without entry.
    async fn run_status(&self, known: &Known) -> Result<Option<RunStatus>, ReachError> {
        let route =
            Route::get(["session", "status"]).query("directory", known.row.directory.as_deref());
        let answer = self.http.get(&route).await.map_err(crate::http::GetError::into_reach)?;
        let protocol = |why: String| ReachError::Protocol { place: route.place(), why };
        let entries: BTreeMap<String, &RawValue> = serde_json::from_str(&answer.body)
            .map_err(|error| protocol(format!("expected an object: {error}")))?;
        match entries.get(known.row.thread.as_str()) {
            Some(raw) => {
                RunStatus::decode(raw).map(Some).map_err(|error| protocol(error.to_string()))
            }
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use harness::Seen;
    use opencode_wire::observe;
    use receipts::ThreadId;
    use verbatim::RawValue;

    use super::Rest;

    fn check(messages: &[&str], expected: Rest) {
        let thread = ThreadId::new("ses_1").unwrap();
        let seen: Vec<Seen> = messages
            .iter()
            .map(|json| {
                let raw = RawValue::from_string((*json).to_owned()).unwrap();
                Seen { observation: observe(&thread, &raw), evidence: None }
            })
            .collect();
        assert_eq!(Rest::of(&seen), expected, "{messages:?}");
    }

    const ASKED: &str = r#"{"info":{"id":"msg_1","role":"user","time":{"created":1}},"parts":[]}"#;
    const OPEN: &str = r#"{"info":{"id":"msg_2","role":"assistant","parentID":"msg_1","time":{"created":2}},"parts":[]}"#;
    const CLOSED: &str = r#"{"info":{"id":"msg_2","role":"assistant","parentID":"msg_1","time":{"created":2,"completed":3}},"parts":[]}"#;
    const TOOL: &str = r#"{"info":{"id":"msg_3","role":"assistant","parentID":"msg_1","time":{"created":3,"completed":4}},"parts":[{"type":"tool","tool":"bash","state":{"status":"running"}}]}"#;
    const AGAIN: &str = r#"{"info":{"id":"msg_4","role":"user","time":{"created":5}},"parts":[]}"#;
    const LATE: &str = r#"{"info":{"id":"msg_5","role":"assistant","parentID":"msg_1","time":{"created":6}},"parts":[]}"#;

    #[test]
    fn the_end_of_a_history_tells_what_may_still_come() {
        check(&[], Rest::Closed);
        check(&[ASKED], Rest::Unanswered);
        check(&[ASKED, OPEN], Rest::Open);
        check(&[ASKED, CLOSED], Rest::Closed);
        check(&[ASKED, CLOSED, TOOL], Rest::Open);
        // What an earlier prompt left open is left behind; what came after the last one is not.
        check(&[ASKED, OPEN, AGAIN], Rest::Unanswered);
        check(&[ASKED, CLOSED, AGAIN, LATE], Rest::Open);
        check(&[CLOSED], Rest::Closed);
    }
}
