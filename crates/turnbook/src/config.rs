//! How is the program set up? Flag, then environment, then file, then default.

mod environment;
mod error;
mod file;
mod paths;
mod value;

use std::{
    fmt,
    path::{Path, PathBuf},
};

use self::file::File;
pub(crate) use self::{
    environment::{Environment, Variable},
    error::ConfigError,
    paths::Folders,
    value::{Millis, ModelName, Permission, Server, Zone},
};

/// What the command line says of the configuration; the strongest source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    /// The configuration file.
    pub(crate) config: Option<PathBuf>,
    /// The store.
    pub(crate) store: Option<PathBuf>,
    /// The time zone.
    pub(crate) timezone: Option<Zone>,
}

/// The configuration that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Config {
    /// The file that was read, or would be if it were there.
    pub(crate) file: Setting<PathBuf>,
    /// Whether it is there.
    pub(crate) presence: Presence,
    /// The store.
    pub(crate) store: Setting<PathBuf>,
    /// In which days and times are told.
    pub(crate) timezone: Setting<Zone>,
    /// What is answered when an agent asks for a permission.
    pub(crate) permission: Setting<Permission>,
    /// The OpenCode program.
    pub(crate) program: Setting<PathBuf>,
    /// The model of a turn that names none; `None` leaves it to the agent.
    pub(crate) model: Setting<Option<ModelName>>,
    /// How long one read may take, in milliseconds.
    pub(crate) read_ms: Setting<Millis>,
    /// How long one send may take, in milliseconds.
    pub(crate) send_ms: Setting<Millis>,
    /// Running servers that may be attached to.
    pub(crate) servers: Setting<Vec<Server>>,
}

/// Whether the configuration file is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// It was read.
    Read,
    /// There is none; that is no error.
    Absent,
}

impl Presence {
    /// Says it in words.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Read => "all of it is understood",
            Self::Absent => "there is no such file, and the defaults hold",
        }
    }
}

/// A value and who gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting<T> {
    /// The value.
    pub(crate) value: T,
    /// Who gave it.
    pub(crate) source: Source,
}

/// Who gave a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The command line.
    Flag,
    /// This environment variable.
    Environment(&'static str),
    /// The configuration file.
    File,
    /// Nobody.
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("flag"),
            Self::Environment(name) => f.write_str(name),
            Self::File => f.write_str("file"),
            Self::Default => f.write_str("default"),
        }
    }
}

impl<T> Setting<T> {
    /// Takes the strongest source that says something.
    fn strongest(
        flag: Option<T>,
        variable: Option<(&'static str, T)>,
        file: Option<T>,
        default: impl FnOnce() -> T,
    ) -> Self {
        let (value, source) = match (flag, variable, file) {
            (Some(value), _, _) => (value, Source::Flag),
            (None, Some((name, value)), _) => (value, Source::Environment(name)),
            (None, None, Some(value)) => (value, Source::File),
            (None, None, None) => (default(), Source::Default),
        };
        Self { value, source }
    }
}

impl Config {
    /// Says which file is read: that of the flag, of the environment, or the platform's.
    ///
    /// # Errors
    ///
    /// [`ConfigError::NoHome`] when only the platform could say and does not.
    pub(crate) fn path(
        flags: &Flags,
        environment: &Environment,
    ) -> Result<Setting<PathBuf>, ConfigError> {
        let variable = environment.parse::<PathBuf>(Variable::Config)?;
        if flags.config.is_none() && variable.is_none() {
            let value = Folders::of_platform()?.config;
            return Ok(Setting { value, source: Source::Default });
        }
        Ok(Setting::strongest(flags.config.clone(), variable, None, PathBuf::new))
    }

    /// Reads the file and joins all sources.
    ///
    /// # Errors
    ///
    /// [`ConfigError`]: what is wrong, and where. A file that was named and is not there is an
    /// error; the platform's own need not exist.
    pub(crate) fn load(flags: &Flags, environment: &Environment) -> Result<Self, ConfigError> {
        let path = Self::path(flags, environment)?;
        let (file, presence) = match File::read(&path.value)? {
            Some(file) => (file, Presence::Read),
            None if path.source == Source::Default => (File::default(), Presence::Absent),
            None => return Err(ConfigError::Missing { path: path.value }),
        };
        Self::join(flags, environment, file, (path, presence))
    }

    fn join(
        flags: &Flags,
        environment: &Environment,
        file: File,
        (path, presence): (Setting<PathBuf>, Presence),
    ) -> Result<Self, ConfigError> {
        let store = environment.parse::<PathBuf>(Variable::Store)?;
        let is_placed = flags.store.is_some() || store.is_some() || file.store.is_some();
        // Without a home folder the store must be named, and nothing else is wrong.
        let default_store = if is_placed { PathBuf::new() } else { Folders::of_platform()?.store };
        let opencode = file.opencode;
        let base = path.value.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Self {
            store: Setting::strongest(
                flags.store.clone(),
                store,
                // A relative path in a file means a place beside that file.
                file.store.map(|store| base.join(store)),
                || default_store,
            ),
            timezone: Setting::strongest(
                flags.timezone.clone(),
                environment.parse(Variable::Timezone)?,
                file.timezone,
                Zone::system,
            ),
            permission: Setting::strongest(
                None,
                environment.parse(Variable::Permission)?,
                file.permission,
                || Permission::Ask,
            ),
            program: Setting::strongest(
                None,
                environment.parse(Variable::Program)?,
                opencode.program,
                || PathBuf::from("opencode"),
            ),
            model: Setting::strongest(
                None,
                environment.parse(Variable::Model)?.map(|(name, model)| (name, Some(model))),
                opencode.model.map(Some),
                || None,
            ),
            read_ms: Setting::strongest(
                None,
                environment.parse(Variable::ReadMs)?,
                opencode.read_ms,
                || Millis::PATIENCE,
            ),
            send_ms: Setting::strongest(
                None,
                environment.parse(Variable::SendMs)?,
                opencode.send_ms,
                || Millis::PATIENCE,
            ),
            servers: Setting::strongest(None, None, opencode.servers, Vec::new),
            file: path,
            presence,
        })
    }
}

#[cfg(test)]
mod tests;
