//! What do the verbs need beside their arguments? Made once, before any of them runs.

use std::{io::IsTerminal as _, path::PathBuf};

use receipts::UnixMillis;

use crate::{
    config::{Config, ConfigError, Environment, Flags, Variable},
    print::{Paint, Style},
};

/// What is known of this run before the configuration is read.
#[derive(Debug)]
pub(crate) struct Start {
    /// What the command line says of the configuration.
    pub(crate) flags: Flags,
    /// What the environment says.
    pub(crate) environment: Environment,
    /// How wide standard output is; `None` when it is no terminal.
    width: Option<usize>,
    /// Whether standard output takes colours.
    pub(crate) paint: Paint,
    /// Now, by this machine's clock.
    pub(crate) now: UnixMillis,
}

/// What is known of this run with its configuration.
#[derive(Debug)]
pub(crate) struct Context {
    /// The configuration that holds.
    pub(crate) config: Config,
    /// How standard output is written to.
    pub(crate) style: Style,
    /// Now, by this machine's clock.
    pub(crate) now: UnixMillis,
    /// Where the words of running servers of our own are.
    pub(crate) runtime: PathBuf,
}

impl Start {
    /// Looks at this process.
    pub(crate) fn of_process(flags: Flags) -> Self {
        let environment = Environment::of_process();
        let is_terminal = std::io::stdout().is_terminal();
        let width = terminal_size::terminal_size_of(std::io::stdout());
        let is_coloured = is_terminal && !environment.is_plain();
        Self {
            flags,
            environment,
            width: width.filter(|_| is_terminal).map(|(width, _)| usize::from(width.0)),
            paint: if is_coloured { Paint::Ansi } else { Paint::Plain },
            now: UnixMillis(jiff::Timestamp::now().as_millisecond()),
        }
    }

    /// Reads the configuration.
    ///
    /// # Errors
    ///
    /// [`ConfigError`]: what is wrong in it, and where.
    pub(crate) fn context(&self) -> Result<Context, ConfigError> {
        let config = Config::load(&self.flags, &self.environment)?;
        let style =
            Style { width: self.width, paint: self.paint, zone: config.timezone.value.clone() };
        let runtime = match self.environment.get(Variable::RuntimeDir) {
            Some(folder) => PathBuf::from(folder).join("turnbook"),
            // A platform without such a folder: beside the store, which is the user's own.
            None => {
                let mut path = config.store.value.clone().into_os_string();
                path.push(".run");
                path.into()
            }
        };
        Ok(Context { config, style, now: self.now, runtime })
    }
}
