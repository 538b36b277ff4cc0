//! `hookbox.toml`: what its owner says of the hooks of one root.
//!
//! Each key stands for itself: one wrong value is one problem, and the rest of the table holds. A guard must not
//! lose its `on_failure = "block"` to a typing error two lines below.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::Path;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::entry::Problem;
use super::units;
use crate::hook::{Limits, OnFailure, Settings};
use crate::place::{self, Place};
use crate::text;

/// The file's name in a root.
pub(super) const FILE: &str = "hookbox.toml";

/// A settings file beyond this size is not read.
const MAX_FILE: u64 = 1 << 20;

/// How many tables of a file are used: as many as a repository may have hooks.
const MAX_TABLES: usize = super::scan::MAX_OF_REPOSITORY;

/// How many things that are wrong with a file are named one by one.
const MAX_FAULTS: usize = 32;

/// How many variables a hook may be given by name.
const MAX_VARIABLES: usize = 1_024;

/// What a table `[hooks."NAME"]` says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Table {
    /// Where it stands.
    pub(super) line: usize,
    pub(super) enabled: Option<bool>,
    pub(super) priority: Option<i32>,
    pub(super) on_failure: Option<OnFailure>,
    pub(super) limits: Limits,
    /// The variables that a native hook gets; all of them when absent.
    pub(super) environment: Option<Vec<String>>,
    pub(super) settings: Settings,
}

impl Table {
    /// All that it says, key by key, for a digest; where it stands is nothing that it says.
    pub(super) fn fields(&self) -> BTreeMap<String, String> {
        let Self { line: _, enabled, priority, on_failure, limits, environment, settings } = self;
        let Limits { timeout, fuel, memory, output, log, copies, handles, tables } = limits;
        let size = |it: &Option<usize>| it.map(|it| it.to_string());
        let own = [
            ("enabled", enabled.map(|it| it.to_string())),
            ("priority", priority.map(|it| it.to_string())),
            ("on_failure", on_failure.map(|it| it.as_str().to_owned())),
            ("timeout", timeout.map(|it| it.as_nanos().to_string())),
            ("fuel", fuel.map(|it| it.to_string())),
            ("memory", memory.map(|it| it.to_string())),
            ("output", size(output)),
            ("log", size(log)),
            ("copies", size(copies)),
            ("handles", size(handles)),
            ("tables", size(tables)),
            // Names have letters, digits and `_` only.
            ("env", environment.as_ref().map(|names| names.join(" "))),
        ];
        let own = own.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
        own.chain(settings.iter().map(|(key, value)| (format!("settings.{key}"), value.clone()))).collect()
    }
}

/// The tables of one file, by hook name.
pub(super) type Tables = BTreeMap<String, Table>;

/// Reads the settings file of a root. No file is no settings; a broken one is a problem and no settings.
pub(super) fn read(place: &Place, path: &Path, problems: &mut Vec<Problem>) -> Tables {
    let bytes = match place.read(path, MAX_FILE) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !place.is_symlink(path) => {
            return Tables::new();
        }
        Err(error) => {
            problems.push(Problem::new(path, format!("{}: no settings hold here", place::explain(&error))));
            return Tables::new();
        }
    };
    let Ok(text) = str::from_utf8(&bytes) else {
        problems.push(Problem::new(path, "is not UTF-8 text: no settings hold here"));
        return Tables::new();
    };
    let (tables, faults) = parse(text);
    problems.extend(faults.into_iter().map(|fault| Problem {
        hook: fault.hook,
        ..Problem::new(path, format!("line {}: {}", fault.line, fault.message))
    }));
    tables
}

/// Something wrong in a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fault {
    line: usize,
    hook: Option<String>,
    message: String,
}

type SpannedValue<'i> = Spanned<DeValue<'i>>;

fn parse(text: &str) -> (Tables, Vec<Fault>) {
    let mut reader = Reader::new(text);
    let mut tables = Tables::new();
    match DeTable::parse(text) {
        Err(error) => {
            let at = error.span().unwrap_or_default();
            reader.fault(at, format!("is no TOML: {}: no settings of this file hold", error.message()));
        }
        Ok(file) => {
            for (key, value) in file.get_ref() {
                match (key.get_ref().as_ref(), value.get_ref()) {
                    ("hooks", DeValue::Table(hooks)) => {
                        if hooks.len() > MAX_TABLES {
                            let more = hooks.len() - MAX_TABLES;
                            let message = format!(
                                "holds more than {MAX_TABLES} tables of hooks: only the first {MAX_TABLES} by name \
                                 are used, and {more} are left out"
                            );
                            reader.fault(value.span(), message);
                        }
                        for (name, table) in hooks.iter().take(MAX_TABLES) {
                            let name = name.get_ref().as_ref();
                            if let Some(table) = reader.table(name, table) {
                                tables.insert(name.to_owned(), table);
                            }
                        }
                    }
                    ("hooks", _) => reader.wrong_type("hooks", "a table for each hook", value),
                    (other, _) => reader.unknown(key.span(), other, "[hooks.\"NAME\"]"),
                }
            }
        }
    }
    (tables, reader.finish())
}

