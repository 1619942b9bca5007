//! May this change land?

use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::{deny, layers, lint, process::say, test, tidy, usage};

/// One gate: its name and the verb that is it.
type Gate = (&'static str, fn(&[&str]) -> anyhow::Result<()>);

/// What gates a change, the quickest to fail first.
const GATES: &[Gate] = &[
    ("tidy", tidy::run),
    ("layers", layers::run),
    ("lint", lint::run),
    ("deny", deny::run),
    ("test", test::run),
];

/// Runs every gate in order and stops at the first that fails. Prints how long each took.
///
/// # Errors
///
/// When a gate fails.
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<()> {
    if !arguments.is_empty() {
        return Err(usage("ci", arguments));
    }
    let mut took: Vec<(&str, Duration)> = Vec::new();
    for (name, gate) in GATES {
        say(format_args!("== {name}"));
        let started = now();
        let passed = gate(&[]);
        took.push((name, started.elapsed()));
        passed.with_context(|| format!("the gate `{name}` failed"))?;
    }
    for (name, time) in took {
        say(format_args!("passed  {name:8}{:6.1} s", time.as_secs_f64()));
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "the times are for a person and decide nothing")]
fn now() -> Instant {
    Instant::now()
}
