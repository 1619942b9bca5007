//! Installs the pinned agents, once, and prints the name, version and path of each.

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use testkit::agents;

fn main() -> ExitCode {
    let installed = agents::opencode();
    let written = match &installed {
        Ok(agent) => writeln!(io::stdout(), "{agent}"),
        Err(error) => writeln!(io::stderr(), "install-agents: {error}"),
    };
    if installed.is_ok() && written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
