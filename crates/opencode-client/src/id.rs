//! Which ids and passwords do we mint?
//!
//! Source: opencode-ai 1.18.33 takes any message id that begins with `msg` and mints its own as
//! `msg_`, 12 hex digits of `(ms * 4096 + counter) mod 2^48` and 14 base-62 characters. Builds up
//! to 1.18.15 order by id. Ours have the same rising digits, above every id seen in the thread, and
//! 24 random characters: 142 bits, and never taken for one that the server minted.

use receipts::{MessageId, UnixMillis};

const PREFIX: &str = "msg_";
const HEX_DIGITS: usize = 12;
const RANDOM_DIGITS: usize = 24;
const DIGITS: [u8; 62] = *b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// The values that the rising digits can take.
const RANGE: u64 = 1 << 48;

/// Mints an id for a message that is sent about `now`, greater than `above` as a text.
pub(crate) fn mint(now: UnixMillis, above: Option<&MessageId>) -> MessageId {
    let wrapped = now.0.wrapping_mul(4096).rem_euclid(1 << 48);
    let time = u64::try_from(wrapped).unwrap_or(0);
    let rising = match above.and_then(rising_digits) {
        // At the very top there is nothing above: the digits have just wrapped, or an id was made
        // up, and the newest build does not order by id.
        Some(seen) if seen >= time && seen + 1 < RANGE => seen + 1,
        Some(_) | None => time,
    };
    let id = format!("{PREFIX}{rising:0HEX_DIGITS$x}{}", random_text(RANDOM_DIGITS));
    MessageId::new(id).expect("a short text without NUL is an id")
}

/// Makes a password for a server of our own: 24 characters, 142 bits.
pub(crate) fn password() -> String {
    random_text(RANDOM_DIGITS)
}

fn rising_digits(id: &MessageId) -> Option<u64> {
    let hex = id.as_str().strip_prefix(PREFIX)?.get(..HEX_DIGITS)?;
    u64::from_str_radix(hex, 16).ok()
}

fn random_text(length: usize) -> String {
    let mut text = String::with_capacity(length);
    let mut bytes = [0_u8; 32];
    while text.len() < length {
        getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
        // 62 of 64 values are taken, so that every character is equally likely.
        let letters = bytes.iter().filter_map(|byte| DIGITS.get(usize::from(byte & 63)));
        text.extend(letters.take(length - text.len()).map(|letter| char::from(*letter)));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use opencode_wire::minted_at;
    use receipts::{MessageId, UnixMillis};

    use super::{mint, password};

    const NOW: UnixMillis = UnixMillis(1_796_071_901_522);

    #[test]
    fn ids_rise_and_are_never_taken_for_the_servers() {
        let first = mint(NOW, None);
        assert!(first.as_str().starts_with("msg_22e3a4952000"), "{first}");
        let server = MessageId::new("msg_22e3a49520018bHGn0Yhu0Xa4l").unwrap();
        let second = mint(NOW, Some(&server));
        assert!(second > server, "{second}");
        assert!(mint(NOW, Some(&second)) > second);
        assert_eq!(minted_at(second.as_str(), NOW), None);
    }

    #[test]
    fn an_id_at_the_top_or_of_another_form_raises_nothing() {
        for above in ["msg_ffffffffffff", "msg", "msg_ünï", "other"] {
            let above = MessageId::new(above).unwrap();
            let id = mint(NOW, Some(&above));
            assert!(id.as_str().starts_with("msg_22e3a4952000"), "{id}");
        }
    }

    #[test]
    fn nothing_is_minted_twice() {
        let ids: BTreeSet<_> = (0..1000).map(|_| mint(NOW, None)).collect();
        assert_eq!(ids.len(), 1000);
        assert_eq!((password().len(), password() == password()), (24, false));
    }
}
