//! How does a newcomer see the main job run?

use crate::process::{cargo, run as run_command};

/// Builds the program and plays the demo beside it, which is given every argument.
///
/// # Errors
///
/// When the build or the demo fails.
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<()> {
    run_command(&mut cargo(&["build", "--package", "turnbook"]))?;
    run_command(
        cargo(&["run", "--quiet", "--package", "turnbook", "--example", "demo", "--"])
            .args(arguments),
    )
}
