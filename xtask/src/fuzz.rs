//! Does an input exist that breaks what must always hold?

use anyhow::{Context as _, bail};

use crate::{
    process::{command, has_cargo_subcommand, root, run as run_command, say},
    usage,
};

/// How long a target runs unless the caller says otherwise, in seconds.
const SECONDS: u32 = 60;

/// Runs one fuzz target without a sanitizer, which works on a stable toolchain.
///
/// `fuzz/run.sh` called directly can also use the address sanitizer: that takes a variable which
/// cargo does not let through to a cargo below it.
///
/// # Errors
///
/// When there is no such target, or when it finds a failure, which stays under `fuzz/artifacts`.
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<()> {
    let (target, seconds) = match arguments {
        [target] => (*target, SECONDS),
        [target, "--seconds", number] => (
            *target,
            number.parse().with_context(|| format!("`{number}` is no number of seconds"))?,
        ),
        other => return Err(usage("fuzz", other)),
    };
    if !root().join("fuzz/fuzz_targets").join(target).with_extension("rs").is_file() {
        bail!("there is no fuzz target `{target}` in fuzz/fuzz_targets");
    }
    if !has_cargo_subcommand("fuzz") {
        say("cargo-fuzz is not installed: nothing was fuzzed");
        return Ok(());
    }
    run_command(command("bash").args(["fuzz/run.sh", target, &seconds.to_string(), "none"]))
}
