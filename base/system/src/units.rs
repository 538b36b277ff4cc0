//! Times and sizes as people write them: `2s`, `64MiB`.

use std::time::Duration;

/// A time or a size that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found {found:?}")]
pub struct UnitError {
    /// The accepted form.
    pub expected: &'static str,
    /// The text that was found.
    pub found: String,
}

/// Reads a time: a whole number above zero and a unit, `ms`, `s` or `m`, such as `500ms`.
///
/// # Errors
///
/// The unit is missing or unknown, or the time is zero.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let wrong =
        || UnitError { expected: "a time such as \"2s\", \"500ms\" or \"1m\"", found: text.to_owned() };
    let (number, unit) = split(text).ok_or_else(wrong)?;
    let milliseconds = match unit {
        "ms" => Some(number),
        "s" => number.checked_mul(1_000),
        "m" => number.checked_mul(60_000),
        _ => None,
    };
    match milliseconds {
        Some(some @ 1..) => Ok(Duration::from_millis(some)),
        _ => Err(wrong()),
    }
}

/// Writes a time so that [`parse_duration`] reads it: `30s`, `1500ms`.
pub fn show_duration(time: Duration) -> String {
    if time.subsec_millis() == 0 { format!("{}s", time.as_secs()) } else { format!("{}ms", time.as_millis()) }
}

/// Reads a size in bytes: a whole number above zero and a unit, `B`, `KiB`, `MiB`, `GiB`, `KB`, `MB` or `GB`.
///
/// # Errors
///
/// The unit is missing or unknown, or the size is zero.
pub fn parse_size(text: &str) -> Result<u64, UnitError> {
    let wrong = || UnitError { expected: "a size such as \"64MiB\"", found: text.to_owned() };
    let (number, unit) = split(text).ok_or_else(wrong)?;
    let factor = match unit {
        "B" => 1,
        "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return Err(wrong()),
    };
    number.checked_mul(factor).filter(|bytes| *bytes > 0).ok_or_else(wrong)
}

/// Splits a text into the number and the unit after it.
fn split(text: &str) -> Option<(u64, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(digits)?;
    Some((number.parse().ok()?, unit.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_needs_a_number_and_a_unit() {
        for (text, ms) in [("2s", 2_000), ("500ms", 500), ("1m", 60_000), ("90 s", 90_000)] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for wrong in ["", "2", "s", "0s", "-1s", "1.5s", "2h", "2 S", "99999999999999999m", "２s"] {
            assert!(parse_duration(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_time_is_written_as_it_is_read() {
        for (ms, text) in [(30_000, "30s"), (1_500, "1500ms"), (90_000, "90s")] {
            assert_eq!(show_duration(Duration::from_millis(ms)), text);
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(ms)));
        }
    }

    #[test]
    fn a_size_is_read_in_either_kind_of_unit() {
        for (text, bytes) in [("64MiB", 64 << 20), ("1 GB", 1_000_000_000), ("5KiB", 5 << 10), ("7B", 7)] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for wrong in ["", "64", "64mib", "0MiB", "1.5GiB", "99999999999GiB"] {
            assert!(parse_size(wrong).is_err(), "{wrong:?}");
        }
    }
}
