//! What may stand in `config.toml`, and where in it is something wrong?

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::{ConfigError, Millis, ModelName, Permission, Server, Zone};

/// The keys of the file; an unknown one is an error.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) store: Option<PathBuf>,
    pub(super) timezone: Option<Zone>,
    pub(super) permission: Option<Permission>,
    #[serde(default)]
    pub(super) opencode: OpenCode,
}

/// The keys under `[opencode]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OpenCode {
    pub(super) program: Option<PathBuf>,
    pub(super) model: Option<ModelName>,
    pub(super) read_ms: Option<Millis>,
    pub(super) send_ms: Option<Millis>,
    pub(super) servers: Option<Vec<Server>>,
}

impl File {
    /// Reads a file; `None` when it is not there.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, ConfigError> {
        match fs::read_to_string(path) {
            Ok(text) => Self::parse(path, &text).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(ConfigError::Unreadable { path: path.to_owned(), source }),
        }
    }

    /// Reads the text of a file.
    pub(super) fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        toml::from_str(text).map_err(|error| {
            let (line, column) = place(text, error.span().map_or(0, |span| span.start));
            // Only the message: the error's own text shows the line, which may hold a password.
            let problem = error.message().replace('\n', ", ");
            ConfigError::File { path: path.to_owned(), line, column, problem }
        })
    }
}

/// Gives line and character of a byte, both from 1.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = before.matches('\n').count() + 1;
    (line, before.get(start..).map_or(0, |line| line.chars().count()) + 1)
}