struct Reader {
    /// Where each line ends.
    ends: Vec<usize>,
    /// The hook whose table is read.
    hook: Option<String>,
    faults: Vec<Fault>,
    /// How many more there were.
    unnamed: usize,
}

impl Reader {
    fn new(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
        Self { ends, hook: None, faults: Vec::new(), unnamed: 0 }
    }

    /// What is wrong; beyond the first ones only how much.
    fn finish(mut self) -> Vec<Fault> {
        if self.unnamed > 0 {
            let line = self.faults.last().map_or(1, |fault| fault.line);
            let message = format!("and {} more problems in this file", self.unnamed);
            self.faults.push(Fault { line, hook: None, message });
        }
        self.faults
    }

    fn table(&mut self, name: &str, value: &SpannedValue<'_>) -> Option<Table> {
        // A key that is no name reaches whoever shows it, too.
        self.hook = Some(text::escape(name, 255));
        let line = self.line(&value.span());
        let DeValue::Table(keys) = value.get_ref() else {
            self.wrong_type(name, "a table", value);
            self.hook = None;
            return None;
        };
        let mut table = Table { line, ..Table::default() };
        for (key, value) in keys {
            match key.get_ref().as_ref() {
                "enabled" => table.enabled = self.boolean("enabled", value),
                "priority" => {
                    table.priority = self.integer("priority", "a whole number of 32 bits", value);
                }
                "on_failure" => table.on_failure = Some(self.on_failure(value)),
                "timeout" => table.limits.timeout = self.timeout(value),
                "fuel" => table.limits.fuel = self.count("fuel", value),
                "memory" => table.limits.memory = self.size("memory", value),
                "output" => table.limits.output = self.size("output", value),
                "log" => table.limits.log = self.size("log", value),
                "copies" => table.limits.copies = self.size("copies", value),
                "handles" => table.limits.handles = self.count("handles", value),
                "tables" => table.limits.tables = self.count("tables", value),
                "env" => table.environment = Some(self.environment(value)),
                "settings" => table.settings = self.settings(value),
                other => self.unknown(
                    key.span(),
                    other,
                    "enabled, priority, on_failure, timeout, fuel, memory, output, log, copies, handles, tables, env or \
                     settings",
                ),
            }
        }
        self.hook = None;
        Some(table)
    }

    fn boolean(&mut self, key: &str, value: &SpannedValue<'_>) -> Option<bool> {
        let found = value.get_ref().as_bool();
        if found.is_none() {
            self.wrong_type(key, "true or false", value);
        }
        found
    }

    fn integer<T: TryFrom<i64>>(&mut self, key: &str, expected: &str, value: &SpannedValue<'_>) -> Option<T> {
        let found = as_i64(value.get_ref()).and_then(|number| T::try_from(number).ok());
        if found.is_none() {
            self.wrong_type(key, expected, value);
        }
        found
    }

    /// Who writes `on_failure` at all wants something else than the default, so a value that cannot be read is
    /// taken as the stricter one.
    fn on_failure(&mut self, value: &SpannedValue<'_>) -> OnFailure {
        match value.get_ref().as_str() {
            Some("pass") => OnFailure::Pass,
            Some("block") => OnFailure::Block,
            _ => {
                let found = found(value.get_ref());
                let message =
                    format!("on_failure: expected \"pass\" or \"block\", found {found}; taken as \"block\"");
                self.fault(value.span(), message);
                OnFailure::Block
            }
        }
    }

    fn timeout(&mut self, value: &SpannedValue<'_>) -> Option<std::time::Duration> {
        let time = value.get_ref().as_str().and_then(|text| units::parse_duration(text).ok());
        if time.is_none() {
            self.wrong_type("timeout", "a time in quotes such as \"2s\", \"500ms\" or \"1m\"", value);
        }
        time
    }

