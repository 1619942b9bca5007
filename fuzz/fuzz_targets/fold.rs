//! Do the laws of the fold hold for any text and for any observations?

#![no_main]

use libfuzzer_sys::fuzz_target;
use turnbook_fuzz::{arrangement::Arrangement, input, laws};

fuzz_target!(|bytes: &[u8]| {
    laws::all(&input::observations(bytes), Arrangement::of(bytes));
});
