//! A proxy that counts what passes.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
};

/// How a request line ends.
const REQUEST: &[u8] = b" HTTP/1.1\r\n";

/// What has passed.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    requests: AtomicU64,
    bytes: AtomicU64,
}

/// A proxy to one server; it runs as long as the runtime.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) url: String,
    counts: Arc<Counts>,
}

impl Proxy {
    /// Starts on a free port, in front of the server at `upstream`, such as `127.0.0.1:4096`.
    pub(crate) async fn start(upstream: String) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let counts = Arc::new(Counts::default());
        let shared = Arc::clone(&counts);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass(client, upstream.clone(), Arc::clone(&shared)));
            }
        });
        Ok(Self { url, counts })
    }

    /// How many requests and bytes, in both directions, have passed.
    pub(crate) fn passed(&self) -> (u64, u64) {
        let counts = &self.counts;
        (counts.requests.load(Ordering::Relaxed), counts.bytes.load(Ordering::Relaxed))
    }
}

async fn pass(client: TcpStream, upstream: String, counts: Arc<Counts>) {
    let Ok(server) = TcpStream::connect(upstream).await else { return };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let answers = tokio::spawn(copy(from_server, to_client, Arc::clone(&counts), None));
    copy(from_client, to_server, counts, Some(REQUEST)).await;
    answers.abort();
}

async fn copy(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    counts: Arc<Counts>,
    mark: Option<&[u8]>,
) {
    let mut buffer = vec![0; 64 * 1024];
    // A mark may be cut by the end of a read.
    let mut tail: Vec<u8> = Vec::new();
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        let piece = &buffer[..read];
        counts.bytes.fetch_add(read as u64, Ordering::Relaxed);
        if let Some(mark) = mark {
            tail.extend(piece);
            let found = tail.windows(mark.len()).filter(|window| *window == mark).count();
            counts.requests.fetch_add(found as u64, Ordering::Relaxed);
            let kept = tail.len().saturating_sub(mark.len() - 1);
            tail.drain(..kept);
        }
        if to.write_all(piece).await.is_err() {
            return;
        }
    }
}
