//! `turnbook run`: drives one turn, shows its answer, and says what came of it.

mod ask;
mod show;
mod turn;

use std::{
    io::{IsTerminal as _, Read as _},
    path::PathBuf,
    str::FromStr,
    sync::Arc,
};

use anyhow::Context as _;
use clap::Args as ClapArgs;
use harness::{PromptMode, Scope};
use receipts::{InputKey, SessionId, Status};
use recorder::{Adopt, Depth, Follow, Request};
use store::{Driver, ExecOutcome, Input, Labels, StoreError};
use verbatim::Redactor;

use self::turn::{Ended, Turn};
use crate::{
    agent::{self, Agent},
    args::FormatArgs,
    config::{ModelName, Permission},
    context::Context,
    driving::{self, Run, Wanted, Wheel},
    exit::{Code, Failure},
    names, open,
};

/// Sends a prompt to an agent and follows its turn to the end.
///
/// The answer goes to standard output as it is written, everything else to standard error. The
/// first Ctrl-C aborts the turn and waits for its end, the second leaves at once.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// What is asked; `-` reads standard input.
    prompt: String,
    /// The session to go on with, or the name of a new one [default: a new name].
    #[arg(long, value_name = "NAME", value_parser = |text: &str| SessionId::new(text))]
    session: Option<SessionId>,
    /// Where the agent works [default: the session's folder, or this one].
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The model, as provider/model [default: the configured one, or the agent's own].
    #[arg(long, value_name = "MODEL")]
    model: Option<ModelName>,
    /// Which of the agent's agents answers [default: the agent's own].
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// A running server to use; its password stands in the configuration [default: a server of our
    /// own, which ends with this run].
    #[arg(long, value_name = "URL")]
    attach: Option<String>,
    /// The key of the input that this prompt is, for reports by input [default: a new one].
    #[arg(long, value_name = "KEY", value_parser = |text: &str| InputKey::new(text))]
    input: Option<InputKey>,
    /// A label of the work, as name=value; may be given again.
    #[arg(long = "label", value_name = "NAME=VALUE")]
    labels: Vec<Label>,
    /// What is answered when the agent asks for a permission or puts a question [default: the
    /// configured answer, or ask].
    #[arg(long, value_enum)]
    permission: Option<Permission>,
    #[command(flatten)]
    format: FormatArgs,
}

/// One label.
#[derive(Debug, Clone)]
struct Label(String, String);

impl FromStr for Label {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok(Self(name.into(), value.into())),
            Some(_) | None => Err(format!("{text:?} is no label: write name=value")),
        }
    }
}

/// Drives one turn.
pub(crate) fn run(args: &Args, context: &Context) -> Result<Code, Failure> {
    let prompt = prompt(&args.prompt)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Internal(error.into()))?;
    runtime.block_on(async {
        let run = Run::begin(context)?;
        let done = drive(args, context, (&run, prompt)).await;
        let code = match &done {
            Ok(code) => *code,
            Err(failure) => failure.code(),
        };
        run.end(code.number(), open::now())?;
        done
    })
}

fn prompt(argument: &str) -> Result<String, Failure> {
    if argument != "-" {
        return Ok(argument.to_owned());
    }
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    read.context("standard input cannot be read").map_err(Failure::BadInput)?;
    Ok(text)
}