    fn size<T: TryFrom<u64>>(&mut self, key: &str, value: &SpannedValue<'_>) -> Option<T> {
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

    fn count<T: TryFrom<u64>>(&mut self, key: &str, value: &SpannedValue<'_>) -> Option<T> {
        let count = as_i64(value.get_ref()).and_then(|count| u64::try_from(count).ok());
        let count = count.filter(|count| *count > 0).and_then(|count| T::try_from(count).ok());
        if count.is_none() {
            self.wrong_type(key, "a whole number above zero", value);
        }
        count
    }

    /// Who writes `env` at all wants less than everything, so what cannot be read gives nothing.
    fn environment(&mut self, value: &SpannedValue<'_>) -> Vec<String> {
        let DeValue::Array(items) = value.get_ref() else {
            let expected = "a list of names of variables such as [\"PATH\", \"HOME\"]";
            let message = format!("env: expected {expected}, found {}; taken as []", found(value.get_ref()));
            self.fault(value.span(), message);
            return Vec::new();
        };
        let mut names: Vec<String> = Vec::new();
        for item in items {
            match item.get_ref().as_str() {
                Some(name) if is_variable(name) => {
                    if names.len() == MAX_VARIABLES {
                        let message =
                            format!("env: names more than {MAX_VARIABLES} variables: the rest is left out");
                        self.fault(item.span(), message);
                        break;
                    }
                    names.push(name.to_owned());
                }
                _ => {
                    let found = found(item.get_ref());
                    let message =
                        format!("env: expected the name of a variable, found {found}, which is left out");
                    self.fault(item.span(), message);
                }
            }
        }
        names
    }

    fn settings(&mut self, value: &SpannedValue<'_>) -> Settings {
        let DeValue::Table(entries) = value.get_ref() else {
            self.wrong_type("settings", "a table", value);
            return Settings::new();
        };
        let text = |value: &DeValue<'_>| match to_json(value) {
            Value::String(text) => text,
            other => other.to_string(),
        };
        entries.iter().map(|(key, value)| (key.get_ref().to_string(), text(value.get_ref()))).collect()
    }

    fn wrong_type(&mut self, key: &str, expected: &str, value: &SpannedValue<'_>) {
        let key = text::escape(key, 80);
        self.fault(value.span(), format!("{key}: expected {expected}, found {}", found(value.get_ref())));
    }

    fn unknown(&mut self, at: Range<usize>, key: &str, known: &str) {
        let key = text::escape(key, 80);
        self.fault(at, format!("unknown key {key:?}, which is left out: expected {known}"));
    }

    fn fault(&mut self, at: Range<usize>, message: String) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(Fault { line: self.line(&at), hook: self.hook.clone(), message });
        } else {
            self.unnamed += 1;
        }
    }

    fn line(&self, at: &Range<usize>) -> usize {
        1 + self.ends.partition_point(|end| *end < at.start)
    }
}

/// Whether a variable of an environment can have this name.
fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}

