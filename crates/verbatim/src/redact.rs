//! How do secrets stay out of what is kept? They are taken out of the text, with a mark (rule F9).

use std::{borrow::Cow, fmt};

/// What stands where a secret stood.
const MARK: &str = "[redacted]";

/// Names of fields, headers and variables whose values are secrets; compared without case and
/// without `-` and `_`, as the end of a name.
const SECRET_NAMES: [&str; 13] = [
    "authorization",
    "apikey",
    "accesstoken",
    "refreshtoken",
    "authtoken",
    "token",
    "secret",
    "secretkey",
    "password",
    "passwd",
    "cookie",
    "privatekey",
    "accesskey",
];

/// Words after which a credential follows.
const SCHEMES: [&str; 2] = ["bearer", "basic"];

/// Takes bearer and basic credentials, the values of secret-looking names (`k=v`, `k: v` and
/// JSON), keys of known shapes (`sk-…`) and user info in URLs out of a text; plain text stays.
#[must_use]
pub fn redact(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut kept = 0;
    let mut at = 0;
    while let Some((start, end)) = next_word(text, at) {
        let secret = secret_after(text, start, end);
        at = end;
        if let Some((from, to)) = secret
            && from >= kept
            && to > from
            && !text.get(from..).unwrap_or_default().starts_with(MARK)
        {
            out.push_str(text.get(kept..from).unwrap_or_default());
            out.push_str(MARK);
            kept = to;
            at = to;
        }
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(kept..).unwrap_or_default());
    Cow::Owned(out)
}

/// The longest word of another program that is kept, in characters.
const WORD_CHARS_MAX: usize = 64;

/// Gives a word of another program, such as a kind or a reason, as it may be kept and shown:
/// without secrets, and not longer than a word is.
#[must_use]
pub fn word(text: &str) -> Cow<'_, str> {
    // A secret that is cut in two would not be known for one.
    let clean = redact(text);
    match clean.char_indices().nth(WORD_CHARS_MAX).and_then(|(at, _)| clean.get(..at)) {
        Some(start) => Cow::Owned(format!("{start}…")),
        None => clean,
    }
}

/// Takes secrets that are known by their very text out as well as those that look like one.
///
/// [`fmt::Debug`] shows how many it knows, never which.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Longest first, so that one that holds another goes as a whole.
    known: Vec<Box<str>>,
}

/// The shortest known secret that is looked for, in bytes: a shorter one would take plain words
/// with it.
const KNOWN_BYTES_MIN: usize = 4;

impl Redactor {
    /// Takes the texts of the known secrets, such as the password of a server that we started.
    #[must_use]
    pub fn new(known: impl IntoIterator<Item = impl Into<Box<str>>>) -> Self {
        let mut known: Vec<Box<str>> = known.into_iter().map(Into::into).collect();
        known.retain(|secret| secret.len() >= KNOWN_BYTES_MIN);
        known.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        known.dedup();
        Self { known }
    }

    /// Does what [`redact`] does, and takes the known secrets out wherever they stand.
    #[must_use]
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for secret in &self.known {
            if text.contains(&**secret) {
                text = Cow::Owned(text.replace(&**secret, MARK));
            }
        }
        match text {
            Cow::Borrowed(text) => redact(text),
            Cow::Owned(text) => Cow::Owned(redact(&text).into_owned()),
        }
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("known", &self.known.len()).finish()
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn next_word(text: &str, from: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let start = from + bytes.get(from..)?.iter().position(|byte| is_word(*byte))?;
    let length = bytes.get(start..)?.iter().take_while(|byte| is_word(**byte)).count();
    Some((start, start + length))
}

/// The range of a secret that is the word itself, or follows from it.
fn secret_after(text: &str, start: usize, end: usize) -> Option<(usize, usize)> {
    let word = text.get(start..end)?;
    if is_key_shaped(word) {
        return Some((start, token_end(text, start)));
    }
    let lower = word.to_ascii_lowercase();
    if SCHEMES.contains(&lower.as_str()) {
        let value = skip(text, end, " ");
        let to = token_end(text, value);
        return (value > end && to - value >= 8).then_some((value, to));
    }
    if text.get(end..)?.starts_with("://") {
        return user_info(text, end + 3);
    }
    let name: String = lower.chars().filter(|letter| !matches!(letter, '-' | '_')).collect();
    if !SECRET_NAMES.iter().any(|secret| name.ends_with(secret)) {
        return None;
    }
    assigned_value(text, end)
}

fn is_key_shaped(word: &str) -> bool {
    let prefixes = ["sk-", "pk-", "ghp_", "gho_", "github_pat_", "xoxb-", "xoxp-", "AKIA", "AIza"];
    word.len() >= 20 && prefixes.iter().any(|prefix| word.starts_with(prefix))
}

/// `name=value`, `name: value`, `"name":"value"`, `\"name\":\"value\"`.
fn assigned_value(text: &str, end: usize) -> Option<(usize, usize)> {
    let quote = skip(text, end, "\\\"'");
    let sign = skip(text, quote, " ");
    if !text.get(sign..)?.starts_with(['=', ':']) {
        return None;
    }
    let opening = skip(text, sign + 1, " ");
    let escapes = skip(text, opening, "\\");
    let is_quoted = text.get(escapes..)?.starts_with(['"', '\'']);
    let value = if is_quoted { escapes + 1 } else { opening };
    if quote > end && !is_quoted {
        // A number, a word or more JSON, which must stay JSON.
        return None;
    }
    // The scheme stays, the credential after it goes.
    let scheme_end = SCHEMES
        .iter()
        .find(|scheme| {
            text.get(value..value + scheme.len())
                .is_some_and(|found| found.eq_ignore_ascii_case(scheme))
        })
        .map(|scheme| skip(text, value + scheme.len(), " "));
    let from = scheme_end.unwrap_or(value);
    let to = if is_quoted { quoted_end(text, opening, value) } else { token_end(text, from) };
    (to >= from).then_some((from, to))
}

fn skip(text: &str, from: usize, set: &str) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    from + rest.bytes().take_while(|byte| set.as_bytes().contains(byte)).count()
}

