//! What did it cost? Counters of one model call, and the fold over many (rules U1 to U7).
//!
//! The counters have one meaning for every harness: `input` is without cached tokens, `output`
//! has the reasoning inside, `reasoning` is the part of it that is known, `cache_write_1h` is the
//! part of `cache_write` that is known. A harness that counts otherwise is translated by its
//! `*-wire` crate. `None` is not zero.

use std::fmt;

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

/// An exact amount of US dollars, the unit that OpenCode and the price tables count in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Usd(Decimal);

impl Usd {
    /// Reads the decimal text of a JSON number, with or without an exponent, exactly.
    ///
    /// Gives `None` for what is not a number, is negative, or cannot be kept exactly in 28
    /// digits (rule U3: the caller notes a gap).
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let value = if text.contains(['e', 'E']) {
            Decimal::from_scientific(text).ok()?
        } else {
            Decimal::from_str_exact(text).ok()?
        };
        (!value.is_sign_negative() || value.is_zero()).then(|| Self(value.abs().normalize()))
    }

    /// Adds two amounts; `None` when the sum cannot be kept.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(|sum| Self(sum.normalize()))
    }
}

/// How many digits an amount has behind the point at most.
const DIGITS: u32 = Decimal::MAX_SCALE;
/// So many parts are one dollar.
const PARTS: i128 = 10_i128.pow(DIGITS);

/// A sum of amounts, in two parts so that it is exact whatever its terms are, in whatever order
/// they come and go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Dollars {
    whole: i128,
    /// Behind the point; may be more than a dollar.
    parts: i128,
}

impl Dollars {
    fn of(Usd(amount): Usd) -> Self {
        let (whole, rest) = (amount.trunc(), amount.fract());
        let parts = rest.mantissa() * 10_i128.pow(DIGITS - rest.scale());
        Self { whole: whole.mantissa(), parts }
    }

    fn add(&mut self, other: Self) {
        self.whole = self.whole.saturating_add(other.whole);
        self.parts = self.parts.saturating_add(other.parts);
    }

    fn take(&mut self, other: Self) {
        self.whole = self.whole.saturating_sub(other.whole);
        self.parts = self.parts.saturating_sub(other.parts);
    }

    /// `None` when the sum has more digits than an amount can have.
    fn amount(self) -> Option<Usd> {
        let whole = self.whole.checked_add(self.parts.div_euclid(PARTS))?;
        let whole = Decimal::try_from_i128_with_scale(whole, 0).ok()?;
        let parts = self.parts.rem_euclid(PARTS);
        let parts = Decimal::try_from_i128_with_scale(parts, DIGITS).ok()?.normalize();
        let sum = whole.checked_add(parts)?;
        (sum.fract() == parts).then(|| Usd(sum.normalize()))
    }
}

/// Plain decimal text without an exponent, as [`Usd::parse`] reads it.
impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Names one of the counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counter {
    /// Prompt tokens that came from no cache.
    Input,
    /// Prompt tokens read from a cache.
    CacheRead,
    /// Prompt tokens written to a cache.
    CacheWrite,
    /// The known part of [`Counter::CacheWrite`] that is kept for one hour.
    CacheWrite1h,
    /// Generated tokens, reasoning included.
    Output,
    /// The known part of [`Counter::Output`] that was reasoning.
    Reasoning,
    /// Money, as the harness told it.
    Cost,
}

impl Counter {
    /// Gives the counter's stable name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::CacheRead => "cache_read",
            Self::CacheWrite => "cache_write",
            Self::CacheWrite1h => "cache_write_1h",
            Self::Output => "output",
            Self::Reasoning => "reasoning",
            Self::Cost => "cost",
        }
    }
}

