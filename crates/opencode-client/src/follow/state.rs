//! What has to be read next? The events of a stream as work with due times.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};

use harness::{Ask, AskBody, AskId, Choice, Evidence, PartKind, Question, Report, Seen, Ticket};
use opencode_wire::{Asked, Delta, Event, PartChange, RunStatus, SessionRow, ToolStatus, What};
use receipts::{MessageId, Observation, Owner, ThreadId};
use tokio::time::Instant;
use verbatim::{Redactor, digest};

use crate::server::Server;

/// How much is remembered of messages and parts; beyond it all is forgotten, and some things are
/// What the server cannot write out when it is asked for the message alone.
const POISON: &str = "json_schema";
/// How long after a message changed a run that would be told is waited for.
const QUIET: Duration = Duration::from_millis(500);
/// told once more than needed.
const REMEMBERED_MAX: usize = 4096;

/// Something to read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Job {
    /// One message.
    Read {
        thread: ThreadId,
        message: MessageId,
        /// Its row as it was told, for when it cannot be read.
        info: Option<Box<str>>,
    },
    /// Whether a session still runs, and the end of its history.
    Look { thread: ThreadId },
}

type Key = (ThreadId, MessageId);

#[derive(Debug)]
struct Dirty {
    due: Instant,
    info: Option<Box<str>>,
}

#[derive(Debug)]
struct Resting {
    due: Instant,
    /// The end of the history at the last look.
    digest: Option<u64>,
}

/// What a subscription knows.
#[derive(Debug)]
pub(super) struct State {
    /// The threads that it is about; `None` for all.
    scope: Option<BTreeSet<ThreadId>>,
    part_interval: Duration,
    dirty: BTreeMap<Key, Dirty>,
    /// When messages were last read.
    read_at: HashMap<Key, Instant>,
    /// What was last told of messages.
    told: HashMap<Key, u64>,
    resting: BTreeMap<ThreadId, Resting>,
    owners: BTreeMap<ThreadId, Owner>,
    /// What events told of prompts that the server may refuse to give singly, see `poison`.
    poisonous: HashMap<Key, Box<str>>,
    /// The last wish for each thread that was looked at on wish.
    tickets: BTreeMap<ThreadId, Ticket>,
    sequences: HashMap<ThreadId, u64>,
    parts: HashMap<Box<str>, PartKind>,
    /// Tools that were told to run.
    tools: BTreeSet<Box<str>>,
}

impl State {
    /// Follows these threads and those that they start, or all.
    pub(super) fn new(scope: Option<BTreeSet<ThreadId>>, part_interval: Duration) -> Self {
        Self {
            scope,
            part_interval,
            dirty: BTreeMap::new(),
            read_at: HashMap::new(),
            told: HashMap::new(),
            resting: BTreeMap::new(),
            owners: BTreeMap::new(),
            poisonous: HashMap::new(),
            tickets: BTreeMap::new(),
            sequences: HashMap::new(),
            parts: HashMap::new(),
            tools: BTreeSet::new(),
        }
    }

    /// The stream stands again: what was told before may have changed unseen.
    pub(super) fn connected(&mut self, now: Instant) {
        self.sequences.clear();
        let busy = self.owners.iter().filter(|(_, owner)| **owner == Owner::Busy);
        let again: Vec<_> =
            busy.map(|(thread, _)| thread).chain(self.scope.iter().flatten()).cloned().collect();
        for thread in again {
            self.rest(thread, now);
        }
    }

