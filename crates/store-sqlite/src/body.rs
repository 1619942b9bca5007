//! How is what happened in an event written into its row?
//!
//! `form` names the layout of `body`. A form that a reader does not know, or a code within one,
//! gives [`EventBody::Unknown`] (rule L13). A layout never changes: what is said otherwise gets a
//! new form.

mod fact;
mod gap;

use receipts::{ExecId, FactBody};
use store::{
    Attempt, Capture, Dispatch, Effect, EventBody, ExecOutcome, Generation, Result, Seq, Stage,
};

use crate::{
    codec::{Decoded, Decoder, Encoder, Undecoded},
    transaction::{NONE, Transaction},
    word::Word,
};

/// An event of a kind that this program does not know itself, handed through.
const CARRIED: i64 = 0;
const CAPTURED: i64 = 1;
const REQUESTED: i64 = 2;
const FACT: i64 = 3;
const RAISED: i64 = 4;
const CONTRADICTED: i64 = 5;
const EXITED: i64 = 6;
const DRIVER_FINISHED: i64 = 7;
const EFFECT: i64 = 8;
const CLOSED: i64 = 9;

/// An event's columns that depend on what happened.
#[derive(Debug)]
pub(crate) struct Written {
    /// The model call of a `usage` event.
    pub(crate) call: i64,
    pub(crate) form: i64,
    pub(crate) body: Vec<u8>,
}

/// Writes a body; `key` is its [`EventBody::key`].
pub(crate) fn write(tx: &Transaction<'_>, body: &EventBody, key: &str) -> Result<Written> {
    let mut writer = BodyWriter { tx, encoder: Encoder::default(), is_known: true };
    let form = writer.body(body)?;
    let call = if let EventBody::Fact(FactBody::Call { key, .. }) = body {
        tx.intern(key.as_str())?
    } else {
        NONE
    };
    if writer.is_known && form != CARRIED {
        return Ok(Written { call, form, body: writer.encoder.bytes });
    }
    let mut carried = Encoder::default();
    carried.text(key);
    Ok(Written { call, form: CARRIED, body: carried.bytes })
}

/// Reads a body; [`Undecoded::Unknown`] where only its kind and key can be told.
pub(crate) fn read(
    tx: &Transaction<'_>,
    kind: &str,
    form: i64,
    bytes: &[u8],
) -> Decoded<EventBody> {
    BodyReader { tx, decoder: Decoder::new(bytes) }.body(kind, form)
}

/// Writes values, names among them as their ids.
#[derive(Debug)]
struct BodyWriter<'t> {
    tx: &'t Transaction<'t>,
    encoder: Encoder,
    /// Whether all of it has a layout yet.
    is_known: bool,
}

impl BodyWriter<'_> {
    fn body(&mut self, body: &EventBody) -> Result<i64> {
        match body {
            EventBody::Captured { input, capture } => {
                self.name(input.as_str())?;
                self.encoder.count(capture.0);
                Ok(CAPTURED)
            }
            EventBody::Requested { request } => {
                self.name(request.as_str())?;
                Ok(REQUESTED)
            }
            EventBody::Fact(fact) => {
                self.fact(fact)?;
                Ok(FACT)
            }
            EventBody::Raised { call, counters } => {
                self.name(call.as_str())?;
                self.encoder.counters(counters);
                Ok(RAISED)
            }
            EventBody::Contradicted { first, latest } => {
                self.encoder.count(first.0);
                self.fact(latest)?;
                Ok(CONTRADICTED)
            }
            EventBody::Exited => Ok(EXITED),
            EventBody::DriverFinished { exec, generation, outcome } => {
                self.opt_name(exec.as_ref().map(ExecId::as_str))?;
                self.encoder.count(generation.0);
                self.outcome(*outcome);
                Ok(DRIVER_FINISHED)
            }
            EventBody::Effect { effect, attempt, stage } => {
                self.effect(effect);
                self.encoder.count(attempt.0);
                self.stage(stage);
                Ok(EFFECT)
            }
            EventBody::Closed => Ok(CLOSED),
            EventBody::Unknown { .. } => Ok(CARRIED),
        }
    }

    fn name(&mut self, text: &str) -> Result<()> {
        let id = self.tx.intern(text)?;
        self.encoder.count(id.cast_unsigned());
        Ok(())
    }

    /// One more than the name's id; 0 is none, so that the empty text can be told from it.
    fn opt_name(&mut self, text: Option<&str>) -> Result<()> {
        let id = text.map(|text| self.tx.intern(text)).transpose()?;
        self.encoder.count(id.map_or(0, |id| id.cast_unsigned() + 1));
        Ok(())
    }

    fn outcome(&mut self, outcome: ExecOutcome) {
        let (code, detail) = outcome_codes(outcome);
        self.encoder.code(code);
        self.encoder.int(i64::from(detail));
    }

    fn effect(&mut self, effect: &Effect) {
        match effect {
            Effect::CreateThread { title } => {
                self.encoder.code(0);
                self.encoder.text(title);
            }
            Effect::Abort => self.encoder.code(1),
            Effect::Answer { ask, answer } => {
                self.encoder.code(2);
                self.encoder.text(ask);
                self.encoder.text(answer);
            }
        }
    }

    fn stage(&mut self, stage: &Stage) {
        match stage {
            Stage::Meant => self.encoder.code(0),
            Stage::Dispatched(Dispatch::Sent) => self.encoder.code(1),
            Stage::Dispatched(Dispatch::NotSent { why }) => {
                self.encoder.code(2);
                self.encoder.text(why);
            }
            Stage::Dispatched(Dispatch::Uncertain { why }) => {
                self.encoder.code(3);
                self.encoder.text(why);
            }
        }
    }
}

