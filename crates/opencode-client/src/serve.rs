//! How is a server of our own started, watched and stopped?
//!
//! Source: `opencode serve` of 1.18.33 says `opencode server listening on URL` on standard output
//! once it is ready, and takes its password from the environment. Port 0 would mean 4096 to it, so
//! that the port is chosen here. SIGTERM ends it like SIGKILL: it cleans nothing up.
//!
//! It must not outlive us, however we end: nobody else knows its password. A shell in its process
//! group reads from a pipe of ours, and kills the group when the pipe breaks.

use std::{
    collections::VecDeque,
    io,
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use harness::{Place, ProcessIdentity, ReachError};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, BufReader},
    process::{Child, ChildStdin, Command},
    sync::oneshot,
    time::timeout,
};
use verbatim::Redactor;

use crate::{
    config::{Config, Credentials},
    id,
    server::lock,
};

/// What the server says when it is ready, before its address.
const READY: &str = "listening on";
/// The environment variable with the password.
const PASSWORD: &str = "OPENCODE_SERVER_PASSWORD";
/// The environment variable with the user name, which must be the default one.
const USER: &str = "OPENCODE_SERVER_USERNAME";
/// How many of the last lines that it wrote are kept for errors.
const LINES: usize = 20;
/// How many ports are tried: another program may take a free one first.
const PORTS: u32 = 3;

/// Becomes the server, which keeps its process id, beside a watcher of our pipe. The watcher writes
/// nothing, so that the output of the server ends with the server.
const SCRIPT: &str =
    "exec 3<&0; (cat <&3; kill -KILL 0) >/dev/null 2>&1 & exec \"$@\" </dev/null 3<&-";
/// The exit codes of a shell that cannot start a program.
const NOT_EXECUTABLE: i32 = 126;
const NOT_FOUND: i32 = 127;

/// How a server is started.
#[derive(Debug, Clone)]
pub struct Serve {
    /// The program; found in the search path when it has no folder.
    pub program: PathBuf,
    /// Where it runs.
    pub directory: PathBuf,
    /// Further environment variables, beside those of this process.
    pub environment: Vec<(String, String)>,
    /// How long it is waited for.
    pub ready_within: Duration,
}

impl Serve {
    /// Starts `opencode` from the search path in a directory, and waits for half a minute.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            program: PathBuf::from("opencode"),
            directory: directory.into(),
            environment: Vec::new(),
            ready_within: Duration::from_secs(30),
        }
    }
}

/// Says why no server of our own runs.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The program cannot be started; it is not installed, or not there.
    #[error("failed to start {program}")]
    Start {
        /// The program.
        program: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The program ended, or did not get ready in time.
    #[error("{program} did not get ready ({how}); it said: {said}")]
    NotReady {
        /// The program.
        program: PathBuf,
        /// How it ended, or that it was waited for in vain.
        how: String,
        /// The last lines that it wrote, redacted.
        said: String,
    },
}

/// A server that we started, in a process group of its own; dropping it kills the group, and so
/// does the end of this process.
#[derive(Debug)]
pub struct OwnServer {
    child: Child,
    /// The pipe that must not break.
    _leash: Option<ChildStdin>,
    pid: u32,
    identity: Option<ProcessIdentity>,
    url: String,
    credentials: Credentials,
}

/// The last lines that a server wrote.
type Said = Arc<Mutex<VecDeque<String>>>;

impl OwnServer {
    /// Starts a server on a free loopback port with a password of its own, and waits until it is
    /// ready.
    ///
    /// # Errors
    ///
    /// [`ServeError`]; nothing is left running then.
    pub async fn start(serve: &Serve) -> Result<Self, ServeError> {
        let mut attempt = 1;
        loop {
            match Self::start_once(serve).await {
                // Most likely somebody else took the port.
                Err(ServeError::NotReady { said, .. })
                    if attempt < PORTS && said.contains("port") =>
                {
                    attempt += 1;
                }
                result => return result,
            }
        }
    }

