//! How do bytes become a history? As JSON text of OpenCode, or as a plan of observations.

use arbitrary::{Result, Unstructured};
use opencode_wire::{History, Translator};
use receipts::{
    Answer, AnswerRole, Author, Body, Call, CallKey, CallUsage, Clock, Counters, Ending, Failure,
    Finish, Gap, Generated, Kind, Lineage, Message, MessageId, Observation, Prompt, ThreadId,
    Tools, UnixMillis, Usd,
};

/// The longest history, in observations; the laws fold it many times.
const OBSERVATIONS_MAX: usize = 64;

/// Reads JSON text where the bytes begin as such, and a plan of observations otherwise.
#[must_use]
pub fn observations(bytes: &[u8]) -> Vec<Observation> {
    let is_json = matches!(bytes.first(), Some(b'{' | b'['));
    let mut seen = match (is_json, std::str::from_utf8(bytes)) {
        (true, Ok(text)) => recorded(text),
        _ => planned(&mut Unstructured::new(bytes)),
    };
    seen.truncate(OBSERVATIONS_MAX);
    seen
}

/// Observes every message in every reading of a history; nothing where the text is none.
fn recorded(text: &str) -> Vec<Observation> {
    let Ok(history) = History::decode(text) else { return Vec::new() };
    let own = history.session.as_ref().and_then(|session| session.id.get());
    let thread = own.and_then(|id| ThreadId::new(&**id).ok());
    let thread = thread.unwrap_or_else(|| id("ses", 0, ThreadId::new));
    let translator = Translator::new(thread, history.session.as_ref());
    let raw = history.snapshots.iter().flatten();
    let messages = raw.map(|raw| translator.raw(raw));
    let intents = history.intents.iter().filter(|intent| intent.no_reply);
    let wishes = intents.filter_map(|intent| MessageId::new(&*intent.request).ok());
    wishes.map(Observation::NoReply).chain(messages).collect()
}

/// Plans observations until the bytes are used up.
fn planned(bytes: &mut Unstructured<'_>) -> Vec<Observation> {
    let mut seen = Vec::new();
    while !bytes.is_empty() && seen.len() < OBSERVATIONS_MAX {
        match observation(bytes) {
            Ok(observation) => seen.push(observation),
            Err(_too_short) => break,
        }
    }
    seen
}

/// Makes the id with a number; few numbers make histories whose messages know each other.
fn id<T, E: std::fmt::Debug>(
    kind: &str,
    number: u8,
    new: impl Fn(String) -> std::result::Result<T, E>,
) -> T {
    new(format!("{kind}{number}")).expect("a short text is an id")
}

fn observation(bytes: &mut Unstructured<'_>) -> Result<Observation> {
    let any_message = |bytes: &mut Unstructured<'_>| {
        let kind = *bytes.choose(&["p", "a"])?;
        Ok(id(kind, bytes.int_in_range(0..=9)?, MessageId::new))
    };
    Ok(match bytes.int_in_range(0_u8..=15)? {
        0 => Observation::Removed(any_message(bytes)?),
        1 => Observation::NoReply(any_message(bytes)?),
        2 => Observation::Gap(Gap::MissingTime { message: any_message(bytes)? }),
        _ => Observation::Message(message(bytes)?),
    })
}

fn message(bytes: &mut Unstructured<'_>) -> Result<Message> {
    let number = bytes.int_in_range(0..=7)?;
    let is_prompt = bytes.arbitrary()?;
    let name: MessageId = id(if is_prompt { "p" } else { "a" }, number, MessageId::new);
    let created = match bytes.int_in_range(0_u8..=15)? {
        0 => None,
        1 => Some(UnixMillis(bytes.arbitrary()?)),
        time => Some(UnixMillis(i64::from(time))),
    };
    let body = match bytes.int_in_range(0_u8..=31)? {
        0 => Body::Unknown,
        _ if is_prompt => Body::Prompt(prompt(bytes)?),
        _ => Body::Answer(answer(&name, bytes)?),
    };
    let lineage = *bytes.choose(&[Lineage::Own, Lineage::Own, Lineage::Own, Lineage::Inherited])?;
    Ok(Message { id: name, created, lineage, body, gaps: Vec::new() })
}

