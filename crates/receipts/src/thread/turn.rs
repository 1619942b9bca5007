//! How does one request stand? The state of a turn and the decision of its status (rules F3, F4).

use std::collections::{BTreeMap, BTreeSet};

use super::order::Place;
use crate::{
    gap::Gap,
    id::{CallKey, MessageId, ThreadId, TurnId, UnixMillis},
    observation::{Answer, AnswerRole, CallUsage, Ending, Failure, Finish, Kind, Owner},
    receipt::{Completion, Output, Status},
    usage::{Counters, Usage},
};

/// What is known of one request.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    pub(super) kind: Kind,
    /// Where its prompt stands, or its first answer while no prompt is known.
    pub(super) place: Place,
    /// Answers of this request, in order; the values live in the thread's slab.
    pub(super) answers: BTreeMap<Place, usize>,
    /// Those of them that are no summary that was made: see [`is_made_summary`].
    said: BTreeMap<Place, usize>,
    /// Those of them that are not over: not closed, or with an open tool.
    pub(super) open: BTreeSet<Place>,
    /// Those of them that were closed before they were created: a clock stepped in their run.
    pub(super) stepped: BTreeSet<Place>,
    /// Prompts that the harness put in.
    pub(super) generated: BTreeSet<Place>,
    /// Threads that its answers started, with the number of those that tell of each.
    pub(super) children: BTreeMap<ThreadId, usize>,
    /// Sum of the known and the finally unknown calls.
    pub(super) usage: Usage,
    pub(super) no_reply: NoReply,
    pub(super) announced: Announced,
    pub(super) unsaid: Unsaid,
}

/// What came to a turn since it was announced last, so that only this is looked at.
#[derive(Debug, Clone, Default)]
pub(super) struct Unsaid {
    pub(super) children: BTreeSet<ThreadId>,
    pub(super) generated: BTreeSet<Place>,
    /// Of its prompts.
    pub(super) gaps: BTreeSet<Gap>,
}

/// Whether a request was sent with the wish for no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoReply {
    /// The intent says so.
    Wished,
    /// No intent says so.
    NotWished,
}

/// Which facts of a turn were already given out.
#[derive(Debug, Clone, Default)]
pub(super) struct Announced {
    pub(super) admitted: Option<Kind>,
    pub(super) started: Option<MessageId>,
    pub(super) children: BTreeSet<ThreadId>,
    pub(super) generated: BTreeSet<MessageId>,
    pub(super) gaps: BTreeSet<Gap>,
    /// The last ending of a request without an answer.
    pub(super) unstarted: Option<Completion>,
}

/// The end of an attempt that was given out.
#[derive(Debug, Clone)]
pub(super) struct Settled {
    /// The turn for which it was given out last.
    pub(super) turn: TurnId,
    /// What holds for ever (rule F5).
    pub(super) first: Completion,
    /// The last other state that was seen.
    pub(super) contradicted_by: Option<Completion>,
}

/// One answer in the thread's slab.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    pub(super) answer: Answer,
    pub(super) place: Place,
    /// The turn that it belongs to; `None` when it belongs to none.
    pub(super) turn: Option<TurnId>,
    /// What in it did not fit.
    pub(super) gaps: BTreeSet<Gap>,
    /// The calls that were already given out as facts.
    pub(super) announced: Vec<(CallKey, Counters)>,
    /// The end of the attempt that it ended, once that was given out.
    pub(super) settled: Option<Settled>,
}

impl Turn {
    pub(super) fn new(kind: Kind, place: Place) -> Self {
        Self {
            kind,
            place,
            answers: BTreeMap::new(),
            said: BTreeMap::new(),
            open: BTreeSet::new(),
            stepped: BTreeSet::new(),
            generated: BTreeSet::new(),
            children: BTreeMap::new(),
            usage: Usage::default(),
            no_reply: NoReply::NotWished,
            announced: Announced::default(),
            unsaid: Unsaid::default(),
        }
    }
}

/// Tells whether a clock stepped back between the start and the end of an answer.
pub(super) fn is_stepped(answer: &Answer, place: &Place) -> bool {
    place.time().zip(answer.completed).is_some_and(|(created, completed)| completed < created)
}

impl Turn {
    /// Takes an answer, or sorts it anew by how it stands.
    pub(super) fn place_answer(&mut self, place: &Place, slot: usize, answer: &Answer) {
        let sort = |set: &mut BTreeSet<Place>, is_in| match is_in {
            true => set.insert(place.clone()),
            false => set.remove(place),
        };
        sort(&mut self.open, !is_over(answer));
        sort(&mut self.stepped, is_stepped(answer, place));
        if is_made_summary(answer) {
            self.said.remove(place);
        } else {
            self.said.insert(place.clone(), slot);
        }
        self.answers.insert(place.clone(), slot);
    }

