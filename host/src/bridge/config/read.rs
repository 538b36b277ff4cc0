//! What a configuration says.

use std::time::Duration;

use jsonc_parser::ast::{Object, Value};
use serde_json::Map;

use super::document::{Document, DocumentError};
use super::form::{form, waits};
use super::switch::Switch;
use crate::dialect::agent::Agent;
use crate::text;

/// How many entries are read from one file.
const MAX_ENTRIES: usize = 4096;

/// A command that an agent runs at an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The agent's own name of the event.
    pub event: String,
    /// Which tools it is for, as it stands in the file; `None` and the empty one mean all, and mostly `*` does.
    pub matcher: Option<String>,
    /// The command line, for a shell.
    pub command: String,
    /// How long the agent waits for it, its defaults and bounds included.
    pub timeout: Duration,
    /// What else stands in the entry, such as `name`, `failClosed` or `async`: scalars only.
    pub extra: Map<String, serde_json::Value>,
    /// The position of the group in the event's list, and of the entry in the group; where there are no groups, of the
    /// entry in the list, and 0.
    pub position: (usize, usize),
}

impl Entry {
    /// Whether a failure of the command blocks by the agent's own rules: Cursor's `failClosed`.
    pub fn fails_closed(&self) -> bool {
        self.extra.get("failClosed") == Some(&serde_json::Value::Bool(true))
    }

    /// Whether the agent does not wait for it, so that it can stop nothing: `async`.
    pub fn is_in_background(&self) -> bool {
        self.extra.get("async") == Some(&serde_json::Value::Bool(true))
    }

    /// Whether every tool reaches it.
    pub fn is_for_every_tool(&self) -> bool {
        matches!(self.matcher.as_deref(), None | Some("" | "*" | ".*"))
    }
}

/// What a configuration file says about hooks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Configuration {
    /// The commands, in the order of the file.
    pub entries: Vec<Entry>,
    /// What switches hooks off.
    pub switches: Vec<Switch>,
    /// What stands where an entry should and is none.
    pub problems: Vec<String>,
}

/// Reads a configuration file of an agent.
///
/// # Errors
///
/// [`DocumentError`] where the file is not what the agent reads.
pub fn read(agent: Agent, bytes: &[u8]) -> Result<Configuration, DocumentError> {
    let document = Document::parse(agent, bytes)?;
    let mut reader = Reader { agent, document: &document, found: Configuration::default() };
    if let Some(root) = &document.root {
        reader.root(root)?;
    }
    Ok(reader.found)
}

struct Reader<'a> {
    agent: Agent,
    document: &'a Document<'a>,
    found: Configuration,
}

