//! Reads the tables of a rules file. The first fault ends it: a guard must not do less than its author asked for.

use std::ops::Range;

use serde_json::{Map, Value};
use toml::de::{DeTable, DeValue};

use hookbox_system::text;
use hookbox_system::toml_value::{SpannedValue, found, to_json, typed};

/// The key of a file that is often written below a rule, to which it belongs then in TOML.
const OF_FILES: [&str; 1] = ["on_failure"];

/// A fault in a rules file, with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) line: usize,
    pub(super) message: String,
}

pub(super) type Read<T> = Result<T, Fault>;

/// The lines of a text.
pub(super) struct Lines(Vec<usize>);

impl Lines {
    pub(super) fn of(text: &str) -> Self {
        Self(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect())
    }

    pub(super) fn fault(&self, at: &Range<usize>, message: impl Into<String>) -> Fault {
        Fault { line: self.line(at), message: message.into() }
    }

    pub(super) fn line(&self, at: &Range<usize>) -> usize {
        1 + self.0.partition_point(|end| *end < at.start)
    }
}

/// A text of the file, with its position.
pub(super) struct Text<'v> {
    pub(super) text: &'v str,
    pub(super) at: Range<usize>,
}

/// A table whose keys are known.
pub(super) struct Table<'v, 'i> {
    pub(super) lines: &'v Lines,
    entries: &'v DeTable<'i>,
    pub(super) at: Range<usize>,
}

impl<'v, 'i> Table<'v, 'i> {
    /// Reads a table that has these keys and no others. `key` is the key of the table itself.
    pub(super) fn of(value: &'v SpannedValue<'i>, key: &str, known: &[&str], lines: &'v Lines) -> Read<Self> {
        let DeValue::Table(entries) = value.get_ref() else {
            return Err(wrong(lines, key, "a table", value));
        };
        Self::of_entries(entries, value.span(), known, lines)
    }

    pub(super) fn of_entries(
        entries: &'v DeTable<'i>,
        at: Range<usize>,
        known: &[&str],
        lines: &'v Lines,
    ) -> Read<Self> {
        for (key, _) in entries {
            let name: &str = key.get_ref();
            if !known.contains(&name) {
                let nearest = text::nearest(name, known.iter().copied().chain(OF_FILES));
                let meant = match nearest {
                    Some(key) if key == name => {
                        ": write it at the top of the file, above the rules".to_owned()
                    }
                    Some(key) if !known.contains(&key) => {
                        format!(": write {key} at the top of the file, above the rules")
                    }
                    nearest => text::or_meant(nearest),
                };
                let message = format!("unknown key {:?}{meant}", text::escape(name, 80));
                return Err(lines.fault(&key.span(), message));
            }
        }
        Ok(Self { lines, entries, at })
    }

    pub(super) fn line(&self) -> usize {
        self.lines.line(&self.at)
    }

    pub(super) fn fault(&self, message: impl Into<String>) -> Fault {
        self.lines.fault(&self.at, message)
    }

    pub(super) fn get(&self, key: &str) -> Option<&'v SpannedValue<'i>> {
        self.entries.get(key)
    }

    pub(super) fn text(&self, key: &str) -> Read<Option<Text<'v>>> {
        self.get(key).map(|value| self.text_of(key, "a text", value)).transpose()
    }

    fn text_of(&self, key: &str, expected: &str, value: &'v SpannedValue<'i>) -> Read<Text<'v>> {
        match value.get_ref() {
            DeValue::String(text) => Ok(Text { text, at: value.span() }),
            _ => Err(wrong(self.lines, key, expected, value)),
        }
    }

    /// Reads a text that is one of these names.
    pub(super) fn one_of<T: Copy>(&self, key: &str, names: &[(&str, T)]) -> Read<Option<T>> {
        let Some(given) = self.text(key)? else { return Ok(None) };
        match names.iter().find(|(name, _)| *name == given.text) {
            Some((_, value)) => Ok(Some(*value)),
            None => {
                let known: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
                let (known, found) = (known.join(", "), text::escape(given.text, 80));
                Err(self.lines.fault(&given.at, format!("{key}: expected one of {known}, found {found:?}")))
            }
        }
    }

    pub(super) fn flag(&self, key: &str) -> Read<Option<bool>> {
        self.typed(key, "true or false")
    }

    pub(super) fn typed<T: serde::de::DeserializeOwned>(&self, key: &str, expected: &str) -> Read<Option<T>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        typed(value).map(Some).ok_or_else(|| wrong(self.lines, key, expected, value))
    }

    /// Returns the items of a list, or the one value in the place of a list.
    pub(super) fn items(&self, key: &str) -> Read<&'v [SpannedValue<'i>]> {
        let Some(value) = self.get(key) else { return Ok(&[]) };
        let items = match value.get_ref() {
            DeValue::Array(items) => &**items,
            _ => return Ok(std::slice::from_ref(value)),
        };
        if items.is_empty() {
            return Err(self.lines.fault(&value.span(), format!("{key}: expected at least one, found none")));
        }
        Ok(items)
    }

    /// Reads a text, or a list of texts.
    pub(super) fn texts(&self, key: &str) -> Read<Vec<Text<'v>>> {
        let items = self.items(key)?.iter();
        items.map(|item| self.text_of(key, "a text, or a list of texts", item)).collect()
    }

    /// Reads the entries of a table of texts.
    pub(super) fn pairs(&self, key: &str) -> Read<Vec<(&'v str, Text<'v>)>> {
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let DeValue::Table(entries) = value.get_ref() else {
            return Err(wrong(self.lines, key, "a table", value));
        };
        entries
            .iter()
            .map(|(name, value)| Ok((&**name.get_ref(), self.text_of(key, "a text", value)?)))
            .collect()
    }

    /// Returns the values of these keys as JSON, in their order.
    pub(super) fn shown(&self, keys: &[&str]) -> Map<String, Value> {
        keys.iter().filter_map(|key| Some(((*key).to_owned(), Self::json(self.get(key)?)))).collect()
    }

    /// Returns a value as JSON.
    pub(super) fn json(value: &SpannedValue<'_>) -> Value {
        to_json(value.get_ref())
    }
}

/// Describes a value that has another type.
pub(super) fn wrong(lines: &Lines, key: &str, expected: &str, value: &SpannedValue<'_>) -> Fault {
    let found = found(value.get_ref());
    lines.fault(&value.span(), format!("{key}: expected {expected}, found {found}"))
}
