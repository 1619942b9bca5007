//! What does a person, or a script, see of a turn while it runs and when it has ended?

use std::io::Write as _;

use harness::{PartKind, Report};
use receipts::{Output, SessionId, TurnId};
use recorder::{LiveEvent, Told};
use store::{Intent, TurnReport};

use crate::{
    args::Format,
    exit::Failure,
    print::{self, Style, clean},
};

/// Says something to the person.
pub(super) fn say(text: &str) {
    // Nobody may be looking.
    let _said = writeln!(std::io::stderr(), "turnbook: {}", clean(text));
}

/// What is printed of one turn.
#[derive(Debug)]
pub(super) struct Screen {
    format: Format,
    turn: Option<TurnId>,
    stream: Stream,
    /// Whether the last thing on the terminal was a whole line.
    is_at_line: bool,
    /// What failed, unless the receipt tells it.
    failed: Vec<String>,
}

/// Whether a question stands at the end of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Yes,
    No,
}

/// Whether text that is streamed is that of our turn.
#[derive(Debug, PartialEq, Eq)]
enum Stream {
    /// The turn has not started, and what is streamed waits until it has.
    Waiting(String),
    /// It runs.
    Running { is_anything_shown: bool },
    /// It ended.
    Over { is_anything_shown: bool },
}

impl Screen {
    pub(super) fn new(format: Format, turn: Option<TurnId>) -> Self {
        Self {
            format,
            turn,
            stream: Stream::Waiting(String::new()),
            is_at_line: true,
            failed: Vec::new(),
        }
    }

    /// Says that a question stands at the end of the terminal, or stands there no more.
    pub(super) fn asks(&mut self, is_asked: Asked) {
        self.is_at_line = is_asked == Asked::No;
    }

    /// Says something to the person.
    pub(super) fn note(&mut self, text: &str) {
        self.end_line();
        say(text);
    }

    /// Shows what was told.
    pub(super) fn show(&mut self, told: &Told) {
        if self.format == Format::Json {
            return;
        }
        match told {
            Told::Turn { event: LiveEvent::TurnStarted { turn }, .. } if self.is_ours(turn) => {
                let before = std::mem::replace(
                    &mut self.stream,
                    Stream::Running { is_anything_shown: false },
                );
                if let Stream::Waiting(text) = before {
                    self.text(&text);
                }
            }
            Told::Turn { event: LiveEvent::TurnCompleted { turn, .. }, .. }
                if self.is_ours(turn) =>
            {
                let is_anything_shown = self.is_anything_shown();
                self.stream = Stream::Over { is_anything_shown };
            }
            Told::Live(Report::Text { kind: PartKind::Text, delta, .. }) => self.delta(delta),
            Told::Live(Report::ToolStarted { tool, .. }) => self.note(&format!("tool {tool}")),
            Told::Live(Report::Disconnected { why }) => {
                self.note(&format!("the agent is not reached: {why}"));
            }
            Told::Live(Report::Failed { name, message, .. }) => {
                self.failed.push(format!("{name}: {message}"));
            }
            Told::Unread { error, .. } => self.note(&format!("a history is not read yet: {error}")),
            Told::Turn { .. }
            | Told::Live(_)
            | Told::Recorded { .. }
            | Told::CaughtUp
            | Told::Unrecorded(_) => {}
        }
    }

    fn is_ours(&self, turn: &TurnId) -> bool {
        self.turn.as_ref() == Some(turn)
    }

    fn is_anything_shown(&self) -> bool {
        match self.stream {
            Stream::Waiting(_) => false,
            Stream::Running { is_anything_shown } | Stream::Over { is_anything_shown } => {
                is_anything_shown
            }
        }
    }

    fn delta(&mut self, delta: &str) {
        match &mut self.stream {
            Stream::Waiting(text) => text.push_str(delta),
            Stream::Running { .. } => self.text(delta),
            Stream::Over { .. } => {}
        }
    }

    fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let shown: String = text.split('\n').map(clean).collect::<Vec<_>>().join("\n");
        let mut out = std::io::stdout().lock();
        // A reader that has seen enough does not end the turn.
        let _shown = out.write_all(shown.as_bytes()).and_then(|()| out.flush());
        self.is_at_line = shown.ends_with('\n');
        self.stream = Stream::Running { is_anything_shown: true };
    }

    fn end_line(&mut self) {
        if !std::mem::replace(&mut self.is_at_line, true) {
            let _ended = writeln!(std::io::stdout());
        }
    }

    /// Shows the answer, where it was not streamed, and the receipt.
    pub(super) fn finish(
        &mut self,
        session: &SessionId,
        (intent, report): (Option<&Intent>, Option<&TurnReport>),
        style: &Style,
    ) -> Result<(), Failure> {
        if self.format == Format::Json {
            return print::text_out(&print::driven_json(session, intent, report));
        }
        let is_told =
            report.and_then(|report| report.completion.as_ref()?.failure.as_ref()).is_some();
        for failed in std::mem::take(&mut self.failed) {
            if !is_told {
                self.note(&failed);
            }
        }
        if !self.is_anything_shown()
            && let Some(Output::Text(text) | Output::Partial(text) | Output::Value(text)) =
                report.and_then(TurnReport::output)
        {
            self.text(text);
        }
        self.end_line();
        let receipt = print::driven_human(session, (intent, report), style);
        let _shown = std::io::stderr().lock().write_all(receipt.as_bytes());
        Ok(())
    }
}
