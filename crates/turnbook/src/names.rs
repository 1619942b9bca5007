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

#[cfg(test)]
mod tests {
    use receipts::UnixMillis;

    use super::{ALPHABET, exec, input, request, session};

    fn is_drawn(letters: &str) -> bool {
        letters.bytes().all(|letter| ALPHABET.contains(&letter))
    }

    #[test]
    fn a_new_name_says_what_it_names_and_is_no_other() {
        let names = [exec().as_str().to_owned(), request().as_str().to_owned()];
        for (name, kind) in names.iter().zip(["exec_", "req_"]) {
            let letters = name.strip_prefix(kind).unwrap();
            assert!(letters.len() == 15 && is_drawn(letters), "{name}");
        }
        assert_ne!(request(), request());
    }

    #[test]
    fn a_session_is_named_after_its_day() {
        let name = session(UnixMillis(1_764_560_040_000));
        let letters = name.as_str().strip_prefix("run-20251201-").unwrap();
        assert!(letters.len() == 5 && is_drawn(letters), "{name}");
    }

    #[test]
    fn the_input_of_a_prompt_is_called_as_the_prompt() {
        let request = request();
        assert_eq!(input(&request).as_str(), request.as_str());
    }
}
