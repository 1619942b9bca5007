//! A server that replays turns without end, and keeps none of them.

use std::{io, sync::Arc};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
};

/// The one conversation.
pub(crate) const THREAD: &str = "ses_replayed";
const START_MS: u64 = 1_790_000_000_000;
const PAGE_MAX: u64 = 200;

/// A server as OpenCode's; it runs as long as the runtime.
#[derive(Debug)]
pub(crate) struct Replay {
    pub(crate) url: String,
    turns: Arc<watch::Sender<u64>>,
}

impl Replay {
    pub(crate) async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let turns = Arc::new(watch::Sender::new(0));
        let shared = Arc::clone(&turns);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(serve(client, Arc::clone(&shared)));
            }
        });
        Ok(Self { url, turns })
    }

    /// Lets one more turn happen, and gives its id.
    pub(crate) fn turn(&self) -> String {
        self.turns.send_modify(|turns| *turns += 1);
        prompt_id(*self.turns.borrow() - 1)
    }
}

fn prompt_id(turn: u64) -> String {
    format!("msg_{turn:08}a")
}

fn answer_id(turn: u64) -> String {
    format!("msg_{turn:08}b")
}

fn prompt_info(turn: u64) -> String {
    let created = START_MS + turn * 1000;
    format!(
        r#"{{"id":"{}","sessionID":"{THREAD}","role":"user","time":{{"created":{created}}},"agent":"build"}}"#,
        prompt_id(turn)
    )
}

fn answer_info(turn: u64) -> String {
    let (created, completed) = (START_MS + turn * 1000 + 100, START_MS + turn * 1000 + 500);
    format!(
        r#"{{"id":"{}","sessionID":"{THREAD}","role":"assistant","parentID":"{}","modelID":"m1","providerID":"replayed","time":{{"created":{created},"completed":{completed}}},"finish":"stop","cost":0,"tokens":{{"total":107,"input":100,"output":7,"reasoning":0,"cache":{{"read":0,"write":0}}}}}}"#,
        answer_id(turn),
        prompt_id(turn)
    )
}

fn prompt(turn: u64) -> String {
    let info = prompt_info(turn);
    format!(r#"{{"info":{info},"parts":[{{"id":"prt_{turn}a","type":"text","text":"go on"}}]}}"#)
}

fn answer(turn: u64) -> String {
    let (info, text) = (answer_info(turn), "words of an answer ".repeat(100));
    format!(
        r#"{{"info":{info},"parts":[{{"id":"prt_{turn}b","type":"step-start"}},{{"id":"prt_{turn}c","type":"text","text":"{text}"}},{{"id":"prt_{turn}d","type":"step-finish","reason":"stop","cost":0,"tokens":{{"total":107,"input":100,"output":7,"reasoning":0,"cache":{{"read":0,"write":0}}}}}}]}}"#
    )
}

/// The newest messages, at most `limit`, the oldest first.
fn page(turns: u64, limit: u64) -> String {
    let all = (0..turns).rev().flat_map(|turn| [answer(turn), prompt(turn)]);
    let mut newest: Vec<String> = all.take(usize::try_from(limit).unwrap_or(0)).collect();
    newest.reverse();
    format!("[{}]", newest.join(","))
}

fn event(kind: &str, properties: &str) -> String {
    format!(
        "data: {{\"directory\":\"/repo\",\"payload\":{{\"type\":\"{kind}\",\"properties\":{properties}}}}}\n\n"
    )
}

fn events(turn: u64) -> String {
    let session = format!(r#""sessionID":"{THREAD}""#);
    let updated =
        |info: String| event("message.updated", &format!(r#"{{{session},"info":{info}}}"#));
    let status = |status: &str| {
        event("session.status", &format!(r#"{{{session},"status":{{"type":"{status}"}}}}"#))
    };
    [
        updated(prompt_info(turn)),
        status("busy"),
        updated(answer_info(turn)),
        status("idle"),
        event("session.idle", &format!("{{{session}}}")),
    ]
    .concat()
}

async fn serve(mut client: TcpStream, turns: Arc<watch::Sender<u64>>) -> io::Result<()> {
    let mut head = Vec::new();
    let mut buffer = [0; 4096];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match client.read(&mut buffer).await? {
            0 => return Ok(()),
            read => head.extend(&buffer[..read]),
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    if path.starts_with("/global/event") {
        return stream(client, turns.subscribe()).await;
    }
    let body = body(&path, *turns.borrow());
    let status = if body.is_some() { "200 OK" } else { "404 Not Found" };
    let body = body.unwrap_or_else(|| r#"{"name":"NotFoundError"}"#.to_owned());
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    client.write_all(head.as_bytes()).await?;
    client.write_all(body.as_bytes()).await
}

fn body(path: &str, turns: u64) -> Option<String> {
    let (route, query) = path.split_once('?').unwrap_or((path, ""));
    let row = format!(
        r#"{{"id":"{THREAD}","directory":"/repo","title":"replayed","version":"1.18.33","time":{{"created":{START_MS}}}}}"#
    );
    let own = route.strip_prefix("/session/").and_then(|rest| rest.strip_prefix(THREAD));
    match (route, own) {
        ("/global/health", _) => Some(r#"{"healthy":true,"version":"1.18.33"}"#.to_owned()),
        ("/session/status", _) => Some("{}".to_owned()),
        ("/session", _) => Some(format!("[{row}]")),
        (_, Some("")) => Some(row),
        (_, Some("/children")) => Some("[]".to_owned()),
        (_, Some("/message")) => {
            let limit = query.split('&').find_map(|pair| pair.strip_prefix("limit="));
            Some(page(turns, limit.and_then(|limit| limit.parse().ok()).unwrap_or(PAGE_MAX)))
        }
        (_, Some(rest)) => {
            let id = rest.strip_prefix("/message/msg_")?;
            let turn: u64 = id.get(..8)?.parse().ok()?;
            Some(if id.ends_with('a') { prompt(turn) } else { answer(turn) })
        }
        _ => None,
    }
}

async fn stream(mut client: TcpStream, mut turns: watch::Receiver<u64>) -> io::Result<()> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    client.write_all(head.as_bytes()).await?;
    client.write_all(event("server.connected", "{}").as_bytes()).await?;
    let mut told = *turns.borrow_and_update();
    while turns.changed().await.is_ok() {
        let now = *turns.borrow_and_update();
        for turn in told..now {
            client.write_all(events(turn).as_bytes()).await?;
        }
        told = now;
    }
    Ok(())
}
