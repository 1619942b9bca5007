//! With which code does the program end, and what does it say then?

use std::{io::Write as _, process::ExitCode};

/// The exit codes, as the help prints them.
pub(crate) const HELP: &str = "\
Exit codes:
  0   done
  1   an error inside turnbook
  2   wrong usage
  25  the input cannot be read";

/// Why the program ends without having done what it was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The input is missing, unreadable or no history.
    BadInput(anyhow::Error),
    /// Nothing that the user did: standard output is closed or full, or a fault of ours.
    Internal(anyhow::Error),
}

impl Failure {
    fn code(&self) -> u8 {
        match self {
            Self::Internal(_) => 1,
            Self::BadInput(_) => 25,
        }
    }
}

/// Prints what was wrong with the arguments, or the help that they asked for.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    // Nothing is left to be done when even the message cannot be written.
    let _printed = error.print();
    ExitCode::from(if error.use_stderr() { 2 } else { 0 })
}

/// Prints a failure as one line on standard error.
pub(crate) fn failure(failure: &Failure) -> ExitCode {
    let (Failure::BadInput(error) | Failure::Internal(error)) = failure;
    let is_closed_pipe = error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe);
    if is_closed_pipe {
        // The reader has seen enough.
        return ExitCode::SUCCESS;
    }
    let _written = writeln!(std::io::stderr(), "turnbook: {error:#}");
    ExitCode::from(failure.code())
}