async fn drive(
    args: &Args,
    context: &Context,
    (run, prompt): (&Run, String),
) -> Result<Code, Failure> {
    let labels = Labels::new(args.labels.iter().map(|Label(name, value)| (name, value)))
        .map_err(|error| Failure::BadInput(error.into()))?;
    let session = driving::session(run, wanted(args, context, &labels)?, context.now)?;
    let workdir = session.fixed.workdir.clone();
    let agent = reach(args, context, session.driver.as_ref(), workdir.as_deref()).await?;
    let id = session.id().clone();
    let recorder = run.recorder(Arc::clone(&agent.client));
    let wheel = Wheel::take(&recorder, &id, &agent).await?;
    let thread = wheel.drive().thread(workdir.as_deref(), &format!("turnbook {id}")).await?;
    let follow =
        Follow { scope: Scope::Thread(thread.clone()), adopt: Adopt::Known, depth: Depth::Open };
    let following = recorder.follow(follow).await?;
    let request = request(args, context, (prompt, labels));
    driving::capture(run, &id, input(args, &request, workdir), context.now)?;
    let turn = Turn {
        run,
        wheel,
        following,
        recorder,
        thread,
        policy: policy(args, context),
        format: args.format.format(),
        style: &context.style,
    };
    let (ended, wheel) = turn.drive(request).await?;
    let outcome = agent.is_own().then_some(ExecOutcome::Exited(0));
    agent.stop().await;
    wheel.let_go(outcome).await?;
    Ok(code(&ended))
}

fn wanted(args: &Args, context: &Context, labels: &Labels) -> Result<Wanted, Failure> {
    let dir = args.dir.clone().map_or_else(std::env::current_dir, Ok);
    let workdir = dir.and_then(|dir| dir.canonicalize()).map_err(|error| {
        let named = args.dir.as_deref().unwrap_or(".".as_ref()).display().to_string();
        Failure::BadInput(anyhow::Error::from(error).context(format!("{named} is no folder")))
    })?;
    Ok(Wanted {
        id: args.session.clone().unwrap_or_else(|| names::session(context.now)),
        workdir,
        is_workdir_named: args.dir.is_some(),
        labels: labels.clone(),
    })
}

/// Reaches the server that was named, or starts one, unless another run has one for this session.
async fn reach(
    args: &Args,
    context: &Context,
    driver: Option<&Driver>,
    workdir: Option<&str>,
) -> Result<Agent, Failure> {
    if let Some(url) = &args.attach {
        return Agent::attach(context, url).await;
    }
    // Two servers would both run the session.
    if let Some(driver) = driver.filter(|driver| driver.exec.is_some() && agent::is_live(driver)) {
        let current = store::Current::Driver(Some(Box::new(driver.clone())));
        return Err(StoreError::Stale { current }.into());
    }
    Agent::start(context, workdir.unwrap_or(".").as_ref()).await
}

fn request(args: &Args, context: &Context, (prompt, labels): (String, Labels)) -> Request {
    let model = args.model.as_ref().or(context.config.model.value.as_ref());
    Request {
        id: names::request(),
        text: prompt.into(),
        mode: PromptMode::Turn,
        agent: args.agent.as_deref().map(Into::into),
        model: model.and_then(|model| harness::ModelName::parse(&model.to_string())),
        labels,
    }
}

fn input(args: &Args, request: &Request, workdir: Option<Box<str>>) -> Input {
    Input {
        key: args.input.clone().unwrap_or_else(|| names::input(&request.id)),
        prompt: Some(Redactor::default().redact(&request.text).into()),
        skill: None,
        cwd: workdir,
        model: request
            .model
            .as_ref()
            .map(|name| format!("{}/{}", name.provider, name.model).into()),
        work: None,
        labels: request.labels.clone(),
    }
}

fn policy(args: &Args, context: &Context) -> Permission {
    let policy = args.permission.unwrap_or(context.config.permission.value);
    let is_attended = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    // Nobody is there to be asked.
    if policy == Permission::Ask && !is_attended { Permission::Reject } else { policy }
}

fn code(ended: &Ended) -> Code {
    match ended {
        Ended::Settled(status) => match status {
            Status::Completed | Status::NoReply => Code::Completed,
            Status::Failed => Code::Failed,
            Status::Interrupted => Code::Interrupted,
            Status::Stopped => Code::Stopped,
            Status::Unanswered | Status::Absorbed => Code::Unanswered,
            Status::Lost => Code::Lost,
            Status::Pending => Code::Pending,
        },
        Ended::NotSent => Code::Harness,
        Ended::Left => Code::Pending,
    }
}
