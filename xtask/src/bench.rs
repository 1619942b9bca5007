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
    match arguments {
        [] => run_command(&mut cargo(&["bench", "--workspace"])),
        [filter] if !filter.starts_with('-') => {
            run_command(&mut cargo(&["bench", "--workspace", "--", filter]))
        }
        other => Err(usage("bench", other)),
    }
}
