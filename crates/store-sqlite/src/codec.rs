//! How are values written into the bytes of one column?
//!
//! Unsigned numbers are LEB128, signed ones zigzag before; a text has its length first; what may be
//! missing has a byte 0 or 1 first. Bytes after what a reader knows are left alone.

use receipts::{Counters, UnixMillis, Usd};
use store::StoreError;

/// Why bytes could not be read.
#[derive(Debug)]
pub(crate) enum Undecoded {
    /// They hold something of a newer program (rule L13).
    Unknown,
    /// They are not what any program wrote.
    Malformed,
    /// A name that they use could not be read.
    Store(StoreError),
}

impl From<StoreError> for Undecoded {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// The result of decoding.
pub(crate) type Decoded<T> = Result<T, Undecoded>;

/// Writes values.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    pub(crate) bytes: Vec<u8>,
}

impl Encoder {
    pub(crate) fn code(&mut self, code: u8) {
        self.bytes.push(code);
    }

    pub(crate) fn count(&mut self, mut number: u64) {
        loop {
            let [low, ..] = number.to_le_bytes();
            number >>= 7;
            if number == 0 {
                self.bytes.push(low);
                return;
            }
            self.bytes.push(low | 0x80);
        }
    }

    pub(crate) fn int(&mut self, number: i64) {
        self.count(((number << 1) ^ (number >> 63)).cast_unsigned());
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.count(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Writes whether there is a value, and the value.
    pub(crate) fn opt<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.code(u8::from(value.is_some()));
        if let Some(value) = value {
            write(self, value);
        }
    }

    pub(crate) fn opt_time(&mut self, at: Option<UnixMillis>) {
        self.opt(at, |this, at| this.int(at.0));
    }

    pub(crate) fn counters(&mut self, counters: &Counters) {
        for (_, tokens) in counters.tokens() {
            self.opt(tokens, Self::count);
        }
        self.opt(counters.cost, |this, cost| this.text(&cost.to_string()));
    }
}

/// Reads values.
#[derive(Debug)]
pub(crate) struct Decoder<'b> {
    bytes: &'b [u8],
}

impl<'b> Decoder<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes }
    }

    pub(crate) fn code(&mut self) -> Decoded<u8> {
        let (&first, rest) = self.bytes.split_first().ok_or(Undecoded::Malformed)?;
        self.bytes = rest;
        Ok(first)
    }

    pub(crate) fn count(&mut self) -> Decoded<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.code()?;
            let bits = u64::from(byte & 0x7f);
            if (bits << shift) >> shift != bits {
                return Err(Undecoded::Malformed);
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Undecoded::Malformed)
    }

    pub(crate) fn int(&mut self) -> Decoded<i64> {
        let number = self.count()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    pub(crate) fn text(&mut self) -> Decoded<&'b str> {
        let length = usize::try_from(self.count()?).or(Err(Undecoded::Malformed))?;
        let (text, rest) = self.bytes.split_at_checked(length).ok_or(Undecoded::Malformed)?;
        self.bytes = rest;
        std::str::from_utf8(text).or(Err(Undecoded::Malformed))
    }

    pub(crate) fn opt<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Decoded<T>,
    ) -> Decoded<Option<T>> {
        match self.code()? {
            0 => Ok(None),
            1 => read(self).map(Some),
            _ => Err(Undecoded::Unknown),
        }
    }

    pub(crate) fn opt_time(&mut self) -> Decoded<Option<UnixMillis>> {
        self.opt(|this| this.int().map(UnixMillis))
    }

    pub(crate) fn counters(&mut self) -> Decoded<Counters> {
        Ok(Counters {
            input: self.opt(Self::count)?,
            cache_read: self.opt(Self::count)?,
            cache_write: self.opt(Self::count)?,
            cache_write_1h: self.opt(Self::count)?,
            output: self.opt(Self::count)?,
            reasoning: self.opt(Self::count)?,
            cost: self.opt(|this| Usd::parse(this.text()?).ok_or(Undecoded::Malformed))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Decoder, Encoder};

    proptest! {
        #[test]
        fn what_is_written_is_read(
            count in any::<u64>(),
            int in any::<i64>(),
            text in any::<String>(),
            time in any::<Option<i64>>(),
        ) {
            let mut encoder = Encoder::default();
            encoder.count(count);
            encoder.int(int);
            encoder.text(&text);
            encoder.opt(time, Encoder::int);
            let mut decoder = Decoder::new(&encoder.bytes);
            let read = (
                decoder.count().unwrap(),
                decoder.int().unwrap(),
                decoder.text().unwrap(),
                decoder.opt(Decoder::int).unwrap(),
            );
            prop_assert_eq!(read, (count, int, text.as_str(), time));
        }

        #[test]
        fn no_bytes_panic(bytes in any::<Vec<u8>>()) {
            let mut decoder = Decoder::new(&bytes);
            while decoder.count().is_ok() && decoder.text().is_ok() && decoder.counters().is_ok() {}
        }
    }
}
