//! What a long following takes does not grow with it.

use std::{
    fs,
    process::{Command, Stdio},
    sync::Arc,
};

use harness::{Harness, Scope};
use opencode_client::{Config, OpenCode as Client};
use receipts::{ExecId, FactBody, ThreadId};
use recorder::{Adopt, Depth, Follow, Following, Locks, Recorder, Told};
use store::Writer;
use store_sqlite::SqliteStore;
use testkit::{
    model::{Key, Reply, Usage},
    opencode::MODEL,
};

use crate::{
    desk::number,
    replay::{Replay, THREAD},
    rig::{Rig, request},
    server::Outcome,
};

/// Set in the process that is measured.
const MEASURED: &str = "TURNBOOK_TEST_MEASURED";
/// The caches of store, allocator and client are full after this part of the turns.
const WARM: u64 = 10;
const GROWTH_KIB_MAX: u64 = 8 * 1024;

/// The most memory that this process ever had resident, in KiB.
fn peak_kib() -> Outcome<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    Ok(line.and_then(|line| line.trim().strip_suffix(" kB")).ok_or("no VmHWM")?.trim().parse()?)
}

/// Runs a test of this binary alone in a process, and gives what it measured.
fn measured(test: &str) -> Outcome<u64> {
    let output = Command::new(std::env::current_exe()?)
        .args(["--exact", test, "--nocapture"])
        .env(MEASURED, "1")
        .stdin(Stdio::null())
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let growth =
        said.lines().find_map(|line| line.split_once("grew by ")).map(|(_, growth)| growth);
    let growth =
        growth.ok_or_else(|| format!("{said}\n{}", String::from_utf8_lossy(&output.stderr)));
    Ok(growth?.parse()?)
}

async fn ended(following: &mut Following, turn: &str) -> Outcome {
    loop {
        match following.next().await.ok_or("the following ended")? {
            Told::Recorded { facts, .. } => {
                let is_end = facts.iter().any(|fact| {
                    fact.turn.as_str() == turn && matches!(fact.body, FactBody::Completed(_))
                });
                if is_end {
                    return Ok(());
                }
            }
            Told::Unrecorded(error) => return Err(error.into()),
            Told::Unread { error, .. } => return Err(error.into()),
            Told::Turn { .. } | Told::Live(_) | Told::CaughtUp => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_does_not_grow_with_the_turns() -> Outcome {
    const NAME: &str = "memory::memory_does_not_grow_with_the_turns";
    if std::env::var_os(MEASURED).is_none() {
        let growth = measured(NAME)?;
        assert!(growth < GROWTH_KIB_MAX, "{growth} KiB");
        return Ok(());
    }
    let turns = number("TURNBOOK_MEMORY_TURNS", 800);
    let replay = Replay::start().await?;
    let folder = tempfile::tempdir()?;
    let writer = Writer::new(Arc::new(SqliteStore::open(&folder.path().join("ledger.sqlite"))?));
    let client: Arc<dyn Harness> = Arc::new(Client::attach(&Config::new(&replay.url)).await?.0);
    let limit = std::time::Duration::from_secs(10);
    let locks = Locks::new(folder.path().join("locks"), limit);
    let recorder = Recorder::new(writer.clone(), client, locks, ExecId::new("exec")?, limit);
    let scope = Scope::Thread(ThreadId::new(THREAD)?);
    let what = Follow { scope, adopt: Adopt::All, depth: Depth::Open };
    let mut following = recorder.follow(what).await?;
    while !matches!(following.next().await, Some(Told::CaughtUp)) {}
    let mut before = 0;
    for number in 0..turns {
        if number == turns / WARM {
            before = peak_kib()?;
        }
        let turn = replay.turn();
        ended(&mut following, &turn).await?;
    }
    println!("grew by {}", peak_kib()? - before);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_does_not_grow_over_turns_of_a_real_server() -> Outcome {
    const NAME: &str = "memory::memory_does_not_grow_over_turns_of_a_real_server";
    if std::env::var_os(MEASURED).is_none() {
        let growth = measured(NAME)?;
        assert!(growth < GROWTH_KIB_MAX, "{growth} KiB");
        return Ok(());
    }
    let turns = number("TURNBOOK_REAL_MEMORY_TURNS", 20);
    let rig = Rig::on_sqlite().await?;
    let mut seat = rig.seat("s").await?;
    let key = Key::new("again");
    let mut before = 0;
    for number in 0..turns {
        if number == turns / WARM {
            before = peak_kib()?;
        }
        rig.model.script(&key, [Reply::text("done").stop(Usage::of(100, 7))]);
        seat.drive.prompt(request(&format!("r{number}"), key.prompt("go on"), MODEL)?).await?;
        seat.ended().await?;
    }
    println!("grew by {}", peak_kib()? - before);
    Ok(())
}
