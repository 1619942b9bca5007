//! A loopback server that answers as it is told, down to the byte, and keeps what it was sent.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use opencode_client::{Config, Credentials, Limits, OpenCode};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// One request as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// Method and path with query.
    pub(crate) line: String,
    /// The body, as far as it came.
    pub(crate) body: String,
    /// Whether all of the body came.
    pub(crate) whole: Whole,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whole {
    Yes,
    No,
}

/// How a request is answered.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// With a status, headers and a body.
    Answer(u16, String, String),
    /// Not at all; the connection stays open.
    Silence,
    /// The connection is closed.
    Close,
    /// With these bytes of an event stream; the connection stays open.
    Stream(String),
    /// The same, and then the connection is closed.
    StreamThenClose(String),
}

impl Reply {
    pub(crate) fn json(body: &str) -> Self {
        Self::Answer(200, "content-type: application/json\r\n".to_owned(), body.to_owned())
    }

    pub(crate) fn status(status: u16, body: &str) -> Self {
        Self::Answer(status, String::new(), body.to_owned())
    }
}

type Script = dyn Fn(&Request, usize) -> Reply + Send + Sync;

struct Shared {
    script: Box<Script>,
    requests: Mutex<Vec<Request>>,
}

/// The server; dropping it closes everything.
pub(crate) struct Scripted {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Scripted {
    /// Answers each request as `script` says; it is also told how many came before.
    pub(crate) async fn start(
        script: impl Fn(&Request, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared { script: Box::new(script), requests: Mutex::default() });
        let held = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(serve(connection, Arc::clone(&held)));
            }
        });
        Self { address, shared, task }
    }

    /// A client of it with short waits.
    pub(crate) fn client(&self) -> OpenCode {
        OpenCode::new(&self.config()).unwrap()
    }

    pub(crate) fn config(&self) -> Config {
        let mut config = Config::new(&format!("http://{}", self.address))
            .credentials(Credentials::password("sesame-open"));
        config.limits = Limits {
            read: Duration::from_millis(300),
            dispatch: Duration::from_millis(500),
            heartbeat: Duration::from_millis(300),
            ..Limits::default()
        };
        config
    }

    /// What has arrived so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap().clone()
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut connection: TcpStream, shared: Arc<Shared>) {
    let mut buffer = Vec::new();
    while let Some(request) = receive(&mut connection, &mut buffer).await {
        let is_whole = request.whole == Whole::Yes;
        let before = {
            let mut requests = shared.requests.lock().unwrap();
            requests.push(request.clone());
            requests.len() - 1
        };
        if !is_whole {
            return;
        }
        match (shared.script)(&request, before) {
            Reply::Answer(status, headers, body) => {
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\n\r\n{body}"
                );
                if connection.write_all(answer.as_bytes()).await.is_err() {
                    return;
                }
            }
            Reply::Silence => hold(&mut connection).await,
            Reply::Close => return,
            Reply::Stream(events) => {
                stream(&mut connection, &events).await;
                hold(&mut connection).await;
            }
            Reply::StreamThenClose(events) => {
                stream(&mut connection, &events).await;
                return;
            }
        }
    }
}

async fn stream(connection: &mut TcpStream, events: &str) {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let _gone = connection.write_all(format!("{head}{events}").as_bytes()).await;
}

/// Waits until the other side closes.
async fn hold(connection: &mut TcpStream) {
    let mut byte = [0];
    while matches!(connection.read(&mut byte).await, Ok(1..)) {}
}

/// Reads one request; `None` when the connection ends between two.
async fn receive(connection: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Request> {
    let head_end = loop {
        if let Some(at) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if more(connection, buffer).await == 0 {
            return None;
        }
    };
    let head = String::from_utf8(buffer.drain(..head_end).collect()).unwrap();
    let mut lines = head.lines();
    let line = lines.next()?.trim_end_matches(" HTTP/1.1").to_owned();
    let length = lines
        .filter_map(|line| line.split_once(": "))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .map_or(0, |(_, value)| value.parse::<usize>().unwrap());
    while buffer.len() < length {
        if more(connection, buffer).await == 0 {
            break;
        }
    }
    let whole = if buffer.len() < length { Whole::No } else { Whole::Yes };
    let body = buffer.drain(..length.min(buffer.len())).collect();
    Some(Request { line, body: String::from_utf8(body).unwrap(), whole })
}

async fn more(connection: &mut TcpStream, buffer: &mut Vec<u8>) -> usize {
    let mut piece = [0; 4096];
    let count = connection.read(&mut piece).await.unwrap_or(0);
    buffer.extend_from_slice(&piece[..count]);
    count
}
