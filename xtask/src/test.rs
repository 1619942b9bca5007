//! Do all tests pass?

use crate::{
    agents,
    process::{cargo, has_cargo_subcommand, run as run_command, say},
    usage,
};

/// The crates whose contract examples run as doctests.
const WITH_DOCTESTS: [&str; 2] = ["harness", "store"];

/// How often the long tests try what they try, by the variable that each of them reads.
///
/// Without the variables they take a seeded 5 to 10 % of it.
const FULL_COUNTS: [(&str, u32); 6] = [
    // Kills of the recorder at random moments.
    ("TURNBOOK_CRASHES", 100),
    // Kills of the agent's server in the middle of a turn.
    ("TURNBOOK_SERVER_CRASHES", 30),
    // Pairs of processes that contend for one session.
    ("TURNBOOK_TAKEOVERS", 200),
    // Turns of mixed scenarios whose usage is held against the model's own count.
    ("TURNBOOK_ORACLE_TURNS", 200),
    // Turns over which the memory of the program must not grow: of a replaying server, and real.
    ("TURNBOOK_MEMORY_TURNS", 10_000),
    ("TURNBOOK_REAL_MEMORY_TURNS", 300),
];

/// How many crash, takeover, oracle and property runs the long tests make.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scale {
    /// What they take by themselves: a seeded part, for every change.
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
    if let Scale::Full { cases } = scale {
        let counts = FULL_COUNTS.map(|(variable, count)| (variable, count.to_string()));
        runner.envs(counts).env("TURNBOOK_CASES", cases.to_string());
    }
    runner
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree;

    #[test]
    fn every_count_of_the_long_tests_has_its_full_number() {
        let files = tree::read().expect("the repository can be read");
        let long = files.iter().filter(|file| file.path.starts_with("tests/it/"));
        let read = long.flat_map(|file| file.text.split("number(\"").skip(1));
        let read = read.filter_map(|rest| rest.split_once('"')).map(|(variable, _)| variable);
        let missing: Vec<&str> = read
            .filter(|variable| *variable != "TURNBOOK_SEED")
            .filter(|variable| FULL_COUNTS.iter().all(|(counted, _)| counted != variable))
            .collect();
        assert_eq!(missing, [""; 0]);
    }

    #[test]
    fn a_soak_sets_every_count_and_a_test_none() {
        let set = |scale| {
            let runner = runner(Scope::Package("turnbook"), scale);
            let text = |text: &std::ffi::OsStr| text.display().to_string();
            let set =
                runner.get_envs().filter_map(|(name, value)| Some((text(name), text(value?))));
            set.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>()
        };
        assert_eq!(set(Scale::Part), [""; 0]);
        let expected = [
            "TURNBOOK_CASES=9",
            "TURNBOOK_CRASHES=100",
            "TURNBOOK_MEMORY_TURNS=10000",
            "TURNBOOK_ORACLE_TURNS=200",
            "TURNBOOK_REAL_MEMORY_TURNS=300",
            "TURNBOOK_SERVER_CRASHES=30",
            "TURNBOOK_TAKEOVERS=200",
        ];
        assert_eq!(set(Scale::Full { cases: 9 }), expected);
    }
}
