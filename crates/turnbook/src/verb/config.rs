//! `turnbook config`: what holds, who said so, and what is wrong?

use clap::Subcommand;

use crate::{
    args::{Format, FormatArgs},
    config::Config,
    context::Start,
    exit::{Code, Failure},
    print,
};

/// What may be configured, as the help prints it.
pub(crate) const KEYS: &str = "\
config.toml, and the variable that beats it:
  store = \"PATH\"             TURNBOOK_STORE; relative to the file
  timezone = \"ZONE\"          TURNBOOK_TIMEZONE
  permission = \"ask\"         TURNBOOK_PERMISSION; ask, allow or reject

  [opencode]
  program = \"opencode\"       TURNBOOK_OPENCODE_PROGRAM
  model = \"PROVIDER/MODEL\"   TURNBOOK_OPENCODE_MODEL
  read_ms = 10000            TURNBOOK_OPENCODE_READ_MS
  send_ms = 10000            TURNBOOK_OPENCODE_SEND_MS
  servers = [                running servers that may be attached to
    { url = \"http://127.0.0.1:4096\", username = \"opencode\", password = \"…\" },
  ]

An unknown key, or a value of the wrong kind, is an error with its line.
TURNBOOK_CONFIG names another file.";

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

#[cfg(test)]
mod tests {
    use super::KEYS;
    use crate::config::Variable;

    #[test]
    fn the_help_tells_every_variable_of_ours() {
        let ours = Variable::ALL.map(Variable::as_str);
        for name in ours.iter().filter(|name| name.starts_with("TURNBOOK_")) {
            assert!(KEYS.contains(name), "{name}");
        }
    }
}
