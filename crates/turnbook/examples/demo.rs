//! `cargo xtask demo`: what does turnbook make of a real OpenCode's work, a crash included?
//!
//! Starts the pinned OpenCode against the scripted model, runs a turn of text, one with a tool and
//! one that is aborted, kills the server in the middle of a fourth, starts it again for a fifth,
//! and folds the history that OpenCode kept of all that.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use testkit::{
    agents,
    model::{CallKind, Gate, Key, Model, Reply, Tally, Usage},
    opencode::{Home, MODEL, OpenCode, Setup},
};

#[path = "../../../tests/it/server.rs"]
mod server;

use server::{Outcome, Server};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let program = program()?;
    say("installing OpenCode (once, from npm) and starting it against the scripted model …")?;
    let model = Model::start()?;
    let home = Home::create(&Setup::new(&model.base_url()))?;
    let agent = agents::opencode()?;
    let start = || OpenCode::start(&agent, &home).map(Server::of);
    let server = start()?;
    let session = server.new_session().await?;

    say("turn 1: text …")?;
    let text = Key::new("text");
    model.script(&text, [Reply::text("Hello from the model.").stop(Usage::of(150, 7))]);
    ask(&server, &session, &text, "say hello").await?;

    say("turn 2: a tool call, then an answer …")?;
    let tools = Key::new("tools");
    let bash = r#"{"command":"echo hi","description":"says hi"}"#;
    model.script(
        &tools,
        [
            Reply::tool("bash", bash).tool_calls(Usage::of(200, 20).cached(120)),
            Reply::text("The tool said hi.").stop(Usage::of(260, 9).cached(200)),
        ],
    );
    ask(&server, &session, &tools, "run echo").await?;

    say("turn 3: aborted in the middle of its answer …")?;
    let (slow, gate) = (Key::new("slow"), Gate::new("slow"));
    model.script(&slow, [Reply::text("I was about to").hold(&gate).stop(Usage::of(300, 90))]);
    let aborting = async {
        model.held_at(&gate).await;
        server.abort(&session).await
    };
    let (aborted, asked) = tokio::join!(aborting, ask(&server, &session, &slow, "take your time"));
    aborted?;
    asked?;

    say("turn 4: the server is killed (SIGKILL) in the middle of it …")?;
    let (fatal, gate) = (Key::new("fatal"), Gate::new("fatal"));
    model.script(&fatal, [Reply::text("I will never").hold(&gate).stop(Usage::of(310, 80))]);
    tokio::select! {
        () = model.held_at(&gate) => {}
        ended = ask(&server, &session, &fatal, "die") => ended?,
    }
    server.kill()?;

    say("turn 5: a new server on the same home …")?;
    let server = start()?;
    let after = Key::new("after");
    model.script(&after, [Reply::text("Still here.").stop(Usage::of(180, 4))]);
    ask(&server, &session, &after, "and now?").await?;

    say("\n$ turnbook fold opencode HISTORY --owner idle\n")?;
    fold(&program, &server.history(&session).await?)?;
    let served = model.served();
    let tally: Tally = served.iter().filter(|call| call.asked.kind == CallKind::Chat).collect();
    say(&format!(
        "\nthe model's own count: input {}, cache_read {}, output {}, {} calls, \
         {} of them cut before they told their usage",
        tally.input, tally.cache_read, tally.output, tally.calls, tally.unknown_calls
    ))
}

/// The program that was built beside this one.
fn program() -> Outcome<PathBuf> {
    let here = std::env::current_exe()?;
    let built =
        here.parent().and_then(Path::parent).ok_or("the demo stands in no target folder")?;
    Ok(built.join("turnbook").with_extension(std::env::consts::EXE_EXTENSION))
}

async fn ask(server: &Server, session: &str, key: &Key, text: &str) -> Outcome {
    let id = format!("msg_demo_{}", key.as_str());
    server.prompt(session, &id, &key.prompt(text), MODEL).await
}

fn fold(program: &Path, history: &str) -> Outcome {
    let mut child = Command::new(program)
        .args(["fold", "opencode", "-", "--owner", "idle"])
        .stdin(Stdio::piped())
        .spawn()?;
    child.stdin.take().ok_or("the program takes no input")?.write_all(history.as_bytes())?;
    let status = child.wait()?;
    if status.success() { Ok(()) } else { Err(format!("turnbook: {status}").into()) }
}

fn say(line: &str) -> Outcome {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}