/// Reads what [`BodyWriter`] writes.
#[derive(Debug)]
struct BodyReader<'t> {
    tx: &'t Transaction<'t>,
    decoder: Decoder<'t>,
}

impl BodyReader<'_> {
    fn body(&mut self, kind: &str, form: i64) -> Decoded<EventBody> {
        Ok(match form {
            CARRIED => EventBody::Unknown { kind: kind.into(), key: self.decoder.text()?.into() },
            CAPTURED => {
                EventBody::Captured { input: self.name()?, capture: Capture(self.decoder.count()?) }
            }
            REQUESTED => EventBody::Requested { request: self.name()? },
            FACT => EventBody::Fact(self.fact()?),
            RAISED => EventBody::Raised { call: self.name()?, counters: self.decoder.counters()? },
            CONTRADICTED => {
                EventBody::Contradicted { first: Seq(self.decoder.count()?), latest: self.fact()? }
            }
            EXITED => EventBody::Exited,
            DRIVER_FINISHED => EventBody::DriverFinished {
                exec: self.opt_name()?,
                generation: Generation(self.decoder.count()?),
                outcome: self.outcome()?,
            },
            EFFECT => EventBody::Effect {
                effect: self.effect()?,
                attempt: Attempt(self.decoder.count()?),
                stage: self.stage()?,
            },
            CLOSED => EventBody::Closed,
            _ => return Err(Undecoded::Unknown),
        })
    }

    fn name<T: Word>(&mut self) -> Decoded<T> {
        let id = self.decoder.count()?;
        T::of(&self.tx.name(id.cast_signed())?).ok_or(Undecoded::Malformed)
    }

    fn opt_name<T: Word>(&mut self) -> Decoded<Option<T>> {
        match self.decoder.count()?.checked_sub(1) {
            None => Ok(None),
            Some(id) => {
                T::of(&self.tx.name(id.cast_signed())?).map(Some).ok_or(Undecoded::Malformed)
            }
        }
    }

    fn outcome(&mut self) -> Decoded<ExecOutcome> {
        let code = self.decoder.code()?;
        let detail = i32::try_from(self.decoder.int()?).or(Err(Undecoded::Malformed))?;
        outcome_of(i64::from(code), detail).ok_or(Undecoded::Unknown)
    }

    fn effect(&mut self) -> Decoded<Effect> {
        Ok(match self.decoder.code()? {
            0 => Effect::CreateThread { title: self.decoder.text()?.into() },
            1 => Effect::Abort,
            2 => Effect::Answer {
                ask: self.decoder.text()?.into(),
                answer: self.decoder.text()?.into(),
            },
            _ => return Err(Undecoded::Unknown),
        })
    }

    fn stage(&mut self) -> Decoded<Stage> {
        Ok(match self.decoder.code()? {
            0 => Stage::Meant,
            1 => Stage::Dispatched(Dispatch::Sent),
            2 => Stage::Dispatched(Dispatch::NotSent { why: self.decoder.text()?.into() }),
            3 => Stage::Dispatched(Dispatch::Uncertain { why: self.decoder.text()?.into() }),
            _ => return Err(Undecoded::Unknown),
        })
    }
}

/// Gives the two numbers that an outcome is kept as.
pub(crate) fn outcome_codes(outcome: ExecOutcome) -> (u8, i32) {
    match outcome {
        ExecOutcome::Exited(code) => (0, code),
        ExecOutcome::Killed(signal) => (1, signal),
        ExecOutcome::Lost => (2, 0),
    }
}

/// Reads [`outcome_codes`] back.
pub(crate) fn outcome_of(code: i64, detail: i32) -> Option<ExecOutcome> {
    match code {
        0 => Some(ExecOutcome::Exited(detail)),
        1 => Some(ExecOutcome::Killed(detail)),
        2 => Some(ExecOutcome::Lost),
        _ => None,
    }
}
