//! How is an agent driven? Intent, fence, one send, and what became of it (rules L3, L4, L6).

use std::time::Duration;

use harness::{
    Answer, Ask, Dispatch as Sending, ModelName, NewThread, Prompt, PromptMode, Verdict,
};
use receipts::{MessageId, RequestId, SessionId, ThreadId, TurnId, UnixMillis};
use store::{
    Attempt, Dispatch, Driver, Effect, Endpoint, ExecOutcome, Input, Intent, Labels, LedgerWrite,
    NewIntent, Provider, Purpose, Refusal, Reply, Result, StoreError,
};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};

use crate::{ask, clock, error::DriveError, ours::is_ours, provider::stored, recorder::Recorder};

/// How many of the newest conversations are looked through for one that we may have made.
const THREADS: usize = 50;

/// When a conversation that may just be being made is looked for again.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// One prompt that is to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Its name, the caller's: the same name again sends nothing again.
    pub id: RequestId,
    /// What is asked.
    pub text: Box<str>,
    /// What it is for.
    pub mode: PromptMode,
    /// Which of the agent's agents is to answer; its own default without it.
    pub agent: Option<Box<str>>,
    /// Which model is to answer; the agent's own default without it.
    pub model: Option<ModelName>,
    /// The caller's labels for the work.
    pub labels: Labels,
    /// The input that it is; made the session's current one with the intent, unless it is that
    /// already. Without one, the current input is what the request belongs to.
    pub input: Option<Input>,
}

/// What became of meaning to send a request.
enum Intended {
    /// It is written down for the first time, and is to be sent now.
    New(ThreadId, Intent),
    /// It was written down before; nothing is sent.
    Before(Intent),
}

/// The authority to write to one session's harness, as long as nobody takes it over.
///
/// Every method that sends takes the session's lock, checks the authority in the transaction that
/// writes down what is meant, sends once, and writes down how that ended; all in a task that goes
/// on when its caller is cancelled.
#[derive(Debug, Clone)]
pub struct Drive {
    recorder: Recorder,
    session: SessionId,
    driver: Driver,
}

impl Recorder {
    /// Takes the driver of a session, which must exist, for this run.
    ///
    /// Waits for a send that is under way, and for nothing else. The former driver can send
    /// nothing from then on; it goes on recording.
    ///
    /// # Errors
    ///
    /// [`DriveError::Store`] with [`StoreError::Stale`] when somebody else was faster: look at who
    /// drives, and decide anew. [`DriveError::Locked`].
    pub async fn claim(
        &self,
        session: &SessionId,
        expected: Option<Driver>,
        provider: Provider,
    ) -> std::result::Result<Drive, DriveError> {
        let (this, session) = (self.clone(), session.clone());
        // A caller that goes away must not let go of the lock while the claim is under way.
        joined(tokio::spawn(async move { this.claim_here(session, expected, provider).await }))
            .await?
    }

    async fn claim_here(
        self,
        session: SessionId,
        expected: Option<Driver>,
        provider: Provider,
    ) -> std::result::Result<Drive, DriveError> {
        let lock = self.locks().take(&session).await?;
        let (id, exec) = (session.clone(), self.exec().clone());
        let driver = ask::update(self.writer(), move |ledger| {
            ledger.claim_driver(&id, expected.as_ref(), &exec, provider)
        })
        .await?;
        drop(lock);
        Ok(Drive { recorder: self, session, driver })
    }
}

impl Drive {
    /// Gives the session.
    #[must_use]
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Gives the authority as it is stored.
    #[must_use]
    pub fn driver(&self) -> &Driver {
        &self.driver
    }

    /// Writes down where the provider is reached and which process it is.
    ///
    /// # Errors
    ///
    /// [`DriveError::Store`].
    pub async fn describe_provider(
        &mut self,
        provider: &harness::Provider,
    ) -> std::result::Result<(), DriveError> {
        let (session, driver) = (self.session.clone(), self.driver.clone());
        let endpoint = Endpoint::new(&*provider.endpoint).ok();
        let process = provider.process.map(stored);
        self.driver = ask::update(self.recorder.writer(), move |ledger| {
            ledger.describe_provider(&session, &driver, endpoint.as_ref(), process)
        })
        .await?;
        Ok(())
    }

