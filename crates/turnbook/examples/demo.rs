//! `cargo xtask demo`: what does turnbook do for somebody who runs a coding agent?
//!
//! Runs the program as a person would, on a real OpenCode: a turn of text, one with a tool, one that
//! is aborted, and one in the middle of which turnbook is killed; then it recovers, goes on, and
//! shows the ledger. A scripted model answers, and its own count is held against the ledger's. With
//! `--mine` the user's own OpenCode and model answer, and only the ledger counts.

use std::{
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use tempfile::TempDir;
use testkit::{
    agents,
    model::{CallKind, Gate, Key, Model, Reply, Tally, Usage},
    opencode::{Home, MODEL, PROVIDER, Setup},
};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// A file of the project that the agent is asked to read.
const NOTES: (&str, &str) = ("notes.txt", "Buy milk.\nCall the dentist.\n");
/// The folder that the agent works in, where it is the user's own.
const PROJECT: &str = "project";
/// How much of an answer is shown before something happens to its turn, in bytes.
const ENOUGH: usize = 30;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => play(&Stage::scripted()?),
        ["--mine"] => play(&Stage::mine()?),
        other => Err(format!("the demo takes --mine or nothing, not {}", other.join(" ")).into()),
    }
}

/// Where the demo is played.
enum Stage {
    /// In a home of its own, with the project's own model.
    Scripted { home: Home, agent: PathBuf, model: Model },
    /// In the user's home, in a project and with a store of its own.
    Mine { folder: TempDir },
}

impl Stage {
    fn scripted() -> Outcome<Self> {
        let model = Model::start()?;
        let home = Home::create(&Setup::new(&model.base_url()))?;
        let agent = agents::opencode()?;
        std::fs::write(home.project().join(NOTES.0), NOTES.1)?;
        say(&format!("On {} {}, with a scripted model; each", agent.name, agent.version))?;
        say("prompt says by its KEY which answer it wants.")?;
        Ok(Self::Scripted { home, agent: agent.path, model })
    }

    fn mine() -> Outcome<Self> {
        let folder = tempfile::tempdir()?;
        std::fs::create_dir(folder.path().join(PROJECT))?;
        std::fs::write(folder.path().join(PROJECT).join(NOTES.0), NOTES.1)?;
        say("On your own OpenCode with your own model, in a new folder and with a new store;")?;
        say("your OpenCode keeps the conversation.")?;
        Ok(Self::Mine { folder })
    }

    fn turnbook(&self, arguments: &[&str]) -> Outcome<Command> {
        let program = program()?;
        let mut command = match self {
            Self::Scripted { home, agent, .. } => {
                let mut command = home.command(&program);
                command
                    .env("TURNBOOK_STORE", home.project().with_file_name("ledger.sqlite"))
                    .env("XDG_RUNTIME_DIR", home.project().with_file_name("runtime"))
                    .env("TURNBOOK_OPENCODE_PROGRAM", agent)
                    .env("TURNBOOK_OPENCODE_MODEL", format!("{PROVIDER}/{MODEL}"));
                command
            }
            Self::Mine { folder } => {
                let mut command = Command::new(program);
                // Beside what the agent works on.
                let store = folder.path().join("ledger.sqlite");
                command.current_dir(folder.path().join(PROJECT)).env("TURNBOOK_STORE", store);
                command
            }
        };
        // What is said comes in its order, wherever it is read.
        command.args(arguments).stdin(Stdio::null()).stderr(std::io::stdout());
        Ok(command)
    }

    /// Shows a command and runs it to its end, which must be success.
    fn run(&self, arguments: &[&str]) -> Outcome {
        show(arguments)?;
        let status = self.turnbook(arguments)?.status()?;
        if status.success() { Ok(()) } else { Err(status.to_string().into()) }
    }

    /// Shows a command, and sends it a signal once it has shown some of its answer.
    fn strike(&self, arguments: &[&str], (signal, words): (Signal, &str)) -> Outcome {
        show(arguments)?;
        let mut child = self.turnbook(arguments)?.stdout(Stdio::piped()).spawn()?;
        let mut answer = child.stdout.take().ok_or("standard output is piped")?;
        let mut shown = 0;
        let mut bytes = [0; 256];
        while shown < ENOUGH {
            let read = answer.read(&mut bytes)?;
            std::io::stdout().write_all(bytes.get(..read).unwrap_or_default())?;
            std::io::stdout().flush()?;
            shown += read;
            if read == 0 {
                return say(&format!("(it was too short: {})", child.wait()?));
            }
        }
        say(words)?;
        // It was not waited for: its id is still its own.
        kill_process(Pid::from_child(&child), signal)?;
        std::io::copy(&mut answer, &mut std::io::stdout())?;
        say(&format!("({})", child.wait()?))
    }
}