    pub(super) fn remove_answer(&mut self, place: &Place) {
        self.answers.remove(place);
        self.said.remove(place);
        self.open.remove(place);
        self.stepped.remove(place);
    }

    pub(super) fn add_children(&mut self, answer: &Answer) {
        for child in &answer.children {
            *self.children.entry(child.clone()).or_insert(0) += 1;
            self.unsaid.children.insert(child.clone());
        }
    }

    pub(super) fn remove_children(&mut self, answer: &Answer) {
        for child in &answer.children {
            if let Some(told) = self.children.get_mut(child) {
                *told -= 1;
                if *told == 0 {
                    self.children.remove(child);
                    self.unsaid.children.remove(child);
                }
            }
        }
    }
}

/// Tells whether an answer is over: closed, with no tool still running (rule F3).
pub(super) fn is_over(answer: &Answer) -> bool {
    answer.completed.is_some() && answer.tools.open == 0
}

/// What an answer, taken as the last of its request, says about it once it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The attempt ended.
    Ended(Status),
    /// The run was refused the means to go on.
    Stopped,
    /// The run was cut while it waited to try again.
    Interrupted,
    /// Nothing in the message says that the run ended; the loop goes on.
    GoesOn,
    /// A word that this build does not know ended it, once nothing of its run goes on any more.
    UnknownFinish,
    /// The word for an end that the provider did not name: the loop may go on after it.
    SaysNothing,
}

/// Reads the verdict of one answer.
pub(super) fn verdict(answer: &Answer, kind: Kind) -> Verdict {
    match &answer.ending {
        Ending::Aborted(_) => Verdict::Ended(Status::Interrupted),
        Ending::Failed(_) => Verdict::Ended(Status::Failed),
        Ending::Structured(_) => Verdict::Ended(Status::Completed),
        Ending::Plain => match &answer.finish {
            Some(finish) => finished(answer, finish, kind),
            None if kind == Kind::Shell => Verdict::Ended(match answer.tools.aborted {
                0 => Status::Completed,
                _ => Status::Interrupted,
            }),
            None if answer.tools.rejected > 0 => Verdict::Stopped,
            None => Verdict::Interrupted,
        },
    }
}

fn finished(answer: &Answer, finish: &Finish, kind: Kind) -> Verdict {
    if answer.role == AnswerRole::Summary && kind != Kind::Summarize {
        return Verdict::GoesOn;
    }
    if answer.tools.rejected > 0 {
        return Verdict::Stopped;
    }
    match finish {
        Finish::Stop | Finish::Length | Finish::ContentFilter | Finish::Other | Finish::Error
            if answer.tools.client == 0 =>
        {
            Verdict::Ended(Status::Completed)
        }
        Finish::Unknown(word) if answer.tools.client == 0 => match &**word {
            "" | "unknown" => Verdict::SaysNothing,
            _ => Verdict::UnknownFinish,
        },
        Finish::Stop
        | Finish::Length
        | Finish::ContentFilter
        | Finish::Other
        | Finish::Error
        | Finish::ToolCalls
        | Finish::Unknown(_) => Verdict::GoesOn,
    }
}

/// What surrounds a turn in its thread, as far as its status depends on it.
#[derive(Debug)]
pub(super) struct Surroundings {
    pub(super) owner: Owner,
    /// The first later request that the harness answered.
    pub(super) followed_by: Option<Follower>,
}

/// A later request that the harness answered.
#[derive(Debug)]
pub(super) struct Follower {
    pub(super) turn: TurnId,
    /// When the first answered prompt of it was made.
    pub(super) asked_at: Option<UnixMillis>,
}

impl Surroundings {
    fn nothing_runs(&self) -> bool {
        match self.owner {
            Owner::Idle | Owner::Dead => true,
            Owner::Busy | Owner::Unknown => false,
        }
    }

    /// The request that took the run over.
    fn absorber(&self) -> Option<TurnId> {
        self.followed_by.as_ref().map(|follower| follower.turn.clone())
    }

    /// Whether the request that follows was already waiting when an answer was closed: the loop
    /// that went on went on with it.
    fn was_waiting(&self, answer: &Answer) -> bool {
        self.followed_by.as_ref().is_some_and(|follower| follower.asked_at <= answer.completed)
    }

    /// Whether a run that ended by its own words may still be going on: it is the last one, and
    /// the owner is at work (a compaction may follow a stop).
    fn may_go_on(&self) -> bool {
        self.owner == Owner::Busy && self.followed_by.is_none()
    }
}

