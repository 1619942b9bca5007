//! What did an assistant message say, and how did it end? (rules F3, F4 and F6)

use receipts::{
    Answer, AnswerRole, Ending, Failure, Finish, MessageId, ThreadId, Tools, UnixMillis,
};
use verbatim::{Text, redact, word};

use super::{calls, is_set, odd::Odd};
use crate::{
    message::{ErrorInfo, Message},
    part::{Part, ToolState},
};

const ABORTED: &str = "MessageAbortedError";

pub(super) fn answer(id: &MessageId, message: &Message<'_>, odd: &mut Odd) -> Answer {
    let info = &message.info;
    let completed = info.time.get().and_then(|time| time.completed.get()).copied().map(UnixMillis);
    let parent = info.parent_id.get().and_then(|parent| match MessageId::new(&**parent) {
        Ok(parent) => Some(parent),
        Err(error) => {
            odd.note("info.parentID", error.to_string());
            None
        }
    });
    let finish = match info.finish.get() {
        Some(reason) => Some(finish(reason)),
        // There was a reason, and it says nothing.
        None => info.finish.odd().map(|_| Finish::Unknown("".into())),
    };
    let ending = ending(message);
    let tools = tools(message);
    odd.summary(info.summary);
    let calls = calls::calls(
        id,
        message,
        &calls::Context { completed, finish: &finish, ending: &ending },
        odd,
    );
    let is_summary = info.summary.is_some_and(|raw| raw.get() == "true");
    Answer {
        parent,
        completed,
        tools,
        role: if is_summary { AnswerRole::Summary } else { AnswerRole::Answer },
        calls,
        text: text(message),
        provider: name(info.provider_id.get()),
        model: name(info.model_id.get()),
        children: children(message),
        parts: u32::try_from(message.parts.len()).unwrap_or(u32::MAX),
        finish,
        ending,
    }
}

fn name(text: Option<&Text<'_>>) -> Option<Box<str>> {
    text.filter(|text| !text.is_empty()).map(|text| Box::from(&**text))
}

/// Source: the finish reasons of the AI SDK, as 1.18.33 stores them.
fn finish(reason: &str) -> Finish {
    match reason {
        "stop" => Finish::Stop,
        "length" => Finish::Length,
        "content-filter" => Finish::ContentFilter,
        "other" => Finish::Other,
        "error" => Finish::Error,
        "tool-calls" => Finish::ToolCalls,
        unknown => Finish::Unknown(word(unknown).into()),
    }
}

fn ending(message: &Message<'_>) -> Ending {
    let info = &message.info;
    if let Some(error) = info.error.get() {
        let failure = failure(error);
        return if &*failure.name == ABORTED {
            Ending::Aborted(failure)
        } else {
            Ending::Failed(failure)
        };
    }
    if info.error.odd().is_some() {
        let message = "the harness stored an error that cannot be read".into();
        return Ending::Failed(Failure { name: "UnknownError".into(), message });
    }
    match info.structured.or(info.structured_output) {
        Some(value) => Ending::Structured(verbatim::canonical(value.get()).into()),
        None => Ending::Plain,
    }
}

fn failure(error: &ErrorInfo<'_>) -> Failure {
    let name = error.name.get().map_or("UnknownError", |name| &**name);
    let data = error.data.get().and_then(|data| data.message.get());
    let message = data.or(error.message.get()).map(|message| redact(message));
    Failure {
        name: word(name).into(),
        message: message
            .filter(|message| !message.is_empty())
            .map_or_else(|| "the harness gave no message".into(), Into::into),
    }
}

fn is(part: &Part<'_>, kind: &str) -> bool {
    part.kind.get().is_some_and(|found| &**found == kind)
}

fn tool_parts<'m>(message: &'m Message<'_>) -> impl Iterator<Item = &'m Part<'m>> {
    message.parts().map(|(_, part)| part).filter(|part| is(part, "tool"))
}

fn tools(message: &Message<'_>) -> Tools {
    let mut tools = Tools::default();
    for part in tool_parts(message) {
        let state = part.state.get();
        let interrupted = state.is_some_and(is_interrupted);
        match state.and_then(|state| state.status.get()).map(|status| &**status) {
            Some("completed") => {
                tools.closed += 1;
                tools.aborted += u32::from(interrupted || state.is_some_and(is_aborted_shell));
            }
            Some("error") => {
                tools.closed += 1;
                tools.rejected += u32::from(state.is_some_and(is_rejected));
                tools.aborted += u32::from(interrupted || state.is_some_and(is_cancelled));
            }
            // A state that this build does not know blocks, as a running one does.
            Some(_) | None => tools.open += 1,
        }
        let by_provider = part.metadata.get().is_some_and(|marks| is_set(&marks.provider_executed));
        tools.client += u32::from(!by_provider && !interrupted);
    }
    tools
}

fn is_interrupted(state: &ToolState<'_>) -> bool {
    state.metadata.get().is_some_and(|marks| is_set(&marks.interrupted))
}

fn error_text<'s>(state: &'s ToolState<'_>) -> &'s str {
    state.error.get().map_or("", |error| &**error)
}

/// Source: the sentences of 1.18.33 for a refused permission and a dismissed question. A refusal
/// with feedback hands that to the model, and the loop goes on.
fn is_rejected(state: &ToolState<'_>) -> bool {
    let error = error_text(state);
    let goes_on = error.contains("with the following feedback");
    !goes_on && (error.contains("rejected permission") || error.contains("dismissed this question"))
}

/// Source: the sentence of 1.18.33 for a subagent whose parent was aborted.
fn is_cancelled(state: &ToolState<'_>) -> bool {
    matches!(error_text(state), "Task cancelled" | "Tool execution aborted")
}

/// Source: 1.18.33 tells an aborted shell command only in its output.
fn is_aborted_shell(state: &ToolState<'_>) -> bool {
    state.output.is_some_and(|output| output.get().contains("User aborted the command"))
}

/// The text after the last step start: a failed attempt leaves its text before that (rule F6).
/// `None` when no step began and nothing was said.
///
/// Parts are in the order of their ids, which a clock step breaks; with one step all text counts.
fn text(message: &Message<'_>) -> Option<Box<str>> {
    let starts = message.parts().filter(|(_, part)| is(part, "step-start")).count();
    let last = message.parts().rfind(|(_, part)| is(part, "step-start")).filter(|_| starts > 1);
    let from = last.map_or(0, |(at, _)| at);
    let mut texts = message
        .parts()
        .filter(|(at, part)| *at >= from && is(part, "text") && !is_set(&part.ignored))
        .filter_map(|(_, part)| part.text.get())
        .peekable();
    if starts == 0 && texts.peek().is_none() {
        return None;
    }
    Some(texts.map(|text| &**text).collect::<String>().into())
}

fn children(message: &Message<'_>) -> Vec<ThreadId> {
    tool_parts(message)
        .filter_map(|part| part.state.get()?.metadata.get()?.session_id.get())
        .filter_map(|id| ThreadId::new(&**id).ok())
        .collect()
}
