//! How are times told?

use jiff::{Timestamp, ZonedDateTime};
use receipts::UnixMillis;

use crate::config::Zone;

/// Gives a time in a zone; `None` for one that no calendar has.
pub(crate) fn zoned(at: UnixMillis, zone: &Zone) -> Option<ZonedDateTime> {
    let at = Timestamp::from_millisecond(at.0).ok()?;
    Some(at.to_zoned_datetime(zone.rules().clone()))
}

/// Tells a time to the second, such as `2026-12-01 03:34:00`.
pub(crate) fn moment(at: UnixMillis, zone: &Zone) -> String {
    match zoned(at, zone) {
        Some(at) => at.strftime("%Y-%m-%d %H:%M:%S").to_string(),
        None => format!("{} ms", at.0),
    }
}

/// Tells how long something took, such as `4.2 s`; `None` when a clock stepped back.
pub(super) fn between(start: UnixMillis, end: UnixMillis) -> Option<String> {
    let ms = end.0.checked_sub(start.0).filter(|ms| *ms >= 0)?;
    let (tenths, seconds) = (ms / 100, ms / 1000);
    Some(match seconds {
        0 => format!("{ms} ms"),
        1..60 => format!("{}.{} s", tenths / 10, tenths % 10),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    })
}

#[cfg(test)]
mod tests {
    use receipts::UnixMillis;

    use super::{between, moment};

    #[test]
    fn a_time_is_told_in_its_zone() {
        let zones = ["UTC", "Europe/Vienna", "Asia/Kolkata"].map(|name| name.parse().unwrap());
        let told = zones.map(|zone| moment(UnixMillis(1_764_560_040_000), &zone));
        assert_eq!(told, ["2025-12-01 03:34:00", "2025-12-01 04:34:00", "2025-12-01 09:04:00"]);
        assert_eq!(
            moment(UnixMillis(i64::MAX), &"UTC".parse().unwrap()),
            format!("{} ms", i64::MAX)
        );
    }

    #[test]
    fn a_time_span_is_told_in_its_unit() {
        let told =
            [0, 999, 4_250, 61_000, 3_725_000, -1].map(|ms| between(UnixMillis(0), UnixMillis(ms)));
        let expected = [
            Some("0 ms"),
            Some("999 ms"),
            Some("4.2 s"),
            Some("1 min 1 s"),
            Some("1 h 2 min"),
            None,
        ];
        assert_eq!(told, expected.map(|text| text.map(str::to_owned)));
    }
}
