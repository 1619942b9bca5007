//! Which real agents are tested against, and where are they?
//!
//! Each agent is pinned to one version and installed once for each checkout, in
//! `target/agents/opencode-1.18.33`, wherever builds are told to put their own output. Programs that
//! ask at the same time wait for each other; an installation that was broken off leaves nothing that
//! counts as one.

use std::{
    env, fmt,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::Command,
};

/// The version of OpenCode that everything here is tested against.
pub const OPENCODE_VERSION: &str = "1.18.33";

/// The file in an installation that names its binary, written last.
const MARKER: &str = "binary";

/// A real agent on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// Its name.
    pub name: &'static str,
    /// Its version, as it says itself.
    pub version: &'static str,
    /// The native binary.
    pub path: PathBuf,
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.name, self.version, self.path.display())
    }
}

/// Why an agent cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// npm does not run: install Node.js with npm.
    #[error("failed to run npm, which installs {package}")]
    Npm {
        /// The package and version that npm was to install.
        package: String,
        /// Why it does not run.
        source: io::Error,
    },
    /// npm ran and failed: see what it says, perhaps try again.
    #[error("npm failed to install {package} ({status}): {stderr}")]
    Install {
        /// The package and version that npm was to install.
        package: String,
        /// How npm ended.
        status: std::process::ExitStatus,
        /// What npm wrote on standard error.
        stderr: String,
    },
    /// The agent has no binary that runs here.
    #[error("{package} has no binary that runs on this machine; tried {tried:?}")]
    Unsupported {
        /// The package and version.
        package: String,
        /// The platform packages that were looked for.
        tried: Vec<String>,
    },
    /// The installation directory cannot be read or written.
    #[error("failed to access {}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// OpenCode at [`OPENCODE_VERSION`], installed from npm first if it is not there yet.
///
/// Blocks; the installation itself takes about 15 seconds and 360 MB.
///
/// # Errors
///
/// When it is not installed and cannot be.
pub fn opencode() -> Result<Agent, AgentError> {
    let agents = target_dir().join("agents");
    let home = agents.join(format!("opencode-{OPENCODE_VERSION}"));
    let path = match installed(&home)? {
        Some(path) => path,
        None => install(&agents, &home)?,
    };
    Ok(Agent { name: "opencode", version: OPENCODE_VERSION, path })
}

/// The binary of a whole installation at `home`.
fn installed(home: &Path) -> Result<Option<PathBuf>, AgentError> {
    let marker = home.join(MARKER);
    match fs::read_to_string(&marker) {
        Ok(binary) => Ok(Some(home.join(binary))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(AgentError::Io { path: marker, source }),
    }
}

/// Installs into a fresh directory beside `home`, which it then becomes.
fn install(agents: &Path, home: &Path) -> Result<PathBuf, AgentError> {
    at(agents, fs::create_dir_all(agents))?;
    let lock_path = agents.join("lock");
    let lock = at(&lock_path, File::create(&lock_path))?;
    at(&lock_path, lock.lock())?;
    // Another program may have installed it while this one waited for the lock.
    if let Some(path) = installed(home)? {
        return Ok(path);
    }
    let fresh = at(agents, tempfile::tempdir_in(agents))?;
    npm_install(fresh.path())?;
    let binary = native_binary(fresh.path())?;
    let marker = fresh.path().join(MARKER);
    at(&marker, fs::write(&marker, &binary))?;
    at(home, fs::rename(fresh.keep(), home))?;
    Ok(home.join(binary))
}

fn package() -> String {
    format!("opencode-ai@{OPENCODE_VERSION}")
}

/// Installs without install scripts: all that OpenCode's does is choose a binary, as is done here.
fn npm_install(prefix: &Path) -> Result<(), AgentError> {
    let output = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"])
        .arg(prefix)
        .arg(package())
        .output()
        .map_err(|source| AgentError::Npm { package: package(), source })?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(AgentError::Install { package: package(), status: output.status, stderr })
}

/// The first platform binary that runs and is of the right version, relative to `prefix`.
///
/// Source: the platform packages named in `opencode-ai`'s `postinstall.mjs`, version 1.18.33.
fn native_binary(prefix: &Path) -> Result<String, AgentError> {
    let system = match env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    let processor = match env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    let tried: Vec<String> = ["", "-baseline", "-musl", "-baseline-musl"]
        .iter()
        .map(|variant| format!("opencode-{system}-{processor}{variant}"))
        .collect();
    tried
        .iter()
        .map(|package| format!("node_modules/{package}/bin/opencode"))
        .find(|binary| version_of(&prefix.join(binary)).as_deref() == Some(OPENCODE_VERSION))
        .ok_or_else(|| AgentError::Unsupported { package: package(), tried })
}

/// What `binary --version` prints, or `None` if it does not run here.
fn version_of(binary: &Path) -> Option<String> {
    let output = Command::new(binary).arg("--version").output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The `target` folder of the checkout that this crate was built from.
fn target_dir() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    root.expect("this crate lies two folders below the root").join("target")
}

fn at<T>(path: &Path, result: io::Result<T>) -> Result<T, AgentError> {
    result.map_err(|source| AgentError::Io { path: path.to_owned(), source })
}
