//! What is a new thing called, when nobody names it?

use jiff::Timestamp;
use receipts::{ExecId, InputKey, RequestId, SessionId, UnixMillis};

/// How many random letters a name has: 78 bits.
const LETTERS: usize = 15;
const ALPHABET: [u8; 32] = *b"abcdefghijkmnpqrstuvwxyz23456789";

/// Names a run of this program.
pub(crate) fn exec() -> ExecId {
    ExecId::new(fresh("exec")).expect("a short text is an id")
}

/// Names a prompt.
pub(crate) fn request() -> RequestId {
    RequestId::new(fresh("req")).expect("a short text is an id")
}

/// Names the input that a prompt is.
pub(crate) fn input(request: &RequestId) -> InputKey {
    InputKey::new(request.as_str()).expect("an id of one kind is one of another")
}

/// Names a session after the day on which it is made.
pub(crate) fn session(now: UnixMillis) -> SessionId {
    let day = Timestamp::from_millisecond(now.0)
        .map_or_else(|_| String::new(), |now| now.strftime("%Y%m%d-").to_string());
    let letters = random_letters(5);
    SessionId::new(format!("run-{day}{letters}")).expect("a short text is an id")
}

fn fresh(kind: &str) -> String {
    format!("{kind}_{}", random_letters(LETTERS))
}

fn random_letters(count: usize) -> String {
    let mut bytes = [0_u8; LETTERS];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    let letters = bytes.iter().filter_map(|byte| ALPHABET.get(usize::from(byte & 31)));
    letters.take(count).map(|letter| char::from(*letter)).collect()
}
