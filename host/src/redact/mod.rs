//! Secrets, taken out of what is stored or sent away: the log, telemetry.
//!
//! A best effort by a table of patterns, and by the names of fields. What is found is replaced by `[REDACTED:kind]`.
//!
//! [`hookbox_redact`] has the kinds and their table. In JSON every string and number below the name of a secret goes.
//!
//! Time is linear in the length of the text, and no more than [`MAX_TEXT`] bytes of one are read.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use hookbox_redact::{Sensitivity, classify, is_marker, looks_secret, redact};
use serde_json::{Map, Value};

use hookbox_system::text as plain;

/// The part of one text that is read, in bytes; the rest is left out, with a note.
pub const MAX_TEXT: usize = 1 << 20;
/// The depth to which a JSON value is followed; deeper values are left out.
const MAX_DEPTH: usize = 64;
/// The text that replaces a value that is too deep.
const LEFT_OUT: &str = "…";

/// The text without its secrets.
pub fn text(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_TEXT {
        return whole_text(text);
    }
    Cow::Owned(whole_text(&cut(text, MAX_TEXT)).into_owned())
}

/// The text without its secrets, however long it is: for text that goes on to the model, of which nothing may be
/// left out. The limits of hooks bound it.
pub(crate) fn whole_text(text: &str) -> Cow<'_, str> {
    redact(text, &[], &classify, &marker).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Returns the text that replaces a secret of this kind.
fn marker(kind: &str) -> String {
    format!("[REDACTED:{kind}]")
}

/// The value without its secrets, in the same shape: in strings, in names of fields, and whatever is in a field
/// whose name marks it as secret.
pub fn value(value: &Value) -> Value {
    inside(value, 0, None, &Extent { depth: MAX_DEPTH, text })
}

/// Like [`value`], for a value that goes on to the model or into a journal: nothing of it is left out.
pub fn whole_value(value: &Value) -> Value {
    inside(value, 0, None, &Extent { depth: usize::MAX, text: whole_text })
}

/// The part of a value that is kept.
struct Extent {
    /// The depth to which it is followed.
    depth: usize,
    /// Reads one text.
    text: fn(&str) -> Cow<'_, str>,
}

fn inside(value: &Value, depth: usize, class: Option<Sensitivity>, extent: &Extent) -> Value {
    let text = extent.text;
    match (value, class) {
        (Value::Null | Value::Bool(_), _) => value.clone(),
        (Value::String(said), Some(Sensitivity::Secret | Sensitivity::Token)) if !said.is_empty() => {
            covered(said)
        }
        (Value::String(said), Some(Sensitivity::Maybe)) if looks_secret(said) => covered(said),
        (Value::Number(number), Some(Sensitivity::Secret)) => covered(&number.to_string()),
        (Value::Number(_), _) => value.clone(),
        (Value::String(said), _) => Value::String(text(said).into_owned()),
        (Value::Array(_) | Value::Object(_), _) if depth >= extent.depth => LEFT_OUT.into(),
        (Value::Array(items), _) => items.iter().map(|item| inside(item, depth + 1, class, extent)).collect(),
        (Value::Object(fields), _) => {
            let clean = |(name, field): (&String, &Value)| {
                let class = if class == Some(Sensitivity::Secret) { class } else { classify(name).or(class) };
                (text(name).into_owned(), inside(field, depth + 1, class, extent))
            };
            Value::Object(fields.iter().map(clean).collect::<Map<_, _>>())
        }
    }
}

fn covered(text: &str) -> Value {
    if is_marker(text) { text.into() } else { marker("field").into() }
}

/// A part of the value with at most about `max` bytes of text, to be redacted later. A secret is never cut in two: the
/// text after the last separator before a cut is left out.
pub(crate) fn excerpt(value: &Value, max: usize) -> Value {
    let mut left = max;
    part(value, 0, &mut left)
}

/// The cost of a value beside its text.
const COST: usize = 8;

fn part(value: &Value, depth: usize, left: &mut usize) -> Value {
    *left = left.saturating_sub(COST);
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        Value::String(text) => {
            let short = if text.len() > *left { cut(text, *left) } else { text.clone() };
            *left = left.saturating_sub(text.len());
            Value::String(short)
        }
        Value::Array(_) | Value::Object(_) if depth >= MAX_DEPTH || *left == 0 => LEFT_OUT.into(),
        Value::Array(items) => {
            let mut parts = Vec::new();
            for item in items {
                if *left == 0 {
                    parts.push(LEFT_OUT.into());
                    break;
                }
                parts.push(part(item, depth + 1, left));
            }
            Value::Array(parts)
        }
        Value::Object(fields) => {
            let mut parts = Map::new();
            for (name, field) in fields {
                if *left <= name.len() {
                    *left = 0;
                    parts.insert(LEFT_OUT.to_owned(), Value::Null);
                    break;
                }
                *left -= name.len();
                parts.insert(name.clone(), part(field, depth + 1, left));
            }
            Value::Object(parts)
        }
    }
}

/// The value as one short line: without secrets, escaped, `max` bytes and a note of what is missing. For a string it is
/// the text without quotes.
pub fn line(value: &Value, max: usize) -> String {
    // A redaction is mostly shorter than its secret; twice as much text is enough to fill the line.
    let clean = self::value(&excerpt(value, max.saturating_mul(2)));
    match clean {
        Value::String(text) => plain::escape(&text, max),
        other => plain::escape(&other.to_string(), max),
    }
}

/// The first bytes of a text, without the piece of a word at the end that may be half a secret.
fn cut(text: &str, max: usize) -> String {
    let kept = plain::prefix(text, max);
    let in_a_word = |c: char| c.is_alphanumeric() || "_-./+=~%:@".contains(c);
    let kept = kept.trim_end_matches(in_a_word);
    format!("{kept}{LEFT_OUT}")
}
