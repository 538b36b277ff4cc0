//! Reads the hooks and switches of a configuration.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use super::document::{Document, DocumentError};
use super::entry::Entry;
use super::switch::Switch;
use jsonc_parser::ast::{Object, Value};

use crate::agent::disable_settings::LeavesOut;
use crate::spec::{EntryForm, Groups, Spec};
use crate::text;

/// The number of entries that are read from one file.
const MAX_ENTRIES: usize = 4096;

/// The number of problems that are reported of one file: the user learns nothing from more.
const MAX_PROBLEMS: usize = 32;

/// The other types of an entry.
const OTHER_TYPES: [&str; 5] = ["agent", "http", "mcp_tool", "prompt", "plugin"];

/// The hooks of a configuration file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Configuration {
    /// The commands, in the order of the file.
    pub entries: Vec<Entry>,
    /// The settings that switch hooks off.
    pub switches: Vec<Switch>,
    /// The value of `disableAllHooks`, if it is set and the strongest level counts.
    pub disables_all: Option<bool>,
    /// The variables that the settings set for all commands.
    pub env: Vec<(String, String)>,
    /// The parts that the agent reads otherwise than they look.
    pub problems: Vec<Problem>,
}

/// A part of a configuration that its agent reads otherwise than it looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The agent's name of its event; `None` if it concerns the whole file.
    pub event: Option<String>,
    /// The expectation.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(event) = &self.event {
            write!(f, "{}: ", text::escape(event, 100))?;
        }
        f.write_str(&self.what)
    }
}

/// Reads a configuration file of an agent.
///
/// # Errors
///
/// [`DocumentError`] if the file cannot be parsed.
pub(crate) fn read_spec(spec: &'static Spec, bytes: &[u8]) -> Result<Configuration, DocumentError> {
    let document = Document::parse(spec, bytes)?;
    let mut reader = Reader { spec, document: &document, found: Configuration::default() };
    if let Some(root) = &document.root {
        reader.root(root)?;
    }
    Ok(reader.found)
}

struct Reader<'a> {
    spec: &'static Spec,
    document: &'a Document<'a>,
    found: Configuration,
}

