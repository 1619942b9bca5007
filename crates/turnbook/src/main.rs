//! The program: arguments, wiring, printing and exit codes.

mod agent;
mod args;
mod config;
mod context;
mod driving;
mod exit;
mod fold;
mod lease;
mod names;
mod open;
mod print;
mod runtime;
mod verb;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(error) => return exit::usage(&error),
    };
    match args.run() {
        Ok(code) => code.into(),
        Err(error) => exit::failure(&error),
    }
}
