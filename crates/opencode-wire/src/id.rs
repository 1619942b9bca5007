//! When did the server mint an id? The one thing that is read from an id, to tell fork copies.
//!
//! Source: `opencode-ai` 1.18.33: `msg_`, 12 hex digits of `(ms * 4096 + counter) mod 2^48`, 14
//! base-62 characters. The digits wrap every 2^36 ms, so a time is read near a known one. Ids are
//! never ordered or paged by.

use receipts::UnixMillis;

const PREFIX: &str = "msg_";
const HEX_DIGITS: usize = 12;
const RANDOM_DIGITS: usize = 14;
/// The period of the time in an id, in milliseconds.
const PERIOD_MS: i64 = 1 << 36;

/// Gives the time in a server-minted message id: the one nearest to `near`.
///
/// `None` for ids that the server did not mint.
#[must_use]
pub fn minted_at(id: &str, near: UnixMillis) -> Option<UnixMillis> {
    let digits = id.strip_prefix(PREFIX)?;
    if digits.len() != HEX_DIGITS + RANDOM_DIGITS || !digits.is_ascii() {
        return None;
    }
    let (hex, random) = digits.split_at(HEX_DIGITS);
    let is_hex = hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !is_hex || !random.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let within = i64::from_str_radix(hex, 16).ok()? >> 12;
    let base = near.0.checked_sub(near.0.rem_euclid(PERIOD_MS))?;
    [-PERIOD_MS, 0, PERIOD_MS]
        .into_iter()
        .filter_map(|shift| base.checked_add(shift)?.checked_add(within))
        .min_by_key(|time| time.abs_diff(near.0))
        .map(UnixMillis)
}

#[cfg(test)]
mod tests {
    use receipts::UnixMillis;

    use super::minted_at;

    /// Measured: the id of a message that was created at this very time.
    #[test]
    fn the_time_is_read_across_the_wrap() {
        let created = UnixMillis(1_796_071_901_522);
        let minted = minted_at("msg_22e3a49520018bHGn0Yhu0Xa4l", created);
        assert_eq!(minted, Some(created));
        let long_before = UnixMillis(created.0 - (1 << 35) + 5_000);
        assert_eq!(minted_at("msg_22e3a49520018bHGn0Yhu0Xa4l", long_before), Some(created));
        assert_eq!(minted_at("msg_client_first_0000000001", created), None);
        assert_eq!(minted_at("msg", created), None);
    }
}
