//! What do the verbs need beside their arguments? Made once, before any of them runs.

use std::{io::IsTerminal, os::fd::AsFd, path::PathBuf};

use receipts::UnixMillis;

use crate::{
    config::{Config, ConfigError, Environment, Flags, Variable, Zone},
    print::{Paint, Style},
};

/// What is known of this run before the configuration is read.
#[derive(Debug)]
pub(crate) struct Start {
    /// What the command line says of the configuration.
    pub(crate) flags: Flags,
    /// What the environment says.
    pub(crate) environment: Environment,
    /// Whether standard output takes colours.
    pub(crate) paint: Paint,
    /// Standard output.
    out: Screen,
    /// Standard error.
    err: Screen,
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
    /// How standard error is written to.
    pub(crate) err_style: Style,
    /// Now, by this machine's clock.
    pub(crate) now: UnixMillis,
    /// Where the words of running servers of our own are.
    pub(crate) runtime: PathBuf,
}

/// What a stream is written to.
#[derive(Debug, Clone, Copy)]
struct Screen {
    /// How wide it is; `None` when it is no terminal.
    width: Option<usize>,
    /// Whether it takes colours.
    paint: Paint,
}

impl Screen {
    fn of(stream: &(impl IsTerminal + AsFd), environment: &Environment) -> Self {
        let is_terminal = stream.is_terminal();
        let width = terminal_size::terminal_size_of(stream).filter(|_| is_terminal);
        let is_coloured = is_terminal && !environment.is_plain();
        Self {
            width: width.map(|(width, _)| usize::from(width.0)),
            paint: if is_coloured { Paint::Ansi } else { Paint::Plain },
        }
    }

    fn style(self, zone: &Zone) -> Style {
        Style { width: self.width, paint: self.paint, zone: zone.clone() }
    }
}

impl Start {
    /// Looks at this process.
    pub(crate) fn of_process(flags: Flags) -> Self {
        let environment = Environment::of_process();
        let out = Screen::of(&std::io::stdout(), &environment);
        Self {
            paint: out.paint,
            out,
            err: Screen::of(&std::io::stderr(), &environment),
            flags,
            environment,
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
        let zone = &config.timezone.value;
        let (style, err_style) = (self.out.style(zone), self.err.style(zone));
        let runtime = match self.environment.get(Variable::RuntimeDir) {
            Some(folder) => PathBuf::from(folder).join("turnbook"),
            // A platform without such a folder: beside the store, which is the user's own.
            None => {
                let mut path = config.store.value.clone().into_os_string();
                path.push(".run");
                path.into()
            }
        };
        Ok(Context { config, style, err_style, now: self.now, runtime })
    }
}
