//! What does the environment say? The only place that reads it.

use std::{
    collections::BTreeMap,
    env,
    error::Error,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    str::FromStr,
};

use super::ConfigError;

/// A variable that turnbook reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Variable {
    /// The configuration file.
    Config,
    /// The store.
    Store,
    /// The time zone.
    Timezone,
    /// What is answered when an agent asks.
    Permission,
    /// The OpenCode program.
    Program,
    /// The model of a turn that names none.
    Model,
    /// How long one read may take, in milliseconds.
    ReadMs,
    /// How long one send may take, in milliseconds.
    SendMs,
    /// Anything in it asks for output without colours, see <https://no-color.org>.
    NoColor,
    /// What kind of terminal there is; `dumb` ones know no colours.
    Term,
    /// Where programs are found.
    Path,
    /// Where the platform wants files that live as long as a login.
    RuntimeDir,
}

impl Variable {
    /// All of them.
    pub(crate) const ALL: [Self; 12] = [
        Self::Config,
        Self::Store,
        Self::Timezone,
        Self::Permission,
        Self::Program,
        Self::Model,
        Self::ReadMs,
        Self::SendMs,
        Self::NoColor,
        Self::Term,
        Self::Path,
        Self::RuntimeDir,
    ];

    /// Gives its name.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Config => "TURNBOOK_CONFIG",
            Self::Store => "TURNBOOK_STORE",
            Self::Timezone => "TURNBOOK_TIMEZONE",
            Self::Permission => "TURNBOOK_PERMISSION",
            Self::Program => "TURNBOOK_OPENCODE_PROGRAM",
            Self::Model => "TURNBOOK_OPENCODE_MODEL",
            Self::ReadMs => "TURNBOOK_OPENCODE_READ_MS",
            Self::SendMs => "TURNBOOK_OPENCODE_SEND_MS",
            Self::NoColor => "NO_COLOR",
            Self::Term => "TERM",
            Self::Path => "PATH",
            Self::RuntimeDir => "XDG_RUNTIME_DIR",
        }
    }
}

/// The variables that are read, as they were when the program began; empty ones are not set.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment(BTreeMap<Variable, OsString>);

impl Environment {
    /// Reads the environment of this process.
    pub(crate) fn of_process() -> Self {
        Self::from_pairs(
            Variable::ALL.into_iter().filter_map(|name| Some((name, env::var_os(name.as_str())?))),
        )
    }

    /// Takes an environment.
    pub(crate) fn from_pairs(pairs: impl IntoIterator<Item = (Variable, OsString)>) -> Self {
        Self(pairs.into_iter().filter(|(_, value)| !value.is_empty()).collect())
    }

    /// Gives a variable as it is.
    pub(crate) fn get(&self, variable: Variable) -> Option<&OsStr> {
        self.0.get(&variable).map(OsString::as_os_str)
    }

    /// Reads a variable, with its name for whoever asks where a value came from.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Environment`] when it is none of the values that it may have.
    pub(super) fn parse<T: FromStr<Err: Error>>(
        &self,
        variable: Variable,
    ) -> Result<Option<(&'static str, T)>, ConfigError> {
        let name = variable.as_str();
        let Some(value) = self.get(variable) else { return Ok(None) };
        let wrong = |problem: String| ConfigError::Environment { name, problem };
        let text = value.to_str().ok_or_else(|| wrong("is no UTF-8 text".to_owned()))?;
        match text.parse() {
            Ok(value) => Ok(Some((name, value))),
            Err(error) => Err(wrong(format!("{error}"))),
        }
    }

    /// Says whether colours are unwanted.
    pub(crate) fn is_plain(&self) -> bool {
        self.get(Variable::NoColor).is_some()
            || self.get(Variable::Term).is_some_and(|term| term == "dumb")
    }

    /// Finds a program: in the search path, unless its name has a folder.
    pub(crate) fn find_program(&self, program: &Path) -> Option<PathBuf> {
        if program.components().count() > 1 {
            return program.is_file().then(|| program.to_owned());
        }
        env::split_paths(self.get(Variable::Path)?)
            .map(|folder| folder.join(program))
            .find(|path| path.is_file())
    }
}