    /// Takes one event and gives what it tells by itself.
    pub(super) fn take(&mut self, event: Event, server: &Server, now: Instant) -> Vec<Report> {
        let redactor = &server.http.redactor;
        if let Event::Session(row) = &event {
            self.widen(row);
        }
        if thread_of(&event).is_some_and(|thread| !self.is_in_scope(thread)) {
            return Vec::new();
        }
        match event {
            Event::Connected | Event::Heartbeat | Event::Unknown { .. } => Vec::new(),
            Event::Disposed { .. } => {
                self.connected(now);
                Vec::new()
            }
            Event::Sync { thread, seq } => self.sequence(thread, seq).into_iter().collect(),
            Event::Session(row) => vec![Report::Thread(server.info(&row))],
            Event::SessionDeleted { thread } => {
                server.forget(&thread);
                self.forget(&thread);
                vec![Report::ThreadDeleted(thread)]
            }
            Event::Message { thread, message, info } => {
                // A prompt may be stored that nobody will ever run: nothing else would tell.
                let is_quiet = self.owners.get(&thread) != Some(&Owner::Busy);
                if is_quiet && !self.resting.contains_key(&thread) {
                    self.rest(thread.clone(), now + QUIET);
                }
                let key = (thread, message);
                if info.contains(POISON) {
                    bounded(&mut self.poisonous);
                    self.poisonous.insert(key.clone(), info.clone());
                }
                self.dirty(key, now, Some(info));
                Vec::new()
            }
            Event::MessageRemoved { thread, message } => {
                self.dirty.remove(&(thread.clone(), message.clone()));
                let seen = Seen { observation: Observation::Removed(message), evidence: None };
                vec![Report::Seen { thread, seen: vec![seen] }]
            }
            Event::Part(part) => self.part(part, now).into_iter().collect(),
            Event::PartRemoved { thread, message } => {
                self.part_changed((thread, message), now);
                Vec::new()
            }
            Event::Delta(delta) => vec![self.delta(delta, redactor)],
            Event::Status { thread, status } => self.status(thread, &status, now),
            Event::Idle { thread } => {
                self.rest(thread, now);
                Vec::new()
            }
            Event::Error { thread, name, message } => {
                vec![Report::Failed { thread, name, message: redactor.redact(&message).into() }]
            }
            Event::Asked(asked) => ask(asked, redactor).map(Report::Asked).into_iter().collect(),
            Event::Answered { thread, ask } => {
                let ask = AskId::new(ask).ok();
                ask.map(|ask| Report::Answered { thread, ask }).into_iter().collect()
            }
        }
    }

    /// Gives the next thing to read that is due.
    pub(super) fn job(&mut self, now: Instant) -> Option<Job> {
        let due = self.dirty.iter().filter(|(_, dirty)| dirty.due <= now);
        let next = due.min_by_key(|(_, dirty)| dirty.due).map(|(key, _)| key.clone());
        if let Some(key) = next {
            let dirty = self.dirty.remove(&key)?;
            bounded(&mut self.read_at);
            self.read_at.insert(key.clone(), now);
            let info = dirty.info.or_else(|| self.poisonous.get(&key).cloned());
            let (thread, message) = key;
            return Some(Job::Read { thread, message, info });
        }
        let due = self.resting.iter().filter(|(_, resting)| resting.due <= now);
        let thread =
            due.min_by_key(|(_, resting)| resting.due).map(|(thread, _)| thread.clone())?;
        // What changed is read before the end of the run is judged.
        let waiting = self.dirty.iter_mut().find(|((other, _), _)| *other == thread);
        if let Some((_, dirty)) = waiting {
            dirty.due = now;
            return self.job(now);
        }
        if let Some(resting) = self.resting.get_mut(&thread) {
            // Until the look is judged or has failed; then it is removed or gets another time.
            resting.due = now + Duration::from_secs(3600);
        }
        Some(Job::Look { thread })
    }