/// Plays all of it.
fn play(stage: &Stage) -> Outcome {
    let Prompts { text, tool, slow, fatal, after } = Prompts::of(stage);
    let run = ["run", "--session", "demo"];
    let run = |prompt| run.into_iter().chain([prompt]).collect::<Vec<&str>>();
    stage.run(&run(&text))?;
    stage.run(&run(&tool))?;
    stage.strike(&run(&slow), (Signal::INT, "  ← Ctrl-C"))?;
    stage.strike(&run(&fatal), (Signal::KILL, "  ← kill -KILL, and its OpenCode dies with it"))?;
    stage.run(&["recover"])?;
    stage.run(&run(&after))?;
    stage.run(&["show", "demo"])?;
    stage.run(&["usage", "--by", "model"])?;
    stage.run(&["verify"])?;
    match stage {
        Stage::Scripted { model, .. } => compare(stage, model),
        Stage::Mine { .. } => Ok(()),
    }
}

/// What is asked.
struct Prompts {
    text: String,
    tool: String,
    slow: String,
    fatal: String,
    after: String,
}

impl Prompts {
    fn of(stage: &Stage) -> Self {
        let long = "Count from 1 to 300 in words, without a tool.";
        let prompts = Self {
            text: "Say hello.".into(),
            tool: format!("Read {} and tell me its first line.", NOTES.0),
            slow: long.into(),
            fatal: long.into(),
            after: "How far did you get?".into(),
        };
        match stage {
            Stage::Mine { .. } => prompts,
            Stage::Scripted { home, model, .. } => {
                prompts.scripted(model, &home.project().join(NOTES.0))
            }
        }
    }

    /// Gives each its answer.
    fn scripted(self, model: &Model, notes: &Path) -> Self {
        let script = |name: &str, prompt: &str, replies: Vec<Reply>| {
            let key = Key::new(name);
            model.script(&key, replies);
            key.prompt(prompt)
        };
        let counting = |name: &str| {
            let words = "one, two, three, four, five, six, seven, eight, ";
            let never = Gate::new(name);
            let words = Reply::new().and_words(words, Duration::from_millis(60));
            vec![words.hold(&never).stop(Usage::of(300, 900))]
        };
        let read = format!(r#"{{"filePath":"{}"}}"#, notes.display());
        let tool = vec![
            Reply::tool("read", &read).tool_calls(Usage::of(200, 20).cached(120)),
            Reply::text("It says: Buy milk.").stop(Usage::of(260, 9).cached(200)),
        ];
        let hello = vec![Reply::text("Hello from the model.").stop(Usage::of(150, 7))];
        let after = vec![Reply::text("As far as eight, twice.").stop(Usage::of(400, 11))];
        Self {
            text: script("text", &self.text, hello),
            tool: script("tool", &self.tool, tool),
            slow: script("slow", &self.slow, counting("slow")),
            fatal: script("fatal", &self.fatal, counting("fatal")),
            after: script("after", &self.after, after),
        }
    }
}

/// What `usage --json` prints, as far as it is compared.
#[derive(Deserialize)]
struct Report {
    total: Total,
}

#[derive(Deserialize)]
struct Total {
    usage: Counters,
}

#[derive(Deserialize)]
struct Counters {
    input: Option<u64>,
    cache_read: Option<u64>,
    output: Option<u64>,
    calls: u64,
    unknown_calls: u64,
}

/// Holds the ledger's totals against what the model served.
fn compare(stage: &Stage, model: &Model) -> Outcome {
    let told = stage.turnbook(&["usage", "--json"])?.output()?;
    let ledger = serde_json::from_slice::<Report>(&told.stdout)?.total.usage;
    let served = model.served();
    let served: Tally = served.iter().filter(|call| call.asked.kind == CallKind::Chat).collect();
    let ledger = [
        ledger.input.unwrap_or(0),
        ledger.cache_read.unwrap_or(0),
        ledger.output.unwrap_or(0),
        ledger.calls,
        ledger.unknown_calls,
    ];
    let model =
        [served.input, served.cache_read, served.output, served.calls, served.unknown_calls];
    let row = |name: &str, cells: [u64; 5]| {
        let cells = cells.map(|cell| format!("{cell:>12}")).concat();
        say(&format!("{name:<22}{cells}"))
    };
    let head = ["input", "cache read", "output", "calls", "unknown"];
    say(&format!("\n{:<22}{}", "", head.map(|word| format!("{word:>12}")).concat()))?;
    row("the ledger", ledger)?;
    row("the model's own count", model)?;
    match ledger == model {
        true => say("equal; unknown are the calls that were cut before the model told their usage"),
        false => Err("the ledger and the model differ".into()),
    }
}

/// The program that was built beside this one.
fn program() -> Outcome<PathBuf> {
    let here = std::env::current_exe()?;
    let built =
        here.parent().and_then(Path::parent).ok_or("the demo stands in no target folder")?;
    Ok(built.join("turnbook").with_extension(std::env::consts::EXE_EXTENSION))
}

/// Prints a command as it would be typed.
fn show(arguments: &[&str]) -> Outcome {
    let quoted = arguments.iter().map(|argument| match argument.contains(' ') {
        true => format!("\"{argument}\""),
        false => (*argument).to_owned(),
    });
    say(&format!("\n$ turnbook {}", quoted.collect::<Vec<_>>().join(" ")))
}

fn say(line: &str) -> Outcome {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}
