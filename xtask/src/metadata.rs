//! What does cargo know about the crates of this workspace?

use anyhow::Context as _;
use serde::Deserialize;

use crate::process::{cargo, output};

/// One package of the workspace, as its `Cargo.toml` declares it.
///
/// Source: format version 1 of `cargo metadata`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Package {
    /// The package's name, which is its folder's name.
    pub name: String,
    /// What it declares, for every target and feature.
    pub dependencies: Vec<Dependency>,
}

/// One declared dependency.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Dependency {
    /// The package's own name, whatever the declaring crate calls it.
    pub name: String,
    /// Which table it stands in.
    pub kind: Kind,
}

/// The table of a `Cargo.toml` that declares a dependency.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Option<String>")]
pub(crate) enum Kind {
    /// `[dependencies]`.
    Normal,
    /// `[build-dependencies]`.
    Build,
    /// `[dev-dependencies]`.
    Dev,
    /// A word that cargo has learnt since.
    Unknown(String),
}

impl From<Option<String>> for Kind {
    /// Cargo leaves the word out for `[dependencies]`.
    fn from(word: Option<String>) -> Self {
        match word.as_deref() {
            None => Self::Normal,
            Some("build") => Self::Build,
            Some("dev") => Self::Dev,
            Some(other) => Self::Unknown(other.to_owned()),
        }
    }
}

/// Reads the packages of the workspace. Needs no network.
///
/// # Errors
///
/// When cargo fails, for instance on a malformed `Cargo.toml`.
pub(crate) fn workspace_packages() -> anyhow::Result<Vec<Package>> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    let json =
        output(&mut cargo(&["metadata", "--no-deps", "--offline", "--format-version", "1"]))?;
    let metadata: Metadata =
        serde_json::from_slice(&json).context("cannot read the output of `cargo metadata`")?;
    Ok(metadata.packages)
}
