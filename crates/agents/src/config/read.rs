//! Reads the hooks and switches of a configuration.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use hookbox::discovery::document::{Form, Node, Object, Reader as Faults, wrong};
use serde_json::{Map, Value, json};

use super::document::{ConfigText, DocumentError, json, last};
use super::entry::Entry;
use crate::spec::{DisableSetting, EntryForm, Groups, LeavesOut, Spec};
use crate::{Agent, text};
use hookbox_system::limits;

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
    /// The switches that are set to leave hooks on, each as it would be written to switch them off; empty if
    /// the strongest level counts.
    pub kept_on: Vec<&'static str>,
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
pub fn read(agent: Agent, bytes: &[u8]) -> Result<Configuration, DocumentError> {
    let spec = agent.spec();
    let text = ConfigText::new(spec, bytes)?;
    let document = text.parse()?;
    let mut reader = Reader { spec, found: Configuration::default() };
    if let Some(Form::Object(root)) = document.as_ref().map(|it| it.root().form()) {
        reader.root(&root)?;
    }
    Ok(reader.found)
}

struct Reader {
    spec: &'static Spec,
    found: Configuration,
}

impl Reader {
    fn form(&self) -> &'static EntryForm {
        &self.spec.config.entry
    }

    fn root(&mut self, root: &Object<'_>) -> Result<(), DocumentError> {
        self.settings(root);
        let Some(hooks) = last(root, "hooks") else { return Ok(()) };
        let Form::Object(events) = hooks.form() else {
            return Err(DocumentError::unexpected("an object", hooks, "for \"hooks\""));
        };
        if root.again.iter().any(|it| it.name == "hooks") {
            self.problem(None, "expected \"hooks\" once in the file");
        }
        if self.form().has_version && last(root, "version").is_none_or(|it| it.raw() != "1") {
            self.problem(None, "expected \"version\": 1 in the file, without which it is not read");
        }
        for name in repeated(&events) {
            self.problem(Some(name), "expected it once: of two lists the agent takes one");
        }
        for event in events.members.iter().chain(&events.again) {
            let name = event.name.as_str();
            if self.spec.config.former_settings.contains(&name) {
                continue;
            }
            let Form::Array(list) = event.value.form() else {
                self.problem(Some(name), "expected a list");
                continue;
            };
            for (at, item) in list.into_iter().enumerate() {
                let Form::Object(item) = item.form() else {
                    self.problem(Some(name), "expected an object in the list");
                    continue;
                };
                self.item(name, at, &item);
            }
        }
        Ok(())
    }

    /// Reads a group or an entry.
    fn item(&mut self, event: &str, at: usize, item: &Object<'_>) {
        let groups = self.form().groups;
        let of_item = self.matcher(event, item);
        let inner = match last(item, "hooks").map(Node::form) {
            Some(Form::Array(inner)) if groups != Groups::None => inner,
            _ if groups == Groups::Required => {
                return self.problem(Some(event), "expected \"hooks\" in every group");
            }
            _ => return self.entry(event, item, of_item, (at, 0)),
        };
        for (inner_at, entry) in inner.into_iter().enumerate() {
            match entry.form() {
                Form::Object(entry) => {
                    let matcher = self.matcher(event, &entry).or_else(|| of_item.clone());
                    self.entry(event, &entry, matcher, (at, inner_at));
                }
                _ => self.problem(Some(event), "expected an object in a group"),
            }
        }
    }

    /// Returns the matcher of a group or an entry. It should be text, and no key should appear twice.
    fn matcher(&mut self, event: &str, object: &Object<'_>) -> Option<String> {
        for name in repeated(object) {
            self.problem(Some(event), &format!("expected \"{name}\" once in a group or an entry"));
        }
        match last(object, self.form().matcher_key)?.form() {
            Form::Text(matcher) => return Some(matcher),
            Form::Null if self.form().takes_null_matcher => {}
            _ => self.problem(Some(event), &format!("expected text for \"{}\"", self.form().matcher_key)),
        }
        None
    }

    fn entry(&mut self, event: &str, entry: &Object<'_>, matcher: Option<String>, position: (usize, usize)) {
        let form = self.form();
        let text = |key: &str| match last(entry, key)?.form() {
            Form::Text(text) => Some(text),
            _ => None,
        };
        let expected = "expected \"type\": \"command\" in every entry";
        match text("type").as_deref() {
            Some("command") => {}
            // Prompts, URLs and the like run no command of ours.
            Some(kind) if OTHER_TYPES.contains(&kind) => return,
            Some(_) => return self.problem(Some(event), expected),
            None if !form.has_type && last(entry, "type").is_none() => {}
            None => self.problem(Some(event), expected),
        }
        let Some(command) = form.command_keys.iter().find_map(|key| text(key)) else {
            if last(entry, "powershell").is_none() {
                self.problem(
                    Some(event),
                    &format!("expected text for \"{}\" in every entry", form.command()),
                );
            }
            return;
        };
        let configured = self.timeout(event, entry);
        let known = [form.command(), form.timeout(), "type", form.matcher_key];
        let all = entry.members.iter().chain(&entry.again);
        let extra = all.filter(|it| !known.contains(&it.name.as_str()));
        self.found.entries.push(Entry {
            event: event.to_owned(),
            matcher,
            command,
            timeout: self.spec.waits(event, configured),
            extra: extra.map(|it| (it.name.clone(), json(it.value))).collect(),
            position,
        });
    }

    fn timeout(&mut self, event: &str, entry: &Object<'_>) -> Option<Duration> {
        let form = self.form();
        let (key, value) = form.timeout_keys.iter().find_map(|key| Some((key, last(entry, key)?)))?;
        let time = match value.form() {
            Form::Number(number) => self.spec.wait.unit.time(number),
            Form::Null if form.takes_null_timeout => return None,
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

    /// Reads the settings beside the hooks.
    fn settings(&mut self, root: &Object<'_>) {
        self.found.switches = switches(self.spec, root, &mut Faults::default());
        if self.spec.config.takes_strongest_switch {
            self.found.disables_all = last(root, "disableAllHooks").and_then(|it| json(it).as_bool());
        } else {
            self.found.kept_on = kept_on(self.spec, root);
        }
        if let Some(Value::Object(env)) = self.spec.config.env_key.and_then(|key| last(root, key)).map(json) {
            let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            self.found.env = env.into_iter().map(|(name, value)| (name, text(value))).collect();
        }
    }

    fn problem(&mut self, event: Option<&str>, what: &str) {
        if self.found.problems.len() < limits::NAMED {
            let event = event.map(str::to_owned);
            self.found.problems.push(Problem { event, what: text::escape(what, 300) });
        }
    }
}

/// Returns the keys that an object has more than once.
fn repeated<'o>(object: &'o Object<'_>) -> BTreeSet<&'o str> {
    object.again.iter().map(|it| it.name.as_str()).collect()
}

/// A setting with which an agent does not run hooks of its configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Switch {
    /// Switches all of them off: the setting, as a person would write it.
    All(&'static str),
    /// Switches all off but those of the organisation.
    AllButManaged(&'static str),
    /// Switches those of this name or command line off.
    Named {
        /// The setting.
        setting: &'static str,
        /// The name, or the command line.
        name: String,
    },
}

impl fmt::Display for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(setting) => write!(f, "{setting} switches every hook off"),
            Self::AllButManaged(setting) => {
                write!(f, "{setting} switches every hook off but those of the organisation")
            }
            Self::Named { setting, name } => {
                write!(f, "{setting} switches the hook \"{}\" off", text::escape(name, 200))
            }
        }
    }
}

