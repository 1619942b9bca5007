//! What can be wrong with the configuration, and where?

use std::{io, path::PathBuf};

/// Says what is wrong with the configuration; no value that may be secret is in it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    /// The file was named and is not there.
    #[error("{}: there is no such file", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be read.
    #[error("{}: the configuration cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the platform said.
        source: io::Error,
    },
    /// The file says something that is not understood.
    #[error("{}:{line}:{column}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The character in that line, from 1.
        column: usize,
        /// What is wrong.
        problem: String,
    },
    /// A variable of the environment says something that is not understood.
    #[error("{name}: {problem}")]
    Environment {
        /// The variable.
        name: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// The platform does not say where configuration and data belong.
    #[error("the home folder is not known: give --config and --store")]
    NoHome,
}
