//! `turnbook abort`, `steer`, `answer` and `close`: what can be done to a session from elsewhere?

use std::sync::Arc;

use clap::{Args as ClapArgs, ValueEnum};
use harness::{Answer, Ask, AskBody, PromptMode, Verdict};
use recorder::Request;
use store::{Delivery, Dispatch, Labels, Session};

use crate::{
    agent::Agent,
    args::SessionArgs,
    context::Context,
    driving::{Run, Wheel},
    exit::{Code, Failure},
    names, print,
};

/// Asks for what runs in a session to be aborted.
#[derive(Debug, ClapArgs)]
pub(crate) struct Abort {
    #[command(flatten)]
    session: SessionArgs,
}

/// Puts a prompt into the turn that runs in a session.
#[derive(Debug, ClapArgs)]
pub(crate) struct Steer {
    #[command(flatten)]
    session: SessionArgs,
    /// What is said.
    prompt: String,
}

/// Answers what the agent asks in a session; without an answer, lists what it asks.
#[derive(Debug, ClapArgs)]
pub(crate) struct Reply {
    #[command(flatten)]
    session: SessionArgs,
    /// Which of its questions [default: the only one].
    #[arg(long, value_name = "ID")]
    ask: Option<String>,
    /// The answer to a permission.
    #[arg(long, value_enum, conflicts_with = "answers")]
    permission: Option<Word>,
    /// The answers to its questions, one for each: a label of a choice, or own words.
    #[arg(value_name = "ANSWER")]
    answers: Vec<String>,
}

/// Closes a session: nothing is sent to it any more. Its turns stay as they are.
#[derive(Debug, ClapArgs)]
pub(crate) struct Close {
    #[command(flatten)]
    session: SessionArgs,
}

/// An answer to a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Word {
    /// This time.
    Once,
    /// From now on.
    Always,
    /// No; the turn stops.
    Reject,
}

/// What is done.
#[derive(Debug)]
pub(crate) enum Act<'a> {
    Abort(&'a Abort),
    Steer(&'a Steer),
    Answer(&'a Reply),
}

impl Act<'_> {
    fn session(&self) -> &SessionArgs {
        match self {
            Self::Abort(args) => &args.session,
            Self::Steer(args) => &args.session,
            Self::Answer(args) => &args.session,
        }
    }
}

/// Takes the session over for a moment, does it, and lets go.
pub(crate) fn run(act: &Act<'_>, context: &Context) -> Result<Code, Failure> {
    let run = Run::existing(context)?;
    let session = run.session(act.session())?;
    run.recorded(context, take_over(act, context, (&run, &session)))
}

async fn take_over(
    act: &Act<'_>,
    context: &Context,
    (run, session): (&Run, &Session),
) -> Result<Code, Failure> {
    let agent = Agent::of_driver(context, session.driver.as_ref()).await?;
    if let Act::Answer(Reply { answers, permission: None, .. }) = act
        && answers.is_empty()
    {
        // Looking takes nothing over.
        return list(&agent, session).await;
    }
    let recorder = run.recorder(Arc::clone(&agent.client));
    let wheel = Wheel::take(&recorder, session.id(), &agent).await?;
    let done = do_it(act, &agent, (&wheel, session)).await;
    wheel.let_go(None).await?;
    done
}

async fn do_it(
    act: &Act<'_>,
    agent: &Agent,
    (wheel, session): (&Wheel, &Session),
) -> Result<Code, Failure> {
    match act {
        Act::Abort(_) => {
            wheel.drive().abort().await?;
            print::line_out("asked to abort; `turnbook show` tells when it has ended")?;
            Ok(Code::Completed)
        }
        Act::Steer(args) => {
            let request = Request {
                id: names::request(),
                text: args.prompt.as_str().into(),
                mode: PromptMode::Steer,
                agent: None,
                model: None,
                labels: Labels::none(),
                input: None,
            };
            let intent = wheel.drive().prompt(request).await?;
            let (words, code) = match intent.delivery {
                Delivery::Dispatched(Dispatch::Sent) => ("sent".to_owned(), Code::Completed),
                Delivery::Dispatched(Dispatch::NotSent { why }) => {
                    (format!("not sent: {why}"), Code::Harness)
                }
                Delivery::Dispatched(Dispatch::Uncertain { why }) => {
                    (format!("uncertain: {why}; `turnbook recover` settles it"), Code::Pending)
                }
                Delivery::Intended => ("it is not known whether it was sent".into(), Code::Pending),
            };
            print::line_out(&format!("{} {words}", intent.request))?;
            Ok(code)
        }
        Act::Answer(args) => {
            let ask = find(&waiting(agent, session).await?, args.ask.as_deref())?;
            let answer = answer(args, &ask)?;
            wheel.drive().answer(ask, answer).await?;
            print::line_out("answered")?;
            Ok(Code::Completed)
        }
    }
}

async fn waiting(agent: &Agent, session: &Session) -> Result<Vec<Ask>, Failure> {
    let Some(thread) = &session.thread else { return Ok(Vec::new()) };
    let mut asks = agent.client.asks(thread).await?;
    for child in agent.client.children(thread).await? {
        asks.extend(agent.client.asks(&child.thread).await?);
    }
    Ok(asks)
}

async fn list(agent: &Agent, session: &Session) -> Result<Code, Failure> {
    let asks = waiting(agent, session).await?;
    if asks.is_empty() {
        print::line_out("nothing is asked")?;
    }
    for ask in &asks {
        print::text_out(&print::ask_human(ask))?;
    }
    Ok(Code::Completed)
}

fn find(asks: &[Ask], id: Option<&str>) -> Result<Ask, Failure> {
    let mut found = asks.iter().filter(|ask| id.is_none_or(|id| ask.id.as_str() == id));
    let wrong = match (found.next(), found.next()) {
        (Some(ask), None) => return Ok(ask.clone()),
        (None, _) => "nothing like that is asked; it may be answered already",
        (Some(_), Some(_)) => "more than one thing is asked; name one with --ask ID",
    };
    Err(Failure::BadInput(anyhow::anyhow!(wrong)))
}

fn answer(args: &Reply, ask: &Ask) -> Result<Answer, Failure> {
    match (&ask.body, args.permission) {
        (AskBody::Permission { .. }, Some(word)) => Ok(Answer::Permission(match word {
            Word::Once => Verdict::Once,
            Word::Always => Verdict::Always,
            Word::Reject => Verdict::Reject,
        })),
        (AskBody::Permission { .. }, None) => Err(Failure::BadInput(anyhow::anyhow!(
            "a permission is asked: answer with --permission once, always or reject"
        ))),
        (AskBody::Questions(_), Some(Word::Reject)) => Ok(Answer::Decline),
        (AskBody::Questions(questions), None) if questions.len() == args.answers.len() => {
            let answers = args.answers.iter().map(|answer| vec![answer.as_str().into()]);
            Ok(Answer::Questions(answers.collect()))
        }
        (AskBody::Questions(questions), _) => Err(Failure::BadInput(anyhow::anyhow!(
            "{} questions are asked: give as many answers, or --permission reject",
            questions.len()
        ))),
    }
}

/// Closes a session.
pub(crate) fn close(args: &Close, context: &Context) -> Result<Code, Failure> {
    let run = Run::existing(context)?;
    let session = run.session(&args.session)?;
    let (id, now) = (session.id().clone(), context.now);
    run.writer.update(move |ledger| ledger.close_session(&id, now))?;
    print::line_out(&format!("session {} is closed", session.id()))?;
    Ok(Code::Completed)
}
