//! Is a provider that was reached the one that the ledger knows, and does that one still run?

use harness::{Liveness, ProcessIdentity, Provider};
use store::Driver;

/// Says what is known of the process behind a driver's provider.
#[must_use]
pub fn liveness(driver: &Driver) -> Liveness {
    driver.process.map_or(Liveness::Unknown, |process| {
        ProcessIdentity { pid: process.pid, start_time: process.start_time }.liveness()
    })
}

/// Tells whether a driver's provider is the one that was reached: the same process, or none that
/// can be told on both sides, at the same place.
#[must_use]
pub fn is_provider(driver: &Driver, reached: &Provider) -> bool {
    let endpoint = driver.endpoint.as_ref().map(store::Endpoint::as_str);
    driver.process == reached.process.map(stored) && endpoint == Some(&*reached.endpoint)
}

/// Gives a process as the ledger keeps it.
pub(crate) fn stored(process: ProcessIdentity) -> store::ProcessIdentity {
    store::ProcessIdentity { pid: process.pid, start_time: process.start_time }
}
