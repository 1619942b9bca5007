//! What is known of one server and its sessions? The state behind every call.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use harness::{Liveness, Place, Provider, ReachError, ThreadInfo};
use opencode_wire::{Health, Session, SessionRow, Translator, Version};
use receipts::ThreadId;
use verbatim::RawValue;

use crate::{
    config::Config,
    database::Database,
    http::{GetError, Http, Route},
    process::listener,
};

/// How many sessions are remembered; beyond it all are forgotten and asked for again.
const KNOWN_MAX: usize = 1024;

/// One server.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) http: Arc<Http>,
    pub(crate) database: Option<PathBuf>,
    known: Mutex<HashMap<ThreadId, Arc<Known>>>,
    /// As it was last probed.
    provider: Mutex<Option<Provider>>,
}

/// What of a session does not change.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) row: SessionRow,
    pub(crate) translator: Translator,
}

impl Known {
    fn decode(place: &Place, raw: &RawValue) -> Result<Self, ReachError> {
        let protocol = |why: String| ReachError::Protocol { place: place.clone(), why };
        let row = SessionRow::decode(raw).map_err(|error| protocol(error.to_string()))?;
        let session: Session<'_> =
            serde_json::from_str(raw.get()).map_err(|error| protocol(error.to_string()))?;
        let translator = Translator::new(row.thread.clone(), Some(&session));
        Ok(Self { row, translator })
    }
}

impl Server {
    pub(crate) fn new(config: &Config) -> Result<Self, ReachError> {
        Ok(Self {
            http: Arc::new(Http::new(config)?),
            database: config.database.clone(),
            known: Mutex::default(),
            provider: Mutex::default(),
        })
    }

