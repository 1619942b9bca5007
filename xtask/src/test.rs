//! Do all tests pass?

use crate::{
    agents,
    process::{cargo, has_cargo_subcommand, run as run_command, say},
    usage,
};

/// The crates whose contract examples run as doctests.
const WITH_DOCTESTS: [&str; 2] = ["harness", "store"];

/// How many crash, takeover, oracle and property runs the long tests make.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scale {
    /// A seeded 5 to 10 % of the full counts, for every change.
    Part,
    /// The full counts, and this many cases for each property.
    Full {
        /// Cases for each property.
        cases: u32,
    },
}

/// What to test.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scope<'a> {
    /// Every crate, and the end-to-end tests.
    Workspace,
    /// One crate.
    Package(&'a str),
}

/// Runs the tests of the workspace or of one crate.
///
/// # Errors
///
/// When the agents cannot be installed, the tests do not compile, or one of them fails.
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<()> {
    match arguments {
        [] => test(Scope::Workspace, Scale::Part),
        [package] if !package.starts_with('-') => test(Scope::Package(package), Scale::Part),
        other => Err(usage("test", other)),
    }
}

/// Installs the agents, then runs the tests, then the doctests.
///
/// # Errors
///
/// When the agents cannot be installed, the tests do not compile, or one of them fails.
pub(crate) fn test(scope: Scope<'_>, scale: Scale) -> anyhow::Result<()> {
    agents::run(&[])?;
    run_command(&mut runner(scope, scale))?;
    let doctests: Vec<&str> = WITH_DOCTESTS
        .into_iter()
        .filter(|name| match scope {
            Scope::Workspace => true,
            Scope::Package(package) => package == *name,
        })
        .flat_map(|name| ["--package", name])
        .collect();
    match doctests.as_slice() {
        [] => Ok(()),
        packages => run_command(cargo(&["test", "--doc"]).args(packages)),
    }
}

/// The command that runs every test but the doctests: nextest, which knows the test groups, or
/// else cargo's own runner.
pub(crate) fn runner(scope: Scope<'_>, scale: Scale) -> std::process::Command {
    let mut runner = if has_cargo_subcommand("nextest") {
        let profile = match scale {
            Scale::Part => "default",
            Scale::Full { .. } => "soak",
        };
        cargo(&["nextest", "run", "--profile", profile])
    } else {
        say("cargo-nextest is not installed: the tests run under `cargo test`");
        cargo(&["test", "--tests"])
    };
    match scope {
        Scope::Workspace => runner.arg("--workspace"),
        Scope::Package(package) => runner.args(["--package", package]),
    };
    match scale {
        Scale::Part => runner.env("TURNBOOK_SCALE", "part"),
        Scale::Full { cases } => {
            runner.env("TURNBOOK_SCALE", "full").env("TURNBOOK_CASES", cases.to_string())
        }
    };
    runner
}
