//! What one further turn costs does not grow with the history (ledger.md 7, case 12).

use std::{fmt::Write as _, process::Stdio};

use receipts::Status;
use testkit::{
    agents,
    model::{Key, Reply, Usage},
    opencode::MODEL,
};

use crate::{
    proxy::Proxy,
    rig::{Rig, request},
    server::Outcome,
};

/// How many messages the history has.
const MESSAGES: u32 = 5_000;
/// More than one turn asks for, and far less than the pages of the history.
const REQUESTS_MAX: u64 = 60;
/// More than one turn and one page of the history, and far less than the history.
const BYTES_MAX: u64 = 1_500_000;

/// A session with a long history, in the form that `opencode import` takes.
fn exported(session: &str, directory: &str) -> Outcome<String> {
    let start = 1_790_000_000_000_u64;
    let mut text = format!(
        r#"{{"info":{{"id":"{session}","slug":"long","version":"1.18.33","projectID":"global","directory":"{directory}","title":"long","time":{{"created":{start},"updated":{start}}}}},"messages":["#
    );
    let filler = "words of an answer ".repeat(40);
    for at in 0..MESSAGES / 2 {
        let (prompt, answer) = (format!("msg_long{at:05}a"), format!("msg_long{at:05}b"));
        let created = start + u64::from(at) * 1000;
        let comma = if at == 0 { "" } else { "," };
        write!(
            text,
            r#"{comma}{{"info":{{"id":"{prompt}","sessionID":"{session}","role":"user","time":{{"created":{created}}},"agent":"build","model":{{"providerID":"scripted","modelID":"{MODEL}"}}}},"parts":[{{"id":"prt_{at:05}a","messageID":"{prompt}","sessionID":"{session}","type":"text","text":"go on"}}]}},"#
        )?;
        let (begun, ended) = (created + 100, created + 500);
        write!(
            text,
            r#"{{"info":{{"id":"{answer}","sessionID":"{session}","role":"assistant","parentID":"{prompt}","mode":"build","agent":"build","modelID":"{MODEL}","providerID":"scripted","path":{{"cwd":"{directory}","root":"{directory}"}},"cost":0,"tokens":{{"total":107,"input":100,"output":7,"reasoning":0,"cache":{{"read":0,"write":0}}}},"time":{{"created":{begun},"completed":{ended}}},"finish":"stop"}},"parts":[{{"id":"prt_{at:05}b","messageID":"{answer}","sessionID":"{session}","type":"step-start"}},{{"id":"prt_{at:05}c","messageID":"{answer}","sessionID":"{session}","type":"text","text":"{filler}"}},{{"id":"prt_{at:05}d","messageID":"{answer}","sessionID":"{session}","type":"step-finish","reason":"stop","cost":0,"tokens":{{"total":107,"input":100,"output":7,"reasoning":0,"cache":{{"read":0,"write":0}}}}}}]}}"#
        )?;
    }
    text.push_str("]}");
    Ok(text)
}

#[tokio::test(flavor = "multi_thread")]
async fn one_turn_in_a_long_session_costs_a_bounded_number_of_requests_and_bytes() -> Outcome {
    let rig = Rig::on_sqlite().await?;
    let session = "ses_long0000000000000000000000";
    let directory = rig.home.project().display().to_string();
    let file = rig.home.project().with_file_name("long.json");
    std::fs::write(&file, exported(session, &directory)?)?;
    let imported = rig
        .home
        .command(&agents::opencode()?.path)
        .args(["import".as_ref(), file.as_os_str()])
        .stdin(Stdio::null())
        .output()?;
    let said = String::from_utf8_lossy(&imported.stderr).into_owned();
    assert!(imported.status.success(), "{said}");

    let address = rig.server.url().trim_start_matches("http://").to_owned();
    let proxy = Proxy::start(address).await?;
    let recorder = rig.reached_at(&proxy.url, "exec-2").await?;
    let id = rig.adopt(session)?;
    let before = proxy.passed();
    let mut seat = rig.sit(&recorder, id).await?;
    let key = Key::new("further");
    rig.model.script(&key, [Reply::text("done").stop(Usage::of(100, 7))]);
    seat.drive.prompt(request("r", key.prompt("one more"), MODEL)?).await?;
    seat.ended().await?;
    seat.following.stop().await;
    let after = proxy.passed();
    let (requests, bytes) = (after.0 - before.0, after.1 - before.1);
    assert!(requests <= REQUESTS_MAX, "{requests} requests, {bytes} bytes");
    assert!(bytes <= BYTES_MAX, "{requests} requests, {bytes} bytes");
    let turns = rig.turns(&seat.session)?;
    let last = turns.last().ok_or("the turn is recorded")?;
    assert_eq!((last.status, last.request.is_some()), (Status::Completed, true));
    Ok(())
}
