//! Which expectations change if what the code does now is right?

use crate::{
    process::{command, run as run_command},
    test::{Scale, Scope, runner},
    usage,
};

/// Runs the tests with every snapshot file rewritten, then prints what git sees of it.
///
/// A snapshot that stands in the source text is not rewritten: the failing test prints it.
///
/// # Errors
///
/// When a test fails for another reason than its snapshot file.
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<()> {
    let scope = match arguments {
        [] => Scope::Workspace,
        [package] if !package.starts_with('-') => Scope::Package(package),
        other => return Err(usage("bless", other)),
    };
    let tests = run_command(runner(scope, Scale::Part).env("INSTA_UPDATE", "always"));
    run_command(command("git").args(["status", "--short"]))?;
    run_command(command("git").args(["diff", "--stat"]))?;
    tests
}
