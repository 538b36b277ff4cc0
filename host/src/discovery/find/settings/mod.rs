//! `hookbox.toml`: the settings of the hooks of one root, and of all hooks together.
//!
//! Each key is read on its own: one wrong value is one problem, and the rest of the table counts. A guard must
//! not lose its `on_failure = "block"` to a typing error two lines below.

mod global;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::num::{NonZeroU64, NonZeroUsize};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;
use toml::de::{DeTable, DeValue};

pub(crate) use self::global::{GlobalSettings, Top, builtin_settings, global};
pub use self::global::{SwitchedOff, git_host};
use crate::discovery::Problem;
use crate::hook::{Limits, Mode, OnFailure, Settings};
use hookbox_system::files::{self, FileAccess};
use hookbox_system::text;
use hookbox_system::toml_value::{SpannedValue, found, to_json, typed};
use hookbox_system::units;

/// The name of the file in a root.
pub(crate) const FILE: &str = "hookbox.toml";

/// A settings file beyond this size is not read.
const MAX_FILE: u64 = 1 << 20;

/// The number of faults of a file that are named one by one.
const MAX_FAULTS: usize = 32;

/// The number of tables of a file that are used: as many as a repository may have hooks.
const MAX_TABLES: usize = super::MAX_OF_REPOSITORY;

/// The tables of one file, by hook name.
pub(crate) type Tables = BTreeMap<String, Table>;

/// The contents of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct File {
    /// The keys beside the tables of hooks.
    pub(crate) top: Top,
    pub(crate) tables: Tables,
}

/// The settings of one hook; the default for a hook without a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Table {
    /// The line of the table, from 1.
    pub(crate) line: usize,
    pub(crate) enabled: Option<bool>,
    pub(crate) priority: Option<i32>,
    pub(crate) on_failure: Option<OnFailure>,
    pub(crate) mode: Option<Mode>,
    /// True if the answer `allow` of a hook without a sandbox counts. A repository cannot decide it.
    pub(crate) allow: Option<bool>,
    pub(crate) limits: Limits,
    /// The variables that a native hook gets; `None` means all of them.
    pub(crate) environment: Option<Vec<String>>,
    pub(crate) settings: Settings,
    /// The lines of these settings, by key.
    pub(crate) settings_lines: BTreeMap<String, usize>,
    /// The file of the table.
    pub(crate) file: PathBuf,
}

impl Table {
    /// Returns true if these settings put a hook into shadow mode. A repository may do it to its own hooks, which
    /// then replace no guard of the user's.
    pub(crate) fn makes_observer(&self) -> bool {
        self.mode == Some(Mode::Observe)
    }