fn prompt(bytes: &mut Unstructured<'_>) -> Result<Prompt> {
    let authors = [
        Author::Client,
        Author::Client,
        Author::Client,
        Author::Harness(Generated::Compaction),
        Author::Harness(Generated::OverflowCompaction),
        Author::Harness(Generated::Continue),
        Author::Harness(Generated::FollowUp),
    ];
    Ok(Prompt {
        kind: *bytes.choose(&[Kind::Prompt, Kind::Prompt, Kind::Summarize, Kind::Shell])?,
        author: *bytes.choose(&authors)?,
        content: *bytes.choose(&[None, Some(0), Some(1)])?,
        parts: bytes.int_in_range(0..=3)?,
        clock: *bytes.choose(&[Clock::Plausible, Clock::Plausible, Clock::SteppedBack])?,
    })
}

fn answer(name: &MessageId, bytes: &mut Unstructured<'_>) -> Result<Answer> {
    let failure = || Failure { name: "E".into(), message: "m".into() };
    let endings = [
        Ending::Plain,
        Ending::Plain,
        Ending::Plain,
        Ending::Structured("{}".into()),
        Ending::Aborted(failure()),
        Ending::Failed(failure()),
    ];
    let finishes = [
        None,
        Some(Finish::Stop),
        Some(Finish::ToolCalls),
        Some(Finish::Length),
        Some(Finish::Error),
        Some(Finish::Unknown("odd".into())),
    ];
    let parent = match bytes.int_in_range(0_u8..=9)? {
        9 => None,
        number => Some(id("p", number, MessageId::new)),
    };
    let mut tools = || bytes.int_in_range(0_u32..=2);
    let tools = Tools {
        closed: tools()?,
        open: tools()?,
        client: tools()?,
        rejected: tools()?,
        aborted: tools()?,
    };
    let calls = (0..bytes.int_in_range(0_u8..=3)?)
        .map(|call| {
            let key = id(&format!("{name}#"), call, CallKey::new);
            Ok(Call { key, usage: call_usage(bytes)? })
        })
        .collect::<Result<_>>()?;
    let child = bytes.int_in_range(0_u8..=7)?;
    Ok(Answer {
        parent,
        completed: bytes.choose(&[None, Some(1), Some(20)])?.map(UnixMillis),
        finish: bytes.choose(&finishes)?.clone(),
        ending: bytes.choose(&endings)?.clone(),
        tools,
        role: *bytes.choose(&[AnswerRole::Answer, AnswerRole::Answer, AnswerRole::Summary])?,
        calls,
        text: bytes.choose(&[None, Some(""), Some("text"), Some("longer")])?.map(Into::into),
        provider: bytes.choose(&[None, Some("x")])?.map(Into::into),
        model: bytes.choose(&[None, Some("m")])?.map(Into::into),
        children: if child < 2 { vec![id("child", child, ThreadId::new)] } else { Vec::new() },
        parts: bytes.int_in_range(0..=3)?,
    })
}

fn call_usage(bytes: &mut Unstructured<'_>) -> Result<CallUsage> {
    let tokens = |bytes: &mut Unstructured<'_>| {
        Ok(match bytes.int_in_range(0_u8..=9)? {
            0 => Some(u64::MAX),
            1 => None,
            tokens => Some(u64::from(tokens)),
        })
    };
    let costs = ["0", "0.000104", "1e-28", "3", "79228162514264337593543950335"];
    Ok(match bytes.int_in_range(0_u8..=7)? {
        0 => CallUsage::Open,
        1 => CallUsage::Unknown,
        _ => CallUsage::Known(Counters {
            input: tokens(bytes)?,
            cache_read: tokens(bytes)?,
            output: tokens(bytes)?,
            cost: if bytes.arbitrary()? { Usd::parse(bytes.choose(&costs)?) } else { None },
            ..Counters::UNKNOWN
        }),
    })
}
