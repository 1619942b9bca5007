//! How do the real agents get onto this machine?
//!
//! The testkit alone knows which agents and which versions: tests and the demo find them there.

use crate::{
    process::{cargo, run as run_command},
    usage,
};

/// Installs the agents under `target/`, once; does nothing where they are installed.
///
/// # Errors
///
/// When npm is missing or the installation fails.
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<()> {
    match arguments {
        [] => run_command(&mut cargo(&[
            "run",
            "--quiet",
            "--package",
            "testkit",
            "--bin",
            "install-agents",
        ])),
        other => Err(usage("agents", other)),
    }
}
