//! How many appends are acknowledged in a second, beside the bare engine writing the same rows?
//!
//! Both sides write to the same schema with the same durability, in turn within one run, so that
//! whatever else the machine does meets both. The bare side has the rows ready and asks nothing:
//! no rule, no checksum, no name. `alone` is to be at least 0.8 of it, `64 callers` at least 0.7 of
//! the bare engine committing the same 64 operations in one transaction.
//! What is read is only timed: there is nothing to hold it against.

mod bare;
mod read;
mod work;

use std::{
    sync::{Arc, Barrier},
    time::{Duration, Instant},
};

use store::Writer;
use store_sqlite::SqliteStore;
use tempfile::TempDir;

use bare::{Bare, Script};
use work::Work;

/// How often both sides are measured; the medians are compared.
const ROUNDS: usize = 15;
const CALLERS: usize = 64;
/// How many appends of a caller are measured at once.
const EACH: usize = 16;
const ALONE: usize = 256;

#[expect(clippy::print_stdout, reason = "a bench prints what it found")]
fn main() {
    let cases = [
        ("alone", 1, ALONE, Callers::Threads),
        ("64 callers", CALLERS, EACH, Callers::Threads),
        ("64 appends in one work", CALLERS, EACH, Callers::OneWork),
    ];
    for (name, callers, each, kind) in cases {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let works: Vec<Work> = (0..callers).map(|caller| Work::new(caller, each)).collect();
        let script = Script::record(&open(&folder, "scratch"), &works);
        let (mut ours, mut bare): (Vec<_>, Vec<_>) =
            (0..ROUNDS).map(|_| round(&works, &script, kind)).unzip();
        ours.sort_unstable();
        bare.sort_unstable();
        let appends = callers * each;
        let rate = |times: &[Duration]| {
            let median = times.get(ROUNDS / 2).expect("there was a round").as_secs_f64();
            f64::from(u32::try_from(appends).expect("they are few")) / median
        };
        let (ours, bare) = (rate(&ours), rate(&bare));
        println!("{name}: ours {ours:.0}/s, bare {bare:.0}/s, ratio {:.2}", ours / bare);
    }
    let folder = tempfile::tempdir().expect("there is room for a folder");
    for (name, time) in read::measure(&open(&folder, "read")) {
        println!("{name} of 10,000 turns: {} ms", time.as_millis());
    }
}

/// Measures both sides once, each on a file of its own.
fn round(works: &[Work], script: &Script, callers: Callers) -> (Duration, Duration) {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let mut bare = Bare::new(open(&folder, "bare"), script);
    let ours = Writer::new(Arc::new(open(&folder, "ours")));
    works.iter().for_each(|work| work.prepare(&ours));
    let bare = timed(|| bare.commit(script, works.len()));
    let ours = match (works, callers) {
        ([work], _) => timed(|| work.append_all(&ours)),
        (_, Callers::Threads) => together(&ours, works),
        (_, Callers::OneWork) => timed(|| in_one_work(&ours, works)),
    };
    (ours, bare)
}

fn open(folder: &TempDir, name: &str) -> SqliteStore {
    SqliteStore::open(&folder.path().join(name)).expect("it opens")
}

/// Who appends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Callers {
    /// Each caller in a thread of its own, which waits for its acknowledgement.
    Threads,
    /// One caller all of it: what the rules and rows cost, without any hand-over of threads.
    OneWork,
}

fn in_one_work(writer: &Writer, works: &[Work]) {
    let each = works.first().map_or(0, |work| work.facts.len());
    for number in 0..each {
        let works = works.to_vec();
        let appended = writer
            .update(move |ledger| works.iter().try_for_each(|work| work.append(ledger, number)));
        appended.expect("they are appended");
    }
}

/// Lets every caller append in a thread of its own.
fn together(writer: &Writer, works: &[Work]) -> Duration {
    let start = Barrier::new(works.len() + 1);
    std::thread::scope(|scope| {
        let threads: Vec<_> = works
            .iter()
            .map(|work| {
                let (start, writer) = (&start, writer.clone());
                scope.spawn(move || {
                    start.wait();
                    work.append_all(&writer);
                })
            })
            .collect();
        start.wait();
        timed(|| threads.into_iter().for_each(|thread| thread.join().expect("it ends")))
    })
}

#[expect(clippy::disallowed_methods, reason = "a bench measures time")]
fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}
