//! Which session is meant?

use clap::Args as ClapArgs;

/// The argument of every verb about one session.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct SessionArgs {
    /// The session: its id, its title, or a beginning of its id that no other has.
    #[arg(value_name = "SESSION")]
    pub(crate) session: String,
}
