//! How is OpenCode asked? The harness contract on its routes.
//!
//! Source: the v1 API of opencode-ai 1.18.33 (`GET /doc`). Session routes find the session's own
//! directory; status, permissions and questions are asked in it.

use std::sync::Arc;

use async_trait::async_trait;
use harness::{
    Answer, Ask, AskBody, Cursor, Dispatch, Harness, NewThread, Page, Pass, Prompt, PromptMode,
    Provider, ReachError, Reports, Scope, Seen, ThreadInfo, Verdict,
};
use opencode_wire::{Asked, EventError};
use receipts::{MessageId, Owner, ThreadId, UnixMillis};
use serde::Serialize;
use verbatim::RawValue;

use crate::{
    config::Config,
    follow::{Subscription, ask},
    http::{GetError, Route},
    id,
    server::Server,
};

/// An OpenCode server that is reached over HTTP.
#[derive(Debug, Clone)]
pub struct OpenCode {
    server: Arc<Server>,
}

impl OpenCode {
    /// Takes a server; nothing is sent yet.
    ///
    /// # Errors
    ///
    /// [`ReachError::Unsupported`] when the address is none that can be spoken to.
    pub fn new(config: &Config) -> Result<Self, ReachError> {
        Ok(Self { server: Arc::new(Server::new(config)?) })
    }

    /// Takes a server and asks who it is.
    ///
    /// # Errors
    ///
    /// [`ReachError`]: unreachable, a wrong password, or a version that is not worked with.
    pub async fn attach(config: &Config) -> Result<(Self, Provider), ReachError> {
        let client = Self::new(config)?;
        let provider = client.server.probe().await?;
        Ok((client, provider))
    }

    async fn asked(
        &self,
        route: Route,
        decode: fn(&RawValue) -> Result<Asked, EventError>,
    ) -> Result<Vec<Asked>, ReachError> {
        let answer = self.server.http.get(&route).await.map_err(GetError::into_reach)?;
        let protocol = |why: String| ReachError::Protocol { place: route.place(), why };
        let list: Vec<&RawValue> =
            serde_json::from_str(&answer.body).map_err(|error| protocol(error.to_string()))?;
        list.into_iter()
            .map(|raw| decode(raw).map_err(|error| protocol(error.to_string())))
            .collect()
    }

    /// Sends once; what the answer says beside its status is nobody's evidence.
    async fn send(&self, route: Route, body: String, pass: Pass) -> Dispatch {
        match Arc::clone(&self.server.http).send(route, body, pass).await {
            Dispatch::Sent(_) => Dispatch::Sent(()),
            Dispatch::NotSent(error) => Dispatch::NotSent(error),
            Dispatch::Uncertain(error) => Dispatch::Uncertain(error),
        }
    }

    async fn directory(&self, thread: &ThreadId) -> Result<Option<Box<str>>, ReachError> {
        Ok(self.server.known(thread).await?.row.directory.clone())
    }
}

