//! How is a real OpenCode server started, watched and killed?

use std::{
    fs::{File, OpenOptions},
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{Ipv4Addr, TcpStream},
    os::unix::process::CommandExt as _,
    process::{Child, ChildStdout, ExitStatus, Stdio},
    thread,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rustix::process::{Pid, Signal, kill_process_group};

use super::home::{Home, free_port};
use crate::agents::Agent;

/// Why no server came up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The process cannot be started or talked to.
    #[error("failed to start {agent}")]
    Io {
        /// The agent.
        agent: Agent,
        /// Why not.
        source: io::Error,
    },
    /// The process ended or said something else before it listened.
    #[error("{agent} did not say that it listens ({status}); its log ends: {log}")]
    NotListening {
        /// The agent.
        agent: Agent,
        /// How it ended.
        status: ExitStatus,
        /// The end of its log.
        log: String,
    },
    /// The server listens but does not answer for its health as the pinned version does.
    #[error("{agent} listens but answers for its health: {answer}")]
    Unhealthy {
        /// The agent.
        agent: Agent,
        /// The answer's head and body.
        answer: String,
    },
}

/// A running `opencode serve`, in a process group of its own; dropping it kills the group.
#[derive(Debug)]
pub struct OpenCode {
    child: Child,
    port: u16,
    password: String,
}

impl OpenCode {
    /// Starts the home's own server, on the same port every time, and returns once it is healthy.
    ///
    /// Blocks: two to six seconds, most of it the agent's own loading.
    ///
    /// # Errors
    ///
    /// When the server does not come up, for instance because the one before it still runs.
    pub fn start(agent: &Agent, home: &Home) -> Result<Self, StartError> {
        Self::start_on(agent, home, home.port())
    }

    /// Starts a further server on the same home, on another port.
    ///
    /// # Errors
    ///
    /// When the server does not come up.
    pub fn start_beside(agent: &Agent, home: &Home) -> Result<Self, StartError> {
        let port = free_port().map_err(|source| StartError::Io { agent: agent.clone(), source })?;
        Self::start_on(agent, home, port)
    }

    fn start_on(agent: &Agent, home: &Home, port: u16) -> Result<Self, StartError> {
        let failed = |source| StartError::Io { agent: agent.clone(), source };
        let log = OpenOptions::new().create(true).append(true).open(home.log_file());
        let log = log.map_err(failed)?;
        let mut child = home
            .command(&agent.path)
            .args(["serve", "--hostname", "127.0.0.1", "--port", &port.to_string()])
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log.try_clone().map_err(failed)?)
            .spawn()
            .map_err(failed)?;
        let stdout = child.stdout.take().expect("standard output is piped");
        // From here on the process dies with this value.
        let mut server = Self { child, port, password: home.password().to_owned() };
        if !listens(stdout, log).map_err(failed)? {
            server.signal(Signal::KILL);
            let status = server.child.wait().map_err(failed)?;
            let log = log_end(home).map_err(failed)?;
            return Err(StartError::NotListening { agent: agent.clone(), status, log });
        }
        let answer = server.health().map_err(failed)?;
        let version = format!(r#""version":"{}""#, agent.version);
        if answer.starts_with("HTTP/1.1 200 ") && answer.contains(&version) {
            return Ok(server);
        }
        Err(StartError::Unhealthy { agent: agent.clone(), answer })
    }

    /// The server's root, such as `http://127.0.0.1:40124`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}:{}", Ipv4Addr::LOCALHOST, self.port)
    }

    /// The name that the server wants with its password.
    #[must_use]
    pub fn user(&self) -> &'static str {
        "opencode"
    }

    /// The password.
    #[must_use]
    pub fn password(&self) -> &str {
        &self.password
    }

    /// The value of the header `Authorization`.
    #[must_use]
    pub fn authorization(&self) -> String {
        let credentials = STANDARD.encode(format!("{}:{}", self.user(), self.password));
        format!("Basic {credentials}")
    }

    /// The server's process id, which is its process group's too.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills the process group as a crash would (SIGKILL) and returns when the server is gone.
    ///
    /// Tools run in groups of their own and live on, as they do after a real crash, until the
    /// [`Home`] is dropped.
    ///
    /// # Errors
    ///
    /// When the process cannot be waited for.
    pub fn kill(mut self) -> io::Result<ExitStatus> {
        self.signal(Signal::KILL);
        self.child.wait()
    }

    /// Asks the process group to end (SIGTERM) and returns when the server is gone.
    ///
    /// # Errors
    ///
    /// When the process cannot be waited for.
    pub fn terminate(mut self) -> io::Result<ExitStatus> {
        self.signal(Signal::TERM);
        self.child.wait()
    }

    fn signal(&self, signal: Signal) {
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let group = group.expect("a child has a positive process id");
        // A group that is gone already is what is wanted.
        let _delivered = kill_process_group(group, signal);
    }

    /// The whole answer to `GET /global/health`.
    fn health(&self) -> io::Result<String> {
        let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        write!(
            connection,
            "GET /global/health HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: {}\r\n\
             connection: close\r\n\r\n",
            self.authorization()
        )?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer)?;
        Ok(answer)
    }
}

impl Drop for OpenCode {
    fn drop(&mut self) {
        // A reaped process has given its id back, and the id may be another's by now.
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal(Signal::KILL);
            let _status = self.child.wait();
        }
    }
}

/// Reads until the server says that it listens; what it says later goes to the log.
fn listens(stdout: ChildStdout, mut log: File) -> io::Result<bool> {
    let mut lines = BufReader::new(stdout);
    let mut line = String::new();
    while lines.read_line(&mut line)? > 0 {
        log.write_all(line.as_bytes())?;
        if line.contains("listening on") {
            thread::spawn(move || io::copy(&mut lines, &mut log));
            return Ok(true);
        }
        line.clear();
    }
    Ok(false)
}

/// The last lines of the home's log.
fn log_end(home: &Home) -> io::Result<String> {
    let log = std::fs::read(home.log_file())?;
    let log = String::from_utf8_lossy(&log);
    let lines: Vec<&str> = log.lines().rev().take(20).collect();
    Ok(lines.into_iter().rev().collect::<Vec<_>>().join("\n"))
}
