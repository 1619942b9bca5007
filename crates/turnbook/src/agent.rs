//! How are the agents of the configuration asked?

use opencode_client::{Config as ClientConfig, Credentials, Limits};

use crate::config::{Config, Server};

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