#[async_trait]
impl Harness for OpenCode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn mint(&self, now: UnixMillis, above: Option<&MessageId>) -> Option<MessageId> {
        Some(id::mint(now, above))
    }

    async fn probe(&self) -> Result<Provider, ReachError> {
        self.server.probe().await
    }

    async fn subscribe(&self, scope: Scope) -> Result<Box<dyn Reports>, ReachError> {
        Ok(Box::new(Subscription::start(Arc::clone(&self.server), scope).await?))
    }

    async fn thread(&self, thread: &ThreadId) -> Result<ThreadInfo, ReachError> {
        let known = self.server.known(thread).await?;
        Ok(self.server.info(&known.row))
    }

    async fn threads(
        &self,
        directory: Option<&str>,
        limit: usize,
    ) -> Result<Vec<ThreadInfo>, ReachError> {
        let route = Route::get(["session"])
            .query("directory", directory)
            .query("limit", Some(limit.to_string()));
        self.server.sessions(&route).await
    }

    async fn children(&self, thread: &ThreadId) -> Result<Vec<ThreadInfo>, ReachError> {
        self.server.children(thread).await
    }

    async fn read_page(
        &self,
        thread: &ThreadId,
        before: Option<&Cursor>,
    ) -> Result<Page, ReachError> {
        self.server.page(thread, before, u32::MAX).await
    }

    async fn read_message(
        &self,
        thread: &ThreadId,
        message: &MessageId,
    ) -> Result<Option<Seen>, ReachError> {
        self.server.message(thread, message, None).await
    }

    async fn owner(&self, thread: &ThreadId) -> Result<Owner, ReachError> {
        self.server.owner(thread).await
    }

    async fn create_thread(&self, new: &NewThread, pass: Pass) -> Dispatch<ThreadInfo> {
        let route = Route::post(["session"]).query("directory", new.directory.as_deref());
        let place = route.place();
        let body = json(&NewSession { title: new.title.as_deref() });
        let body = match Arc::clone(&self.server.http).send(route, body, pass).await {
            Dispatch::Sent(Ok(body)) => body,
            Dispatch::Sent(Err(error)) | Dispatch::Uncertain(error) => {
                return Dispatch::Uncertain(error);
            }
            Dispatch::NotSent(error) => return Dispatch::NotSent(error),
        };
        let learned = RawValue::from_string(body)
            .map_err(|error| ReachError::Protocol { place: place.clone(), why: error.to_string() })
            .and_then(|raw| self.server.learn(&place, &raw));
        match learned {
            Ok(info) => Dispatch::Sent(info),
            // It was made, and we do not know as what.
            Err(error) => Dispatch::Uncertain(error),
        }
    }

    async fn prompt(&self, prompt: &Prompt, pass: Pass) -> Dispatch {
        // Steering is prompting: a run that is under way takes the last prompt with its next step.
        let no_reply = match prompt.mode {
            PromptMode::Turn | PromptMode::Steer => None,
            PromptMode::NoReply => Some(true),
        };
        let body = json(&PromptBody {
            message_id: prompt.message.as_ref().map(MessageId::as_str),
            model: prompt
                .model
                .as_ref()
                .map(|name| ModelBody { provider_id: &name.provider, model_id: &name.model }),
            agent: prompt.agent.as_deref(),
            no_reply,
            parts: [TextPart { kind: "text", text: &prompt.text }],
        });
        let route = Route::post(["session", prompt.thread.as_str(), "prompt_async"]);
        self.send(route, body, pass).await
    }

    async fn abort(&self, thread: &ThreadId, pass: Pass) -> Dispatch {
        let route = Route::post(["session", thread.as_str(), "abort"]);
        self.send(route, String::new(), pass).await
    }

    async fn asks(&self, thread: &ThreadId) -> Result<Vec<Ask>, ReachError> {
        let directory = self.directory(thread).await?;
        let route = |name: &str| Route::get([name]).query("directory", directory.as_deref());
        let mut asked = self.asked(route("permission"), Asked::permission).await?;
        asked.extend(self.asked(route("question"), Asked::question).await?);
        asked.retain(|asked| asked.thread == *thread);
        let redactor = &self.server.http.redactor;
        Ok(asked.into_iter().filter_map(|asked| ask(asked, redactor)).collect())
    }

    async fn answer(&self, ask: &Ask, answer: &Answer, pass: Pass) -> Dispatch {
        let directory = match self.directory(&ask.thread).await {
            Ok(directory) => directory,
            Err(error) => return Dispatch::NotSent(error),
        };
        let (kind, verb, body) = match (&ask.body, answer) {
            (AskBody::Permission { .. }, Answer::Permission(verdict)) => {
                ("permission", "reply", json(&Reply { reply: word(*verdict) }))
            }
            (AskBody::Permission { .. }, Answer::Questions(_) | Answer::Decline) => {
                ("permission", "reply", json(&Reply { reply: word(Verdict::Reject) }))
            }
            (AskBody::Questions(_), Answer::Questions(answers)) => {
                ("question", "reply", json(&Answers { answers }))
            }
            (AskBody::Questions(_), Answer::Permission(_) | Answer::Decline) => {
                ("question", "reject", String::new())
            }
        };
        let route =
            Route::post([kind, ask.id.as_str(), verb]).query("directory", directory.as_deref());
        self.send(route, body, pass).await
    }
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Once => "once",
        Verdict::Always => "always",
        Verdict::Reject => "reject",
    }
}

fn json(body: &impl Serialize) -> String {
    serde_json::to_string(body).expect("plain structs become JSON")
}

#[derive(Serialize)]
struct NewSession<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
}

#[derive(Serialize)]
struct PromptBody<'a> {
    #[serde(rename = "messageID", skip_serializing_if = "Option::is_none")]
    message_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<ModelBody<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'a str>,
    #[serde(rename = "noReply", skip_serializing_if = "Option::is_none")]
    no_reply: Option<bool>,
    parts: [TextPart<'a>; 1],
}

#[derive(Serialize)]
struct ModelBody<'a> {
    #[serde(rename = "providerID")]
    provider_id: &'a str,
    #[serde(rename = "modelID")]
    model_id: &'a str,
}

#[derive(Serialize)]
struct TextPart<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
struct Reply {
    reply: &'static str,
}

#[derive(Serialize)]
struct Answers<'a> {
    answers: &'a [Vec<Box<str>>],
}
