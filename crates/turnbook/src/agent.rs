//! Which OpenCode is asked, and how is it reached?

use std::{path::Path, sync::Arc};

use harness::{Harness, Liveness, Provider};
use opencode_client::{
    Config as ClientConfig, Credentials, Limits, OpenCode, OwnServer, Serve, database_in,
};
use recorder::liveness;
use store::Driver;

use crate::{
    config::{Config, Folders, Server},
    context::Context,
    exit::Failure,
    lease::Lease,
};

/// An address at which nothing can ever answer, so that only files are read.
const NOWHERE: &str = "http://127.0.0.1:0";

/// An agent that is reached.
#[derive(Debug)]
pub(crate) struct Agent {
    /// The client of it.
    pub(crate) client: Arc<dyn Harness>,
    /// Who answers.
    pub(crate) provider: Provider,
    own: Option<Own>,
}

/// A server of our own, with the word that other processes of this user need to reach it.
#[derive(Debug)]
struct Own {
    server: OwnServer,
    lease: Lease,
}

impl Agent {
    /// Reaches a server that runs: with the credentials of the configuration, or those in `url`.
    ///
    /// # Errors
    ///
    /// [`Failure::Harness`].
    pub(crate) async fn attach(context: &Context, url: &str) -> Result<Self, Failure> {
        let (client, provider) = OpenCode::attach(&client_config(context, url)).await?;
        Ok(Self { client: Arc::new(client), provider, own: None })
    }

    /// Starts a server in a folder; it ends with this process.
    ///
    /// # Errors
    ///
    /// [`Failure::Serve`] and [`Failure::Harness`].
    pub(crate) async fn start(context: &Context, directory: &Path) -> Result<Self, Failure> {
        let program = context.config.program.value.clone();
        let server = OwnServer::start(&Serve { program, ..Serve::new(directory) }).await?;
        let credentials = server.credentials();
        let lease = Lease::write(&context.runtime, server.url(), credentials)?;
        let config = with_files(context, server.config());
        let (client, provider) = OpenCode::attach(&config).await?;
        Ok(Self { client: Arc::new(client), provider, own: Some(Own { server, lease }) })
    }

    /// Reaches the server that a session was last driven at.
    ///
    /// # Errors
    ///
    /// [`Failure::Harness`]; [`Failure::NoServer`] for a session that was never driven.
    pub(crate) async fn of_driver(
        context: &Context,
        driver: Option<&Driver>,
    ) -> Result<Self, Failure> {
        let endpoint = driver.and_then(|driver| driver.endpoint.as_ref());
        let endpoint = endpoint.ok_or(Failure::NoServer)?;
        Self::attach(context, endpoint.as_str()).await
    }

    /// Tells whether it is a server of our own.
    pub(crate) fn is_own(&self) -> bool {
        self.own.is_some()
    }

    /// Ends a server of our own; lets go of another.
    pub(crate) async fn stop(self) {
        if let Some(Own { server, lease }) = self.own {
            // It is killed when it cannot be waited for.
            let _ended = server.stop().await;
            drop(lease);
        }
    }
}

/// The agent's own files, without a server.
///
/// # Errors
///
/// [`Failure::Harness`].
pub(crate) fn files(context: &Context) -> Result<Arc<dyn Harness>, Failure> {
    let mut config = with_files(context, ClientConfig::new(NOWHERE));
    // What nothing can answer need not be asked again.
    config.limits.read_attempts = 1;
    Ok(Arc::new(OpenCode::new(&config)?))
}

/// The server that a session was last driven at, whether or not it answers, and its files.
///
/// # Errors
///
/// [`Failure::Harness`].
pub(crate) fn last(
    context: &Context,
    driver: Option<&Driver>,
) -> Result<Arc<dyn Harness>, Failure> {
    let endpoint = driver.and_then(|driver| driver.endpoint.as_ref());
    let is_gone = driver.is_some_and(is_dead);
    match endpoint {
        Some(endpoint) if !is_gone => {
            let config = client_config(context, endpoint.as_str());
            Ok(Arc::new(OpenCode::new(&config)?))
        }
        Some(_) | None => files(context),
    }
}

/// Tells whether the process behind a driver's provider is proven gone.
pub(crate) fn is_dead(driver: &Driver) -> bool {
    liveness(driver) == Liveness::Dead
}

/// Tells whether a run that goes on uses a driver's provider: it drives, or the server is its own
/// and somebody else took the session from it for a moment.
pub(crate) fn is_in_use(context: &Context, driver: &Driver) -> bool {
    let is_own = || {
        let endpoint = driver.endpoint.as_ref();
        endpoint.is_some_and(|endpoint| Lease::find(&context.runtime, endpoint.as_str()).is_some())
    };
    liveness(driver) == Liveness::Live && (driver.exec.is_some() || is_own())
}

/// Gives what a client needs to reach a server of the configuration.
pub(crate) fn attached(server: &Server, config: &Config) -> ClientConfig {
    let mut client = ClientConfig::new(server.url.as_str());
    client.limits = limits(config);
    client.credentials = server.password.as_ref().map(|password| match &server.username {
        Some(user) => Credentials::user(user, password.reveal()),
        None => Credentials::password(password.reveal()),
    });
    client
}

/// Gives how long a client waits, by the configuration.
pub(crate) fn limits(config: &Config) -> Limits {
    Limits {
        read: config.read_ms.value.duration(),
        dispatch: config.send_ms.value.duration(),
        ..Limits::default()
    }
}

/// A server by its address: one of the configuration, one of our own that runs, or another.
fn client_config(context: &Context, url: &str) -> ClientConfig {
    let url = url.trim_end_matches('/');
    let servers = &context.config.servers.value;
    let mut client = match servers.iter().find(|server| server.url.as_str() == url) {
        Some(server) => attached(server, &context.config),
        None => ClientConfig::new(url),
    };
    if client.credentials.is_none() {
        client.credentials = Lease::find(&context.runtime, url);
    }
    with_files(context, client)
}

fn with_files(context: &Context, mut client: ClientConfig) -> ClientConfig {
    client.limits = limits(&context.config);
    match Folders::of_platform() {
        Ok(folders) => client.database(database_in(&folders.data)),
        Err(_no_home) => client,
    }
}
