//! What time is it, by our own clock?

use std::time::SystemTime;

use receipts::UnixMillis;

/// Reads the clock; the one place of this crate that does.
#[expect(clippy::disallowed_methods, reason = "the shell is where the clock is read")]
pub(crate) fn now() -> UnixMillis {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    UnixMillis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