/// A value for a message: short ones as they stand, others by their type.
fn found(value: &DeValue<'_>) -> String {
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

fn to_json(value: &DeValue<'_>) -> Value {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_table_says_all_there_is_to_say_of_a_hook() {
        let (tables, faults) = parse(
            r#"
[hooks."guard.wasm"]
enabled = true
priority = -5
on_failure = "block"
timeout = "250ms"
fuel = 5_000
memory = "16MiB"
output = "1MiB"
log = 1000
copies = "2MiB"
handles = 10
tables = 20
env = ["PATH", "HOME"]
settings = { mode = "strict", depth = 3, ratio = 0.5, deny = ["a", "b"], nested = { on = true } }

[hooks."org/repo/x"]
memory = 1024
"#,
        );
        assert_eq!(faults, []);
        let settings = [
            ("mode", "strict"),
            ("depth", "3"),
            ("ratio", "0.5"),
            ("deny", r#"["a","b"]"#),
            ("nested", r#"{"on":true}"#),
        ];
        let guard = Table {
            line: 2,
            enabled: Some(true),
            priority: Some(-5),
            on_failure: Some(OnFailure::Block),
            limits: Limits {
                timeout: Some(Duration::from_millis(250)),
                fuel: Some(5_000),
                memory: Some(16 << 20),
                output: Some(1 << 20),
                log: Some(1000),
                copies: Some(2 << 20),
                handles: Some(10),
                tables: Some(20),
            },
            environment: Some(vec!["PATH".to_owned(), "HOME".to_owned()]),
            settings: settings.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        };
        assert_eq!(tables.get("guard.wasm"), Some(&guard));
        assert_eq!(tables["org/repo/x"].limits.memory, Some(1024));
    }

    #[test]
    fn a_wrong_value_is_named_with_its_line_and_the_rest_of_the_table_holds() {
        for (line, want) in [
            ("enabled = 1", "enabled: expected true or false, found 1"),
            ("priority = \"high\"", "priority: expected a whole number of 32 bits, found \"high\""),
            ("priority = 99999999999", "priority: expected a whole number of 32 bits, found 99999999999"),
            (
                "timeout = 5",
                "timeout: expected a time in quotes such as \"2s\", \"500ms\" or \"1m\", found 5",
            ),
            ("fuel = 0", "fuel: expected a whole number above zero, found 0"),
            ("fuel = -1", "fuel: expected a whole number above zero, found -1"),
            (
                "memory = \"lots\"",
                "memory: expected a size such as \"64MiB\", or a number of bytes, found \"lots\"",
            ),
            ("settings = []", "settings: expected a table, found an array"),
        ] {
            let (tables, faults) = parse(&format!("[hooks.x]\non_failure = \"block\"\n{line}\n"));
            let fault = Fault { line: 3, hook: Some("x".to_owned()), message: want.to_owned() };
            assert_eq!(faults, [fault], "{line}");
            let rest = Table { line: 1, on_failure: Some(OnFailure::Block), ..Table::default() };
            assert_eq!(tables["x"], rest, "{line}");
        }
    }

    #[test]
    fn an_environment_that_cannot_be_read_gives_nothing_and_a_wrong_name_is_left_out() {
        for (line, want, message) in [
            ("env = []", &[][..], None),
            (
                "env = \"PATH\"",
                &[],
                Some(
                    "env: expected a list of names of variables such as [\"PATH\", \"HOME\"], found \"PATH\"; taken as []",
                ),
            ),
            (
                "env = [\"PATH\", 5]",
                &["PATH"],
                Some("env: expected the name of a variable, found 5, which is left out"),
            ),
            (
                "env = [\"A=B\", \"HOME\"]",
                &["HOME"],
                Some("env: expected the name of a variable, found \"A=B\", which is left out"),
            ),
            (
                "env = [\"\"]",
                &[],
                Some("env: expected the name of a variable, found \"\", which is left out"),
            ),
        ] {
            let (tables, faults) = parse(&format!("[hooks.x]\n{line}\n"));
            assert_eq!(tables["x"].environment.as_deref().unwrap(), want, "{line}");
            let messages: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
            assert_eq!(messages, message.into_iter().collect::<Vec<_>>(), "{line}");
        }
        assert_eq!(parse("[hooks.x]\n").0["x"].environment, None);
    }

    #[test]
    fn an_unreadable_failure_policy_is_taken_as_the_stricter_one() {
        let (tables, faults) = parse("[hooks.x]\non_failure = \"blok\"\n");
        assert_eq!(tables["x"].on_failure, Some(OnFailure::Block));
        assert!(faults[0].message.contains("found \"blok\"; taken as \"block\""), "{faults:?}");
    }

    #[test]
    fn an_unknown_key_is_a_problem_and_the_rest_holds() {
        let (tables, faults) = parse("colour = 1\n[hooks.x]\npriorty = 1\nenabled = false\n");
        let lines: Vec<_> = faults.iter().map(|fault| fault.line).collect();
        assert_eq!(lines, [1, 3]);
        assert_eq!(tables["x"].enabled, Some(false));
    }

    #[test]
    fn a_full_file_is_read_in_no_time_and_its_faults_are_counted() {
        let begin = std::time::Instant::now();
        let top: String = (0..110_000).map(|n| format!("a{n}=1\n")).collect();
        let inside = format!("[hooks.x]\n{top}on_failure = \"block\"\n");
        for (file, line) in [(&top, 1), (&inside, 2)] {
            let (tables, faults) = parse(file);
            assert_eq!((faults.len(), faults[0].line), (33, line));
            assert_eq!(faults[32].message, "and 109968 more problems in this file");
            assert_eq!(tables.len(), line - 1);
        }
        let many: String = (0..20_000).map(|n| format!("[hooks.h{n:05}]\n")).collect();
        let (tables, faults) = parse(&many);
        assert_eq!((tables.len(), tables["h00511"].line), (512, 512));
        assert_eq!(faults.len(), 1);
        assert!(faults[0].message.ends_with("by name are used, and 19488 are left out"), "{faults:?}");
        for broken in ["a%x=1\n", "[[\n", "a=1\n"] {
            assert_eq!(parse(&broken.repeat((1 << 20) / broken.len())).1.len(), 1, "{broken:?}");
        }
        // Seconds in a build that is not optimised, minutes where each fault counts its lines.
        assert!(begin.elapsed() < std::time::Duration::from_secs(30), "{:?}", begin.elapsed());
    }

    #[test]
    fn what_is_no_toml_is_one_problem_with_its_line() {
        for broken in ["[hooks.x]\nenabled = \n", "a = 1\na = 2\n", "\n[[["] {
            let (tables, faults) = parse(broken);
            assert!(tables.is_empty());
            assert_eq!(faults.len(), 1, "{broken:?}");
            assert_eq!(faults[0].line, 2, "{broken:?}: {faults:?}");
        }
    }
}
