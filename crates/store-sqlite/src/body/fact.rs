//! How is a fact of the harness's history written?

use receipts::{Completion, FactBody, Failure, Finish, Kind, MessageId, Output, Status, TurnId};
use store::Result;

use super::{BodyReader, BodyWriter};
use crate::codec::{Decoded, Undecoded};

/// The place of each in its list is its code: only ever append.
const KINDS: [Kind; 4] = [Kind::Prompt, Kind::Summarize, Kind::Shell, Kind::Orphan];
const STATUSES: [Status; 9] = [
    Status::Pending,
    Status::Completed,
    Status::Failed,
    Status::Interrupted,
    Status::Stopped,
    Status::Absorbed,
    Status::Unanswered,
    Status::NoReply,
    Status::Lost,
];
const FINISHES: [Finish; 6] = [
    Finish::Stop,
    Finish::Length,
    Finish::ContentFilter,
    Finish::Other,
    Finish::Error,
    Finish::ToolCalls,
];
/// The code of a word that has none; the word follows.
const OTHER_WORD: u8 = 255;

/// Gives the code of an entry; 255 where it has none.
fn code<T: PartialEq>(list: &[T], entry: &T) -> u8 {
    let at = list.iter().position(|other| other == entry);
    at.and_then(|at| u8::try_from(at).ok()).unwrap_or(OTHER_WORD)
}

fn entry<T: Clone>(list: &[T], code: u8) -> Decoded<T> {
    list.get(usize::from(code)).cloned().ok_or(Undecoded::Unknown)
}

impl BodyWriter<'_> {
    pub(super) fn fact(&mut self, fact: &FactBody) -> Result<()> {
        match fact {
            FactBody::Admitted { kind, at } => {
                self.encoder.code(0);
                self.encoder.code(code(&KINDS, kind));
                self.encoder.opt_time(*at);
            }
            FactBody::Started { message, at } => {
                self.encoder.code(1);
                self.name(message.as_str())?;
                self.encoder.opt_time(*at);
            }
            FactBody::Call { key, message, at, counters, provider, model } => {
                self.encoder.code(2);
                self.name(key.as_str())?;
                self.name(message.as_str())?;
                self.encoder.opt_time(*at);
                self.encoder.counters(counters);
                self.opt_name(provider.as_deref())?;
                self.opt_name(model.as_deref())?;
            }
            FactBody::Child { thread } => {
                self.encoder.code(3);
                self.name(thread.as_str())?;
            }
            FactBody::Generated { message } => {
                self.encoder.code(4);
                self.name(message.as_str())?;
            }
            FactBody::Completed(completion) => {
                self.encoder.code(5);
                self.completion(completion)?;
            }
            FactBody::Gap(gap) => {
                self.encoder.code(6);
                self.gap(gap)?;
            }
        }
        Ok(())
    }

    fn completion(&mut self, completion: &Completion) -> Result<()> {
        let Completion {
            message,
            status,
            failure,
            finish,
            absorbed_by,
            started_at,
            completed_at,
            output,
        } = completion;
        self.opt_name(message.as_ref().map(MessageId::as_str))?;
        self.encoder.code(code(&STATUSES, status));
        self.encoder.opt(failure.as_ref(), |encoder, failure| {
            encoder.text(&failure.name);
            encoder.text(&failure.message);
        });
        self.encoder.opt(finish.as_ref(), |encoder, finish| {
            encoder.code(code(&FINISHES, finish));
            if let Finish::Unknown(word) = finish {
                encoder.text(word);
            }
        });
        self.opt_name(absorbed_by.as_ref().map(TurnId::as_str))?;
        self.encoder.opt_time(*started_at);
        self.encoder.opt_time(*completed_at);
        self.encoder.opt(output.as_ref(), |encoder, output| {
            let (code, text) = match output {
                Output::Text(text) => (0, text),
                Output::Partial(text) => (1, text),
                Output::Value(text) => (2, text),
            };
            encoder.code(code);
            encoder.text(text);
        });
        Ok(())
    }
}

impl BodyReader<'_> {
    pub(super) fn fact(&mut self) -> Decoded<FactBody> {
        Ok(match self.decoder.code()? {
            0 => FactBody::Admitted {
                kind: entry(&KINDS, self.decoder.code()?)?,
                at: self.decoder.opt_time()?,
            },
            1 => FactBody::Started { message: self.name()?, at: self.decoder.opt_time()? },
            2 => FactBody::Call {
                key: self.name()?,
                message: self.name()?,
                at: self.decoder.opt_time()?,
                counters: self.decoder.counters()?,
                provider: self.opt_name()?,
                model: self.opt_name()?,
            },
            3 => FactBody::Child { thread: self.name()? },
            4 => FactBody::Generated { message: self.name()? },
            5 => FactBody::Completed(self.completion()?),
            6 => FactBody::Gap(self.gap()?),
            _ => return Err(Undecoded::Unknown),
        })
    }

    fn completion(&mut self) -> Decoded<Completion> {
        Ok(Completion {
            message: self.opt_name()?,
            status: entry(&STATUSES, self.decoder.code()?)?,
            failure: self.decoder.opt(|decoder| {
                Ok(Failure { name: decoder.text()?.into(), message: decoder.text()?.into() })
            })?,
            finish: self.decoder.opt(|decoder| match decoder.code()? {
                OTHER_WORD => Ok(Finish::Unknown(decoder.text()?.into())),
                code => entry(&FINISHES, code),
            })?,
            absorbed_by: self.opt_name()?,
            started_at: self.decoder.opt_time()?,
            completed_at: self.decoder.opt_time()?,
            output: self.decoder.opt(|decoder| {
                let make = match decoder.code()? {
                    0 => Output::Text,
                    1 => Output::Partial,
                    2 => Output::Value,
                    _ => return Err(Undecoded::Unknown),
                };
                Ok(make(decoder.text()?.into()))
            })?,
        })
    }
}
