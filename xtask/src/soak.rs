//! Do the long tests pass at their full counts?

use anyhow::Context as _;

use crate::{
    test::{Scale, Scope, test},
    usage,
};

/// Cases for each property, unless the caller says otherwise.
const CASES: u32 = 20_000;

/// Runs all tests at their full counts.
///
/// # Errors
///
/// When a test fails, or the number of cases is none.
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<()> {
    let cases = match arguments {
        [] => CASES,
        ["--cases", number] => {
            number.parse().with_context(|| format!("`{number}` is no number of cases"))?
        }
        other => return Err(usage("soak", other)),
    };
    test(Scope::Workspace, Scale::Full { cases })
}
