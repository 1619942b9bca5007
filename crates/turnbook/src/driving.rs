//! What do the verbs that write to an agent have in common? A store, a run, a session, a driver.

use std::{path::PathBuf, sync::Arc, time::Duration};

use harness::Harness;
use receipts::{ExecId, SessionId, UnixMillis};
use recorder::{Drive, DriveError, Locks, Recorder, is_provider};
use store::{
    ExecOutcome, HarnessName, Labels, NewExec, NewSession, Provider, Session, StoreError, Writer,
};
use store_sqlite::SqliteStore;
use verbatim::Redactor;

use crate::{
    agent::Agent,
    args::SessionArgs,
    context::Context,
    exit::{Code, Failure},
    names, open,
    runtime::block_on,
};

/// How much longer than one send a lock is waited for.
const LOCK_MARGIN: Duration = Duration::from_secs(5);

/// This run of the program, as the ledger knows it.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) writer: Writer,
    pub(crate) exec: ExecId,
    locks: Locks,
    send: Duration,
}

impl Run {
    /// Opens the store, making it where there is none.
    ///
    /// # Errors
    ///
    /// [`Failure::Store`].
    pub(crate) fn open(context: &Context) -> Result<Self, Failure> {
        Ok(Self::of(context, SqliteStore::open(&context.config.store.value)?))
    }

    /// Opens the store that is there.
    ///
    /// # Errors
    ///
    /// As [`open::existing`].
    pub(crate) fn existing(context: &Context) -> Result<Self, Failure> {
        Ok(Self::of(context, open::existing(&context.config.store.value)?))
    }

    fn of(context: &Context, store: SqliteStore) -> Self {
        let writer = Writer::new(Arc::new(store));
        let send = context.config.send_ms.value.duration();
        let mut locks = context.config.store.value.clone().into_os_string();
        locks.push(".locks");
        let locks = Locks::new(PathBuf::from(locks), send + LOCK_MARGIN);
        Self { writer, exec: names::exec(), locks, send }
    }

    /// Does the work of this program between the records of its start and its end.
    ///
    /// # Errors
    ///
    /// What `work` gives, and [`Failure::Store`].
    pub(crate) fn recorded(
        &self,
        context: &Context,
        work: impl Future<Output = Result<Code, Failure>>,
    ) -> Result<Code, Failure> {
        let redactor = Redactor::default();
        let argv =
            std::env::args_os().map(|argument| redactor.redact(&argument.to_string_lossy()).into());
        let new = NewExec {
            id: self.exec.clone(),
            parent: None,
            argv: argv.collect(),
            cwd: std::env::current_dir().ok().map(|cwd| cwd.to_string_lossy().into()),
            started_at: context.now,
        };
        self.writer.update(move |ledger| ledger.start_exec(&new))?;
        let done = block_on(work)?;
        let code = done.as_ref().map_or_else(Failure::code, |code| *code);
        let (exec, at) = (self.exec.clone(), open::now());
        let outcome = ExecOutcome::Exited(code.number().into());
        self.writer.update(move |ledger| ledger.end_exec(&exec, outcome, at))?;
        done
    }

    /// Finds the session that is meant.
    ///
    /// # Errors
    ///
    /// As [`open::session`].
    pub(crate) fn session(&self, args: &SessionArgs) -> Result<Session, Failure> {
        self.writer.view(|ledger| Ok(open::session(ledger, &args.session)))?
    }

    /// Makes the recorder of an agent.
    pub(crate) fn recorder(&self, client: Arc<dyn Harness>) -> Recorder {
        let (writer, locks) = (self.writer.clone(), self.locks.clone());
        Recorder::new(writer, client, locks, self.exec.clone(), self.send)
    }
}

/// A session that is to be there.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) id: SessionId,
    /// Where the agent is to work; for a session that is there, only what was asked for by name.
    pub(crate) workdir: PathBuf,
    pub(crate) is_workdir_named: bool,
    pub(crate) labels: Labels,
}

/// Gives a session, making it where there is none.
///
/// # Errors
///
/// [`Failure::Store`].
pub(crate) fn session(run: &Run, wanted: &Wanted, now: UnixMillis) -> Result<Session, Failure> {
    let new = NewSession {
        id: wanted.id.clone(),
        harness: HarnessName::new("opencode").expect("a constant that is not empty"),
        created_at: now,
        workdir: Some(wanted.workdir.to_string_lossy().into()),
        title: None,
        labels: wanted.labels.clone(),
    };
    Ok(run.writer.update(move |ledger| match ledger.session(&new.id)? {
        // Another process was faster.
        Some(session) => Ok(session),
        None => ledger.create_session(&new),
    })?)
}

/// A driver that takes its session back when another process of this user took it for a moment.
#[derive(Debug)]
pub(crate) struct Wheel {
    recorder: Recorder,
    drive: Drive,
}

impl Wheel {
    /// Takes a session's driver, whoever has it.
    ///
    /// # Errors
    ///
    /// [`Failure::Drive`].
    pub(crate) async fn take(
        recorder: &Recorder,
        session: &SessionId,
        agent: &Agent,
    ) -> Result<Self, Failure> {
        let mut drive = claim(recorder, session, Some(agent)).await?;
        drive.describe_provider(&agent.provider).await?;
        Ok(Self { recorder: recorder.clone(), drive })
    }

    /// Gives the driver.
    pub(crate) fn drive(&self) -> &Drive {
        &self.drive
    }

    /// Does something that needs the driver, taking it back once if need be.
    ///
    /// # Errors
    ///
    /// What `work` gives.
    pub(crate) async fn with<T, F: Future<Output = Result<T, DriveError>>>(
        &mut self,
        work: impl Fn(Drive) -> F,
    ) -> Result<T, DriveError> {
        match work(self.drive.clone()).await {
            Err(DriveError::Store(StoreError::Stale { .. })) => {
                let session = self.drive.session().clone();
                self.drive = claim(&self.recorder, &session, None).await?;
                work(self.drive.clone()).await
            }
            done => done,
        }
    }

    /// Lets go of the session; the agent goes on, or has ended with this run.
    ///
    /// # Errors
    ///
    /// [`Failure::Drive`]; that another took the session meanwhile is no error.
    pub(crate) async fn let_go(self, ended: Option<ExecOutcome>) -> Result<(), Failure> {
        let done = match ended {
            Some(outcome) => self.drive.finish(outcome).await,
            None => self.drive.release().await,
        };
        match done {
            Err(DriveError::Store(StoreError::Stale { .. })) => Ok(()),
            done => Ok(done?),
        }
    }
}

async fn claim(
    recorder: &Recorder,
    session: &SessionId,
    agent: Option<&Agent>,
) -> Result<Drive, DriveError> {
    let current = recorder.writer().view(|ledger| ledger.session(session))?;
    let current = current.and_then(|session| session.driver);
    let provider = match (&current, agent) {
        (Some(driver), Some(agent)) if !is_provider(driver, &agent.provider) => Provider::Replace,
        (None, _) => Provider::Replace,
        (Some(_), _) => Provider::Keep,
    };
    recorder.claim(session, current, provider).await
}
