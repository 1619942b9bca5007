//! How is one turn driven to its end? What is told is shown, answered, and waited for.

use std::{collections::BTreeMap, time::Duration};

use harness::{Answer, Ask, AskId, Report};
use receipts::{RequestId, Status, ThreadId, TurnId};
use recorder::{Belief, DriveError, Following, LiveEvent, Recorder, Request, Told};
use store::{Delivery, Dispatch, Intent, StoreError, TurnReport};
use tokio::time::{Instant, sleep_until};

use super::{
    ask::{self, Person, Said},
    show::{Asked, Screen},
};
use crate::{
    args::Format,
    config::Permission,
    driving::{Run, Wheel},
    exit::Failure,
    print::Style,
};

/// How long the history may take to show a prompt, before it is asked whether it ever will. A server
/// that has just been started takes seconds to store what it took.
const ADMITTED_WITHIN: Duration = Duration::from_secs(20);

/// A turn that is to be driven.
pub(super) struct Turn<'a> {
    pub(super) run: &'a Run,
    pub(super) wheel: Wheel,
    pub(super) following: Following,
    pub(super) recorder: Recorder,
    pub(super) thread: ThreadId,
    pub(super) policy: Permission,
    pub(super) format: Format,
    pub(super) style: &'a Style,
}

/// How the driving of a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// The ledger knows how the turn ended.
    Settled(Status),
    /// It is proven that the agent did not and will not store the prompt.
    NotSent,
    /// A person left before the end.
    Left,
}

impl<'a> Turn<'a> {
    /// Sends the prompt and follows its turn.
    pub(super) async fn drive(mut self, request: Request) -> Result<(Ended, Wheel), Failure> {
        self.caught_up().await?;
        let sent = self.wheel.with(|drive| {
            let request = request.clone();
            async move { drive.prompt(request).await }
        });
        let intent = sent.await?;
        let turn = intent.turn.clone();
        let screen = Screen::new(self.format, turn.clone());
        let mut progress = Progress {
            request: request.id,
            turn,
            screen,
            waiting: BTreeMap::new(),
            person: Person::new(),
            interrupts: 0,
            status: None,
            ask_again_at: Some(Instant::now() + ADMITTED_WITHIN),
        };
        let ended = match is_not_sent(&intent) {
            true => Ended::NotSent,
            false => self.follow(&mut progress).await?,
        };
        for told in self.following.stop().await {
            progress.screen.show(&told);
        }
        let (request, turn) = (progress.request.clone(), progress.turn.clone());
        let (session, thread) = (intent.session, self.thread);
        let (intent, report) = self.run.writer.view(|ledger| {
            let report = match &turn {
                Some(turn) => ledger.turn(&session, &thread, turn)?,
                None => None,
            };
            Ok((ledger.intent(&request)?, report))
        })?;
        progress.screen.finish(&session, (intent.as_ref(), report.as_ref()), self.style)?;
        Ok((settled(ended, report.as_ref()), self.wheel))
    }

    /// Waits until what was there before is recorded: only then is something sent.
    async fn caught_up(&mut self) -> Result<(), Failure> {
        loop {
            match self.following.next().await {
                Some(Told::CaughtUp) => return Ok(()),
                Some(Told::Unread { error, .. }) if !error.is_transient() => {
                    return Err(error.into());
                }
                Some(Told::Unrecorded(error)) => {
                    return Err(StoreError::from(error).into());
                }
                Some(_) => {}
                None => return Err(Failure::Gone),
            }
        }
    }

    async fn follow(&mut self, progress: &mut Progress) -> Result<Ended, Failure> {
        loop {
            let ask_again = progress.ask_again_at.unwrap_or_else(far);
            tokio::select! {
                told = self.following.next() => match told {
                    Some(told) => self.take(told, progress).await?,
                    None => return Err(Failure::Gone),
                },
                said = progress.person.said() => self.said(said, progress).await,
                pressed = tokio::signal::ctrl_c() => {
                    pressed.map_err(|error| Failure::Internal(error.into()))?;
                    progress.interrupts += 1;
                    if progress.interrupts > 1 {
                        return Ok(Ended::Left);
                    }
                    progress.screen.note("aborting; press Ctrl-C again to leave at once");
                    self.abort(progress).await;
                }
                () = sleep_until(ask_again) => {
                    if self.settle(progress).await? {
                        return Ok(Ended::NotSent);
                    }
                }
            }
            if let Some(status) = progress.status {
                return Ok(Ended::Settled(status));
            }
        }
    }

    async fn abort(&mut self, progress: &mut Progress) {
        let aborted = self.wheel.with(|drive| async move { drive.abort().await }).await;
        if let Err(error) = aborted {
            progress.screen.note(&format!("not aborted: {}", crate::exit::chain(&error)));
        }
    }