    /// Gives the session's conversation; makes it when there is none yet.
    ///
    /// It is made at most once: when the answer to making it was lost, now or in an earlier run,
    /// the one conversation with exactly this title is taken. The title must therefore be the
    /// session's own.
    ///
    /// # Errors
    ///
    /// [`DriveError`].
    pub async fn thread(
        &self,
        directory: Option<&str>,
        title: &str,
    ) -> std::result::Result<ThreadId, DriveError> {
        if let Some(thread) = self.attached().await? {
            return Ok(thread);
        }
        let new = NewThread { directory: directory.map(Into::into), title: Some(title.into()) };
        let this = self.clone();
        joined(tokio::spawn(async move { this.make_thread(new).await })).await?
    }

    async fn make_thread(&self, new: NewThread) -> std::result::Result<ThreadId, DriveError> {
        let title: Box<str> = new.title.clone().unwrap_or_default();
        let effect = Effect::CreateThread { title: title.clone() };
        let lock = self.recorder.locks().take(&self.session).await?;
        if let Some(thread) = self.attached().await? {
            return Ok(thread);
        }
        let made = match self.mean(effect.clone()).await {
            Ok(attempt) => {
                let pass = lock.pass(self.recorder.dispatch());
                let sending = self.recorder.harness().create_thread(&new, pass).await;
                let (dispatch, made) = match sending {
                    Sending::Sent(info) => (Dispatch::Sent, Ok(Some(info.thread))),
                    Sending::NotSent(error) => (not_sent(&error), Err(error)),
                    Sending::Uncertain(error) => (uncertain(&error), Ok(None)),
                };
                self.mark_effect(effect, attempt, dispatch).await?;
                made?
            }
            Err(StoreError::Refused { why: Refusal::EffectTried { .. } }) => {
                // Nothing is sent, so that nobody has to wait for what is read.
                drop(lock);
                None
            }
            Err(error) => return Err(error.into()),
        };
        let thread = match made {
            Some(thread) => thread,
            None => self.find_thread(new.directory.as_deref(), &title).await?,
        };
        let (session, found) = (self.session.clone(), thread.clone());
        ask::update(self.recorder.writer(), move |ledger| ledger.attach_thread(&session, &found))
            .await?;
        Ok(thread)
    }

    /// Finds the one conversation with a title (ledger.md 7, case 7).
    ///
    /// Whoever made it may be waiting for the answer still, or about to tell the ledger.
    async fn find_thread(
        &self,
        directory: Option<&str>,
        title: &str,
    ) -> std::result::Result<ThreadId, DriveError> {
        let until = Instant::now() + self.recorder.dispatch();
        loop {
            if let Some(thread) = self.attached().await? {
                return Ok(thread);
            }
            let mut found = self.recorder.harness().threads(directory, THREADS).await?;
            found.retain(|info| info.title.as_deref() == Some(title));
            if found.is_empty() && Instant::now() < until {
                sleep(LOOK_AGAIN).await;
                continue;
            }
            return match <[_; 1]>::try_from(found) {
                Ok([info]) => Ok(info.thread),
                Err(found) => Err(DriveError::ThreadUncertain {
                    session: self.session.clone(),
                    title: title.into(),
                    found: found.len(),
                }),
            };
        }
    }

    /// Sends a prompt, at most once, and gives the request with what is known of its way.
    ///
    /// A request that is stored already is given as it stands, and nothing is sent. Only the
    /// harness's own history admits it, whatever the dispatch says (rule L3).
    ///
    /// # Errors
    ///
    /// [`DriveError`]: nothing was sent, unless the error came from writing down how the send
    /// ended; then the request stays open until it is settled by what the history shows.
    pub async fn prompt(&self, request: Request) -> std::result::Result<Intent, DriveError> {
        let this = self.clone();
        joined(tokio::spawn(async move { this.prompt_here(request).await })).await?
    }

    async fn prompt_here(&self, request: Request) -> std::result::Result<Intent, DriveError> {
        let id = request.id.clone();
        let stored = ask::view(self.recorder.writer(), move |ledger| ledger.intent(&id)).await?;
        if let Some(intent) = stored {
            return Ok(intent);
        }
        let lock = self.recorder.locks().take(&self.session).await?;
        let (thread, intent) = match self.intend(&request).await? {
            Intended::New(thread, intent) => (thread, intent),
            // Another call with this name was faster, and has sent it.
            Intended::Before(intent) => return Ok(intent),
        };
        let prompt = Prompt {
            thread,
            message: intent.turn.as_ref().map(MessageId::from),
            text: request.text,
            mode: request.mode,
            agent: request.agent,
            model: request.model,
        };
        let pass = lock.pass(self.recorder.dispatch());
        let dispatch = match self.recorder.harness().prompt(&prompt, pass).await {
            Sending::Sent(()) => Dispatch::Sent,
            Sending::NotSent(error) => not_sent(&error),
            Sending::Uncertain(error) => uncertain(&error),
        };
        let id = request.id;
        let marked = ask::update(self.recorder.writer(), move |ledger| {
            match ledger.mark_delivery(&id, &dispatch) {
                // The history was faster than the answer, and it is right.
                Err(StoreError::Refused { why: Refusal::RequestSettled { .. } }) => {
                    ledger.intent(&id)?.ok_or_else(|| StoreError::not_found("request", &id))
                }
                marked => marked,
            }
        });
        Ok(marked.await?)
    }

