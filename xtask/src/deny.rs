//! Are all crates that we build with allowed here?

use crate::{
    process::{cargo, has_cargo_subcommand, run as run_command, say},
    usage,
};

/// Checks bans, licences and sources by `deny.toml`. Says so where cargo-deny is not installed.
///
/// # Errors
///
/// When a crate is not allowed.
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<()> {
    match arguments {
        [] if has_cargo_subcommand("deny") => {
            // Offline: advisories need a network and are no part of the gate; the crates are there
            // once they were fetched.
            run_command(&mut cargo(&["fetch", "--locked"]))?;
            run_command(&mut cargo(&["deny", "--offline", "check", "bans", "licenses", "sources"]))
        }
        [] => {
            say("cargo-deny is not installed: bans, licences and sources were NOT checked");
            Ok(())
        }
        other => Err(usage("deny", other)),
    }
}
