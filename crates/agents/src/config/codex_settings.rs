//! Settings in TOML that switch hooks off.

use super::document::DocumentError;
use super::switch::Switch;
use crate::text;

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
        switches.push(Switch::All("[features] hooks = false"));
    }
    if table.get("allow_managed_hooks_only").and_then(toml::Value::as_bool) == Some(true) {
        switches.push(Switch::AllButManaged("allow_managed_hooks_only = true"));
    }
    switches
}
