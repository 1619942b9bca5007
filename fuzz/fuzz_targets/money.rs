//! Is an amount of money that was read the same after it was written and read again?

#![no_main]

use libfuzzer_sys::fuzz_target;
use receipts::Usd;

fuzz_target!(|text: &str| {
    if let Some(amount) = Usd::parse(text) {
        assert_eq!(Usd::parse(&amount.to_string()), Some(amount), "read from {text:?}");
    }
});