/// What one model call is known to have used; tokens, and dollars for `cost`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Counters {
    /// Prompt tokens that came from no cache.
    pub input: Option<u64>,
    /// Prompt tokens read from a cache.
    pub cache_read: Option<u64>,
    /// Prompt tokens written to a cache.
    pub cache_write: Option<u64>,
    /// The known part of `cache_write` that is kept for one hour.
    pub cache_write_1h: Option<u64>,
    /// Generated tokens, reasoning included.
    pub output: Option<u64>,
    /// The known part of `output` that was reasoning.
    pub reasoning: Option<u64>,
    /// Money, as the harness told it.
    pub cost: Option<Usd>,
}

impl Counters {
    /// No counter is known; such a call counts as unknown (rule F7).
    pub const UNKNOWN: Self = Self {
        input: None,
        cache_read: None,
        cache_write: None,
        cache_write_1h: None,
        output: None,
        reasoning: None,
        cost: None,
    };

    /// Tells whether no token counter is known.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.tokens().iter().all(|(_, tokens)| tokens.is_none())
    }

    /// Lists the token counters by name.
    #[must_use]
    pub fn tokens(&self) -> [(Counter, Option<u64>); 6] {
        [
            (Counter::Input, self.input),
            (Counter::CacheRead, self.cache_read),
            (Counter::CacheWrite, self.cache_write),
            (Counter::CacheWrite1h, self.cache_write_1h),
            (Counter::Output, self.output),
            (Counter::Reasoning, self.reasoning),
        ]
    }

    /// Merges a later sighting of the same call: each counter keeps its maximum (rule U1).
    ///
    /// Gives the counters that the sighting showed lower than before; each of them is a gap that
    /// the caller records. An absent counter changes nothing.
    #[must_use]
    pub fn raise(&mut self, seen: &Self) -> Vec<Decrease> {
        let mut decreases = Vec::new();
        let mut tokens = |counter, kept: &mut Option<u64>, seen: Option<u64>| {
            if let (Some(from), Some(to)) = (*kept, seen)
                && to < from
            {
                decreases.push(Decrease { counter, from: from.to_string(), to: to.to_string() });
            }
            *kept = (*kept).max(seen);
        };
        tokens(Counter::Input, &mut self.input, seen.input);
        tokens(Counter::CacheRead, &mut self.cache_read, seen.cache_read);
        tokens(Counter::CacheWrite, &mut self.cache_write, seen.cache_write);
        tokens(Counter::CacheWrite1h, &mut self.cache_write_1h, seen.cache_write_1h);
        tokens(Counter::Output, &mut self.output, seen.output);
        tokens(Counter::Reasoning, &mut self.reasoning, seen.reasoning);
        if let (Some(from), Some(to)) = (self.cost, seen.cost)
            && to < from
        {
            decreases.push(Decrease {
                counter: Counter::Cost,
                from: from.to_string(),
                to: to.to_string(),
            });
        }
        self.cost = self.cost.max(seen.cost);
        decreases
    }
}

/// One counter of one call that was seen lower than before; the peak is kept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Decrease {
    /// Which counter.
    pub counter: Counter,
    /// The peak, in the counter's unit.
    pub from: String,
    /// The lower value, in the counter's unit.
    pub to: String,
}

/// The sum of one counter over many calls (rules U2 and U3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Sum<T> {
    total: T,
    known: u64,
}

impl<T: Copy> Sum<T> {
    /// How many calls had the counter; the others are unknown, so the total is a lower bound.
    #[must_use]
    pub fn known(&self) -> u64 {
        self.known
    }
}

impl Sum<u128> {
    /// Gives the sum; `None` when no call had the counter or when the sum exceeds 64 bits.
    #[must_use]
    pub fn value(&self) -> Option<u64> {
        if self.known == 0 { None } else { u64::try_from(self.total).ok() }
    }

    /// Tells whether the sum was lost to an overflow (rule U3: a gap).
    #[must_use]
    pub fn overflowed(&self) -> bool {
        u64::try_from(self.total).is_err()
    }

    fn add(&mut self, value: Option<u64>) {
        if let Some(value) = value {
            self.total = self.total.saturating_add(u128::from(value));
            self.known = self.known.saturating_add(1);
        }
    }