    /// Asks the history whether a prompt that it did not show yet will ever be in it.
    async fn settle(&mut self, progress: &mut Progress) -> Result<bool, Failure> {
        progress.ask_again_at = Some(Instant::now() + ADMITTED_WITHIN);
        let session = self.wheel.drive().session().clone();
        self.recorder.recover(&session, Belief::Evidence).await?;
        let intent = self.run.writer.view(|ledger| ledger.intent(&progress.request))?;
        let Some(intent) = intent else { return Ok(false) };
        if intent.admitted.is_some() {
            progress.ask_again_at = None;
        }
        Ok(is_not_sent(&intent))
    }

    async fn take(&mut self, told: Told, progress: &mut Progress) -> Result<(), Failure> {
        progress.screen.show(&told);
        match told {
            Told::Turn { event, .. } => progress.event(&event),
            Told::Recorded { thread, facts, .. } => {
                let turn = progress.turn.as_ref();
                let is_ours = facts.iter().any(|fact| Some(&fact.turn) == turn);
                if thread == self.thread && is_ours {
                    progress.ask_again_at = None;
                }
                // What was asked before its request was known to be ours may be answered now.
                self.answer_all(progress).await;
            }
            Told::Live(Report::Asked(ask)) => {
                progress.waiting.insert(ask.id.clone(), Waiting { ask, answer: None });
                self.answer_all(progress).await;
            }
            Told::Live(Report::Answered { ask, .. }) => {
                progress.waiting.remove(&ask);
                if progress.person.withdraw(&ask) {
                    progress.screen.note("it was answered elsewhere; press Enter");
                }
            }
            Told::Unrecorded(error) => {
                progress.screen.note(&format!("not recorded yet: {}", crate::exit::chain(&error)));
            }
            Told::Live(_) | Told::CaughtUp | Told::Unread { .. } => {}
        }
        Ok(())
    }

    /// Takes what the person said.
    async fn said(&mut self, (ask, answer): Said, progress: &mut Progress) {
        progress.screen.asks(Asked::No);
        match (answer, progress.waiting.get_mut(&ask)) {
            (Some(answer), Some(waiting)) => waiting.answer = Some(answer),
            (None, Some(_)) => {
                progress.waiting.remove(&ask);
                let session = self.wheel.drive().session();
                let words = format!("not answered here; `turnbook answer {session}` does it");
                progress.screen.note(&words);
            }
            // It was answered elsewhere meanwhile.
            (_, None) => {}
        }
        self.answer_all(progress).await;
    }

    /// Answers what the agent asks in the turns of this ledger; leaves alone what others are asked.
    async fn answer_all(&mut self, progress: &mut Progress) {
        let mut answers = Vec::new();
        for (id, waiting) in &mut progress.waiting {
            if waiting.answer.is_none() {
                waiting.answer = ask::by_policy(self.policy, &waiting.ask);
            }
            match &waiting.answer {
                Some(answer) => answers.push((id.clone(), waiting.ask.clone(), answer.clone())),
                None if progress.person.is_asked() => {}
                None => {
                    progress.screen.asks(Asked::Yes);
                    progress.person.ask(&waiting.ask);
                }
            }
        }
        for (id, ask, answer) in answers {
            let answered = self.wheel.with(|drive| {
                let (ask, answer) = (ask.clone(), answer.clone());
                async move { drive.answer(ask, answer).await }
            });
            match answered.await {
                // It may be ours once more is known of the turn.
                Err(DriveError::NotOurs { .. }) => continue,
                Ok(()) => {}
                Err(error) => {
                    progress.screen.note(&format!("not answered: {}", crate::exit::chain(&error)));
                }
            }
            progress.waiting.remove(&id);
        }
    }
}

/// Something that the agent asked and that is not answered.
struct Waiting {
    ask: Ask,
    /// What is to be answered, once that is decided.
    answer: Option<Answer>,
}

/// Where the driving of a turn stands.
struct Progress {
    request: RequestId,
    turn: Option<TurnId>,
    screen: Screen,
    /// What the agent asked and nobody answered.
    waiting: BTreeMap<AskId, Waiting>,
    person: Person,
    interrupts: u32,
    status: Option<Status>,
    /// When the history is asked whether the prompt will ever be in it.
    ask_again_at: Option<Instant>,
}

impl Progress {
    fn event(&mut self, event: &LiveEvent) {
        if let LiveEvent::TurnCompleted { turn, status } = event
            && Some(turn) == self.turn.as_ref()
        {
            self.status = Some(*status);
        }
    }
}

fn is_not_sent(intent: &Intent) -> bool {
    intent.admitted.is_none()
        && matches!(intent.delivery, Delivery::Dispatched(Dispatch::NotSent { .. }))
}

/// What was recorded last holds: a turn may have ended while its following was being ended.
fn settled(ended: Ended, report: Option<&TurnReport>) -> Ended {
    match (ended, report.map(|report| report.status)) {
        (_, Some(status)) if status != Status::Pending => Ended::Settled(status),
        (ended, _) => ended,
    }
}

fn far() -> Instant {
    Instant::now() + Duration::from_secs(24 * 60 * 60)
}
