//! `turnbook completions`: how does a shell complete the arguments?

use clap::{Args as ClapArgs, CommandFactory as _};
use clap_complete::Shell;

use crate::{
    exit::{Code, Failure},
    print,
};

/// Prints a script; see the manual of the shell for where it belongs.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The shell.
    shell: Shell,
}

/// Prints the script.
pub(crate) fn run(args: &Args) -> Result<Code, Failure> {
    let mut command = crate::args::Args::command();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "turnbook", &mut script);
    print::text_out(&String::from_utf8_lossy(&script))?;
    Ok(Code::Completed)
}
