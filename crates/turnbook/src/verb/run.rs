//! `turnbook run`: drives one turn, shows its answer, and says what came of it.

mod ask;
mod show;
mod turn;

use std::{
    io::{IsTerminal as _, Read as _},
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

use anyhow::Context as _;
use clap::Args as ClapArgs;
use harness::{PromptMode, Scope};
use receipts::{InputKey, SessionId};
use recorder::{Adopt, Depth, Follow, Request};
use store::{ExecOutcome, Input, Labels, Refusal, Session, StoreError};
use verbatim::Redactor;

use self::turn::{Ended, Turn};
use crate::{
    agent::{self, Agent},
    args::{Format, FormatArgs},
    config::{ModelName, Permission},
    context::Context,
    driving::{self, Run, Wanted, Wheel},
    exit::{Code, Failure},
    names,
};

/// What the help shows.
const EXAMPLES: &str = "\
Examples:
  turnbook run \"Which files does this project have?\"
      one turn of a new session, in this folder
  turnbook run --session tidy --label task=42 \"Remove the dead code in src/parse.rs.\"
      the first turn of a session with a name; the same again goes on with it
  turnbook run --attach http://127.0.0.1:4096 --session tidy \"And now?\"
      on a server that runs already
  git diff | turnbook run --json --permission reject - | jq .turn.completion.output
      a prompt from standard input, in a script that nobody watches

The exit code tells how the turn ended: 0 completed, 10 failed, 11 interrupted, 12 stopped,
13 unanswered or absorbed, 14 lost, 15 pending or uncertain; `turnbook --help` lists all.";

/// Sends a prompt to an agent and follows its turn to the end.
///
/// The answer goes to standard output as it is written, everything else to standard error. The
/// first Ctrl-C aborts the turn and waits for its end, the second leaves at once.
#[derive(Debug, ClapArgs)]
#[command(after_help = EXAMPLES)]
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
    let run = Run::open(context)?;
    run.recorded(context, drive(args, context, (&run, prompt)))
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
    let wanted = wanted(args, context, &labels)?;
    let id = wanted.id.clone();
    let known = run.writer.view(|ledger| ledger.session(&id))?;
    if let Some(session) = &known {
        goes_on(session, &wanted)?;
    }
    let agent = reach(args, context, (known.as_ref(), &wanted.workdir)).await?;
    // A session begins with an agent that is reached.
    let session = match known {
        Some(session) => session,
        None => {
            let session = driving::session(run, &wanted, context.now)?;
            goes_on(&session, &wanted)?;
            session
        }
    };
    let workdir = session.fixed.workdir.clone();
    let recorder = run.recorder(Arc::clone(&agent.client));
    let wheel = Wheel::take(&recorder, &id, &agent).await?;
    let thread = wheel.drive().thread(workdir.as_deref(), &format!("turnbook {id}")).await?;
    let follow =
        Follow { scope: Scope::Thread(thread.clone()), adopt: Adopt::Known, depth: Depth::Open };
    let following = recorder.follow(follow).await?;
    let mut request = request(args, context, (prompt, labels));
    request.input = Some(input(args, &request, workdir));
    let turn = Turn {
        run,
        wheel,
        following,
        recorder,
        thread,
        policy: policy(args, context),
        format: args.format.format(),
        style: &context.err_style,
    };
    let (ended, wheel) = turn.drive(request).await?;
    let outcome = agent.is_own().then_some(ExecOutcome::Exited(0));
    agent.stop().await;
    wheel.let_go(outcome).await?;
    Ok(code(&ended))
}

/// Checks that a prompt can go to a session that is there.
fn goes_on(session: &Session, wanted: &Wanted) -> Result<(), Failure> {
    let id = session.id();
    if session.closed_at.is_some() {
        let why = Refusal::SessionClosed { session: id.clone() };
        return Err(StoreError::Refused { why }.into());
    }
    let workdir = session.fixed.workdir.as_deref().unwrap_or("no folder");
    let named = wanted.workdir.to_string_lossy();
    if wanted.is_workdir_named && named != workdir {
        let words = format!("session {id} works in {workdir}, not in {named}");
        return Err(Failure::BadInput(anyhow::anyhow!(words)));
    }
    Ok(())
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
    (session, wanted): (Option<&Session>, &Path),
) -> Result<Agent, Failure> {
    if let Some(url) = &args.attach {
        return Agent::attach(context, url).await;
    }
    let driver = session.and_then(|session| session.driver.as_ref());
    // Two servers would both run the session.
    if let Some(driver) = driver.filter(|driver| agent::is_in_use(context, driver)) {
        let current = store::Current::Driver(Some(Box::new(driver.clone())));
        return Err(StoreError::Stale { current }.into());
    }
    let workdir = session.and_then(|session| session.fixed.workdir.as_deref());
    let workdir = workdir.map_or(wanted, Path::new);
    if std::io::stderr().is_terminal() && args.format.format() == Format::Human {
        // It takes seconds.
        show::say(&format!("starting OpenCode in {}", workdir.display()));
    }
    Agent::start(context, workdir).await
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
        input: None,
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
        Ended::Settled(status) => Code::from(*status),
        Ended::NotSent => Code::Harness,
        Ended::Left => Code::Pending,
    }
}

#[cfg(test)]
mod tests {
    use receipts::Status;

    use super::{Code, Ended, Label, code};

    #[test]
    fn a_label_is_a_name_and_a_value() {
        let parsed = |text: &str| text.parse().map(|Label(name, value)| (name, value));
        let pair = |name: &str, value: &str| Ok((name.to_owned(), value.to_owned()));
        assert_eq!(parsed("task=42"), pair("task", "42"));
        assert_eq!(parsed("task="), pair("task", ""));
        assert_eq!(parsed("query=a=b c"), pair("query", "a=b c"));
        for wrong in ["task", "=42", ""] {
            assert_eq!(parsed(wrong), Err(format!("{wrong:?} is no label: write name=value")));
        }
    }

    #[test]
    fn what_did_not_end_is_told_apart_from_what_never_began() {
        let ended = [Ended::Settled(Status::Interrupted), Ended::NotSent, Ended::Left];
        assert_eq!(
            ended.map(|ended| code(&ended)),
            [Code::Interrupted, Code::Harness, Code::Pending]
        );
    }
}