    async fn intend(&self, request: &Request) -> std::result::Result<Intended, DriveError> {
        let now = clock::now();
        let turn = self.recorder.harness().mint(now, None).map(|id| TurnId::from(&id));
        let (purpose, reply) = match request.mode {
            PromptMode::Turn => (Purpose::Prompt, Reply::Expected),
            PromptMode::Steer => (Purpose::Steer, Reply::Expected),
            PromptMode::NoReply => (Purpose::Prompt, Reply::NotAsked),
        };
        let (id, labels) = (request.id.clone(), request.labels.clone());
        let input = request.input.clone();
        let (session, driver) = (self.session.clone(), self.driver.clone());
        let intended = ask::update(self.recorder.writer(), move |ledger| {
            if let Some(intent) = ledger.intent(&id)? {
                return Ok(Some(Intended::Before(intent)));
            }
            let stored = ledger.session(&session)?;
            let Some(thread) = stored.and_then(|session| session.thread) else { return Ok(None) };
            if let Some(input) = &input {
                ledger.check_fence(&session, &driver)?;
                capture(ledger, &session, input, now)?;
            }
            let new = NewIntent {
                request: id.clone(),
                session: session.clone(),
                thread: thread.clone(),
                turn: turn.clone(),
                purpose,
                reply,
                labels: labels.clone(),
                created_at: now,
            };
            Ok(Some(Intended::New(thread, ledger.intend(&new, &driver)?)))
        });
        intended.await?.ok_or_else(|| DriveError::NoThread { session: self.session.clone() })
    }

    /// Asks for what runs to be aborted. That it was shows in the history only.
    ///
    /// # Errors
    ///
    /// [`DriveError`]; [`DriveError::Reach`] when it was proven not sent or is uncertain. It may be
    /// asked again.
    pub async fn abort(&self) -> std::result::Result<(), DriveError> {
        let this = self.clone();
        joined(tokio::spawn(async move { this.abort_here().await })).await?
    }

    async fn abort_here(&self) -> std::result::Result<(), DriveError> {
        let lock = self.recorder.locks().take(&self.session).await?;
        let thread = self.thread_there_is().await?;
        let attempt = self.mean(Effect::Abort).await?;
        let pass = lock.pass(self.recorder.dispatch());
        let sending = self.recorder.harness().abort(&thread, pass).await;
        let (dispatch, result) = outcome(sending);
        self.mark_effect(Effect::Abort, attempt, dispatch).await?;
        Ok(result?)
    }

    /// Answers what the agent asked, at most once.
    ///
    /// When the answer to the answer is lost, what is still waiting is read: gone is answered.
    ///
    /// # Errors
    ///
    /// [`DriveError::NotOurs`] for what no admitted request of this ledger asked; nothing was sent.
    /// [`StoreError::Refused`] when it was answered before. [`DriveError::AnswerUncertain`] when it
    /// still waits although an answer may have been sent.
    pub async fn answer(&self, ask: Ask, answer: Answer) -> std::result::Result<(), DriveError> {
        let this = self.clone();
        joined(tokio::spawn(async move { this.answer_here(&ask, &answer).await })).await?
    }

    async fn answer_here(&self, ask: &Ask, answer: &Answer) -> std::result::Result<(), DriveError> {
        let root = self.thread_there_is().await?;
        if !is_ours(&self.recorder, (&self.session, &root), ask).await? {
            return Err(DriveError::NotOurs { thread: ask.thread.clone() });
        }
        let effect = Effect::Answer { ask: ask.id.as_str().into(), answer: short(answer).into() };
        let lock = self.recorder.locks().take(&self.session).await?;
        let attempt = self.mean(effect.clone()).await?;
        let pass = lock.pass(self.recorder.dispatch());
        let sending = self.recorder.harness().answer(ask, answer, pass).await;
        let is_uncertain = matches!(sending, Sending::Uncertain(_));
        let (dispatch, result) = outcome(sending);
        self.mark_effect(effect, attempt, dispatch).await?;
        if !is_uncertain {
            return Ok(result?);
        }
        let waiting = self.recorder.harness().asks(&ask.thread).await?;
        match waiting.iter().any(|waiting| waiting.id == ask.id) {
            true => Err(DriveError::AnswerUncertain),
            false => Ok(()),
        }
    }

