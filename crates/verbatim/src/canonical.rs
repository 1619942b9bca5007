//! When do two JSON texts say the same? When their canonical forms are equal.

use std::{borrow::Cow, collections::BTreeMap};

use serde_json::value::RawValue;

/// How deep a value may be nested to be put in canonical form.
const DEPTH_MAX: usize = 128;

/// Gives the form of a JSON value that depends neither on key order nor on white space nor on how
/// characters are escaped; numbers keep their text.
///
/// A value that is nested deeper than 128, or cannot be decoded, is given as it is.
#[must_use]
pub fn canonical(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    match write(raw, &mut out, 0) {
        Some(()) => out,
        None => raw.trim().to_owned(),
    }
}

fn write(raw: &str, out: &mut String, depth: usize) -> Option<()> {
    let raw = raw.trim();
    if depth > DEPTH_MAX {
        return None;
    }
    match raw.as_bytes().first()? {
        b'{' => {
            let fields: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_str(raw).ok()?;
            out.push('{');
            for (at, (name, value)) in fields.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                out.push_str(&serde_json::to_string(&name).ok()?);
                out.push(':');
                write(value.get(), out, depth + 1)?;
            }
            out.push('}');
        }
        b'[' => {
            let items: Vec<&RawValue> = serde_json::from_str(raw).ok()?;
            out.push('[');
            for (at, value) in items.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(value.get(), out, depth + 1)?;
            }
            out.push(']');
        }
        b'"' => {
            let text: Cow<'_, str> = serde_json::from_str(raw).ok()?;
            out.push_str(&serde_json::to_string(&text).ok()?);
        }
        _ => out.push_str(raw),
    }
    Some(())
}

/// Gives a 64-bit digest of a sequence of texts, the same in every build and on every machine.
///
/// It tells likely equal from different; it is no protection against a forger.
pub fn digest<'a>(texts: impl IntoIterator<Item = &'a str>) -> u64 {
    const SEED: u64 = 0xcbf2_9ce4_8422_2325;
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(FACTOR).rotate_left(29);
    let mut hash = SEED;
    for text in texts {
        let (words, rest) = text.as_bytes().as_chunks::<8>();
        for word in words {
            hash = mix(hash, u64::from_le_bytes(*word));
        }
        for byte in rest {
            hash = mix(hash, u64::from(*byte));
        }
        // No byte of a text is as large, so that the end of each text counts.
        hash = mix(hash, 0x100 | u64::try_from(text.len()).unwrap_or(u64::MAX) << 9);
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn order_space_and_escapes_do_not_matter() {
        let found = canonical(" { \"b\" : [ 1.50 , null ], \"a\":\"\\u0041\\/\" } ");
        assert_eq!(found, r#"{"a":"A/","b":[1.50,null]}"#);
    }

    #[test]
    fn what_is_nested_too_deep_is_kept_as_it_is() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert_eq!(canonical(&deep), deep);
    }
}
