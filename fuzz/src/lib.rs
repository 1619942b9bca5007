//! What must hold for every history, and how do bytes become one?
//!
//! The fuzz targets are in `fuzz_targets`; what they share is here.

pub mod arrangement;
pub mod input;
pub mod laws;