/// Says how a turn stands, and which later request answered it where one did.
pub(super) fn status(
    turn: &Turn,
    slab: &[Slot],
    around: &Surroundings,
) -> (Status, Option<TurnId>) {
    let run = in_run_order(turn, slab);
    let Some((last_place, last)) = run.answers.first().copied() else {
        return unanswered(turn, around);
    };
    if !turn.open.is_empty() {
        if !around.nothing_runs() {
            return (Status::Pending, None);
        }
        if turn.open.contains(last_place) && !is_failed(last) {
            return (Status::Lost, None);
        }
    }
    let is_over = around.nothing_runs() || around.followed_by.is_some();
    if run.end == RunEnd::Compacted && !is_over {
        return (Status::Pending, None);
    }
    match verdict(last, turn.kind) {
        Verdict::Ended(_) if around.may_go_on() => (Status::Pending, None),
        Verdict::Ended(status) => (status, None),
        Verdict::Stopped if is_over => (Status::Stopped, None),
        Verdict::Interrupted if is_over => (Status::Interrupted, None),
        // Its tool was cut by an abort, and the loop did not go on.
        Verdict::GoesOn if is_over && last.tools.aborted > 0 => (Status::Interrupted, None),
        Verdict::GoesOn if around.followed_by.is_some() => (Status::Absorbed, around.absorber()),
        Verdict::SaysNothing if around.was_waiting(last) => (Status::Absorbed, around.absorber()),
        Verdict::SaysNothing | Verdict::UnknownFinish if is_over => (Status::Completed, None),
        // It said that it goes on and does not: it was lost between two steps.
        Verdict::GoesOn if around.nothing_runs() => (Status::Lost, None),
        Verdict::Stopped
        | Verdict::Interrupted
        | Verdict::GoesOn
        | Verdict::SaysNothing
        | Verdict::UnknownFinish => (Status::Pending, None),
    }
}

fn is_failed(answer: &Answer) -> bool {
    matches!(answer.ending, Ending::Aborted(_) | Ending::Failed(_) | Ending::Structured(_))
}

fn unanswered(turn: &Turn, around: &Surroundings) -> (Status, Option<TurnId>) {
    if turn.no_reply == NoReply::Wished {
        (Status::NoReply, None)
    } else if around.followed_by.is_some() {
        (Status::Absorbed, around.absorber())
    } else if let Some(Completion { absorbed_by: Some(later), .. }) = &turn.announced.unstarted {
        // The request that answered it was forgotten since.
        (Status::Absorbed, Some(later.clone()))
    } else if around.nothing_runs() {
        (Status::Unanswered, None)
    } else {
        (Status::Pending, None)
    }
}

/// How many answers, from the last, are looked at for the text of an attempt; those without a step
/// say nothing, and there are never many of them in a row.
const ANSWERS_LOOKED_AT: usize = 64;

/// The answers of a run, last first, without the summaries that say nothing about it.
struct Run<'a> {
    answers: Vec<(&'a Place, &'a Answer)>,
    end: RunEnd,
}

/// Whether a summary stands behind the last answer.
#[derive(PartialEq, Eq)]
enum RunEnd {
    Answered,
    /// The loop was about to go on after a compaction.
    Compacted,
}

/// A summary that was made says nothing about the request, unless the request asked for it.
fn is_aside(answer: &Answer, kind: Kind) -> bool {
    kind != Kind::Summarize && is_made_summary(answer)
}

/// A summary that is there, whole.
fn is_made_summary(answer: &Answer) -> bool {
    answer.role == AnswerRole::Summary && is_over(answer) && !is_failed(answer)
}

/// The answers in the order in which they were made.
///
/// That is the order of their places, except where a clock stepped back inside the run: then only
/// the order in which they were closed tells it.
fn in_run_order<'a>(turn: &'a Turn, slab: &'a [Slot]) -> Run<'a> {
    let mut run = by_place(turn, slab);
    if !turn.stepped.is_empty() {
        // Stable: those that are still open come first, as the last made.
        run.answers.sort_by_key(|(_, answer)| {
            std::cmp::Reverse(answer.completed.map_or(i64::MAX, |at| at.0))
        });
    }
    run
}

fn by_place<'a>(turn: &'a Turn, slab: &'a [Slot]) -> Run<'a> {
    let said = match turn.kind {
        Kind::Summarize => &turn.answers,
        Kind::Prompt | Kind::Shell | Kind::Orphan => &turn.said,
    };
    let last = |answers: &'a BTreeMap<Place, usize>, count| {
        let answers = answers.iter().rev().take(count);
        answers
            .filter_map(|(place, slot)| Some((place, &slab.get(*slot)?.answer)))
            .collect::<Vec<_>>()
    };
    let end = match turn.answers.keys().next_back() == said.keys().next_back() {
        true => RunEnd::Answered,
        false => RunEnd::Compacted,
    };
    let answers = last(said, ANSWERS_LOOKED_AT);
    match answers.is_empty() {
        true => Run { answers: last(&turn.answers, 1), end },
        false => Run { answers, end },
    }
}

