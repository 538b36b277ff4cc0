//! Reading values, with what is wrong with them.

use std::ops::Range;

use serde_json::Value;
use toml::Spanned;
use toml::de::DeValue;

use crate::discovery::units;
use crate::text;

/// How many things that are wrong with a file are named one by one.
const MAX_FAULTS: usize = 32;

/// Something wrong in a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) line: usize,
    pub(super) hook: Option<String>,
    pub(super) message: String,
}

pub(super) type SpannedValue<'i> = Spanned<DeValue<'i>>;

/// Reads values of a file, and keeps what is wrong with them.
pub(super) struct Reader {
    /// Where each line ends.
    ends: Vec<usize>,
    /// The hook whose table is read.
    pub(super) hook: Option<String>,
    faults: Vec<Fault>,
    /// The first thing that left out whole tables.
    pub(super) broken: Option<String>,
    /// How many more there were.
    unnamed: usize,
}

impl Reader {
    pub(super) fn new(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
        Self { ends, hook: None, faults: Vec::new(), broken: None, unnamed: 0 }
    }

    /// What is wrong; beyond the first ones only how much.
    pub(super) fn finish(mut self) -> Vec<Fault> {
        if self.unnamed > 0 {
            let line = self.faults.last().map_or(1, |fault| fault.line);
            let message = format!("and {} more problems in this file", self.unnamed);
            self.faults.push(Fault { line, hook: None, message });
        }
        self.faults
    }

    pub(super) fn boolean(&mut self, key: &str, value: &SpannedValue<'_>) -> Option<bool> {
        let found = value.get_ref().as_bool();
        if found.is_none() {
            self.wrong_type(key, "true or false", value);
        }
        found
    }

    pub(super) fn integer<T: TryFrom<i64>>(
        &mut self,
        key: &str,
        expected: &str,
        value: &SpannedValue<'_>,
    ) -> Option<T> {
        let found = as_i64(value.get_ref()).and_then(|number| T::try_from(number).ok());
        if found.is_none() {
            self.wrong_type(key, expected, value);
        }
        found
    }

    /// A size in bytes above 0.
    pub(super) fn size<T: TryFrom<u64>>(&mut self, key: &str, value: &SpannedValue<'_>) -> Option<T> {
        let size = match value.get_ref() {
            DeValue::String(text) => units::parse_size(text).ok(),
            other => as_i64(other).and_then(|bytes| u64::try_from(bytes).ok()).filter(|bytes| *bytes > 0),
        };
        let size = size.and_then(|bytes| T::try_from(bytes).ok());
        if size.is_none() {
            self.wrong_type(key, "a size such as \"64MiB\", or a number of bytes", value);
        }
        size
    }

    pub(super) fn count<T: TryFrom<u64>>(&mut self, key: &str, value: &SpannedValue<'_>) -> Option<T> {
        let count = as_i64(value.get_ref()).and_then(|count| u64::try_from(count).ok());
        let count = count.filter(|count| *count > 0).and_then(|count| T::try_from(count).ok());
        if count.is_none() {
            self.wrong_type(key, "a whole number above zero", value);
        }
        count
    }

    pub(super) fn wrong_type(&mut self, key: &str, expected: &str, value: &SpannedValue<'_>) {
        let key = text::escape(key, 80);
        self.fault(value.span(), format!("{key}: expected {expected}, found {}", found(value.get_ref())));
    }

    pub(super) fn unknown(&mut self, at: Range<usize>, key: &str, known: &str) {
        let key = text::escape(key, 80);
        self.fault(at, format!("unknown key {key:?}, which is left out: expected {known}"));
    }

    /// Notes that tables are missing.
    pub(super) fn breaks(&mut self, at: &Range<usize>, why: String) {
        let line = self.line(at);
        self.broken.get_or_insert_with(|| format!("line {line}: {why}"));
    }

    pub(super) fn fault(&mut self, at: Range<usize>, message: String) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(Fault { line: self.line(&at), hook: self.hook.clone(), message });
        } else {
            self.unnamed += 1;
        }
    }

    pub(super) fn line(&self, at: &Range<usize>) -> usize {
        1 + self.ends.partition_point(|end| *end < at.start)
    }
}

/// A value for a message: short ones as they stand, others by their type.
pub(super) fn found(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("\"{}\"", text::escape(text, 80)),
        DeValue::Array(_) => "an array".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
        other => text::escape(&to_json(other).to_string(), 80),
    }
}

fn as_i64(value: &DeValue<'_>) -> Option<i64> {
    let number = value.as_integer()?;
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

/// The value as JSON; what JSON does not have stays text.
pub(super) fn to_json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Boolean(yes) => Value::Bool(*yes),
        DeValue::Integer(number) => {
            as_i64(value).map_or_else(|| Value::String(number.to_string()), Value::from)
        }
        // JSON has no infinity and no NaN: those stay text.
        DeValue::Float(number) => number
            .as_str()
            .parse::<f64>()
            .ok()
            .and_then(serde_json::Number::from_f64)
            .map_or_else(|| Value::String(number.to_string()), Value::Number),
        DeValue::Datetime(time) => Value::String(time.to_string()),
        DeValue::Array(items) => items.iter().map(|item| to_json(item.get_ref())).collect(),
        DeValue::Table(entries) => {
            entries.iter().map(|(key, value)| (key.get_ref().to_string(), to_json(value.get_ref()))).collect()
        }
    }
}
