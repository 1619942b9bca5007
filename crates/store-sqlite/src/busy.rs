//! How is a lock of another process waited for?
//!
//! SQLite's own handler backs off up to 100 ms, so that a process which writes all the time starves
//! the others for seconds. Here everybody waits for the same short time, with jitter.

use std::{
    cell::Cell,
    hash::{BuildHasher as _, Hasher as _, RandomState},
    time::Duration,
};

/// The shortest wait.
const LEAST: Duration = Duration::from_micros(300);
/// What a random part of is added to it.
const JITTER_US: u64 = 700;
/// After how many waits the lock is given up: about ten seconds.
const WAITS_MAX: i32 = 15_000;

thread_local! {
    static RANDOM: Cell<u64> = Cell::new(RandomState::new().build_hasher().finish() | 1);
}

/// Waits once; gives `false` when it was waited long enough. `waits` counts those before.
#[expect(clippy::disallowed_methods, reason = "the engine asks for the wait and blocks by design")]
pub(crate) fn wait(waits: i32) -> bool {
    if waits >= WAITS_MAX {
        return false;
    }
    let jitter = RANDOM.with(|random| {
        // xorshift64: only to keep two waiters from meeting in step.
        let mut state = random.get();
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        random.set(state);
        state % JITTER_US
    });
    std::thread::sleep(LEAST + Duration::from_micros(jitter));
    true
}

/// Runs what answers "busy" without asking the handler, until it does not.
pub(crate) fn retry<T>(mut work: impl FnMut() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    let mut waits = 0;
    loop {
        match work() {
            Err(error)
                if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
                    && wait(waits) =>
            {
                waits += 1;
            }
            result => return result,
        }
    }
}