impl Reader<'_> {
    fn root(&mut self, root: &Object<'_>) -> Result<(), DocumentError> {
        self.switches(root);
        let Some(hooks) = self.last(root, "hooks") else { return Ok(()) };
        let Value::Object(hooks) = hooks else {
            return Err(self.document.unexpected("an object", hooks, "for \"hooks\""));
        };
        let form = form(self.agent);
        if form.has_version
            && !matches!(self.last(root, "version"), Some(Value::NumberLit(it)) if it.value == "1")
        {
            self.problem("expected \"version\": 1 in the file, without which it is not read");
        }
        for event in &hooks.properties {
            let name = event.name.as_str();
            let Value::Array(list) = &event.value else {
                self.problem(&format!("expected a list for \"{name}\""));
                continue;
            };
            for (at, item) in list.elements.iter().enumerate() {
                let Value::Object(item) = item else {
                    self.problem(&format!("expected an object in the list of \"{name}\""));
                    continue;
                };
                // Copilot CLI takes groups as well.
                let inner = match item.get_array("hooks") {
                    Some(inner) if form.is_grouped || self.agent == Agent::Copilot => inner,
                    _ if form.is_grouped => {
                        self.problem(&format!("expected \"hooks\" in every group of \"{name}\""));
                        continue;
                    }
                    _ => {
                        self.entry(name, item, matcher(item), (at, 0));
                        continue;
                    }
                };
                for (inner_at, entry) in inner.elements.iter().enumerate() {
                    match entry {
                        Value::Object(entry) => {
                            self.entry(name, entry, matcher(entry).or_else(|| matcher(item)), (at, inner_at));
                        }
                        _ => self.problem(&format!("expected an object in a group of \"{name}\"")),
                    }
                }
            }
        }
        Ok(())
    }

    fn entry(&mut self, event: &str, entry: &Object<'_>, matcher: Option<String>, position: (usize, usize)) {
        if self.found.entries.len() >= MAX_ENTRIES {
            return self.problem(&format!("more than {MAX_ENTRIES} entries"));
        }
        let form = form(self.agent);
        let is_command = entry.get_string("type").is_none_or(|it| it.value == "command");
        let keys = std::iter::once(&form.command).chain(form.other_commands);
        let command = keys.into_iter().find_map(|key| entry.get_string(key));
        // Prompts, URLs and the like run no command of ours.
        let Some(command) = command.filter(|_| is_command) else { return };
        let keys = std::iter::once(&form.timeout).chain(form.other_timeouts);
        let number = keys.into_iter().find_map(|key| entry.get_number(key));
        let configured = number.and_then(|it| it.value.parse().ok()).and_then(|it| form.unit.time(it));
        let known = [form.command, form.timeout, "type", "matcher"];
        let extra = entry.properties.iter().filter(|it| !known.contains(&it.name.as_str()));
        self.found.entries.push(Entry {
            event: event.to_owned(),
            matcher,
            command: command.value.clone().into_owned(),
            timeout: waits(self.agent, event, configured),
            extra: extra.filter_map(|it| Some((it.name.as_str().to_owned(), scalar(&it.value)?))).collect(),
            position,
        });
    }

    fn switches(&mut self, root: &Object<'_>) {
        let is = |name: &str, wanted: bool| matches!(self.last(root, name), Some(Value::BooleanLit(it)) if it.value == wanted);
        let mut switches = Vec::new();
        match self.agent {
            Agent::Claude | Agent::Qwen | Agent::Copilot => {
                if is("disableAllHooks", true) {
                    switches.push(Switch::All("\"disableAllHooks\": true"));
                }
                if self.agent == Agent::Claude && is("allowManagedHooksOnly", true) {
                    switches.push(Switch::AllButManaged("\"allowManagedHooksOnly\": true"));
                }
                if self.agent == Agent::Copilot {
                    let names = self.last(root, "disabledHooks").and_then(Value::as_array);
                    switches.extend(named("\"disabledHooks\"", names));
                }
            }
            Agent::Gemini => {
                if let Some(Value::Object(config)) = self.last(root, "hooksConfig") {
                    if matches!(self.last(config, "enabled"), Some(Value::BooleanLit(it)) if !it.value) {
                        switches.push(Switch::All("\"hooksConfig\": {\"enabled\": false}"));
                    }
                    let names = self.last(config, "disabled").and_then(Value::as_array);
                    switches.extend(named("\"hooksConfig\": {\"disabled\": […]}", names));
                }
            }
            Agent::Codex | Agent::Cursor | Agent::OpenCode => {}
        }
        self.found.switches = switches;
    }

    /// What the agents' parsers take of a name that is there twice.
    fn last<'o>(&self, object: &'o Object<'_>, name: &str) -> Option<&'o Value<'o>> {
        object.properties.iter().rev().find(|it| it.name.as_str() == name).map(|it| &it.value)
    }

    fn problem(&mut self, what: &str) {
        if self.found.problems.len() < 32 {
            self.found.problems.push(text::escape(what, 300));
        }
    }
}

fn matcher(object: &Object<'_>) -> Option<String> {
    object.get_string("matcher").map(|it| it.value.clone().into_owned())
}

fn named<'o>(
    setting: &'static str,
    names: Option<&'o jsonc_parser::ast::Array<'_>>,
) -> impl Iterator<Item = Switch> + 'o {
    let names = names.into_iter().flat_map(|it| &it.elements).filter_map(Value::as_string_lit);
    names.take(MAX_ENTRIES).map(move |it| Switch::Named { setting, name: it.value.clone().into_owned() })
}

fn scalar(value: &Value<'_>) -> Option<serde_json::Value> {
    match value {
        Value::StringLit(it) => Some(it.value.as_ref().into()),
        Value::NumberLit(it) => it.value.parse::<f64>().ok().map(Into::into),
        Value::BooleanLit(it) => Some(it.value.into()),
        Value::NullKeyword(_) => Some(serde_json::Value::Null),
        Value::Object(_) | Value::Array(_) => None,
    }
}

