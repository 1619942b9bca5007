//! Every workflow of the repository: `cargo xtask …`.

fn main() {}