/// Returns the switches of a file of this agent. A setting of another type is a fault.
pub(crate) fn switches(spec: &Spec, root: &Object<'_>, faults: &mut Faults) -> Vec<Switch> {
    let mut switches = Vec::new();
    for setting in spec.config.disable_settings {
        let Some(value) = value_of(setting, root) else { continue };
        match (setting.leaves_out, value.form()) {
            (LeavesOut::All(off), Form::Boolean(value)) => {
                switches.extend((value == off).then_some(Switch::All(setting.shown)));
            }
            (LeavesOut::AllButManaged, form) => {
                let is_on = matches!(form, Form::Boolean(true));
                switches.extend(is_on.then_some(Switch::AllButManaged(setting.shown)));
            }
            (LeavesOut::Named, Form::Array(names)) => {
                for name in names {
                    match name.form() {
                        Form::Text(name) => switches.push(Switch::Named { setting: setting.shown, name }),
                        _ => faults.fault(|| wrong(setting.key, "a name", name)),
                    }
                }
            }
            (LeavesOut::All(_), _) => faults.fault(|| wrong(setting.key, "true or false", value)),
            (LeavesOut::Named, _) => faults.fault(|| wrong(setting.key, "a list of names", value)),
        }
    }
    switches
}

/// Returns the switches of a file that are set to leave the hooks on.
pub(crate) fn kept_on(spec: &Spec, root: &Object<'_>) -> Vec<&'static str> {
    let is_on = |setting: &&DisableSetting| {
        let form = value_of(setting, root).map(|it| it.form());
        matches!((setting.leaves_out, form), (LeavesOut::All(off), Some(Form::Boolean(value))) if value != off)
    };
    spec.config.disable_settings.iter().filter(is_on).map(|setting| setting.shown).collect()
}

/// Returns the value of a setting in a file.
fn value_of<'a>(setting: &DisableSetting, root: &Object<'a>) -> Option<Node<'a>> {
    match setting.within {
        None => last(root, setting.key),
        Some(name) => match last(root, name)?.form() {
            Form::Object(inner) => last(&inner, setting.key),
            _ => None,
        },
    }
}

