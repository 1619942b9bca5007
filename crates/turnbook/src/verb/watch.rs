//! `turnbook watch`: what happens on a server, whoever started it?

use std::time::Duration;

use clap::Args as ClapArgs;
use harness::{Report, Scope};
use recorder::{Adopt, Depth, Follow, Following, Told};
use tokio::{sync::mpsc, time::sleep};

use crate::{
    agent::Agent,
    args::{Format, FormatArgs},
    context::Context,
    driving::Run,
    exit::{Code, Failure},
    open, print,
};

/// OpenCode's own default address.
const DEFAULT_URL: &str = "http://127.0.0.1:4096";
/// How long to wait before a server that is not reached is tried again.
const TRY_AGAIN: Duration = Duration::from_secs(5);
/// How many lines wait to be printed.
const LINES: usize = 256;

/// Records everything that happens on a server, also what others started, until Ctrl-C.
///
/// It tells what it records itself; what another turnbook recorded first, `turnbook log SESSION
/// --follow` tells. A server that is not reached is tried again.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The server.
    #[arg(value_name = "URL", required_unless_present = "all", conflicts_with = "all")]
    url: Option<String>,
    /// All servers that are known: those of the store and of the configuration, and OpenCode's
    /// default address. Nothing is searched for.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    format: FormatArgs,
}

/// Something that is told of one server.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) url: String,
    pub(crate) what: What,
}

/// What is told.
#[derive(Debug)]
pub(crate) enum What {
    Told(Told),
    /// It is not reached, and will be tried again.
    NotReached(String),
}

/// Follows until a person ends it.
pub(crate) fn run(args: &Args, context: &Context) -> Result<Code, Failure> {
    let run = Run::open(context)?;
    run.recorded(context, watch(args, context, &run))
}

async fn watch(args: &Args, context: &Context, run: &Run) -> Result<Code, Failure> {
    let (tell, mut told) = mpsc::channel(LINES);
    let is_only = args.url.is_some();
    let mut followers = Vec::new();
    for url in urls(args, context, run)? {
        // The one server that was named must answer; of many, some may come later.
        let first = if is_only { Some(connect(context, run, &url).await?) } else { None };
        followers.push(Box::pin(follow(context, run, (url, first), tell.clone())));
    }
    drop(tell);
    let mut end = std::pin::pin!(tokio::signal::ctrl_c());
    let mut all = std::pin::pin!(futures_util::future::join_all(followers));
    let format = args.format.format();
    loop {
        tokio::select! {
            ended = &mut end => {
                ended.map_err(|error| Failure::Internal(error.into()))?;
                return Ok(Code::Completed);
            }
            line = told.recv() => match line {
                Some(line) => show(&line, format, context)?,
                None => return Ok(Code::Completed),
            },
            _ends_never = &mut all => return Ok(Code::Completed),
        }
    }
}

fn show(line: &Line, format: Format, context: &Context) -> Result<(), Failure> {
    let text = match format {
        Format::Human => print::watched_human(line, open::now(), &context.style),
        Format::Json => print::watched_json(line),
    };
    text.iter().try_for_each(|text| print::line_out(text))
}

fn urls(args: &Args, context: &Context, run: &Run) -> Result<Vec<String>, Failure> {
    if let Some(url) = &args.url {
        return Ok(vec![url.clone()]);
    }
    let configured =
        context.config.servers.value.iter().map(|server| server.url.as_str().to_owned());
    let mut urls: Vec<String> = configured.collect();
    let sessions = run.writer.view(|ledger| open::sessions(ledger))?;
    let drivers = sessions.iter().filter_map(|session| session.driver.as_ref());
    let live = drivers.filter(|driver| !crate::agent::is_dead(driver));
    urls.extend(live.filter_map(|driver| Some(driver.endpoint.as_ref()?.as_str().to_owned())));
    urls.push(DEFAULT_URL.to_owned());
    let mut seen = std::collections::BTreeSet::new();
    urls.retain(|url| seen.insert(url.trim_end_matches('/').to_owned()));
    Ok(urls)
}

async fn connect(context: &Context, run: &Run, url: &str) -> Result<Following, Failure> {
    let agent = Agent::attach(context, url).await?;
    let what = Follow { scope: Scope::Everything, adopt: Adopt::All, depth: Depth::Known };
    Ok(run.recorder(agent.client).follow(what).await?)
}

/// Follows one server, and tries again whenever it is not reached.
async fn follow(
    context: &Context,
    run: &Run,
    (url, mut following): (String, Option<Following>),
    tell: mpsc::Sender<Line>,
) {
    let mut is_told = false;
    loop {
        if let Some(mut following) = following.take() {
            is_told = false;
            while let Some(told) = following.next().await {
                let is_text = matches!(told, Told::Live(Report::Text { .. }));
                let line = Line { url: url.clone(), what: What::Told(told) };
                if !is_text && tell.send(line).await.is_err() {
                    return;
                }
            }
        }
        match connect(context, run, &url).await {
            Ok(connected) => following = Some(connected),
            Err(failure) => {
                let what = What::NotReached(failure.message());
                if !std::mem::replace(&mut is_told, true)
                    && tell.send(Line { url: url.clone(), what }).await.is_err()
                {
                    return;
                }
                sleep(TRY_AGAIN).await;
            }
        }
    }
}
