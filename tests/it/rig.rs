//! A real OpenCode, driven and followed in this process.

use std::{path::Path, sync::Arc, time::Duration};

use harness::{Harness, ModelName, PromptMode, Scope};
use opencode_client::{Config, Credentials, OpenCode as Client};
use receipts::{ExecId, RequestId, SessionId, ThreadId, UnixMillis};
use recorder::{Adopt, Depth, Drive, Follow, Following, LiveEvent, Locks, Recorder, Request, Told};
use store::{
    HarnessName, Labels, MemoryStore, NewExec, NewSession, Provider, Store, TurnReport, Writer,
};
use store_sqlite::SqliteStore;
use testkit::{
    agents,
    model::Model,
    opencode::{Home, OpenCode, PROVIDER, Setup},
};

use crate::server::Outcome;

/// Nothing that is waited for takes so long.
const LIMIT: Duration = Duration::from_secs(120);

/// A model, a server, a ledger and a recorder; dropped in this order.
pub(crate) struct Rig {
    pub(crate) writer: Writer,
    pub(crate) recorder: Recorder,
    pub(crate) server: OpenCode,
    pub(crate) home: Home,
    pub(crate) model: Model,
    folder: tempfile::TempDir,
}

/// One session that is driven and followed.
pub(crate) struct Seat {
    pub(crate) session: SessionId,
    pub(crate) drive: Drive,
    pub(crate) thread: ThreadId,
    pub(crate) following: Following,
}

impl Rig {
    /// A rig with a ledger in memory.
    pub(crate) async fn in_memory() -> Outcome<Self> {
        Self::start(|_| Ok(Arc::new(MemoryStore::new()))).await
    }

    /// A rig with a ledger in a file.
    pub(crate) async fn on_sqlite() -> Outcome<Self> {
        Self::start(|folder| Ok(Arc::new(SqliteStore::open(&folder.join("ledger.sqlite"))?))).await
    }

    async fn start(store: impl Fn(&Path) -> Outcome<Arc<dyn Store>>) -> Outcome<Self> {
        let model = Model::start()?;
        let home = Home::create(&Setup::new(&model.base_url()))?;
        let server = OpenCode::start(&agents::opencode()?, &home)?;
        let folder = tempfile::tempdir()?;
        let writer = Writer::new(store(folder.path())?);
        let client = client(&server, &home, &server.url()).await?;
        let recorder = recorder(&writer, client, folder.path(), "exec-1")?;
        Ok(Self { writer, recorder, server, home, model, folder })
    }

    /// The same ledger and server, the server reached at another address.
    pub(crate) async fn reached_at(&self, url: &str, exec: &str) -> Outcome<Recorder> {
        let client = client(&self.server, &self.home, url).await?;
        recorder(&self.writer, client, self.folder.path(), exec)
    }

    /// Makes a session and begins to drive and follow it.
    pub(crate) async fn seat(&self, name: &str) -> Outcome<Seat> {
        let session = self.session(name)?;
        self.sit(&self.recorder, session).await
    }

    /// Makes a session of a conversation that the agent has already.
    pub(crate) fn adopt(&self, thread: &str) -> Outcome<SessionId> {
        let session = self.session(thread)?;
        let (id, thread) = (session.clone(), ThreadId::new(thread)?);
        self.writer.update(move |ledger| ledger.attach_thread(&id, &thread))?;
        Ok(session)
    }

    fn session(&self, name: &str) -> Outcome<SessionId> {
        let new = NewSession {
            id: SessionId::new(name)?,
            harness: HarnessName::new("opencode")?,
            created_at: UnixMillis(1),
            workdir: None,
            title: None,
            labels: Labels::none(),
        };
        Ok(self.writer.update(move |ledger| ledger.create_session(&new))?.fixed.id)
    }

    /// Takes a session over, and follows it.
    pub(crate) async fn sit(&self, recorder: &Recorder, session: SessionId) -> Outcome<Seat> {
        let current = self.writer.view(|ledger| ledger.session(&session))?;
        let driver = current.and_then(|session| session.driver);
        let mut drive = recorder.claim(&session, driver, Provider::Replace).await?;
        drive.describe_provider(&recorder.harness().probe().await?).await?;
        let thread = drive.thread(None, &format!("turnbook {session}")).await?;
        let following = recorder.follow(follow(&thread)).await?;
        let mut seat = Seat { session, drive, thread, following };
        seat.until(|told| matches!(told, Told::CaughtUp)).await?;
        Ok(seat)
    }

    pub(crate) fn turns(&self, session: &SessionId) -> Outcome<Vec<TurnReport>> {
        Ok(self.writer.view(|ledger| ledger.turns(session))?)
    }
}

impl Seat {
    /// Listens until something is told; gives all that was.
    pub(crate) async fn until(&mut self, is_it: impl Fn(&Told) -> bool) -> Outcome<Vec<Told>> {
        let mut all = Vec::new();
        loop {
            let told = tokio::time::timeout(LIMIT, self.following.next()).await?;
            let told = told.ok_or("the following ended")?;
            let done = is_it(&told);
            all.push(told);
            if done {
                return Ok(all);
            }
        }
    }

    /// Listens until the end of a turn of ours.
    pub(crate) async fn ended(&mut self) -> Outcome<Vec<Told>> {
        self.until(|told| matches!(told, Told::Turn { event: LiveEvent::TurnCompleted { .. }, .. }))
            .await
    }
}

/// A prompt to one of the scripted provider's models.
pub(crate) fn request(name: &str, text: String, model: &str) -> Outcome<Request> {
    Ok(Request {
        id: RequestId::new(name)?,
        text: text.into(),
        mode: PromptMode::Turn,
        agent: None,
        model: ModelName::parse(&format!("{PROVIDER}/{model}")),
        labels: Labels::none(),
        input: None,
    })
}

fn follow(thread: &ThreadId) -> Follow {
    Follow { scope: Scope::Thread(thread.clone()), adopt: Adopt::Known, depth: Depth::Open }
}

async fn client(server: &OpenCode, home: &Home, url: &str) -> Outcome<Arc<dyn Harness>> {
    let config = Config::new(url)
        .credentials(Credentials::user(server.user(), server.password()))
        .database(home.database());
    Ok(Arc::new(Client::attach(&config).await?.0))
}

fn recorder(
    writer: &Writer,
    client: Arc<dyn Harness>,
    folder: &Path,
    exec: &str,
) -> Outcome<Recorder> {
    let exec = ExecId::new(exec)?;
    let new = NewExec {
        id: exec.clone(),
        parent: None,
        argv: Vec::new(),
        cwd: None,
        started_at: UnixMillis(1),
    };
    writer.update(move |ledger| ledger.start_exec(&new))?;
    let locks = Locks::new(folder.join("locks"), Duration::from_secs(20));
    Ok(Recorder::new(writer.clone(), client, locks, exec, Duration::from_secs(10)))
}
