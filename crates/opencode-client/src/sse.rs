//! How does a byte stream become events? An incremental parser of server-sent events.
//!
//! Source: WHATWG HTML, 9.2.6 "Interpreting an event stream". Bytes may be cut anywhere, also
//! inside a character or between CR and LF. Memory has a bound: an event that grows beyond it is an
//! error, not growth.

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// The event type; `message` unless the stream names one.
    pub event: String,
    /// The data, its lines joined with LF.
    pub data: String,
    /// The last event id that the stream has named so far.
    pub id: String,
}

/// Says why a stream is not read further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// One event, or one line of it, is larger than the reader takes.
    #[error("an event is larger than {max} bytes")]
    TooLarge {
        /// The limit, in bytes.
        max: usize,
    },
}

/// Where in the stream a line stands.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// A byte order mark at its beginning is not part of it.
    FirstLine,
    LaterLine,
}

/// Reads a stream of server-sent events piece by piece.
#[derive(Debug)]
pub struct SseParser {
    event_bytes_max: usize,
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// The last byte was a CR; an LF right after it belongs to the same line end.
    after_cr: bool,
    place: Place,
    event: String,
    /// `None` until the event has a `data` field, which may be empty.
    data: Option<String>,
    id: String,
    retry_ms: Option<u64>,
}

impl SseParser {
    /// Makes a parser that takes events of at most so many bytes.
    #[must_use]
    pub fn new(event_bytes_max: usize) -> Self {
        Self {
            event_bytes_max,
            line: Vec::new(),
            after_cr: false,
            place: Place::FirstLine,
            event: String::new(),
            data: None,
            id: String::new(),
            retry_ms: None,
        }
    }

    /// How long the server wants to be left alone before a new connection, in milliseconds.
    #[must_use]
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// Takes the next bytes and appends the events that end in them to `out`.
    ///
    /// What is incomplete when the stream ends is no event.
    ///
    /// # Errors
    ///
    /// [`SseError::TooLarge`]; the parser is of no use afterwards.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<SseEvent>) -> Result<(), SseError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            if std::mem::take(&mut self.after_cr) && rest.first() == Some(&b'\n') {
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
            self.line.extend_from_slice(piece);
            let data = self.data.as_ref().map_or(0, String::len);
            if self.line.len() + data > self.event_bytes_max {
                return Err(SseError::TooLarge { max: self.event_bytes_max });
            }
            if let Some((line_end, after)) = after.split_first() {
                self.after_cr = *line_end == b'\r';
                let line = std::mem::take(&mut self.line);
                self.line(&line, out);
                // The buffer is kept for the next line.
                self.line = line;
                self.line.clear();
                rest = after;
            } else {
                rest = after;
            }
        }
        Ok(())
    }

    fn line(&mut self, line: &[u8], out: &mut Vec<SseEvent>) {
        let line = match std::mem::replace(&mut self.place, Place::LaterLine) {
            Place::FirstLine => line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line),
            Place::LaterLine => line,
        };
        if line.is_empty() {
            self.dispatch(out);
            return;
        }
        let line = String::from_utf8_lossy(line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            "id" if !value.contains('\0') => value.clone_into(&mut self.id),
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.retry_ms = value.parse().ok().or(self.retry_ms);
            }
            // A comment, or a field of a later standard.
            _ => {}
        }
    }

    fn dispatch(&mut self, out: &mut Vec<SseEvent>) {
        let event = std::mem::take(&mut self.event);
        if let Some(data) = self.data.take()
            && !data.is_empty()
        {
            let event = if event.is_empty() { "message".to_owned() } else { event };
            out.push(SseEvent { event, data, id: self.id.clone() });
        }
    }
}

#[cfg(test)]
mod tests;
