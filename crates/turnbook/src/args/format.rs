//! For whom is the output?

use clap::Args as ClapArgs;

/// The flag of every verb that scripts may want.
#[derive(Debug, Clone, Copy, ClapArgs)]
pub(crate) struct FormatArgs {
    /// Prints JSON for scripts; its shape is stable.
    #[arg(long)]
    json: bool,
}

/// For whom the output is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// A person.
    Human,
    /// A program.
    Json,
}

impl FormatArgs {
    /// Gives the format that was asked for.
    pub(crate) fn format(self) -> Format {
        if self.json { Format::Json } else { Format::Human }
    }
}
