//! A real OpenCode, driven and followed through the recorder, lands in the ledger.

use std::{sync::Arc, time::Duration};

use harness::{Harness, PromptMode, Scope};
use opencode_client::{Config, Credentials, OpenCode as Client};
use receipts::{ExecId, RequestId, SessionId, Status, ThreadId, UnixMillis};
use recorder::{
    Adopt, Belief, Depth, Drive, Follow, Following, LiveEvent, Locks, Recorder, Request, Told,
};
use store::{
    HarnessName, Labels, MemoryStore, NewExec, NewSession, Provider, Store, TurnReport, Writer,
};
use testkit::{
    agents,
    model::{Key, Model, Reply, Usage},
    opencode::{Home, MODEL, OpenCode, PROVIDER, Setup},
};

use crate::server::Outcome;

/// A model, a server, a ledger and a recorder of one run.
struct Rig {
    model: Model,
    writer: Writer,
    recorder: Recorder,
    session: SessionId,
    /// Kept until the end: the server, its home and the folder of the locks.
    _kept: (OpenCode, Home, tempfile::TempDir),
}

impl Rig {
    async fn start(store: Arc<dyn Store>) -> Outcome<Self> {
        let model = Model::start()?;
        let home = Home::create(&Setup::new(&model.base_url()))?;
        let server = OpenCode::start(&agents::opencode()?, &home)?;
        let folder = tempfile::tempdir()?;
        let writer = Writer::new(store);
        let session = SessionId::new("s")?;
        let new = NewSession {
            id: session.clone(),
            harness: HarnessName::new("opencode")?,
            created_at: UnixMillis(1),
            workdir: None,
            title: None,
            labels: Labels::none(),
        };
        writer.update(move |ledger| ledger.create_session(&new))?;
        let config = Config::new(&server.url())
            .credentials(Credentials::user(server.user(), server.password()))
            .database(home.database());
        let client: Arc<dyn Harness> = Arc::new(Client::attach(&config).await?.0);
        let recorder = recorder(&writer, client, folder.path(), "exec-1")?;
        Ok(Self { model, writer, recorder, session, _kept: (server, home, folder) })
    }

    async fn claim(&self) -> Outcome<Drive> {
        let session = self.session.clone();
        let current = self.writer.view(|ledger| ledger.session(&session))?;
        let driver = current.and_then(|session| session.driver);
        let mut drive = self.recorder.claim(&self.session, driver, Provider::Replace).await?;
        drive.describe_provider(&self.recorder.harness().probe().await?).await?;
        Ok(drive)
    }

    fn turns(&self) -> Outcome<Vec<TurnReport>> {
        Ok(self.writer.view(|ledger| ledger.turns(&self.session))?)
    }
}

fn recorder(
    writer: &Writer,
    client: Arc<dyn Harness>,
    folder: &std::path::Path,
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

fn request(name: &str, text: String) -> Outcome<Request> {
    Ok(Request {
        id: RequestId::new(name)?,
        text: text.into(),
        mode: PromptMode::Turn,
        agent: None,
        model: harness::ModelName::parse(&format!("{PROVIDER}/{MODEL}")),
        labels: Labels::none(),
    })
}

fn follow(thread: &ThreadId) -> Follow {
    Follow { scope: Scope::Thread(thread.clone()), adopt: Adopt::Known, depth: Depth::Open }
}

async fn told(following: &mut Following, is_it: impl Fn(&Told) -> bool) -> Vec<Told> {
    let mut all = Vec::new();
    loop {
        let told = tokio::time::timeout(Duration::from_secs(60), following.next()).await;
        let told = told.expect("something is told").expect("the following goes on");
        let done = is_it(&told);
        all.push(told);
        if done {
            return all;
        }
    }
}

fn completed(told: &Told) -> bool {
    matches!(told, Told::Turn { event: LiveEvent::TurnCompleted { .. }, .. })
}

fn events(told: &[Told]) -> Vec<LiveEvent> {
    told.iter()
        .filter_map(|told| match told {
            Told::Turn { event, .. } => Some(event.clone()),
            Told::Recorded { .. }
            | Told::Live(_)
            | Told::CaughtUp
            | Told::Unrecorded(_)
            | Told::Unread { .. } => None,
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn f12_a_turn_of_ours_is_driven_recorded_and_told_once() -> Outcome {
    let rig = Rig::start(Arc::new(MemoryStore::new())).await?;
    let drive = rig.claim().await?;
    let thread = drive.thread(None, "turnbook s").await?;
    assert_eq!(drive.thread(None, "turnbook s").await?, thread, "it is made once");
    let mut following = rig.recorder.follow(follow(&thread)).await?;
    told(&mut following, |told| matches!(told, Told::CaughtUp)).await;
    let key = Key::new("one");
    rig.model.script(&key, [Reply::text("hello").stop(Usage::of(150, 7))]);
    let sent = drive.prompt(request("r1", key.prompt("say hello"))?).await?;
    let turn = sent.turn.clone().ok_or("the turn is minted")?;
    let all = told(&mut following, completed).await;
    assert_eq!(
        events(&all),
        [
            LiveEvent::TurnStarted { turn: turn.clone() },
            LiveEvent::TurnCompleted { turn: turn.clone(), status: Status::Completed }
        ]
    );
    let turns = rig.turns()?;
    let [report] = turns.as_slice() else { return Err(format!("{turns:?}").into()) };
    assert_eq!(report.turn, turn);
    assert_eq!(report.origin, Some(sent.origin.clone()));
    let usage = report.usage.ok_or("usage is known")?;
    assert_eq!((usage.input.value(), usage.output.value(), usage.calls), (Some(150), Some(7), 1));
    // The same request again sends nothing again.
    let again = drive.prompt(request("r1", "other words".to_owned())?).await?;
    assert_eq!((again.turn, rig.model.served_for(&key).len()), (Some(turn), 1));
    // L10: recovering a healthy session changes nothing.
    let before = rig.writer.view(|ledger| ledger.events(&rig.session, store::Seq::START, 1000))?;
    let recovered = rig.recorder.recover(&rig.session, Belief::Evidence).await?;
    assert_eq!((recovered.appended, recovered.pending), (0, 0));
    let after = rig.writer.view(|ledger| ledger.events(&rig.session, store::Seq::START, 1000))?;
    assert_eq!(before, after);
    Ok(())
}
