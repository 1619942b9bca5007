//! Who put a user message into the history, and what does it ask for? (rule F1)

use std::borrow::Cow;

use receipts::{Author, Clock, Generated, Kind, Prompt};
use verbatim::{Field, Text};

use super::is_set;
use crate::{message::Message, part::Part};

/// Source: the text that 1.18.33 writes after a command's sub-task.
const FOLLOW_UP: &str = "Summarize the task tool output above and continue with your task.";
/// Source: the text that 1.18.33 writes for a shell command.
const SHELL: &str = "The following tool was executed by the user";

pub(super) fn prompt(message: &Message<'_>, clock: Clock) -> Prompt {
    let parts = || message.parts().map(|(_, part)| part);
    let (kind, author) = parts().find_map(mark).unwrap_or((Kind::Prompt, Author::Client));
    let content = (!message.parts.is_empty()).then(|| {
        let said: Vec<[Cow<'_, str>; 2]> = parts().map(said).collect();
        verbatim::digest(said.iter().flatten().map(|text| &**text))
    });
    let parts = u32::try_from(message.parts.len()).unwrap_or(u32::MAX);
    Prompt { kind, author, content, parts, clock }
}

/// What a part says, by its kind: a file the same as the text that stands for it in a replay.
///
/// Source: 1.18.33 replays a prompt without its media, and puts this text in the place of each.
fn said<'m>(part: &'m Part<'_>) -> [Cow<'m, str>; 2] {
    let text = |field: &'m Field<Text<'_>>| field.get().map(|text| &**text);
    match text(&part.kind) {
        Some("file") => {
            let (mime, name) = (text(&part.mime), text(&part.filename));
            let stands =
                format!("[Attached {}: {}]", mime.unwrap_or_default(), name.unwrap_or("file"));
            ["text".into(), stands.into()]
        }
        kind => [kind.unwrap_or_default().into(), text(&part.text).unwrap_or_default().into()],
    }
}

/// Reads the mark that one part sets on its whole message.
fn mark(part: &Part<'_>) -> Option<(Kind, Author)> {
    match &**part.kind.get()? {
        "compaction" if is_set(&part.overflow) => {
            Some((Kind::Prompt, Author::Harness(Generated::OverflowCompaction)))
        }
        "compaction" if is_set(&part.auto) => {
            Some((Kind::Prompt, Author::Harness(Generated::Compaction)))
        }
        "compaction" => Some((Kind::Summarize, Author::Client)),
        "text" if is_set(&part.synthetic) => synthetic(part),
        _ => None,
    }
}

fn synthetic(part: &Part<'_>) -> Option<(Kind, Author)> {
    if part.metadata.get().is_some_and(|marks| is_set(&marks.compaction_continue)) {
        return Some((Kind::Prompt, Author::Harness(Generated::Continue)));
    }
    let text = part.text.get()?;
    if &**text == FOLLOW_UP {
        Some((Kind::Prompt, Author::Harness(Generated::FollowUp)))
    } else if text.starts_with(SHELL) {
        Some((Kind::Shell, Author::Client))
    } else {
        None
    }
}