impl Reader<'_> {
    fn form(&self) -> &'static EntryForm {
        &self.spec.config.entry
    }

    fn root(&mut self, root: &Object<'_>) -> Result<(), DocumentError> {
        self.switches(root);
        let Some(hooks) = self.last(root, "hooks") else { return Ok(()) };
        let Value::Object(hooks) = hooks else {
            return Err(self.document.unexpected("an object", hooks, "for \"hooks\""));
        };
        if root.properties.iter().filter(|it| it.name.as_str() == "hooks").count() > 1 {
            self.problem(None, "expected \"hooks\" once in the file");
        }
        if self.form().has_version
            && !matches!(self.last(root, "version"), Some(Value::NumberLit(it)) if it.value == "1")
        {
            self.problem(None, "expected \"version\": 1 in the file, without which it is not read");
        }
        for name in repeated(hooks) {
            self.problem(Some(name), "expected it once: of two lists the agent takes one");
        }
        for event in &hooks.properties {
            let name = event.name.as_str();
            if self.spec.config.former_settings.contains(&name) {
                continue;
            }
            let Value::Array(list) = &event.value else {
                self.problem(Some(name), "expected a list");
                continue;
            };
            for (at, item) in list.elements.iter().enumerate() {
                let Value::Object(item) = item else {
                    self.problem(Some(name), "expected an object in the list");
                    continue;
                };
                self.item(name, at, item);
            }
        }
        Ok(())
    }

    /// Reads a group or an entry.
    fn item(&mut self, event: &str, at: usize, item: &Object<'_>) {
        let groups = self.form().groups;
        self.keys(event, item);
        let inner = match item.get_array("hooks") {
            Some(inner) if groups != Groups::None => inner,
            _ if groups == Groups::Required => {
                return self.problem(Some(event), "expected \"hooks\" in every group");
            }
            _ => return self.entry(event, item, matcher(item), (at, 0)),
        };
        for (inner_at, entry) in inner.elements.iter().enumerate() {
            match entry {
                Value::Object(entry) => {
                    self.keys(event, entry);
                    self.entry(event, entry, matcher(entry).or_else(|| matcher(item)), (at, inner_at));
                }
                _ => self.problem(Some(event), "expected an object in a group"),
            }
        }
    }

    /// Checks what concerns groups and entries: no duplicate key, and a matcher that is text.
    fn keys(&mut self, event: &str, object: &Object<'_>) {
        for name in repeated(object) {
            self.problem(Some(event), &format!("expected \"{name}\" once in a group or an entry"));
        }
        match object.get("matcher").map(|it| &it.value) {
            None | Some(Value::StringLit(_)) => {}
            Some(Value::NullKeyword(_)) if self.form().takes_null_matcher => {}
            Some(_) => self.problem(Some(event), "expected text for \"matcher\""),
        }
    }

    fn entry(&mut self, event: &str, entry: &Object<'_>, matcher: Option<String>, position: (usize, usize)) {
        if self.found.entries.len() >= MAX_ENTRIES {
            return self.problem(None, &format!("more than {MAX_ENTRIES} entries"));
        }
        let form = self.form();
        match entry.get("type").map(|it| &it.value) {
            Some(Value::StringLit(it)) if it.value == "command" => {}
            None if !form.has_type => {}
            // Prompts, URLs and the like run no command of ours.
            Some(Value::StringLit(it)) if OTHER_TYPES.contains(&it.value.as_ref()) => return,
            _ => self.problem(Some(event), "expected \"type\": \"command\" in every entry"),
        }
        let Some(command) = form.command_keys.iter().find_map(|key| entry.get_string(key)) else {
            if entry.get("powershell").is_none() {
                self.problem(
                    Some(event),
                    &format!("expected text for \"{}\" in every entry", form.command()),
                );
            }
            return;
        };
        let configured = self.timeout(event, entry);
        let known = [form.command(), form.timeout(), "type", "matcher"];
        let extra = entry.properties.iter().filter(|it| !known.contains(&it.name.as_str()));
        self.found.entries.push(Entry {
            event: event.to_owned(),
            matcher,
            command: command.value.clone().into_owned(),
            timeout: self.spec.waits(event, configured),
            extra: extra.map(|it| (it.name.as_str().to_owned(), it.value.clone().into())).collect(),
            position,
        });
    }

    fn timeout(&mut self, event: &str, entry: &Object<'_>) -> Option<Duration> {
        let form = self.form();
        let (key, value) = form.timeout_keys.iter().find_map(|key| Some((key, &entry.get(key)?.value)))?;
        let time = match value {
            Value::NumberLit(it) => it.value.parse().ok().and_then(|it| self.spec.wait.unit.time(it)),
            Value::NullKeyword(_) if form.takes_null_timeout => return None,
            _ => None,
        };
        match time {
            None => self.problem(Some(event), &format!("expected a number above 0 for \"{key}\"")),
            Some(time) => {
                if let Some(longest) = form.longest_timeout.filter(|longest| time > *longest) {
                    let what =
                        format!("expected at most {longest:?} for \"{key}\": a longer one is over at once");
                    self.problem(Some(event), &what);
                }
            }
        }
        time
    }

    fn switches(&mut self, root: &Object<'_>) {
        let mut switches = Vec::new();
        for setting in self.spec.config.disable_settings {
            let holder = match setting.within {
                Some(name) => self.last(root, name).and_then(Value::as_object),
                None => Some(root),
            };
            let value = holder.and_then(|holder| self.last(holder, setting.key));
            match (setting.leaves_out, value) {
                (LeavesOut::All(off), Some(Value::BooleanLit(it))) if it.value == off => {
                    switches.push(Switch::All(setting.shown));
                }
                (LeavesOut::AllButManaged, Some(Value::BooleanLit(it))) if it.value => {
                    switches.push(Switch::AllButManaged(setting.shown));
                }
                (LeavesOut::Named, Some(Value::Array(names))) => {
                    let names = names.elements.iter().filter_map(Value::as_string_lit).take(MAX_ENTRIES);
                    let named = |name: String| Switch::Named { setting: setting.shown, name };
                    switches.extend(names.map(|name| named(name.value.clone().into_owned())));
                }
                _ => {}
            }
        }
        self.found.switches = switches;
        if self.spec.config.managed_file.is_some() {
            let all = self.last(root, "disableAllHooks").and_then(Value::as_boolean_lit);
            self.found.disables_all = all.map(|it| it.value);
        }
        if let Some(key) = self.spec.config.env_key {
            let env = self.last(root, key).and_then(Value::as_object);
            let env = env.into_iter().flat_map(|it| &it.properties).take(MAX_ENTRIES);
            let text = |value: &Value<'_>| match value.clone().into() {
                serde_json::Value::String(text) => text,
                other => other.to_string(),
            };
            self.found.env = env.map(|it| (it.name.as_str().to_owned(), text(&it.value))).collect();
        }
    }

    /// Returns the last value of a name: the one that the agents' parsers take.
    fn last<'o>(&self, object: &'o Object<'_>, name: &str) -> Option<&'o Value<'o>> {
        object.properties.iter().rev().find(|it| it.name.as_str() == name).map(|it| &it.value)
    }

    fn problem(&mut self, event: Option<&str>, what: &str) {
        if self.found.problems.len() < MAX_PROBLEMS {
            let event = event.map(str::to_owned);
            self.found.problems.push(Problem { event, what: text::escape(what, 300) });
        }
    }
}

/// Returns the keys that an object has more than once.
fn repeated<'o>(object: &'o Object<'_>) -> BTreeSet<&'o str> {
    let mut seen = BTreeSet::new();
    object.properties.iter().map(|it| it.name.as_str()).filter(|name| !seen.insert(*name)).collect()
}

fn matcher(object: &Object<'_>) -> Option<String> {
    object.get_string("matcher").map(|it| it.value.clone().into_owned())
}

#[cfg(test)]
mod tests;