    /// Asks the server for its health and version, and the machine for its process.
    pub(crate) async fn probe(&self) -> Result<Provider, ReachError> {
        let route = Route::get(["global", "health"]);
        let place = route.place();
        let answer = match self.http.get(&route).await {
            Ok(answer) => answer,
            Err(GetError::Reach(ReachError::NotFound { place })) => {
                let why = "what answers there is no OpenCode 1.x".to_owned();
                return Err(ReachError::Unsupported { place, why });
            }
            Err(error) => return Err(error.into_reach()),
        };
        let health: Health<'_> = serde_json::from_str(&answer.body).map_err(|_shape| {
            let why = "what answers there is no OpenCode: its health is no JSON object".to_owned();
            ReachError::Unsupported { place: place.clone(), why }
        })?;
        let version = health.version.get().map_or("", |version| &**version);
        let version = Version::parse(version)
            .map_err(|error| ReachError::Unsupported { place, why: error.to_string() })?;
        let process = match self.http.loopback_port() {
            Some(port) => tokio::task::spawn_blocking(move || listener(port)).await.ok().flatten(),
            None => None,
        };
        let provider = Provider {
            version: version.as_str().into(),
            endpoint: self.http.endpoint().into(),
            process,
        };
        *lock(&self.provider) = Some(provider.clone());
        Ok(provider)
    }

    /// Tells whether the process that was last reached is proven gone.
    pub(crate) fn is_dead(&self) -> bool {
        let process = lock(&self.provider).as_ref().and_then(|provider| provider.process);
        process.is_some_and(|process| process.liveness() == Liveness::Dead)
    }

    /// Gives what is known of a session; asks the server, or else the database, the first time.
    pub(crate) async fn known(&self, thread: &ThreadId) -> Result<Arc<Known>, ReachError> {
        if let Some(known) = lock(&self.known).get(thread) {
            return Ok(Arc::clone(known));
        }
        let route = Route::get(["session", thread.as_str()]);
        let raw = match self.http.get(&route).await {
            Ok(answer) => RawValue::from_string(answer.body).map_err(|error| {
                ReachError::Protocol { place: route.place(), why: error.to_string() }
            })?,
            Err(error) => {
                let error = error.into_reach();
                let key = thread.clone();
                let stored = self.instead(error, move |database| database.session(&key)).await?;
                stored.ok_or_else(|| ReachError::NotFound { place: route.place() })?
            }
        };
        let known = Known::decode(&route.place(), &raw)?;
        if known.row.thread != *thread {
            let why = format!("it answers with session {}", known.row.thread);
            return Err(ReachError::Protocol { place: route.place(), why });
        }
        Ok(self.remember(known))
    }

    /// Decodes a session that was given, and remembers it.
    pub(crate) fn learn(&self, place: &Place, raw: &RawValue) -> Result<ThreadInfo, ReachError> {
        let known = self.remember(Known::decode(place, raw)?);
        Ok(self.info(&known.row))
    }

    fn remember(&self, known: Known) -> Arc<Known> {
        let known = Arc::new(known);
        let mut map = lock(&self.known);
        if map.len() >= KNOWN_MAX {
            map.clear();
        }
        map.insert(known.row.thread.clone(), Arc::clone(&known));
        known
    }

    /// Forgets a session that was deleted.
    pub(crate) fn forget(&self, thread: &ThreadId) {
        lock(&self.known).remove(thread);
    }

    /// Gives a session for callers; its title may hold anything.
    pub(crate) fn info(&self, row: &SessionRow) -> ThreadInfo {
        let title = row.title.as_deref();
        ThreadInfo {
            thread: row.thread.clone(),
            parent: row.parent.clone(),
            directory: row.directory.clone(),
            title: title.map(|title| self.http.redactor.redact(title).into()),
            created: row.created,
        }
    }

    /// Reads a list of sessions.
    pub(crate) async fn sessions(&self, route: &Route) -> Result<Vec<ThreadInfo>, ReachError> {
        let answer = self.http.get(route).await.map_err(GetError::into_reach)?;
        let place = route.place();
        let list: Vec<&RawValue> = serde_json::from_str(&answer.body).map_err(|error| {
            ReachError::Protocol { place: place.clone(), why: error.to_string() }
        })?;
        list.into_iter().map(|raw| self.learn(&place, raw)).collect()
    }

    /// Gives the sessions that a session started.
    pub(crate) async fn children(&self, thread: &ThreadId) -> Result<Vec<ThreadInfo>, ReachError> {
        let route = Route::get(["session", thread.as_str(), "children"]);
        match self.sessions(&route).await {
            Err(error) if error.is_transient() => {
                let key = thread.clone();
                let stored = self.instead(error, move |database| database.children(&key)).await?;
                stored.iter().map(|raw| self.learn(&route.place(), raw)).collect()
            }
            result => result,
        }
    }

    /// Reads the database in place of a server that failed for a reason that the database does not
    /// share; gives `error` when there is none.
    pub(crate) async fn instead<T: Send + 'static>(
        &self,
        error: ReachError,
        read: impl FnOnce(&Database) -> Result<T, ReachError> + Send + 'static,
    ) -> Result<T, ReachError> {
        match self.database.clone() {
            Some(path) if error.is_transient() => {
                tracing::warn!(%error, "reading the database instead");
                blocking(error, move || read(&Database::open(&path)?)).await
            }
            Some(_) | None => Err(error),
        }
    }

    /// Reads the database, where there is one.
    pub(crate) async fn stored<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Database) -> Result<T, ReachError> + Send + 'static,
    ) -> Option<Result<T, ReachError>> {
        let path = self.database.clone()?;
        let closed = ReachError::Closed { place: Place::new(path.display().to_string()) };
        Some(blocking(closed, move || read(&Database::open(&path)?)).await)
    }
}

/// Runs something that blocks; gives `closed` when the runtime is shut down under it.
async fn blocking<T: Send + 'static>(
    closed: ReachError,
    work: impl FnOnce() -> Result<T, ReachError> + Send + 'static,
) -> Result<T, ReachError> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(closed))
}

/// A map that a panicking thread left behind is still a map.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
