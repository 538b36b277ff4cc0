//! Settings in TOML that switch hooks off, and the hooks beside them.

use serde_json::{Map, json};

use super::error::DocumentError;
use super::read::{Configuration, read};
use super::switch::Switch;
use crate::Agent;
use crate::text;

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
