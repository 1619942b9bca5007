//! Where does a page go on? The server's cursors, which we can also make.
//!
//! Source: opencode-ai 1.18.33: base64url without padding of `{"id", "time"}`, the sort key of the
//! oldest message of the page. The page before it holds what is older: a smaller time, or the same
//! time and a smaller id.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use harness::Cursor;
use serde::{Deserialize, Serialize};

/// The sort key of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Key {
    pub(crate) id: String,
    /// Milliseconds since the Unix epoch, by the server's clock.
    pub(crate) time: i64,
}

impl Key {
    /// The key below every message of that time and above every older one.
    pub(crate) fn at(time: i64) -> Self {
        // Every message id begins with it, and it is the smallest one.
        Self { id: "msg".to_owned(), time }
    }

    /// The key right above a message: what is older begins with it.
    pub(crate) fn above(id: &str, time: i64) -> Self {
        // No id holds a character that is greater.
        Self { id: format!("{id}\u{10ffff}"), time }
    }

    pub(crate) fn encode(&self) -> Cursor {
        let json = serde_json::to_string(self).expect("a struct of text and number becomes JSON");
        Cursor::new(URL_SAFE_NO_PAD.encode(json))
    }

    /// `None` when the cursor is none of this form.
    pub(crate) fn decode(cursor: &Cursor) -> Option<Self> {
        let json = URL_SAFE_NO_PAD.decode(cursor.as_str()).ok()?;
        serde_json::from_slice(&json).ok()
    }
}

#[cfg(test)]
mod tests {
    use harness::Cursor;

    use super::Key;

    #[test]
    fn a_recorded_cursor_is_read_and_made() {
        let text =
            "eyJpZCI6Im1zZ18yMmUzZmVhMDcwMDFLZllMb3FIME5qOXpGRiIsInRpbWUiOjE3OTYwNzIyNzAzNDN9";
        let key = Key { id: "msg_22e3fea07001KfYLoqH0Nj9zFF".to_owned(), time: 1_796_072_270_343 };
        assert_eq!(Key::decode(&Cursor::new(text)), Some(key.clone()));
        assert_eq!(key.encode(), Cursor::new(text));
        assert_eq!(Key::decode(&Cursor::new("garbage")), None);
    }
}