/// Reads what Codex's `config.toml` switches off. Hooks may stand in it, too, which are not read here.
///
/// # Errors
///
/// [`DocumentError`] where the file is no TOML.
pub fn read_codex_settings(bytes: &[u8]) -> Result<Vec<Switch>, DocumentError> {
    let hint = "correct the file by hand";
    let text = str::from_utf8(bytes).map_err(|error| DocumentError::new(error.to_string(), hint))?;
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        DocumentError::new(format!("expected TOML, found: {}", text::escape(error.message(), 300)), hint)
    })?;
    let features = table.get("features").and_then(toml::Value::as_table);
    let is_off = |name: &str| {
        features.and_then(|it| it.get(name)).and_then(toml::Value::as_bool).is_some_and(|is_on| !is_on)
    };
    let mut switches = Vec::new();
    if is_off("hooks") || is_off("codex_hooks") {
        switches.push(Switch::All("[features] hooks = false"));
    }
    if table.get("allow_managed_hooks_only").and_then(toml::Value::as_bool) == Some(true) {
        switches.push(Switch::AllButManaged("allow_managed_hooks_only = true"));
    }
    Ok(switches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_in_every_agents_form() {
        let grouped = |event: &str, timeout: &str| {
            format!(
                r#"{{"hooks": {{"{event}": [{{"matcher": "Bash", "hooks": [{{"type": "prompt", "prompt": "x"}}, {{"type": "command", "name": "n", "command": "guard \"a\"", "timeout": {timeout}}}]}}]}}}}"#
            )
        };
        let flat =
            |event: &str, entry: &str| format!(r#"{{"version": 1, "hooks": {{"{event}": [{entry}]}}}}"#);
        for (agent, text, seconds) in [
            (Agent::Claude, grouped("PreToolUse", "20"), 20),
            (Agent::Codex, grouped("PreToolUse", "20"), 20),
            (Agent::Gemini, grouped("BeforeTool", "20000"), 20),
            (Agent::Qwen, grouped("PreToolUse", "20000"), 20),
            (Agent::Qwen, grouped("PreToolUse", "-3"), 60),
            (Agent::Claude, grouped("PreToolUse", "\"20\""), 600),
            (
                Agent::Copilot,
                flat(
                    "preToolUse",
                    r#"{"type": "command", "matcher": "Bash", "bash": "guard \"a\"", "timeoutSec": 20}"#,
                ),
                20,
            ),
            (
                Agent::Copilot,
                flat(
                    "PreToolUse",
                    r#"{"matcher": "Bash", "hooks": [{"command": "guard \"a\"", "timeout": 20}]}"#,
                ),
                20,
            ),
            (
                Agent::Cursor,
                flat("preToolUse", r#"{"command": "guard \"a\"", "matcher": "Bash", "timeout": 20}"#),
                20,
            ),
        ] {
            let found = read(agent, text.as_bytes()).unwrap();
            assert_eq!((found.entries.len(), found.problems.len()), (1, 0), "{agent} {found:?}");
            let entry = &found.entries[0];
            assert!(entry.event.eq_ignore_ascii_case("PreToolUse") || entry.event == "BeforeTool");
            assert_eq!(
                (entry.command.as_str(), entry.matcher.as_deref()),
                ("guard \"a\"", Some("Bash")),
                "{agent}"
            );
            assert_eq!(entry.timeout, Duration::from_secs(seconds), "{agent}");
            assert!(!entry.is_for_every_tool() && !entry.fails_closed() && !entry.is_in_background());
        }
    }

    #[test]
    fn what_is_no_entry_is_a_problem_and_hides_no_other() {
        let text = br#"{"hooks": {"A": 1, "B": [1, {}, {"hooks": [2, {"command": "x", "async": true}]}]}}"#;
        let found = read(Agent::Claude, text).unwrap();
        assert_eq!((found.entries.len(), found.problems.len()), (1, 4), "{found:?}");
        assert!(found.entries[0].is_in_background() && found.entries[0].is_for_every_tool());
        assert_eq!(found.entries[0].position, (2, 1));
        let without_version =
            read(Agent::Cursor, br#"{"hooks": {"stop": [{"command": "x", "failClosed": true}]}}"#).unwrap();
        assert!(without_version.entries[0].fails_closed());
        assert!(without_version.problems[0].contains("version"));
        assert!(read(Agent::Claude, br#"{"hooks": []}"#).is_err());
        let many = format!(
            r#"{{"hooks": {{"Stop": [{{"hooks": [{}]}}]}}}}"#,
            [r#"{"command": "x"}"#; 5000].join(",")
        );
        assert_eq!(read(Agent::Claude, many.as_bytes()).unwrap().entries.len(), MAX_ENTRIES);
    }

    #[test]
    fn what_switches_hooks_off_is_found() {
        for (agent, text, want) in [
            (Agent::Claude, r#"{"disableAllHooks": true, "allowManagedHooksOnly": true}"#, 2),
            (Agent::Claude, r#"{"disableAllHooks": false}"#, 0),
            (Agent::Qwen, r#"{"disableAllHooks": true}"#, 1),
            (Agent::Copilot, r#"{"disableAllHooks": true, "disabledHooks": ["a", "b"]}"#, 3),
            (Agent::Gemini, r#"{"hooksConfig": {"enabled": false, "disabled": ["hookbox"]}}"#, 2),
            (Agent::Gemini, r#"{"hooksConfig": {"enabled": true}, "disableAllHooks": true}"#, 0),
            (Agent::Codex, r#"{"disableAllHooks": true}"#, 0),
        ] {
            assert_eq!(read(agent, text.as_bytes()).unwrap().switches.len(), want, "{agent} {text}");
        }
        for (text, want) in [
            ("[features]\nhooks = false\n", 1),
            ("[features]\ncodex_hooks = false\n", 1),
            ("allow_managed_hooks_only = true\n[features]\nhooks = true\n", 1),
            ("", 0),
        ] {
            assert_eq!(read_codex_settings(text.as_bytes()).unwrap().len(), want, "{text}");
        }
        assert!(read_codex_settings(b"[").is_err());
    }
}
