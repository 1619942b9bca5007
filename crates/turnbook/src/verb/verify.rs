//! `turnbook verify`: does the store keep its own laws?

use clap::Args as ClapArgs;
use serde::Serialize;
use store::Violation;

use crate::{
    args::{Format, FormatArgs},
    context::Context,
    exit::{Code, Failure},
    open, print,
};

/// Reads the whole store: structure, checksums, and the laws of the ledger.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(flatten)]
    format: FormatArgs,
}

/// Verifies, and prints every violation.
pub(crate) fn run(args: &Args, context: &Context) -> Result<Code, Failure> {
    let violations = open::view(context, |ledger| Ok(ledger.verify()?))?;
    print::text_out(&match args.format.format() {
        Format::Human => human(&violations),
        Format::Json => json(&violations),
    })?;
    Ok(if violations.is_empty() { Code::Completed } else { Code::Violations })
}

fn human(violations: &[Violation]) -> String {
    if violations.is_empty() {
        return "the store keeps its laws\n".to_owned();
    }
    let lines = violations.iter().map(|found| {
        let place = print::clean(&found.place);
        format!("{}  {place}: {}\n", found.rule, print::clean(&found.problem))
    });
    lines.collect()
}

#[derive(Serialize)]
struct VerifyView<'a> {
    violations: Vec<ViolationView<'a>>,
}

#[derive(Serialize)]
struct ViolationView<'a> {
    rule: &'static str,
    place: &'a str,
    problem: &'a str,
}

fn json(violations: &[Violation]) -> String {
    let violations = violations.iter().map(|found| ViolationView {
        rule: found.rule,
        place: &found.place,
        problem: &found.problem,
    });
    print::pretty(&VerifyView { violations: violations.collect() })
}

#[cfg(test)]
mod tests {
    use store::Violation;

    use super::{human, json};

    #[test]
    fn every_violation_is_printed() {
        let violation = |rule, place: &str, problem: &str| Violation {
            rule,
            place: place.to_owned(),
            problem: problem.to_owned(),
        };
        let violations = [
            violation("L1", "7", "the event is out of order"),
            violation("L14", "msg_1 1", "its owner is not that of its sightings"),
        ];
        insta::assert_snapshot!([human(&[]), human(&violations), json(&violations)].join("---\n"));
    }
}
