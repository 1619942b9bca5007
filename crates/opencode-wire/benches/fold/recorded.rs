//! Where do long histories come from? The recorded ones, one after another, under new ids and at
//! later times, and with longer texts.

use std::{borrow::Cow, collections::BTreeMap, fs, path::Path};

use receipts::ThreadId;
use serde::Deserialize;
use verbatim::RawValue;

/// How many messages a history has.
const MESSAGES: usize = 1_000;
/// How far apart two copies of recordings stand; longer than any recording.
const APART_MS: u64 = 600_000;
const THREAD: &str = "ses_bench";
/// What texts are made longer with; escapes included, as in real output.
const LINE: &str = r#"    let answer = read(\"history\")?; // as a tool prints it\n"#;

#[derive(Deserialize)]
struct Recording<'a> {
    #[serde(borrow, default)]
    snapshots: BTreeMap<String, &'a RawValue>,
}

#[derive(Deserialize)]
struct Snapshot<'a> {
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    info: Info<'a>,
}

#[derive(Deserialize)]
struct Info<'a> {
    id: String,
    #[serde(borrow, rename = "sessionID")]
    session: Cow<'a, str>,
}

/// The session of all the histories.
pub(super) fn thread() -> ThreadId {
    ThreadId::new(THREAD).expect("the id is sound")
}

/// Gives a message list of a thousand messages and of about so many bytes, as the API sends it.
pub(super) fn history(bytes: usize) -> String {
    let recordings = recordings();
    let mut messages: Vec<String> = Vec::with_capacity(MESSAGES);
    let copies = (0_u64..).flat_map(|copy| recordings.iter().map(move |one| (copy, one)));
    for ((copy, recording), at) in copies.zip(0_u64..) {
        messages.extend(recording.iter().map(|text| moved(text, copy, at * APART_MS)));
        if messages.len() >= MESSAGES {
            break;
        }
    }
    messages.truncate(MESSAGES);
    let bare: usize = messages.iter().map(|message| message.len() + 1).sum();
    let more = bytes.saturating_sub(bare) / MESSAGES;
    let longer: Vec<String> = messages.iter().map(|message| lengthened(message, more)).collect();
    format!("[{}]", longer.join(","))
}

/// The last lists of all recordings, without white space and with a `~` at the end of each
/// message id.
fn recordings() -> Vec<Vec<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/opencode");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .expect("the recordings are there")
        .map(|entry| entry.expect("the folder can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    paths.sort();
    paths.iter().filter_map(|path| last_list(&fs::read_to_string(path).ok()?)).collect()
}

/// `None` for a file that is no recording of one session.
fn last_list(text: &str) -> Option<Vec<String>> {
    let recording: Recording<'_> = serde_json::from_str(text).ok()?;
    let last: Snapshot<'_> = serde_json::from_str(recording.snapshots.get("final")?.get()).ok()?;
    let infos: Vec<Info<'_>> = last
        .messages
        .iter()
        .map(|raw| Some(serde_json::from_str::<Message<'_>>(raw.get()).ok()?.info))
        .collect::<Option<_>>()?;
    let marked = |raw: &&RawValue| {
        let text = compact(raw.get());
        infos.iter().fold(text, |text, info| {
            let quoted = |id: &str| format!("\"{id}\"");
            let text = text.replace(&quoted(&info.id), &format!("\"{}~\"", info.id));
            text.replace(&quoted(&info.session), &quoted(THREAD))
        })
    };
    Some(last.messages.iter().map(marked).collect())
}

/// Takes the white space between the tokens of a JSON text away.
fn compact(text: &str) -> String {
    let (mut is_string, mut is_escaped) = (false, false);
    text.chars()
        .filter(|&c| {
            let stays = is_string || !c.is_ascii_whitespace();
            if c == '"' && !is_escaped {
                is_string = !is_string;
            }
            is_escaped = is_string && c == '\\' && !is_escaped;
            stays
        })
        .collect()
}

/// Gives a message its own ids, and its times in milliseconds a later place.
fn moved(text: &str, copy: u64, later_ms: u64) -> String {
    /// The times of the recordings have so many digits.
    const DIGITS: usize = 13;
    let text = text.replace("~\"", &format!("x{copy}\""));
    let mut pieces = text.split(':').map(|piece| {
        let end = piece.find(|c: char| !c.is_ascii_digit()).unwrap_or(piece.len());
        match piece.split_at(end) {
            (digits, rest) if digits.len() == DIGITS => {
                let time: u64 = digits.parse().expect("thirteen digits are a number");
                format!("{}{rest}", time + later_ms)
            }
            _ => piece.to_owned(),
        }
    });
    let first = pieces.next().unwrap_or_default();
    pieces.fold(first, |text, piece| text + ":" + &piece)
}

/// Makes the texts and tool outputs in a message longer by so many bytes altogether.
fn lengthened(message: &str, bytes: usize) -> String {
    let keys = ["\"text\":\"", "\"output\":\""];
    let places: usize = keys.iter().map(|key| message.matches(key).count()).sum();
    let Some(each) = bytes.checked_div(places) else { return message.to_owned() };
    let lines = LINE.repeat(each / LINE.len());
    keys.iter().fold(message.to_owned(), |text, key| text.replace(key, &format!("{key}{lines}")))
}
