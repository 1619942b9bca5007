//! How does a verb run another program and speak to the person in front of it?

use std::{
    ffi::OsStr,
    fmt::Display,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context as _, ensure};

/// The top folder of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the top folder")
}

/// A command that runs in the top folder.
pub(crate) fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// `cargo` with these arguments, in the top folder.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut cargo = command("cargo");
    cargo.args(arguments);
    cargo
}

/// Prints the command, runs it to its end and passes its output through.
///
/// # Errors
///
/// When the program cannot be started, or ends with anything but success.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let line = line(command);
    say(format_args!("$ {line}"));
    let status = command.status().with_context(|| format!("cannot start `{line}`"))?;
    ensure!(status.success(), "`{line}` failed: {status}");
    Ok(())
}

/// Runs the command and returns what it wrote to its standard output.
///
/// # Errors
///
/// When the program cannot be started, or ends with anything but success.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let line = line(command);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start `{line}`"))?;
    ensure!(output.status.success(), "`{line}` failed: {}", output.status);
    Ok(output.stdout)
}

/// Says whether the cargo subcommand of this name is installed.
pub(crate) fn has_cargo_subcommand(name: &str) -> bool {
    cargo(&[name, "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Prints one line. A reader that has gone away is no failure of the verb.
pub(crate) fn say(line: impl Display) {
    writeln!(std::io::stdout(), "{line}").ok();
}

/// Prints one line about a failure, apart from what the verb prints.
pub(crate) fn complain(line: impl Display) {
    writeln!(std::io::stderr(), "{line}").ok();
}

/// The command as a person would type it, with the variables that it adds.
fn line(command: &Command) -> String {
    let variables = command
        .get_envs()
        .filter_map(|(name, value)| Some(format!("{}={}", name.display(), quoted(value?))));
    let words = std::iter::once(command.get_program()).chain(command.get_args()).map(quoted);
    variables.chain(words).collect::<Vec<_>>().join(" ")
}

/// One word as a shell takes it.
fn quoted(word: &OsStr) -> String {
    let text = word.display().to_string();
    if text.contains([' ', '*']) { format!("'{text}'") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_printed_as_a_shell_takes_it() {
        let mut command = cargo(&["bench", "--bench", "*"]);
        command.env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(line(&command), "RUSTDOCFLAGS='-D warnings' cargo bench --bench '*'");
    }
}
