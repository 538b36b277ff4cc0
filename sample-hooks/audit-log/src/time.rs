//! Times as text.

/// A time in milliseconds since 1970, such as `2025-04-27T18:42:31.007Z`.
pub(crate) fn rfc3339(timestamp_ms: u64) -> String {
    let (days, rest) = (timestamp_ms / 86_400_000, timestamp_ms % 86_400_000);
    let (year, month, day) = date(days);
    let (hours, minutes) = (rest / 3_600_000, rest / 60_000 % 60);
    let (seconds, milliseconds) = (rest / 1000 % 60, rest % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{milliseconds:03}Z")
}

/// Year, month and day of a day since 1970, in the Gregorian calendar.
fn date(days: u64) -> (u64, u64, u64) {
    // Years that begin in March end with the day that comes and goes; 400 of them have 146 097 days.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_as_the_calendar_has_it() {
        for (timestamp_ms, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
            (1_735_689_599_001, "2024-12-31T23:59:59.001Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(rfc3339(timestamp_ms), expected);
        }
        assert!(rfc3339(u64::MAX).ends_with('Z'));
    }
}
