//! Integers that 64 bits do not hold. A [`Value`] has the nearest float in their place; the text written here has
//! every digit.

use std::fmt::Write as _;

use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// Writes what [`value`](super::value) reads from this JSON, with every digit of its integers. `None` if the value
/// itself has every digit, or if it is odd beyond its numbers.
///
/// The text is not the one that was given: of a name that is there twice only the last value counts, as in the value.
/// An integer beyond every float stays text, because many parsers of JSON refuse it.
pub fn exact(raw: &str) -> Option<String> {
    let marked = marked(raw)?;
    let value = super::parse(&marked, 0).or_else(|_| super::parse(&super::paired(&marked), 0)).ok()?;
    serde_json::to_string(&Marked(&value)).ok()
}

/// Returns true if a number of this value may be the nearest float of an integer.
pub fn is_rounded(value: &Value) -> bool {
    match value {
        // From 2^53 on every float is an integer, and 64 bits hold those that are read as one.
        Value::Number(number) => {
            number.is_f64() && number.as_f64().is_some_and(|it| it.abs() >= 2_f64.powi(53) || it == 0.0)
        }
        Value::Array(items) => items.iter().any(is_rounded),
        Value::Object(members) => members.values().any(is_rounded),
        _ => false,
    }
}

/// Marks each string by `=`, and writes each integer that 64 bits do not hold as a string with `#`, so that a parser
/// keeps its digits. `None` if there is no such integer.
fn marked(raw: &str) -> Option<String> {
    let mut out = String::with_capacity(raw.len());
    let (mut rest, mut is_found) = (raw, false);
    while let Some(at) = rest.find(|c: char| matches!(c, '"' | '-' | '0'..='9')) {
        let (before, token) = rest.split_at_checked(at)?;
        out.push_str(before);
        if let Some(string) = token.strip_prefix('"') {
            let (string, after) = string.split_at_checked(end_of_string(string)?)?;
            out.push_str("\"=");
            out.push_str(string);
            rest = after;
        } else {
            let end = token.find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E'));
            let (number, after) = token.split_at_checked(end.unwrap_or(token.len()))?;
            // As the value: a number beyond every float is text.
            let is_finite = number.parse().is_ok_and(f64::is_finite);
            let mark = if is_finite { "#" } else { "=" };
            if is_wide(number) || !is_finite {
                is_found |= is_finite;
                write!(out, "\"{mark}{number}\"").ok()?;
            } else {
                out.push_str(number);
            }
            rest = after;
        }
    }
    out.push_str(rest);
    is_found.then_some(out)
}

/// Returns the length of a string without its first quote, up to and with its last one.
fn end_of_string(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    let end = text.bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    end.map(|at| at + 1)
}

/// Returns true for an integer that a value has only as a float.
fn is_wide(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    let is_integer = digits.bytes().all(|byte| byte.is_ascii_digit());
    is_integer && (number == "-0" || (number.parse::<i64>().is_err() && number.parse::<u64>().is_err()))
}

/// A value whose strings are marked.
struct Marked<'a>(&'a Value);

impl Serialize for Marked<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let unmarked = |text: &'_ str| text.get(1..).unwrap_or_default().to_owned();
        match self.0 {
            Value::String(text) if text.starts_with('#') => {
                RawValue::from_string(unmarked(text)).map_err(S::Error::custom)?.serialize(serializer)
            }
            Value::String(text) => serializer.serialize_str(&unmarked(text)),
            Value::Array(items) => serializer.collect_seq(items.iter().map(Marked)),
            Value::Object(members) => {
                serializer.collect_map(members.iter().map(|(name, value)| (unmarked(name), Marked(value))))
            }
            plain => plain.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::value;

    #[test]
    fn every_digit_is_written_and_nothing_else_differs_from_the_value() {
        let forty = "1234567890123456789012345678901234567890";
        for (raw, want) in [
            // 64 bits hold these.
            ("[9007199254740993,9223372036854775808,18446744073709551615,-9223372036854775808]", None),
            (r#"{"n":1.10,"m":1e30,"s":"18446744073709551616","t":"\"18446744073709551616"}"#, None),
            ("[1e999]", None),
            (&format!("[1{}]", "0".repeat(400)), None),
            ("18446744073709551616", Some("18446744073709551616")),
            ("-9223372036854775809", Some("-9223372036854775809")),
            ("[-0, 0]", Some("[-0,0]")),
            (
                &format!(" {{ \"a\" : [ {forty} , -{forty} ] }}"),
                Some(&*format!("{{\"a\":[{forty},-{forty}]}}")),
            ),
            (
                r##"{"n":18446744073709551617,"#x":"#5","=":"=","é\n":"\u00e9\\","f":1.5,"b":[true,null]}"##,
                Some(r##"{"n":18446744073709551617,"#x":"#5","=":"=","é\n":"é\\","f":1.5,"b":[true,null]}"##),
            ),
            // As in the value: the last one of a name, and what cannot be represented as text.
            (r#"{"n":1,"m":18446744073709551616,"n":2}"#, Some(r#"{"n":2,"m":18446744073709551616}"#)),
            (r#"[18446744073709551616,-1e999]"#, Some(r#"[18446744073709551616,"-1e999"]"#)),
            (r#"[18446744073709551616,"\ud800 x"]"#, Some("[18446744073709551616,\"\u{fffd} x\"]")),
            (
                r#"{"$serde_json::private::RawValue":"1","n":18446744073709551616}"#,
                Some(r#"{"$serde_json::private::RawValue":"1","n":18446744073709551616}"#),
            ),
        ] {
            let found = exact(raw);
            assert_eq!(found.as_deref(), want, "{raw}");
            let read = |text: &str| value(&RawValue::from_string(text.to_owned()).unwrap());
            if let Some(found) = found {
                assert_eq!(read(&found), read(raw), "{raw}");
                assert!(is_rounded(&read(raw)), "{raw}");
            }
        }
    }

    #[test]
    fn what_is_nested_too_deep_is_left_to_the_value() {
        let deep = format!("{}18446744073709551616{}", "[".repeat(200), "]".repeat(200));
        assert_eq!(exact(&deep), None);
    }
}
