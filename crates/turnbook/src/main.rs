//! The program: arguments, configuration, wiring and printing.

fn main() {}