/// The answer that stands last, and ends the attempt.
pub(super) fn last_answer<'a>(turn: &'a Turn, slab: &'a [Slot]) -> Option<(&'a Place, &'a Answer)> {
    by_place(turn, slab).answers.first().copied()
}

/// Builds the completion that goes with a status.
///
/// It is named by the answer that stands last, whose words it gives. Where a clock stepped back
/// that need not be the one that was made last: then that one says when the run ended, and why if
/// it failed. An error never stands beside another status.
pub(super) fn completion(
    turn: &Turn,
    slab: &[Slot],
    (status, absorbed_by): (Status, Option<TurnId>),
) -> Completion {
    let run = in_run_order(turn, slab);
    let made_last = run.answers.first().copied();
    let last = if turn.stepped.is_empty() { made_last } else { last_answer(turn, slab) };
    let failure = match status {
        Status::Interrupted => last.and_then(|(_, answer)| failure(answer)),
        Status::Failed => made_last.and_then(|(_, answer)| failure(answer)),
        Status::Pending
        | Status::Completed
        | Status::Stopped
        | Status::Absorbed
        | Status::Unanswered
        | Status::NoReply
        | Status::Lost => None,
    };
    Completion {
        message: last.map(|(place, _)| place.id.clone()),
        status,
        failure: failure.cloned(),
        finish: last.and_then(|(_, answer)| answer.finish.clone()),
        absorbed_by,
        started_at: turn.answers.first_key_value().and_then(|(place, _)| place.time()),
        completed_at: made_last.and_then(|(_, answer)| answer.completed),
        output: output(turn, &run, status),
    }
}

fn failure(answer: &Answer) -> Option<&Failure> {
    match &answer.ending {
        Ending::Aborted(failure) | Ending::Failed(failure) => Some(failure),
        Ending::Plain | Ending::Structured(_) => None,
    }
}

/// The value of the last answer, else the text after the last step start of the attempt (rule F6):
/// answers in which no step began say nothing about it.
fn output(turn: &Turn, run: &Run<'_>, status: Status) -> Option<Output> {
    let (last, earlier) = run.answers.split_first()?;
    if let Ending::Structured(value) = &last.1.ending {
        return Some(Output::Value(value.clone()));
    }
    if is_aside(last.1, turn.kind) {
        return None;
    }
    let earlier = earlier.iter().take_while(|(_, answer)| !is_failed(answer));
    let mut said =
        std::iter::once(last).chain(earlier).filter_map(|(_, answer)| answer.text.as_ref());
    let text = said.next().filter(|text| !text.is_empty())?.clone();
    Some(if status == Status::Completed { Output::Text(text) } else { Output::Partial(text) })
}

/// How often the harness ran a request: an answer after an end begins anew, unless the harness
/// itself went on in the same run.
pub(super) fn attempts(turn: &Turn, slab: &[Slot]) -> u32 {
    let generated: BTreeSet<&MessageId> = turn.generated.iter().map(|place| &place.id).collect();
    let mut attempts = 0;
    let mut ended = true;
    for answer in turn.answers.values().filter_map(|slot| Some(&slab.get(*slot)?.answer)) {
        let goes_on = answer.role == AnswerRole::Summary && turn.kind != Kind::Summarize
            || answer.parent.as_ref().is_some_and(|parent| generated.contains(parent));
        if ended && (attempts == 0 || !goes_on) {
            attempts += 1;
        }
        ended = is_over(answer) && matches!(verdict(answer, turn.kind), Verdict::Ended(_));
    }
    attempts
}

/// Two or more whole answers to one prompt.
pub(super) fn conflicting(turn: &Turn, slab: &[Slot]) -> Vec<MessageId> {
    if turn.answers.len() < 2 {
        return Vec::new();
    }
    let mut by_parent: BTreeMap<&MessageId, Vec<&Place>> = BTreeMap::new();
    for (place, slot) in &turn.answers {
        if let Some(Slot { answer, .. }) = slab.get(*slot)
            && let Some(parent) = &answer.parent
            && is_over(answer)
            && verdict(answer, turn.kind) == Verdict::Ended(Status::Completed)
        {
            by_parent.entry(parent).or_default().push(place);
        }
    }
    let mut places: Vec<&Place> =
        by_parent.into_values().filter(|answers| answers.len() > 1).flatten().collect();
    places.sort();
    places.into_iter().map(|place| place.id.clone()).collect()
}

/// What one answer adds to the usage of its turn; open calls count once their turn is lost.
pub(super) fn counted(answer: &Answer) -> impl Iterator<Item = (&CallKey, Counters)> {
    answer.calls.iter().filter_map(|call| match call.usage {
        CallUsage::Known(counters) => Some((&call.key, counters)),
        CallUsage::Unknown => Some((&call.key, Counters::UNKNOWN)),
        CallUsage::Open => None,
    })
}
