//! How long does `turnbook run` take, against `opencode run` of the same prompt?
//!
//! Whole processes on a real OpenCode with the scripted model, one after the other in turn, so that
//! what else the machine does meets both. Prints both medians and their ratio; the goal is 1.05.

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use testkit::{
    agents,
    model::{Key, Model, Reply, Usage},
    opencode::{Home, MODEL, PROVIDER, Setup},
};

/// How often each is run, after one run of each that warms the caches of the disk.
const RUNS: u32 = 20;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome {
    // `cargo test` builds and runs benches too, to see that they work.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let runs = if is_bench { RUNS } else { 1 };
    let model = Model::start()?;
    let home = Home::create(&Setup::new(&model.base_url()))?;
    let agent = agents::opencode()?;
    let name = format!("{PROVIDER}/{MODEL}");
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for number in 0..=runs {
        let key = Key::new(&format!("run{number}"));
        let time = |mut command: Command| -> Outcome<Duration> {
            model.script(&key, [Reply::text("hello").stop(Usage::of(150, 7))]);
            let prompt = key.prompt("say hello");
            let begun = now();
            let output = command.arg(prompt).stdin(Stdio::null()).output()?;
            let took = begun.elapsed();
            let said = String::from_utf8_lossy(&output.stdout);
            match output.status.success() && said.contains("hello") {
                true => Ok(took),
                false => Err(format!("{output:?}").into()),
            }
        };
        let mut command = home.command(Path::new(env!("CARGO_BIN_EXE_turnbook")));
        command
            .env("TURNBOOK_STORE", home.project().with_file_name("ledger.sqlite"))
            .env("TURNBOOK_OPENCODE_PROGRAM", &agent.path)
            .args(["run", "--model", &name]);
        let our = time(command)?;
        let mut command = home.command(&agent.path);
        // A title is asked of the model otherwise, which turnbook's sessions need not.
        command.args(["run", "--title", "bench", "--model", &name]);
        let their = time(command)?;
        if number > 0 {
            ours.push(our);
            theirs.push(their);
        }
    }
    let (ours, theirs) = (median(ours), median(theirs));
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    writeln!(
        std::io::stdout(),
        "turnbook run {} ms, opencode run {} ms, medians of {runs} interleaved runs: ratio {ratio:.3}",
        ours.as_millis(),
        theirs.as_millis()
    )?;
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a bench measures time")]
fn now() -> Instant {
    Instant::now()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
