//! How does the event stream stay connected? Heartbeat deadline, backoff, and connecting again.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use harness::{Liveness, Place, ProcessIdentity, Provider, ReachError};
use opencode_wire::Event;
use reqwest::Response;
use tokio::{sync::mpsc, time::timeout};

use crate::{
    http::{Route, timed_out},
    server::Server,
    sse::SseParser,
};

/// The wait before the first attempt to connect again.
const BACKOFF_MIN: Duration = Duration::from_millis(250);

/// What the stream tells.
#[derive(Debug)]
pub(super) enum Frame {
    Connected(Provider),
    Event(Box<Event>),
    Unreadable { problem: String },
    Broken { why: String },
    Exited(ProcessIdentity),
}

/// An event stream, connected or to be connected again.
#[derive(Debug)]
pub(super) struct Stream {
    server: Arc<Server>,
    first: Option<Connection>,
    /// The process that was last connected to, until its end was told.
    process: Option<ProcessIdentity>,
}

#[derive(Debug)]
struct Connection {
    provider: Provider,
    response: Response,
}

/// Nobody takes frames any more.
struct Unheard;

impl Stream {
    /// Connects for the first time.
    pub(super) async fn open(server: Arc<Server>) -> Result<Self, ReachError> {
        let first = Some(connect(&server).await?);
        Ok(Self { server, first, process: None })
    }

    /// Reads until nobody takes frames any more.
    pub(super) async fn run(mut self, frames: mpsc::Sender<Frame>) {
        let mut backoff = BACKOFF_MIN;
        let mut is_told = false;
        loop {
            let connection = match self.first.take() {
                Some(connection) => Ok(connection),
                None => connect(&self.server).await,
            };
            let error = match connection {
                Ok(connection) => {
                    backoff = BACKOFF_MIN;
                    is_told = false;
                    self.process = connection.provider.process;
                    match self.pump(connection, &frames).await {
                        Ok(error) => error,
                        Err(Unheard) => return,
                    }
                }
                Err(error) => error,
            };
            // One report for each break, not for each vain attempt.
            if !std::mem::replace(&mut is_told, true)
                && frames.send(Frame::Broken { why: error.to_string() }).await.is_err()
            {
                return;
            }
            if let Some(process) = self.process
                && process.liveness() == Liveness::Dead
            {
                self.process = None;
                if frames.send(Frame::Exited(process)).await.is_err() {
                    return;
                }
            }
            tokio::select! {
                () = tokio::time::sleep(backoff) => {}
                () = frames.closed() => return,
            }
            backoff = (backoff * 2).min(self.server.http.limits.backoff_max);
        }
    }

    /// Hands events on until the stream breaks; gives why.
    async fn pump(
        &self,
        connection: Connection,
        frames: &mpsc::Sender<Frame>,
    ) -> Result<ReachError, Unheard> {
        let limits = &self.server.http.limits;
        let place = route().place();
        let mut parser = SseParser::new(limits.event_bytes_max);
        let mut bytes = connection.response.bytes_stream();
        let mut events = Vec::new();
        let mut provider = Some(connection.provider);
        loop {
            let piece = match timeout(limits.heartbeat, bytes.next()).await {
                Ok(Some(Ok(piece))) => piece,
                Ok(Some(Err(error))) => return Ok(self.server.http.unreachable(&place, &error)),
                Ok(None) => return Ok(ended(place)),
                Err(_) => return Ok(timed_out(&place, limits.heartbeat)),
            };
            if let Err(error) = parser.feed(&piece, &mut events) {
                return Ok(ReachError::Protocol { place, why: error.to_string() });
            }
            for event in events.drain(..) {
                let frame = match Event::decode(&event.data) {
                    Ok(Event::Connected) => match provider.take() {
                        Some(provider) => Frame::Connected(provider),
                        None => continue,
                    },
                    Ok(Event::Heartbeat) => continue,
                    Ok(event) => Frame::Event(Box::new(event)),
                    Err(error) => Frame::Unreadable { problem: error.to_string() },
                };
                frames.send(frame).await.map_err(|_closed| Unheard)?;
            }
        }
    }
}

fn route() -> Route {
    Route::get(["global", "event"])
}

fn ended(place: Place) -> ReachError {
    ReachError::Unreachable { place, why: "the server ended the stream".to_owned() }
}

/// Subscribes first and then asks who it is, so that no restart in between goes unseen.
async fn connect(server: &Server) -> Result<Connection, ReachError> {
    let response = server.http.open_stream(&route()).await?;
    let provider = server.probe().await?;
    Ok(Connection { provider, response })
}
