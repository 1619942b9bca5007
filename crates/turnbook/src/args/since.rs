//! Since when? A day, a moment, or some time ago.

use std::str::FromStr;

use jiff::{Span, Timestamp, ZonedDateTime, civil::Date};
use receipts::UnixMillis;

use crate::config::Zone;

/// Says why a text is no time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct SinceError(&'static str);

/// A time span into the past, such as `90d` or `12h`; days are days of the calendar.
#[derive(Debug, Clone)]
pub(crate) struct Age(Span);

impl FromStr for Age {
    type Err = SinceError;

    fn from_str(text: &str) -> Result<Self, SinceError> {
        match text.parse::<Span>() {
            Ok(span) if !span.is_negative() => Ok(Self(span)),
            Ok(_) | Err(_) => Err(SinceError("write a duration such as 30d, 12h or 2w")),
        }
    }
}

impl Age {
    /// Gives the time that lies so far back.
    ///
    /// # Errors
    ///
    /// [`SinceError`] when no calendar reaches back so far.
    pub(crate) fn before(&self, now: UnixMillis, zone: &Zone) -> Result<UnixMillis, SinceError> {
        let far = |_| SinceError("no calendar reaches back so far");
        let now = Timestamp::from_millisecond(now.0).map_err(far)?;
        let then = now.to_zoned_datetime(zone.rules().clone()).checked_sub(self.0).map_err(far)?;
        Ok(millis(&then))
    }
}

/// A beginning.
#[derive(Debug, Clone)]
pub(crate) enum Since {
    /// The beginning of a day.
    Day(Date),
    /// A moment.
    Moment(UnixMillis),
    /// Some time ago.
    Ago(Age),
}

impl FromStr for Since {
    type Err = SinceError;

    fn from_str(text: &str) -> Result<Self, SinceError> {
        if let Ok(moment) = text.parse::<Timestamp>() {
            return Ok(Self::Moment(UnixMillis(moment.as_millisecond())));
        }
        if let Ok(day) = text.parse::<Date>() {
            return Ok(Self::Day(day));
        }
        match text.parse() {
            Ok(age) => Ok(Self::Ago(age)),
            Err(SinceError(_)) => Err(SinceError(
                "write a day such as 2026-12-01, or a duration such as 30d, 12h or 2w",
            )),
        }
    }
}

impl Since {
    /// Gives the time, in a zone.
    ///
    /// # Errors
    ///
    /// [`SinceError`] when no calendar has it.
    pub(crate) fn resolve(&self, now: UnixMillis, zone: &Zone) -> Result<UnixMillis, SinceError> {
        match self {
            Self::Moment(at) => Ok(*at),
            Self::Ago(age) => age.before(now, zone),
            Self::Day(day) => match day.to_zoned_datetime(zone.rules().clone()) {
                Ok(start) => Ok(millis(&start)),
                Err(_) => Err(SinceError("no calendar has that day")),
            },
        }
    }
}

fn millis(at: &ZonedDateTime) -> UnixMillis {
    UnixMillis(at.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::Since;
    use crate::print::moment;

    #[test]
    fn days_begin_in_their_zone_and_durations_count_its_days() {
        let zone = "Europe/Vienna".parse().unwrap();
        let told = |text: &str| {
            // Noon of 2026-03-30; the clock was put forward in the night before.
            let now = receipts::UnixMillis(1_774_864_800_000);
            moment(text.parse::<Since>().unwrap().resolve(now, &zone).unwrap(), &zone)
        };
        let told = ["2026-03-29", "2d", "48h", "90m", "2026-03-30T00:00:00Z"].map(told);
        let expected = [
            "2026-03-29 00:00:00",
            "2026-03-28 12:00:00",
            "2026-03-28 11:00:00",
            "2026-03-30 10:30:00",
            "2026-03-30 02:00:00",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in ["yesterday", "-3d", "", "2026-13-01"] {
            assert!(text.parse::<Since>().is_err(), "{text:?}");
        }
    }
}
