//! A real OpenCode server, talked to as any client would.

use std::error::Error;

use serde::Deserialize;
use serde_json::value::RawValue;
use testkit::opencode::{OpenCode, PROVIDER};

/// What a test or demo step gives.
pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// A client of a running server, and the server where it is ours.
#[derive(Debug)]
pub(crate) struct Server {
    server: Option<OpenCode>,
    url: String,
    authorization: String,
    client: reqwest::Client,
}

impl Server {
    pub(crate) fn of(server: OpenCode) -> Self {
        let client = Self::of_url(&server.url(), &server.authorization());
        Self { server: Some(server), ..client }
    }

    pub(crate) fn of_url(url: &str, authorization: &str) -> Self {
        // The program brings TLS and names the cryptography itself; this client has to, too. Another
        // test of this process may have been faster.
        let _named = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::new();
        Self { server: None, url: url.to_owned(), authorization: authorization.to_owned(), client }
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Outcome<String> {
        let response = request.header("authorization", &self.authorization).send().await?;
        let (status, text) = (response.status(), response.text().await?);
        if status.is_success() { Ok(text) } else { Err(format!("{status}: {text}").into()) }
    }

    async fn post(&self, route: &str, body: String) -> Outcome<String> {
        let request = self.client.post(format!("{}{route}", self.url));
        self.send(request.header("content-type", "application/json").body(body)).await
    }

    async fn get(&self, route: &str) -> Outcome<String> {
        self.send(self.client.get(format!("{}{route}", self.url))).await
    }

    /// Creates a session with a title, so that the model is not asked for one.
    pub(crate) async fn new_session(&self) -> Outcome<String> {
        #[derive(Deserialize)]
        struct Session {
            id: String,
        }
        let text = self.post("/session", r#"{"title":"oracle"}"#.to_owned()).await?;
        Ok(serde_json::from_str::<Session>(&text)?.id)
    }

    /// Posts a prompt to one of the scripted provider's models and waits until its turn ended.
    pub(crate) async fn prompt(&self, session: &str, id: &str, text: &str, model: &str) -> Outcome {
        let text = serde_json::to_string(text)?;
        let body = format!(
            r#"{{"messageID":"{id}","model":{{"providerID":"{PROVIDER}","modelID":"{model}"}},"parts":[{{"type":"text","text":{text}}}]}}"#
        );
        self.post(&format!("/session/{session}/message"), body).await?;
        Ok(())
    }

    /// The session's own history, in the form that `turnbook fold opencode` reads.
    pub(crate) async fn history(&self, session: &str) -> Outcome<String> {
        let row: Box<RawValue> =
            serde_json::from_str(&self.get(&format!("/session/{session}")).await?)?;
        let list = self.get(&format!("/session/{session}/message")).await?;
        Ok(format!(r#"{{"session":{row},"messages":{list}}}"#))
    }

    /// Aborts what the session runs.
    pub(crate) async fn abort(&self, session: &str) -> Outcome {
        self.post(&format!("/session/{session}/abort"), String::new()).await?;
        Ok(())
    }

    /// Kills the server as a crash would.
    pub(crate) fn kill(self) -> Outcome {
        self.server.ok_or("the server is not ours")?.kill()?;
        Ok(())
    }
}
