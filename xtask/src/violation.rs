//! What did a check of the repository find?

use std::fmt;

use anyhow::bail;

use crate::process::say;

/// One place that breaks a rule of the repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    /// The file, with its line where there is one, or the crate.
    pub place: String,
    /// Which rule, and what to do.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// Prints every violation.
///
/// # Errors
///
/// When there is one.
pub(crate) fn report(check: &str, violations: &[Violation]) -> anyhow::Result<()> {
    for violation in violations {
        say(violation);
    }
    match violations.len() {
        0 => {
            say(format_args!("{check}: nothing to mend"));
            Ok(())
        }
        count => bail!("{check} found {count} violation(s)"),
    }
}
