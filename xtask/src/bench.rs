//! How fast is it?

use crate::{
    process::{cargo, run as run_command},
    usage,
};

/// Runs the benchmarks, all of them or those whose name matches.
///
/// # Errors
///
/// When a benchmark does not compile or fails.
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<()> {
    // Only targets that are benchmarks: the unit tests have a bench mode too, and nothing to time.
    let mut bench = cargo(&["bench", "--workspace", "--bench", "*"]);
    match arguments {
        [] => run_command(&mut bench),
        [filter] if !filter.starts_with('-') => run_command(bench.args(["--", filter])),
        other => Err(usage("bench", other)),
    }
}