    fn merge(&mut self, other: &Self) {
        self.total = self.total.saturating_add(other.total);
        self.known = self.known.saturating_add(other.known);
    }

    fn unmerge(&mut self, other: &Self) {
        self.total = self.total.saturating_sub(other.total);
        self.known = self.known.saturating_sub(other.known);
    }
}

/// What many model calls used together.
///
/// `calls` counts every call, `unknown_calls` those of them whose usage the harness never stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Usage {
    /// See [`Counters::input`].
    pub input: Sum<u128>,
    /// See [`Counters::cache_read`].
    pub cache_read: Sum<u128>,
    /// See [`Counters::cache_write`].
    pub cache_write: Sum<u128>,
    /// See [`Counters::cache_write_1h`].
    pub cache_write_1h: Sum<u128>,
    /// See [`Counters::output`].
    pub output: Sum<u128>,
    /// See [`Counters::reasoning`].
    pub reasoning: Sum<u128>,
    cost: Sum<Dollars>,
    /// All calls, the unknown ones included.
    pub calls: u64,
    /// Calls without any known token counter.
    pub unknown_calls: u64,
}

impl Usage {
    /// Adds one call.
    pub fn add(&mut self, call: &Counters) {
        self.calls = self.calls.saturating_add(1);
        self.unknown_calls = self.unknown_calls.saturating_add(u64::from(call.is_unknown()));
        self.input.add(call.input);
        self.cache_read.add(call.cache_read);
        self.cache_write.add(call.cache_write);
        self.cache_write_1h.add(call.cache_write_1h);
        self.output.add(call.output);
        self.reasoning.add(call.reasoning);
        if let Some(cost) = call.cost {
            self.cost.total.add(Dollars::of(cost));
            self.cost.known = self.cost.known.saturating_add(1);
        }
    }

    /// Adds the usage of other calls, disjoint from these.
    pub fn merge(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.unknown_calls = self.unknown_calls.saturating_add(other.unknown_calls);
        self.input.merge(&other.input);
        self.cache_read.merge(&other.cache_read);
        self.cache_write.merge(&other.cache_write);
        self.cache_write_1h.merge(&other.cache_write_1h);
        self.output.merge(&other.output);
        self.reasoning.merge(&other.reasoning);
        self.cost.total.add(other.cost.total);
        self.cost.known = self.cost.known.saturating_add(other.cost.known);
    }

    /// Takes back usage that was merged before, so that it can be merged with new counters.
    pub fn unmerge(&mut self, other: &Self) {
        self.calls = self.calls.saturating_sub(other.calls);
        self.unknown_calls = self.unknown_calls.saturating_sub(other.unknown_calls);
        self.input.unmerge(&other.input);
        self.cache_read.unmerge(&other.cache_read);
        self.cache_write.unmerge(&other.cache_write);
        self.cache_write_1h.unmerge(&other.cache_write_1h);
        self.output.unmerge(&other.output);
        self.reasoning.unmerge(&other.reasoning);
        self.cost.total.take(other.cost.total);
        self.cost.known = self.cost.known.saturating_sub(other.cost.known);
    }

    /// Gives the money; `None` when no call told it or when the sum was lost.
    #[must_use]
    pub fn cost(&self) -> Option<Usd> {
        if self.cost.known == 0 { None } else { self.cost.total.amount() }
    }

    /// How many calls told a cost.
    #[must_use]
    pub fn cost_known(&self) -> u64 {
        self.cost.known
    }

    /// Lists the token sums by name.
    #[must_use]
    pub fn tokens(&self) -> [(Counter, Sum<u128>); 6] {
        [
            (Counter::Input, self.input),
            (Counter::CacheRead, self.cache_read),
            (Counter::CacheWrite, self.cache_write),
            (Counter::CacheWrite1h, self.cache_write_1h),
            (Counter::Output, self.output),
            (Counter::Reasoning, self.reasoning),
        ]
    }
}