    /// Returns every key and its value, for a digest. Places are not among them.
    pub(crate) fn fields(&self) -> BTreeMap<String, String> {
        let Self {
            line: _,
            enabled,
            priority,
            on_failure,
            mode,
            allow,
            limits,
            environment,
            settings,
            settings_lines: _,
            file: _,
        } = self;
        let Limits { timeout, fuel, memory, output, log, copies, handles, tables } = limits;
        let size = |it: &Option<usize>| it.map(|it| it.to_string());
        let own = [
            ("enabled", enabled.map(|it| it.to_string())),
            ("priority", priority.map(|it| it.to_string())),
            ("on_failure", on_failure.map(|it| it.as_str().to_owned())),
            ("mode", mode.map(|it| it.as_str().to_owned())),
            ("allow", allow.map(|it| it.to_string())),
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

/// A settings file that cannot be read as a whole.
pub(crate) struct Broken {
    pub(crate) why: String,
    /// The part that could be read.
    pub(crate) rest: Box<File>,
}

/// Reads the settings file of a root. A root without a file has no settings. A broken file is a problem,
/// and the settings of `since` stay in force, if there are any.
pub(crate) fn read(
    access: &FileAccess,
    path: &Path,
    since: Option<&str>,
    problems: &mut Vec<Problem>,
) -> Result<File, Broken> {
    let follows = since.map_or_else(
        || "no settings apply here".to_owned(),
        |since| format!("the settings of {since} stay in force"),
    );
    let mut broken = |why: String| {
        let problem = Problem::new(path, format!("{why}: {follows}"));
        problems.push(if since.is_none() { problem.hiding(access) } else { problem });
        Err(Broken { why, rest: Box::default() })
    };
    let bytes = match access.read_if_exists(path, MAX_FILE) {
        None => return Ok(File::default()),
        Some(Ok(bytes)) => bytes,
        Some(Err(error)) => return broken(files::explain(&error)),
    };
    let Ok(text) = str::from_utf8(&bytes) else {
        return broken("is not UTF-8 text".to_owned());
    };
    let Parsed { mut file, faults, broken: why } = parse(text);
    file.tables.values_mut().for_each(|table| path.clone_into(&mut table.file));
    if let (Some(why), Some(_)) = (&why, since) {
        return broken(why.clone());
    }
    problems.extend(faults.into_iter().map(|fault| {
        let problem = Problem::new(path, format!("line {}: {}", fault.line, fault.message));
        let problem = if why.is_some() { problem.hiding(access) } else { problem };
        Problem { hook: fault.hook, ..problem }
    }));
    match why {
        None => Ok(file),
        Some(why) => Err(Broken { why, rest: Box::new(file) }),
    }
}

/// The result of parsing a settings file.
struct Parsed {
    file: File,
    faults: Vec<Fault>,
    /// The reason why tables are missing: the file as a whole is broken.
    broken: Option<String>,
}

fn parse(text: &str) -> Parsed {
    let mut reader = Reader::new(text);
    let mut file = File::default();
    match DeTable::parse(text) {
        Err(error) => {
            let at = error.span().unwrap_or_default();
            reader.breaks(&at, format!("is not TOML: {}", text::escape(error.message(), 200)));
            reader.fault(at, format!("is not TOML: {}: no settings of this file apply", error.message()));
        }
        Ok(document) => {
            for (key, value) in document.get_ref() {
                match (key.get_ref().as_ref(), value.get_ref()) {
                    ("hooks", DeValue::Table(hooks)) => {
                        if hooks.len() > MAX_TABLES {
                            let more = hooks.len() - MAX_TABLES;
                            let message = format!(
                                "has more than {MAX_TABLES} tables of hooks: only the first {MAX_TABLES} by name \
                                 are used, and {more} are left out"
                            );
                            reader
                                .breaks(&value.span(), format!("has more than {MAX_TABLES} tables of hooks"));
                            reader.fault(value.span(), message);
                        }
                        for (name, table) in hooks.iter().take(MAX_TABLES) {
                            let name = name.get_ref().as_ref();
                            if let Some(table) = reader.table(name, table) {
                                file.tables.insert(name.to_owned(), table);
                            }
                        }
                    }
                    ("hooks", _) => {
                        reader.breaks(&value.span(), "hooks is not a table".to_owned());
                        reader.wrong_type("hooks", "a table for each hook", value);
                    }
                    (other, _) => {
                        let line = reader.line(&key.span());
                        if !reader.top(&mut file.top, other, line, value) {
                            reader.unknown(key.span(), other, Top::KEYS);
                        }
                    }
                }
            }
        }
    }
    let broken = reader.broken.take();
    Parsed { file, faults: reader.finish(), broken }
}

/// A fault in a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fault {
    line: usize,
    hook: Option<String>,
    message: String,
}

/// Reads the values of a file and collects faults.
struct Reader {
    /// The offset of the end of each line.
    ends: Vec<usize>,
    /// The hook whose table is being read.
    hook: Option<String>,
    faults: Vec<Fault>,
    /// The first fault that left out whole tables.
    broken: Option<String>,
    /// The number of further faults.
    unnamed: usize,
}

impl Reader {
    fn new(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
        Self { ends, hook: None, faults: Vec::new(), broken: None, unnamed: 0 }
    }

    /// Returns the faults: the first ones, and the number of the others.
    fn finish(mut self) -> Vec<Fault> {
        if self.unnamed > 0 {
            let line = self.faults.last().map_or(1, |fault| fault.line);
            let message = format!("and {} more problems in this file", self.unnamed);
            self.faults.push(Fault { line, hook: None, message });
        }
        self.faults
    }

    /// Reads a value of this type. Any other value is a fault with the expected type.
    fn get<T: DeserializeOwned>(&mut self, key: &str, expected: &str, value: &SpannedValue<'_>) -> Option<T> {
        self.checked(key, expected, value, typed(value))
    }

    /// Passes on a value that was read; `None` is a fault.
    fn checked<T>(
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
    fn size<T: TryFrom<u64>>(&mut self, key: &str, value: &SpannedValue<'_>) -> Option<T> {
        let size = match value.get_ref() {
            DeValue::String(text) => units::parse_size(text).ok(),
            _ => typed(value).map(NonZeroU64::get),
        };
        let size = size.and_then(|bytes| T::try_from(bytes).ok());
        self.checked(key, "a size such as \"64MiB\", or a number of bytes", value, size)
    }

    /// Reads the keys of a table.
    fn keys<'v, 'i>(
        &mut self,
        key: &str,
        value: &'v SpannedValue<'i>,
    ) -> impl Iterator<Item = (&'v str, Range<usize>, &'v SpannedValue<'i>)> + use<'v, 'i> {
        let table = self.checked(key, "a table", value, value.get_ref().as_table());
        table.into_iter().flatten().map(|(key, value)| (key.get_ref().as_ref(), key.span(), value))
    }

    /// Reads a value that is taken as another one, which is stricter, if it cannot be read: its author wanted something
    /// else than the default.
    fn strict<T>(
        &mut self,
        key: &str,
        expected: &str,
        value: &SpannedValue<'_>,
        read: Option<T>,
        (strict, shown): (T, &str),
    ) -> T {
        read.unwrap_or_else(|| {
            let found = found(value.get_ref());
            let message = format!("{key}: expected {expected}, found {found}; taken as {shown}");
            self.fault(value.span(), message);
            strict
        })
    }

    /// Reads a list of names of things. An item that cannot be a name is a fault and is left out.
    fn names<'v, 'i: 'v>(
        &mut self,
        key: &str,
        thing: &str,
        items: impl IntoIterator<Item = &'v SpannedValue<'i>>,
        is_name: fn(&str) -> bool,
    ) -> Vec<String> {
        let mut names = Vec::new();
        for item in items {
            match item.get_ref().as_str().filter(|name| is_name(name)) {
                Some(name) => names.push(name.to_owned()),
                None => {
                    let found = found(item.get_ref());
                    let message =
                        format!("{key}: expected the name of a {thing}, found {found}, which is left out");
                    self.fault(item.span(), message);
                }
            }
        }
        names
    }

    fn wrong_type(&mut self, key: &str, expected: &str, value: &SpannedValue<'_>) {
        let key = text::escape(key, 80);
        self.fault(value.span(), format!("{key}: expected {expected}, found {}", found(value.get_ref())));
    }

    fn unknown(&mut self, at: Range<usize>, key: &str, known: &str) {
        let key = text::escape(key, 80);
        self.fault(at, format!("unknown key {key:?}, which is left out: expected {known}"));
    }

    /// Notes why whole tables are missing.
    fn breaks(&mut self, at: &Range<usize>, why: String) {
        let line = self.line(at);
        self.broken.get_or_insert_with(|| format!("line {line}: {why}"));
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

impl Reader {
    /// Reads the table of this hook.
    pub(super) fn table(&mut self, name: &str, value: &SpannedValue<'_>) -> Option<Table> {
        // The name is shown in messages, also if no hook can have it.
        self.hook = Some(text::escape(name, 255));
        let line = self.line(&value.span());
        if !value.get_ref().is_table() {
            self.breaks(&value.span(), format!("{} is not a table", text::escape(name, 80)));
            self.wrong_type(name, "a table", value);
            self.hook = None;
            return None;
        }
        let count = "a whole number above zero";
        let mut table = Table { line, ..Table::default() };
        let limits = &mut table.limits;
        for (key, at, value) in self.keys(name, value) {
            match key {
                "enabled" => table.enabled = self.get(key, "true or false", value),
                "priority" => table.priority = self.get(key, "a whole number of 32 bits", value),
                "on_failure" => {
                    let block = (OnFailure::Block, "\"block\"");
                    let policy = self.strict(key, "\"pass\" or \"block\"", value, typed(value), block);
                    table.on_failure = Some(policy);
                }
                "mode" => {
                    let enforce = (Mode::Enforce, "\"enforce\"");
                    let mode = self.strict(key, "\"enforce\" or \"observe\"", value, typed(value), enforce);
                    table.mode = Some(mode);
                }
                "allow" => table.allow = self.get(key, "true or false", value),
                "timeout" => limits.timeout = self.timeout(value),
                "fuel" => limits.fuel = self.get(key, count, value).map(NonZeroU64::get),
                "memory" => limits.memory = self.size(key, value),
                "output" => limits.output = self.size(key, value),
                "log" => limits.log = self.size(key, value),
                "copies" => limits.copies = self.size(key, value),
                "handles" => limits.handles = self.get(key, count, value).map(NonZeroUsize::get),
                "tables" => limits.tables = self.get(key, count, value).map(NonZeroUsize::get),
                "env" => table.environment = Some(self.environment(value)),
                "settings" => (table.settings, table.settings_lines) = self.settings(value),
                other => self.unknown(
                    at,
                    other,
                    "enabled, priority, on_failure, mode, allow, timeout, fuel, memory, output, log, \
                     copies, handles, tables, env or settings",
                ),
            }
        }
        self.hook = None;
        Some(table)
    }

    fn timeout(&mut self, value: &SpannedValue<'_>) -> Option<Duration> {
        let time = value.get_ref().as_str().and_then(|text| units::parse_duration(text).ok());
        let expected = "a time in quotes such as \"2s\", \"500ms\" or \"1m\"";
        self.checked("timeout", expected, value, time)
    }

    fn environment(&mut self, value: &SpannedValue<'_>) -> Vec<String> {
        let expected = "a list of names of variables such as [\"PATH\", \"HOME\"]";
        let items = value.get_ref().as_array().map(|items| items.iter().collect());
        let items: Vec<_> = self.strict("env", expected, value, items, (Vec::new(), "[]"));
        self.names("env", "variable", items, is_variable)
    }

    /// Reads the hook's own settings, and their lines.
    fn settings(&mut self, value: &SpannedValue<'_>) -> (Settings, BTreeMap<String, usize>) {
        let text = |value: &DeValue<'_>| match to_json(value) {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let keys = self.keys("settings", value);
        keys.map(|(key, at, it)| ((key.to_owned(), text(it.get_ref())), (key.to_owned(), self.line(&at))))
            .unzip()
    }
}

/// Returns true if a variable of an environment can have this name.
fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}