    /// When the next thing is due.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        let dirty = self.dirty.values().map(|dirty| dirty.due);
        dirty.chain(self.resting.values().map(|resting| resting.due)).min()
    }

    /// Tells whether a message says something else than when it was last told, and remembers it.
    pub(super) fn is_news(&mut self, thread: &ThreadId, seen: &Seen) -> bool {
        let (Observation::Message(message), Some(evidence)) = (&seen.observation, &seen.evidence)
        else {
            return true;
        };
        let digest = digest([Evidence::as_str(evidence)]);
        bounded(&mut self.told);
        self.told.insert((thread.clone(), message.id.clone()), digest) != Some(digest)
    }

    /// Judges a look at a session that does not run: whether nothing more is to be expected.
    pub(super) fn is_settled(
        &mut self,
        thread: &ThreadId,
        digest: u64,
        grace: Duration,
        now: Instant,
    ) -> bool {
        // It began to run again while it was looked at.
        let Some(resting) = self.resting.get_mut(thread) else { return false };
        if grace.is_zero() || resting.digest == Some(digest) {
            return true;
        }
        *resting = Resting { due: now + grace, digest: Some(digest) };
        false
    }

    /// A look gave nothing: the session is looked at again, unless it began to run meanwhile.
    pub(super) fn look_failed(&mut self, thread: &ThreadId, due: Instant) {
        if let Some(resting) = self.resting.get_mut(thread) {
            resting.due = due;
        }
    }

    /// Gives what is told of the run of a session, and remembers it.
    pub(super) fn owner_told(&mut self, thread: ThreadId, owner: Owner) -> Report {
        self.resting.remove(&thread);
        self.owners.insert(thread.clone(), owner);
        let ticket = self.tickets.get(&thread).copied().unwrap_or_default();
        Report::Owner { thread, owner, ticket }
    }

    /// Looks at the run of a session anew, because somebody wishes it.
    pub(super) fn wish(&mut self, (thread, ticket): (ThreadId, Ticket), now: Instant) {
        self.tickets.insert(thread.clone(), ticket);
        self.rest(thread, now);
    }

    fn is_in_scope(&self, thread: &ThreadId) -> bool {
        self.scope.as_ref().is_none_or(|scope| scope.contains(thread))
    }

    /// Takes the threads into scope that one in scope starts.
    fn widen(&mut self, row: &SessionRow) {
        if let (Some(scope), Some(parent)) = (&mut self.scope, &row.parent)
            && scope.contains(parent)
        {
            scope.insert(row.thread.clone());
        }
    }

    /// Looks at the run of a thread from a point in time on, until it is sure.
    pub(super) fn rest(&mut self, thread: ThreadId, now: Instant) {
        self.resting.insert(thread, Resting { due: now, digest: None });
    }

    fn sequence(&mut self, thread: ThreadId, seq: u64) -> Option<Report> {
        bounded(&mut self.sequences);
        let last = self.sequences.insert(thread.clone(), seq)?;
        (seq > last + 1).then(|| {
            let why = format!("events {} to {} were not told", last + 1, seq - 1);
            Report::Missed { thread, why }
        })
    }

    fn dirty(&mut self, key: Key, due: Instant, info: Option<Box<str>>) {
        let dirty = self.dirty.entry(key).or_insert(Dirty { due, info: None });
        dirty.due = dirty.due.min(due);
        if info.is_some() {
            dirty.info = info;
        }
    }

    /// A part changed: its message is read, but not again and again for every piece of text.
    fn part_changed(&mut self, key: Key, now: Instant) {
        let last = self.read_at.get(&key);
        let due = last.map_or(now, |last| now.max(*last + self.part_interval));
        self.dirty(key, due, None);
    }

    fn part(&mut self, part: PartChange, now: Instant) -> Option<Report> {
        let kind = match &*part.kind {
            "text" => PartKind::Text,
            "reasoning" => PartKind::Reasoning,
            _ => PartKind::Other,
        };
        bounded(&mut self.parts);
        self.parts.insert(part.part.clone(), kind);
        let tool = part
            .tool
            .filter(|tool| matches!(tool.status, ToolStatus::Pending | ToolStatus::Running));
        let Some(tool) = tool else {
            self.part_changed((part.thread, part.message), now);
            return None;
        };
        if tool.status == ToolStatus::Pending {
            return None;
        }
        // A tool that runs is told again with every piece of its output.
        if self.tools.len() >= REMEMBERED_MAX {
            self.tools.clear();
        }
        if !self.tools.insert(part.part) {
            return None;
        }
        self.part_changed((part.thread.clone(), part.message.clone()), now);
        let (thread, message) = (part.thread, part.message);
        Some(Report::ToolStarted { thread, message, tool: tool.name })
    }

    fn delta(&self, delta: Delta, redactor: &Redactor) -> Report {
        let kind = match (&*delta.field, self.parts.get(&delta.part)) {
            ("text", Some(kind)) => *kind,
            _ => PartKind::Other,
        };
        Report::Text {
            thread: delta.thread,
            message: delta.message,
            kind,
            delta: redactor.redact(&delta.delta).into(),
        }
    }

    fn status(&mut self, thread: ThreadId, status: &RunStatus, now: Instant) -> Vec<Report> {
        match status {
            RunStatus::Busy | RunStatus::Retry { .. } => {
                let was = self.owners.get(&thread).copied();
                let report = self.owner_told(thread, Owner::Busy);
                if was == Some(Owner::Busy) { Vec::new() } else { vec![report] }
            }
            RunStatus::Idle => {
                self.rest(thread, now);
                Vec::new()
            }
            RunStatus::Unknown(word) => {
                let problem = format!("session {thread} has the unknown status {word:?}");
                vec![Report::Unreadable { problem }]
            }
        }
    }

    /// The session was deleted.
    pub(super) fn forget(&mut self, thread: &ThreadId) {
        self.dirty.retain(|(other, _), _| other != thread);
        self.read_at.retain(|(other, _), _| other != thread);
        self.told.retain(|(other, _), _| other != thread);
        self.poisonous.retain(|(other, _), _| other != thread);
        self.resting.remove(thread);
        self.owners.remove(thread);
        self.tickets.remove(thread);
        self.sequences.remove(thread);
    }
}

