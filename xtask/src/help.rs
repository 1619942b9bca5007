//! What can be asked for?

use crate::{VERBS, process::say, usage};

/// Prints every verb with its arguments and one sentence.
///
/// # Errors
///
/// When it is given an argument.
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<()> {
    if !arguments.is_empty() {
        return Err(usage("help", arguments));
    }
    say("usage: cargo xtask VERB\n");
    let call = |name: &str, arguments: &str| format!("{name} {arguments}").trim_end().to_owned();
    let width = VERBS.iter().map(|verb| call(verb.name, verb.arguments).len()).max().unwrap_or(0);
    for verb in VERBS {
        say(format_args!("  {:width$}  {}", call(verb.name, verb.arguments), verb.about));
    }
    Ok(())
}
