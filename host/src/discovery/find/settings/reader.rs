//! Reads values, and collects the faults in them.

use std::num::NonZeroU64;
use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::de::DeValue;

use hookbox_system::text;
use hookbox_system::toml_value::{SpannedValue, found, typed};
use hookbox_system::units;

/// The number of faults of a file that are named one by one.
const MAX_FAULTS: usize = 32;

/// A fault in a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) line: usize,
    pub(super) hook: Option<String>,
    pub(super) message: String,
}

/// Reads the values of a file and collects faults.
pub(super) struct Reader {
    /// The offset of the end of each line.
    ends: Vec<usize>,
    /// The hook whose table is being read.
    pub(super) hook: Option<String>,
    faults: Vec<Fault>,
    /// The first fault that left out whole tables.
    pub(super) broken: Option<String>,
    /// The number of further faults.
    unnamed: usize,
}

impl Reader {
    pub(super) fn new(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
        Self { ends, hook: None, faults: Vec::new(), broken: None, unnamed: 0 }
    }

    /// Returns the faults: the first ones, and the number of the others.
    pub(super) fn finish(mut self) -> Vec<Fault> {
        if self.unnamed > 0 {
            let line = self.faults.last().map_or(1, |fault| fault.line);
            let message = format!("and {} more problems in this file", self.unnamed);
            self.faults.push(Fault { line, hook: None, message });
        }
        self.faults
    }

    /// Reads a value of this type. Any other value is a fault with the expected type.
    pub(super) fn get<T: DeserializeOwned>(
        &mut self,
        key: &str,
        expected: &str,
        value: &SpannedValue<'_>,
    ) -> Option<T> {
        self.checked(key, expected, value, typed(value))
    }

    /// Passes on a value that was read; `None` is a fault.
    pub(super) fn checked<T>(
        &mut self,
        key: &str,
        expected: &str,
        value: &SpannedValue<'_>,
        read: Option<T>,
    ) -> Option<T> {
        if read.is_none() {
            self.wrong_type(key, expected, value);
        }
        read
    }

    /// Reads a size in bytes above 0.
    pub(super) fn size<T: TryFrom<u64>>(&mut self, key: &str, value: &SpannedValue<'_>) -> Option<T> {
        let size = match value.get_ref() {
            DeValue::String(text) => units::parse_size(text).ok(),
            _ => typed(value).map(NonZeroU64::get),
        };
        let size = size.and_then(|bytes| T::try_from(bytes).ok());
        self.checked(key, "a size such as \"64MiB\", or a number of bytes", value, size)
    }

    /// Reads the keys of a table.
    pub(super) fn keys<'v, 'i>(
        &mut self,
        key: &str,
        value: &'v SpannedValue<'i>,
    ) -> impl Iterator<Item = (&'v str, Range<usize>, &'v SpannedValue<'i>)> + use<'v, 'i> {
        let table = self.checked(key, "a table", value, value.get_ref().as_table());
        table.into_iter().flatten().map(|(key, value)| (key.get_ref().as_ref(), key.span(), value))
    }

    /// Reads a list of at most `max` names of things. An item that cannot be a name is a fault and is left
    /// out.
    pub(super) fn names(
        &mut self,
        (key, thing, max): (&str, &str, usize),
        items: &[SpannedValue<'_>],
        is_name: fn(&str) -> bool,
    ) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for item in items {
            match item.get_ref().as_str() {
                Some(name) if is_name(name) => {
                    if names.len() == max {
                        let message = format!("{key}: names more than {max} {thing}s: the rest is left out");
                        self.fault(item.span(), message);
                        break;
                    }
                    names.push(name.to_owned());
                }
                _ => {
                    let found = found(item.get_ref());
                    let message =
                        format!("{key}: expected the name of a {thing}, found {found}, which is left out");
                    self.fault(item.span(), message);
                }
            }
        }
        names
    }

    pub(super) fn wrong_type(&mut self, key: &str, expected: &str, value: &SpannedValue<'_>) {
        let key = text::escape(key, 80);
        self.fault(value.span(), format!("{key}: expected {expected}, found {}", found(value.get_ref())));
    }

    pub(super) fn unknown(&mut self, at: Range<usize>, key: &str, known: &str) {
        let key = text::escape(key, 80);
        self.fault(at, format!("unknown key {key:?}, which is left out: expected {known}"));
    }

    /// Notes why whole tables are missing.
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
