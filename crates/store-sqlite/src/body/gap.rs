//! How is something that did not fit written?

use receipts::{Counter, Decrease, Gap, MessageId};
use store::Result;

use super::{BodyReader, BodyWriter};
use crate::codec::{Decoded, Undecoded};

/// The place of each is its code: only ever append.
const COUNTERS: [Counter; 7] = [
    Counter::Input,
    Counter::CacheRead,
    Counter::CacheWrite,
    Counter::CacheWrite1h,
    Counter::Output,
    Counter::Reasoning,
    Counter::Cost,
];

fn code_of(counter: Counter) -> u8 {
    match counter {
        Counter::Input => 0,
        Counter::CacheRead => 1,
        Counter::CacheWrite => 2,
        Counter::CacheWrite1h => 3,
        Counter::Output => 4,
        Counter::Reasoning => 5,
        Counter::Cost => 6,
    }
}

impl BodyWriter<'_> {
    pub(super) fn gap(&mut self, gap: &Gap) -> Result<()> {
        match gap {
            Gap::MissingTime { message } => self.of_message(0, message),
            Gap::ClockStep { message } => self.of_message(1, message),
            Gap::Unreadable { message, path, problem } => {
                self.encoder.code(2);
                self.opt_name(message.as_ref().map(MessageId::as_str))?;
                self.encoder.text(path);
                self.encoder.text(problem);
                Ok(())
            }
            Gap::UnknownFinish { message, word } => {
                self.of_message(3, message)?;
                self.encoder.text(word);
                Ok(())
            }
            Gap::DanglingParent { message } => self.of_message(4, message),
            Gap::NoParent { message } => self.of_message(5, message),
            Gap::UnknownUsage { call } => {
                self.encoder.code(6);
                self.name(call.as_str())
            }
            Gap::Decrease { call, decrease } => {
                self.encoder.code(7);
                self.name(call.as_str())?;
                self.encoder.code(code_of(decrease.counter));
                self.encoder.text(&decrease.from);
                self.encoder.text(&decrease.to);
                Ok(())
            }
            Gap::Overflow { counter } => {
                self.encoder.code(8);
                self.encoder.code(code_of(*counter));
                Ok(())
            }
            Gap::NeverClosed { message } => self.of_message(9, message),
            Gap::Contradiction { message } => self.of_message(10, message),
            Gap::Removed { message } => self.of_message(11, message),
            Gap::Overwritten { message } => self.of_message(12, message),
            // A gap that `receipts` knows and this crate does not yet: its key alone is kept.
            _ => {
                self.is_known = false;
                Ok(())
            }
        }
    }

    fn of_message(&mut self, code: u8, message: &MessageId) -> Result<()> {
        self.encoder.code(code);
        self.name(message.as_str())
    }
}

impl BodyReader<'_> {
    pub(super) fn gap(&mut self) -> Decoded<Gap> {
        Ok(match self.decoder.code()? {
            0 => Gap::MissingTime { message: self.message()? },
            1 => Gap::ClockStep { message: self.message()? },
            2 => Gap::Unreadable {
                message: self.opt_name()?,
                path: self.decoder.text()?.to_owned(),
                problem: self.decoder.text()?.to_owned(),
            },
            3 => Gap::UnknownFinish {
                message: self.message()?,
                word: self.decoder.text()?.to_owned(),
            },
            4 => Gap::DanglingParent { message: self.message()? },
            5 => Gap::NoParent { message: self.message()? },
            6 => Gap::UnknownUsage { call: self.name()? },
            7 => Gap::Decrease {
                call: self.name()?,
                decrease: Decrease {
                    counter: self.counter()?,
                    from: self.decoder.text()?.to_owned(),
                    to: self.decoder.text()?.to_owned(),
                },
            },
            8 => Gap::Overflow { counter: self.counter()? },
            9 => Gap::NeverClosed { message: self.message()? },
            10 => Gap::Contradiction { message: self.message()? },
            11 => Gap::Removed { message: self.message()? },
            12 => Gap::Overwritten { message: self.message()? },
            _ => return Err(Undecoded::Unknown),
        })
    }

    fn message(&mut self) -> Decoded<MessageId> {
        self.name()
    }

    fn counter(&mut self) -> Decoded<Counter> {
        let code = usize::from(self.decoder.code()?);
        COUNTERS.get(code).copied().ok_or(Undecoded::Unknown)
    }
}
