//! A table `[hooks."NAME"]`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use toml::de::DeValue;

use super::reader::{Reader, SpannedValue, found, to_json};
use crate::discovery::units;
use crate::hook::{Limits, OnFailure, Settings};
use crate::text;

/// How many variables a hook may be given by name.
const MAX_VARIABLES: usize = 1_024;

/// What a table `[hooks."NAME"]` says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::discovery) struct Table {
    /// Where it stands.
    pub(in crate::discovery) line: usize,
    pub(in crate::discovery) enabled: Option<bool>,
    pub(in crate::discovery) priority: Option<i32>,
    pub(in crate::discovery) on_failure: Option<OnFailure>,
    pub(in crate::discovery) limits: Limits,
    /// The variables that a native hook gets; all of them when absent.
    pub(in crate::discovery) environment: Option<Vec<String>>,
    pub(in crate::discovery) settings: Settings,
}

impl Table {
    /// All that it says, key by key, for a digest; where it stands is nothing that it says.
    pub(in crate::discovery) fn fields(&self) -> BTreeMap<String, String> {
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

impl Reader {
    /// Reads the table of this hook.
    pub(super) fn table(&mut self, name: &str, value: &SpannedValue<'_>) -> Option<Table> {
        // A key that is no name reaches whoever shows it, too.
        self.hook = Some(text::escape(name, 255));
        let line = self.line(&value.span());
        let DeValue::Table(keys) = value.get_ref() else {
            self.breaks(&value.span(), format!("{} is no table", text::escape(name, 80)));
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

    fn timeout(&mut self, value: &SpannedValue<'_>) -> Option<Duration> {
        let time = value.get_ref().as_str().and_then(|text| units::parse_duration(text).ok());
        if time.is_none() {
            self.wrong_type("timeout", "a time in quotes such as \"2s\", \"500ms\" or \"1m\"", value);
        }
        time
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
}

/// Whether a variable of an environment can have this name.
fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}
