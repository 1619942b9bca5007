//! Runs the scripted model by itself, driven by scripts in the prompts.
//!
//! Prints the server's root URL as one line, serves until standard input ends, then prints what was
//! served as one line of JSON.

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use testkit::model::Model;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to tell it to if standard error is closed.
            let _written = writeln!(io::stderr(), "scripted-model: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<()> {
    let model = Model::start()?;
    let mut output = io::stdout();
    writeln!(output, "{}", model.url())?;
    output.flush()?;
    io::copy(&mut io::stdin(), &mut io::sink())?;
    serde_json::to_writer(&mut output, &model.served())?;
    writeln!(output)
}
