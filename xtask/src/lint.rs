//! Do the formatter, the linter and the documentation builder agree?

use crate::{
    process::{cargo, run as run_command},
    usage,
};

/// Checks formatting, clippy on every target, and the docs; a warning is an error.
///
/// # Errors
///
/// When one of them finds something.
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<()> {
    if !arguments.is_empty() {
        return Err(usage("lint", arguments));
    }
    run_command(&mut cargo(&["fmt", "--all", "--check"]))?;
    run_command(&mut cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--locked",
        "--",
        "-D",
        "warnings",
    ]))?;
    run_command(
        cargo(&["doc", "--workspace", "--no-deps", "--locked"]).env("RUSTDOCFLAGS", "-D warnings"),
    )
}
