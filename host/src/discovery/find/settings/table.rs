//! A table `[hooks."NAME"]`.

use std::collections::BTreeMap;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use toml::de::DeValue;

use super::Reader;
use crate::hook::{Limits, Mode, OnFailure, Settings};
use hookbox_system::text;
use hookbox_system::toml_value::{SpannedValue, to_json, typed};
use hookbox_system::units;

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
