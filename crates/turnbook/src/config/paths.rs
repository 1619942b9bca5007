//! Where does the platform keep configuration and data?

use std::path::PathBuf;

use etcetera::BaseStrategy as _;

use super::ConfigError;

/// Our places in the platform's folders; on macOS the same as on Linux.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folders {
    /// The configuration file.
    pub(crate) config: PathBuf,
    /// The store.
    pub(crate) store: PathBuf,
    /// The folder in which programs keep their data.
    pub(crate) data: PathBuf,
}

impl Folders {
    /// Asks the platform.
    ///
    /// # Errors
    ///
    /// [`ConfigError::NoHome`].
    pub(crate) fn of_platform() -> Result<Self, ConfigError> {
        let base = etcetera::choose_base_strategy().map_err(|_no_home| ConfigError::NoHome)?;
        let data = base.data_dir();
        Ok(Self {
            config: base.config_dir().join("turnbook").join("config.toml"),
            store: data.join("turnbook").join("ledger.sqlite"),
            data,
        })
    }
}