    async fn start_once(serve: &Serve) -> Result<Self, ServeError> {
        let failed = |source| ServeError::Start { program: serve.program.clone(), source };
        let password = id::password();
        let port = free_port().map_err(failed)?;
        let mut child = command(serve, port, &password).spawn().map_err(failed)?;
        let said = Said::default();
        let (ready, is_ready) = oneshot::channel();
        let output = child.stdout.take().expect("standard output is piped");
        tokio::spawn(listen(output, Arc::clone(&said), Some(ready)));
        let errors = child.stderr.take().expect("standard error is piped");
        tokio::spawn(listen(errors, Arc::clone(&said), None));
        let pid = child.id().expect("a child that was not waited for has an id");
        let mut server = Self {
            _leash: child.stdin.take(),
            child,
            pid,
            identity: ProcessIdentity::of(pid),
            url: format!("http://{}:{port}", Ipv4Addr::LOCALHOST),
            credentials: Credentials::password(&password),
        };
        let how = match timeout(serve.ready_within, is_ready).await {
            Ok(Ok(())) => return Ok(server),
            Ok(Err(_)) => match server.child.wait().await {
                Ok(status) => match status.code() {
                    Some(NOT_FOUND) => return Err(failed(io::ErrorKind::NotFound.into())),
                    Some(NOT_EXECUTABLE) => {
                        return Err(failed(io::ErrorKind::PermissionDenied.into()));
                    }
                    Some(_) | None => status.to_string(),
                },
                Err(error) => error.to_string(),
            },
            Err(_) => format!("not within {} s", serve.ready_within.as_secs()),
        };
        drop(server);
        let lines: Vec<_> = lock(&said).iter().cloned().collect();
        let said = Redactor::new([password]).redact(&lines.join(" | ")).into_owned();
        Err(ServeError::NotReady { program: serve.program.clone(), how, said })
    }

    /// Gives what a client needs to reach it; its database is not known.
    #[must_use]
    pub fn config(&self) -> Config {
        Config::new(&self.url).credentials(self.credentials.clone())
    }

    /// Gives what it wants.
    #[must_use]
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// Gives its root, without credentials.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Gives the process that was started; `None` where the platform does not tell.
    #[must_use]
    pub fn process(&self) -> Option<ProcessIdentity> {
        self.identity
    }

    /// Waits until it has ended by itself.
    ///
    /// # Errors
    ///
    /// [`ReachError::Unreachable`] when it cannot be waited for.
    pub async fn ended(&mut self) -> Result<ExitStatus, ReachError> {
        let status = self.child.wait().await;
        status.map_err(|error| ReachError::Unreachable {
            place: Place::new(self.url.as_str()),
            why: error.to_string(),
        })
    }

    /// Ends its process group and waits for its end.
    ///
    /// # Errors
    ///
    /// [`ReachError::Unreachable`] when it cannot be waited for.
    pub async fn stop(mut self) -> Result<ExitStatus, ReachError> {
        self.kill();
        self.ended().await
    }

    fn kill(&mut self) {
        // A child that was reaped has given its id back, and the id may be another's by now.
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        if let Some(group) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) {
            // A group that is gone already is what is wanted.
            let _delivered = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        self.kill();
    }
}

fn command(serve: &Serve, port: u16, password: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", SCRIPT, "turnbook"])
        .arg(&serve.program)
        .args(["serve", "--hostname", &Ipv4Addr::LOCALHOST.to_string()])
        .args(["--port", &port.to_string()])
        .current_dir(&serve.directory)
        .env_remove(USER)
        .envs(serve.environment.iter().map(|(name, value)| (name, value)))
        .env(PASSWORD, password)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// Keeps the last lines of an output, for as long as it is written, and tells when one of them says
/// that the server is ready.
async fn listen(
    output: impl AsyncRead + Unpin,
    said: Said,
    mut ready: Option<oneshot::Sender<()>>,
) {
    let mut lines = BufReader::new(output).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if line.contains(READY)
            && let Some(ready) = ready.take()
        {
            // The starter may have given up meanwhile.
            let _gone = ready.send(());
        }
        let mut said = lock(&said);
        if said.len() == LINES {
            said.pop_front();
        }
        said.push_back(line);
    }
}

/// Says where OpenCode keeps its database: `opencode/opencode.db` in the user's data folder.
#[must_use]
pub fn database_in(data_home: &Path) -> PathBuf {
    data_home.join("opencode").join("opencode.db")
}
