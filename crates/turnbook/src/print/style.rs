//! For whom is printed: how wide, in which time zone, and with colours or not?

use receipts::Status;

use crate::config::Zone;

/// What the printing of one text depends on.
#[derive(Debug, Clone)]
pub(crate) struct Style {
    /// How many columns there are; `None` when nobody looks at lines.
    pub(crate) width: Option<usize>,
    /// Whether colours are wanted.
    pub(crate) paint: Paint,
    /// In which times are told.
    pub(crate) zone: Zone,
}

/// Whether colours are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    /// No.
    Plain,
    /// Yes, as terminals understand them.
    Ansi,
}

/// What a colour says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Nothing.
    Plain,
    /// A heading.
    Head,
    /// All is well.
    Good,
    /// Look at it.
    Warn,
    /// It went wrong.
    Bad,
    /// Less important.
    Faint,
}

impl Tone {
    /// Says how a turn's status looks.
    pub(crate) fn of(status: Status) -> Self {
        match status {
            Status::Completed => Self::Good,
            Status::Failed | Status::Lost => Self::Bad,
            Status::Interrupted | Status::Stopped | Status::Unanswered | Status::Pending => {
                Self::Warn
            }
            Status::Absorbed | Status::NoReply => Self::Faint,
        }
    }
}

impl Paint {
    /// Colours a text.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        let code = match (self, tone) {
            (Self::Plain, _) | (Self::Ansi, Tone::Plain) => return text.to_owned(),
            (Self::Ansi, Tone::Head) => "1",
            (Self::Ansi, Tone::Good) => "32",
            (Self::Ansi, Tone::Warn) => "33",
            (Self::Ansi, Tone::Bad) => "31",
            (Self::Ansi, Tone::Faint) => "2",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}
