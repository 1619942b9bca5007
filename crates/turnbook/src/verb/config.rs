//! `turnbook config`: what holds, who said so, and what is wrong?

use clap::Subcommand;

use crate::{
    args::{Format, FormatArgs},
    config::Config,
    context::Start,
    exit::{Code, Failure},
    print,
};

/// What is asked about the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum Args {
    /// Prints which file is read.
    Path,
    /// Prints every setting and who gave it; passwords are masked.
    Show(FormatArgs),
    /// Says whether the configuration is understood.
    Check,
}

/// Answers.
pub(crate) fn run(args: &Args, start: &Start) -> Result<Code, Failure> {
    let path = Config::path(&start.flags, &start.environment)?.value;
    match args {
        Args::Path => print::line_out(&path.display().to_string())?,
        Args::Show(format) => {
            let context = start.context()?;
            print::text_out(&match format.format() {
                Format::Human => print::config_human(&context.config, &context.style),
                Format::Json => print::config_json(&context.config),
            })?;
        }
        Args::Check => {
            let config = start.context()?.config;
            print::line_out(&format!("{}: {}", path.display(), config.presence.as_str()))?;
        }
    }
    Ok(Code::Completed)
}
