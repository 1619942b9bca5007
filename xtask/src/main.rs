//! Which workflow was asked for? Every workflow of the repository is a verb of `cargo xtask`.
//!
//! One file for each verb. A verb takes its arguments as a slice and matches on it; there are too
//! few of them for an argument parser.

mod agents;
mod bench;
mod bless;
mod ci;
mod demo;
mod deny;
mod fuzz;
mod help;
mod layers;
mod lint;
mod metadata;
mod process;
mod soak;
mod test;
mod tidy;
mod tree;
mod violation;

use std::process::ExitCode;

use anyhow::bail;

/// One workflow: how it is called, what it does, and the function that does it.
struct Verb {
    /// The word after `cargo xtask`.
    name: &'static str,
    /// What may follow the word, as `help` prints it.
    arguments: &'static str,
    /// One sentence for a person.
    about: &'static str,
    /// Does it. The slice holds what followed the word.
    run: fn(&[&str]) -> anyhow::Result<()>,
}

/// Every verb, in the order in which `help` prints them.
const VERBS: &[Verb] = &[
    Verb {
        name: "demo",
        arguments: "[--mine]",
        about: "Play the main job on a real agent: three turns, a crash, a recovery.",
        run: demo::run,
    },
    Verb {
        name: "test",
        arguments: "[PACKAGE]",
        about: "Run all tests, the long ones at a seeded part of their counts.",
        run: test::run,
    },
    Verb {
        name: "soak",
        arguments: "[--cases N]",
        about: "Run all tests at their full counts. Takes hours.",
        run: soak::run,
    },
    Verb {
        name: "ci",
        arguments: "",
        about: "Run everything that gates a change, in order, up to the first failure.",
        run: ci::run,
    },
    Verb {
        name: "lint",
        arguments: "",
        about: "Check formatting, clippy and the docs, with warnings as errors.",
        run: lint::run,
    },
    Verb {
        name: "layers",
        arguments: "",
        about: "Check the crate graph against the layer table.",
        run: layers::run,
    },
    Verb {
        name: "tidy",
        arguments: "",
        about: "Check the house rules that no compiler knows.",
        run: tidy::run,
    },
    Verb {
        name: "deny",
        arguments: "",
        about: "Check licences, sources and banned crates, where cargo-deny is installed.",
        run: deny::run,
    },
    Verb {
        name: "agents",
        arguments: "",
        about: "Install the agents that the tests run against, at pinned versions.",
        run: agents::run,
    },
    Verb {
        name: "bless",
        arguments: "[PACKAGE]",
        about: "Rewrite the expected snapshots and print what changed.",
        run: bless::run,
    },
    Verb { name: "bench", arguments: "[FILTER]", about: "Run the benchmarks.", run: bench::run },
    Verb {
        name: "fuzz",
        arguments: "TARGET [--seconds N]",
        about: "Run one fuzz target, where cargo-fuzz is installed.",
        run: fuzz::run,
    },
    Verb { name: "help", arguments: "", about: "Print this list.", run: help::run },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            process::complain(format_args!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> anyhow::Result<()> {
    match arguments {
        [] | ["-h" | "--help"] => help::run(&[]),
        [name, rest @ ..] => match VERBS.iter().find(|verb| verb.name == *name) {
            Some(verb) => (verb.run)(rest),
            None => bail!("there is no verb `{name}`; `cargo xtask help` lists them"),
        },
    }
}

/// The error for arguments that a verb does not take.
fn usage(name: &str, arguments: &[&str]) -> anyhow::Error {
    let takes = VERBS.iter().find(|verb| verb.name == name).map_or("", |verb| verb.arguments);
    anyhow::anyhow!(
        "`{name}` does not take `{}`; usage: cargo xtask {name} {takes}",
        arguments.join(" ")
    )
}