fn bounded<K, V>(map: &mut HashMap<K, V>) {
    if map.len() >= REMEMBERED_MAX {
        map.clear();
    }
}

/// The thread that an event is about.
fn thread_of(event: &Event) -> Option<&ThreadId> {
    match event {
        Event::Connected
        | Event::Heartbeat
        | Event::Disposed { .. }
        | Event::Unknown { .. }
        | Event::Error { thread: None, .. } => None,
        Event::Session(row) => Some(&row.thread),
        Event::Part(part) => Some(&part.thread),
        Event::Delta(delta) => Some(&delta.thread),
        Event::Asked(asked) => Some(&asked.thread),
        Event::Sync { thread, .. }
        | Event::SessionDeleted { thread }
        | Event::Message { thread, .. }
        | Event::MessageRemoved { thread, .. }
        | Event::PartRemoved { thread, .. }
        | Event::Status { thread, .. }
        | Event::Idle { thread }
        | Event::Error { thread: Some(thread), .. }
        | Event::Answered { thread, .. } => Some(thread),
    }
}

/// What is asked, in the words of every harness; `None` when it has no id.
pub(crate) fn ask(asked: Asked, redactor: &Redactor) -> Option<Ask> {
    let redacted = |text: &str| Box::from(redactor.redact(text));
    let body = match asked.what {
        What::Permission { permission, patterns } => AskBody::Permission {
            permission,
            patterns: patterns.iter().map(|pattern| redacted(pattern)).collect(),
        },
        What::Questions(questions) => AskBody::Questions(
            questions
                .into_iter()
                .map(|question| Question {
                    text: redacted(&question.question),
                    choices: question
                        .options
                        .into_iter()
                        .map(|choice| Choice {
                            // The label goes back to the server as it is.
                            label: choice.label,
                            description: redacted(&choice.description),
                        })
                        .collect(),
                    multiple: question.multiple,
                })
                .collect(),
        ),
    };
    Some(Ask { id: AskId::new(asked.id).ok()?, thread: asked.thread, message: asked.message, body })
}

#[cfg(test)]
mod tests;
