//! Do the formatter, the linter and the documentation builder agree?

use crate::{
    process::{cargo, run as run_command},
    usage,
};

/// One workspace of the repository.
struct Workspace {
    /// Its `Cargo.toml`, from the top folder.
    manifest: &'static str,
    /// The features that it is checked with, as arguments of cargo.
    features: &'static [&'static str],
}

/// Every workspace of the repository.
const WORKSPACES: [Workspace; 2] = [
    Workspace { manifest: "Cargo.toml", features: &["--all-features"] },
    // The default feature builds libFuzzer with a C++ compiler, which a check can do without.
    Workspace { manifest: "fuzz/Cargo.toml", features: &["--no-default-features"] },
];

/// Checks formatting, clippy on every target, and the docs; a warning is an error.
///
/// # Errors
///
/// When one of them finds something.
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<()> {
    if !arguments.is_empty() {
        return Err(usage("lint", arguments));
    }
    for workspace in WORKSPACES {
        let manifest = ["--manifest-path", workspace.manifest];
        run_command(cargo(&["fmt", "--all", "--check"]).args(manifest))?;
        run_command(
            cargo(&["clippy", "--workspace", "--all-targets", "--locked"])
                .args(manifest)
                .args(workspace.features)
                .args(["--", "-D", "warnings"]),
        )?;
    }
    run_command(
        cargo(&["doc", "--workspace", "--all-features", "--no-deps", "--locked"])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )
}
