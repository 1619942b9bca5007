//! How is a server reached, and how long is it waited for?

use std::{fmt, path::PathBuf, time::Duration};

/// The name and password that a server wants.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    user: Box<str>,
    password: Box<str>,
}

/// The user name that OpenCode expects when none is configured.
pub(crate) const DEFAULT_USER: &str = "opencode";

impl Credentials {
    /// Takes a password for OpenCode's default user.
    #[must_use]
    pub fn password(password: &str) -> Self {
        Self::user(DEFAULT_USER, password)
    }

    /// Takes a user name and its password.
    #[must_use]
    pub fn user(user: &str, password: &str) -> Self {
        Self { user: user.into(), password: password.into() }
    }

    /// Gives user name and password, for another process of the same user.
    #[must_use]
    pub fn reveal(&self) -> (&str, &str) {
        (&self.user, &self.password)
    }

    /// Gives the pair as it is encoded for basic authentication.
    pub(crate) fn pair(&self) -> String {
        format!("{}:{}", self.user, self.password)
    }

    /// Gives the password, for the redactor and for the server's own environment.
    pub(crate) fn secret(&self) -> &str {
        &self.password
    }
}

/// Shows the user name, never the password.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}

/// How a running server is reached.
#[derive(Debug, Clone)]
pub struct Config {
    /// Its root, such as `http://127.0.0.1:4096`; user info in it is taken as credentials.
    pub url: String,
    /// What it wants; nothing for a server without a password.
    pub credentials: Option<Credentials>,
    /// Its database, where it is on this machine: read when the server cannot answer.
    pub database: Option<PathBuf>,
    /// How long and how much is waited for.
    pub limits: Limits,
}

impl Config {
    /// Reaches a server at `url`, without a password, with the usual limits.
    #[must_use]
    pub fn new(url: &str) -> Self {
        Self { url: url.to_owned(), credentials: None, database: None, limits: Limits::default() }
    }

    /// The same with credentials.
    #[must_use]
    pub fn credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// The same with the database of the server.
    #[must_use]
    pub fn database(mut self, path: impl Into<PathBuf>) -> Self {
        self.database = Some(path.into());
        self
    }
}

/// How long and how much is waited for; every wait and size has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// One read, from the request to the last byte of its answer.
    pub read: Duration,
    /// One write, until its last byte is out, and again until its answer.
    pub dispatch: Duration,
    /// How often a read is tried that fails for a reason that may pass.
    pub read_attempts: u32,
    /// Without a byte for so long, an event stream is taken for broken. The server sends a heartbeat
    /// every ten seconds.
    pub heartbeat: Duration,
    /// The longest wait before the next attempt to connect an event stream.
    pub backoff_max: Duration,
    /// The largest answer to one read, in bytes.
    pub body_bytes_max: usize,
    /// The largest event, in bytes.
    pub event_bytes_max: usize,
    /// The most messages in one page; at most 200.
    pub page: u32,
    /// How many reports wait for a slow receiver.
    pub queue: usize,
    /// How far two equal looks at a history are apart before an open step counts as left behind.
    pub open_grace: Duration,
    /// The same before a prompt counts as one that nobody will answer: a cold server takes seconds to
    /// begin.
    pub unanswered_grace: Duration,
    /// How far two readings of one message are apart that parts alone asked for.
    pub part_interval: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            read: Duration::from_secs(10),
            dispatch: Duration::from_secs(10),
            read_attempts: 3,
            heartbeat: Duration::from_secs(30),
            backoff_max: Duration::from_secs(10),
            body_bytes_max: 64 << 20,
            event_bytes_max: 64 << 20,
            page: 200,
            queue: 1024,
            open_grace: Duration::from_millis(1500),
            unanswered_grace: Duration::from_secs(10),
            part_interval: Duration::from_millis(500),
        }
    }
}
