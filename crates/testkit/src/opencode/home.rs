//! Where does a tested OpenCode keep everything?

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    fs, io,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::config::{self, Permissions, Verdict};

/// What a new [`Home`] is made from.
#[derive(Clone, Debug)]
pub struct Setup {
    base_url: String,
    api_key: String,
    password: String,
    permissions: Permissions,
    environment: BTreeMap<String, String>,
}

impl Setup {
    /// A home whose provider is at `base_url`, with every tool allowed.
    #[must_use]
    pub fn new(base_url: &str) -> Self {
        Self {
            base_url: base_url.to_owned(),
            api_key: "scripted-api-key".to_owned(),
            password: "scripted-password".to_owned(),
            permissions: Permissions::all(Verdict::Allow),
            environment: BTreeMap::new(),
        }
    }

    /// The same with these permissions.
    #[must_use]
    pub fn permissions(mut self, permissions: Permissions) -> Self {
        self.permissions = permissions;
        self
    }

    /// The same with this key for the provider, for tests that look for it afterwards.
    #[must_use]
    pub fn api_key(mut self, key: &str) -> Self {
        key.clone_into(&mut self.api_key);
        self
    }

    /// The same with this password for the server's user `opencode`.
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        password.clone_into(&mut self.password);
        self
    }

    /// The same with a further environment variable for the server and its tools.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }
}

/// A user's home, with OpenCode's data and configuration and one project.
///
/// Dropping it removes all and kills every process that still works in it: OpenCode gives its tools
/// process groups of their own, so they outlive a killed server. Drop it after the servers on it.
#[derive(Debug)]
pub struct Home {
    root: TempDir,
    port: u16,
    password: String,
    environment: BTreeMap<String, String>,
}

impl Home {
    /// Makes a home with a fresh git repository of one commit as its project.
    ///
    /// # Errors
    ///
    /// When a directory cannot be written, no port is free, or git fails.
    pub fn create(setup: &Setup) -> io::Result<Self> {
        let home = Self {
            root: tempfile::Builder::new().prefix("opencode-home-").tempdir()?,
            port: free_port()?,
            password: setup.password.clone(),
            environment: setup.environment.clone(),
        };
        for directory in [home.user(), home.project()] {
            fs::create_dir(directory)?;
        }
        let config = config::text(&setup.base_url, &setup.api_key, &setup.permissions);
        fs::write(home.config_file(), config)?;
        home.git(&["init", "--quiet"])?;
        home.git(&["commit", "--quiet", "--allow-empty", "--message", "start"])?;
        Ok(home)
    }

    /// The project's directory, which is the server's working directory.
    #[must_use]
    pub fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    /// The file that `OPENCODE_CONFIG` names; a test may rewrite it before a start.
    #[must_use]
    pub fn config_file(&self) -> PathBuf {
        self.root.path().join("opencode.json")
    }

    /// OpenCode's database, which is there once a server has run.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.user().join("data/opencode/opencode.db")
    }

    /// What all servers on this home have written to standard output and standard error.
    #[must_use]
    pub fn log_file(&self) -> PathBuf {
        self.root.path().join("server.log")
    }

    /// The password of the server's user `opencode`.
    #[must_use]
    pub fn password(&self) -> &str {
        &self.password
    }

    /// The port of the home's own server, the same after each restart.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// `program` in this home and project, with nothing else of this process's environment than
    /// `PATH`.
    ///
    /// For the server, and for other verbs of the same OpenCode such as `run` and `export`.
    #[must_use]
    pub fn command(&self, program: &Path) -> Command {
        let user = self.user();
        let mut command = Command::new(program);
        command
            .current_dir(self.project())
            .env_clear()
            .env("PATH", search_path())
            .env("HOME", &user)
            .env("XDG_DATA_HOME", user.join("data"))
            .env("XDG_CONFIG_HOME", user.join("config"))
            .env("XDG_STATE_HOME", user.join("state"))
            .env("XDG_CACHE_HOME", user.join("cache"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("OPENCODE_CONFIG", self.config_file())
            // The machine's own managed configuration would otherwise be read.
            .env("OPENCODE_TEST_MANAGED_CONFIG_DIR", user.join("managed"))
            .env("OPENCODE_SERVER_PASSWORD", &self.password)
            .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
            .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
            .env("OPENCODE_DISABLE_LSP_DOWNLOAD", "1")
            .env("OPENCODE_DISABLE_SHARE", "1")
            .envs(&self.environment);
        command
    }

    fn user(&self) -> PathBuf {
        self.root.path().join("user")
    }

    fn git(&self, arguments: &[&str]) -> io::Result<()> {
        let output = self
            .command(Path::new("git"))
            .args(["-c", "user.name=Test", "-c", "user.email=test@localhost"])
            .args(arguments)
            .stdin(Stdio::null())
            .output()?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(io::Error::other(format!("git {} failed: {}", arguments.join(" "), said.trim())))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        for process in processes_in(self.root.path()) {
            // It may have ended by itself just now.
            let _killed = kill_process(process, Signal::KILL);
        }
    }
}

/// The processes whose working directory is below `root`; none where the system has no `/proc`.
fn processes_in(root: &Path) -> Vec<Pid> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    processes
        .filter_map(|process| {
            let process = process.ok()?;
            let directory = fs::read_link(process.path().join("cwd")).ok()?;
            let id = process.file_name().to_str()?.parse().ok()?;
            if directory.starts_with(root) { Pid::from_raw(id) } else { None }
        })
        .collect()
}

/// A loopback port that is free now.
///
/// OpenCode cannot be left to choose: its port 0 means 4096 if that is free, where a person's own
/// server may be expected.
pub(super) fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

fn search_path() -> OsString {
    env::var_os("PATH").unwrap_or_default()
}
