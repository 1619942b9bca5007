//! How are counts told, and how is a lower bound seen to be one? (rule U2)

use receipts::{Sum, Usage};

/// Groups the digits of a number, such as `1,234,567`.
pub(super) fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// Tells a sum over `calls` calls: `?` when nothing is known, `≥` before a lower bound.
pub(super) fn sum(sum: &Sum<u128>, calls: u64) -> String {
    bound(sum.value().map(number), sum.known(), calls)
}

/// Tells the money; `?` and `≥` as for tokens.
pub(super) fn cost(usage: &Usage) -> String {
    bound(usage.cost().map(|cost| format!("{cost} USD")), usage.cost_known(), usage.calls)
}

fn bound(value: Option<String>, known: u64, calls: u64) -> String {
    match value {
        None => "?".to_owned(),
        Some(value) if known < calls => format!("≥ {value}"),
        Some(value) => value,
    }
}

/// Tells how many of something there are.
pub(super) fn count(number_of: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(number_of), if number_of == 1 { one } else { many })
}

/// Tells the usage in words; counters that no call told are left out.
pub(super) fn sentence(usage: &Usage) -> String {
    let mut words = Vec::new();
    for (counter, total) in usage.tokens() {
        if total.value().is_some() {
            let name = counter.as_str().replace('_', " ");
            words.push(format!("{name} {}", sum(&total, usage.calls)));
        }
    }
    if usage.cost().is_some() {
        words.push(cost(usage));
    }
    let mut calls = count(usage.calls, "call", "calls");
    if usage.unknown_calls > 0 {
        calls = format!("{calls}, {} of unknown usage", number(usage.unknown_calls));
    }
    words.push(calls);
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use receipts::{Counters, Usage, Usd};

    use super::{number, sentence};

    #[test]
    fn digits_are_grouped() {
        let told = [0, 999, 1_000, 1_234_567].map(number);
        assert_eq!(told, ["0", "999", "1,000", "1,234,567"]);
    }

    /// Rule U2: a lower bound is seen to be one.
    #[test]
    fn what_is_not_known_of_every_call_is_a_lower_bound() {
        let mut usage = Usage::default();
        let cost = Usd::parse("0.25");
        usage.add(&Counters { input: Some(1200), output: Some(0), cost, ..Counters::UNKNOWN });
        assert_eq!(sentence(&usage), "input 1,200, output 0, 0.25 USD, 1 call");
        usage.add(&Counters::UNKNOWN);
        assert_eq!(
            sentence(&usage),
            "input ≥ 1,200, output ≥ 0, ≥ 0.25 USD, 2 calls, 1 of unknown usage"
        );
    }
}