/// The switch of all hooks, as a person would write it.
const OFF: &str = "[features] hooks = false";

/// Reads the hooks and switches of Codex's `requirements.toml`, in which `[[hooks.EVENT]]` is a group.
///
/// # Errors
///
/// [`DocumentError`] if the file is not TOML, or its hooks cannot be read.
pub(crate) fn read_toml(agent: Agent, bytes: &[u8]) -> Result<Configuration, DocumentError> {
    let table = toml_settings(bytes)?;
    let found = read(agent, hooks_of(&table).as_bytes())?;
    let kept_on = if is_on(&table) == Some(true) { vec![OFF] } else { Vec::new() };
    Ok(Configuration { switches: toml_switches(&table), kept_on, ..found })
}

/// Returns the hooks of Codex's settings, in which `[[hooks.EVENT]]` is a group, as JSON.
pub(crate) fn hooks_of(table: &toml::Table) -> String {
    let hooks = table.get("hooks").and_then(toml::Value::as_table);
    // The other keys are settings, such as the directory of an organization's scripts.
    let lists = hooks.into_iter().flatten().filter(|(_, value)| value.is_array());
    let events: Map<_, _> =
        lists.map(|(name, list)| (name.clone(), serde_json::to_value(list).unwrap_or_default())).collect();
    json!({ "hooks": events }).to_string()
}

/// Returns the value of the switch, if it is set.
pub(crate) fn is_on(table: &toml::Table) -> Option<bool> {
    table.get("features")?.as_table()?.get("hooks")?.as_bool()
}

/// Reads Codex's `config.toml`.
///
/// # Errors
///
/// [`DocumentError`] if the file is not TOML.
pub(crate) fn toml_settings(bytes: &[u8]) -> Result<toml::Table, DocumentError> {
    let hint = "correct the file by hand";
    let text = str::from_utf8(bytes).map_err(|error| DocumentError::new(error.to_string(), hint))?;
    text.parse().map_err(|error: toml::de::Error| {
        DocumentError::new(format!("expected TOML, found: {}", text::escape(error.message(), 300)), hint)
    })
}

/// Returns the switches of Codex's settings. Hooks that they define are not read.
pub(crate) fn toml_switches(table: &toml::Table) -> Vec<Switch> {
    let features = table.get("features").and_then(toml::Value::as_table);
    let is_off = |name: &str| {
        features.and_then(|it| it.get(name)).and_then(toml::Value::as_bool).is_some_and(|is_on| !is_on)
    };
    let mut switches = Vec::new();
    if is_off("hooks") || is_off("codex_hooks") {
        switches.push(Switch::All(OFF));
    }
    if table.get("allow_managed_hooks_only").and_then(toml::Value::as_bool) == Some(true) {
        switches.push(Switch::AllButManaged("allow_managed_hooks_only = true"));
    }
    switches
}

#[cfg(test)]
mod tests;