    /// Lets go of the session; the provider goes on without a driver.
    ///
    /// # Errors
    ///
    /// [`DriveError::Store`]; [`StoreError::Stale`] when somebody took it over, which is the same
    /// to whoever lets go.
    pub async fn release(self) -> std::result::Result<(), DriveError> {
        let (session, driver) = (self.session, self.driver);
        let released = ask::update(self.recorder.writer(), move |ledger| {
            ledger.release(&session, &driver).map(drop)
        });
        Ok(released.await?)
    }

    /// Lets go of the session whose provider has ended with this run.
    ///
    /// # Errors
    ///
    /// As [`Self::release`].
    pub async fn finish(self, outcome: ExecOutcome) -> std::result::Result<(), DriveError> {
        let (session, driver) = (self.session, self.driver);
        let finished = ask::update(self.recorder.writer(), move |ledger| {
            ledger.finish(&session, &driver, outcome, clock::now()).map(drop)
        });
        Ok(finished.await?)
    }

    async fn attached(&self) -> std::result::Result<Option<ThreadId>, DriveError> {
        let id = self.session.clone();
        let session = ask::view(self.recorder.writer(), move |ledger| ledger.session(&id)).await?;
        let session = session.ok_or_else(|| StoreError::not_found("session", &self.session))?;
        Ok(session.thread)
    }

    async fn thread_there_is(&self) -> std::result::Result<ThreadId, DriveError> {
        let thread = self.attached().await?;
        thread.ok_or_else(|| DriveError::NoThread { session: self.session.clone() })
    }

    async fn mean(&self, effect: Effect) -> Result<Attempt> {
        let (session, driver) = (self.session.clone(), self.driver.clone());
        ask::update(self.recorder.writer(), move |ledger: &mut dyn LedgerWrite| {
            ledger.mean(&session, &effect, &driver, clock::now())
        })
        .await
    }

    async fn mark_effect(&self, effect: Effect, attempt: Attempt, how: Dispatch) -> Result<()> {
        let session = self.session.clone();
        ask::update(self.recorder.writer(), move |ledger: &mut dyn LedgerWrite| {
            ledger.mark_effect(&session, (&effect, attempt), &how, clock::now())
        })
        .await
    }
}

/// Makes an input the session's current one; under the fence, so that it is that of the intent.
fn capture(
    ledger: &mut dyn LedgerWrite,
    session: &SessionId,
    input: &Input,
    now: UnixMillis,
) -> Result<()> {
    let stored = ledger.session(session)?;
    let stored = stored.ok_or_else(|| StoreError::not_found("session", session))?;
    if stored.input.as_ref().is_some_and(|current| current.key == input.key) {
        return Ok(());
    }
    ledger.replace_input(session, stored.capture(), input, now).map(drop)
}

/// What is stored of an answer, for people.
fn short(answer: &Answer) -> &'static str {
    match answer {
        Answer::Permission(Verdict::Once) => "once",
        Answer::Permission(Verdict::Always) => "always",
        Answer::Permission(Verdict::Reject) => "reject",
        Answer::Questions(_) => "answered",
        Answer::Decline => "declined",
    }
}

fn outcome(sending: Sending) -> (Dispatch, std::result::Result<(), harness::ReachError>) {
    match sending {
        Sending::Sent(()) => (Dispatch::Sent, Ok(())),
        Sending::NotSent(error) => (not_sent(&error), Err(error)),
        Sending::Uncertain(error) => (uncertain(&error), Err(error)),
    }
}

fn not_sent(error: &harness::ReachError) -> Dispatch {
    Dispatch::NotSent { why: error.to_string().into() }
}

fn uncertain(error: &harness::ReachError) -> Dispatch {
    Dispatch::Uncertain { why: error.to_string().into() }
}

async fn joined<T>(task: JoinHandle<T>) -> std::result::Result<T, DriveError> {
    match task.await {
        Ok(value) => Ok(value),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(DriveError::Interrupted),
        },
    }
}
