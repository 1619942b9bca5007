//! End to end: the real program, on real input.

mod fold;