fn token_end(text: &str, from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    let end = |letter: char| letter.is_whitespace() || "\"'\\,;&<>)}]".contains(letter);
    from + rest.find(end).unwrap_or(rest.len())
}

/// Where a quoted value ends whose opening quote, with the backslashes before it, stands from
/// `opening` to `value`: at the next quote that is not escaped more deeply.
fn quoted_end(text: &str, opening: usize, value: usize) -> usize {
    let mark = text.get(opening..value).unwrap_or_default();
    let depth = mark.bytes().take_while(|byte| *byte == b'\\').count();
    let quote = mark.as_bytes().get(depth).copied().unwrap_or(b'"');
    let mut backslashes = 0;
    for (at, byte) in text.bytes().enumerate().skip(value) {
        if byte == quote && backslashes <= depth {
            return at - backslashes;
        }
        backslashes = if byte == b'\\' { backslashes + 1 } else { 0 };
    }
    text.len()
}

fn user_info(text: &str, from: usize) -> Option<(usize, usize)> {
    let rest = text.get(from..)?;
    let authority = rest.get(..rest.find(['/', '?', '#', ' ', '"', '\\']).unwrap_or(rest.len()))?;
    authority.rfind('@').map(|at| (from, from + at))
}

#[cfg(test)]
mod tests {
    use super::{Redactor, redact, word};

    fn check(text: &str, expected: &str) {
        assert_eq!(redact(text), expected);
        assert_eq!(redact(expected), expected, "redacting twice changes nothing");
    }

    #[test]
    fn f9_secrets_are_marked() {
        check("Authorization: Bearer abc.def-ghi", "Authorization: Bearer [redacted]");
        check("sent bearer abcdefgh12 to it", "sent bearer [redacted] to it");
        check(r#"{"api_key":"abc","x":1}"#, r#"{"api_key":"[redacted]","x":1}"#);
        check(r#"{\"apiKey\":\"abc\"}"#, r#"{\"apiKey\":\"[redacted]\"}"#);
        check("X-Api-Key: abc123, ok", "X-Api-Key: [redacted], ok");
        check("OPENAI_API_KEY=abc rest", "OPENAI_API_KEY=[redacted] rest");
        check(
            "http://user:pw@host/p?token=abc&a=1",
            "http://[redacted]@host/p?token=[redacted]&a=1",
        );
        check(
            "Incorrect API key provided: sk-abcdefghijklmnopqrstuv.",
            "Incorrect API key provided: [redacted]",
        );
    }

    #[test]
    fn f9_a_secret_goes_as_a_whole_whatever_is_escaped_in_it() {
        check(r#"{"password":"ab\"cd","x":1}"#, r#"{"password":"[redacted]","x":1}"#);
        check(
            r#""{\"password\":\"ab\\\"cd\",\"x\":1}""#,
            r#""{\"password\":\"[redacted]\",\"x\":1}""#,
        );
        check(r#"{"password":""}"#, r#"{"password":""}"#);
    }

    #[test]
    fn f9_json_stays_json() {
        for text in [
            r#"{"token":5,"secret":null,"password":[1],"cookie":{"a":true}}"#,
            r#"{"token":"","x":""}"#,
        ] {
            check(text, text);
        }
    }

    #[test]
    fn f9_a_word_holds_no_secret_and_is_no_longer_than_a_word() {
        assert_eq!(word("tool-calls"), "tool-calls");
        assert_eq!(word("api_key=abcdefgh"), "api_key=[redacted]");
        let long = "é".repeat(1_000);
        assert_eq!(word(&long), format!("{}…", "é".repeat(64)));
    }

    #[test]
    fn f9_plain_text_stays() {
        for text in [
            "the token count is 5",
            "a basic idea",
            "bearer of news",
            "https://host/a@b",
            "tokens: 5",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn f9_known_secrets_are_marked_wherever_they_stand() {
        let redactor = Redactor::new(["hunter2!", "hunter2!more", "a"]);
        let found = redactor.redact("the word hunter2!more and hunter2! and a token=abc");
        assert_eq!(found, "the word [redacted] and [redacted] and a token=[redacted]");
        assert_eq!(format!("{redactor:?}"), "Redactor { known: 2 }");
    }
}
