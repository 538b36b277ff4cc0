//! The plugins that a user has switched off in Cline.

use std::path::Path;

use serde_json::Value;

use crate::conditions::{contents_of, real, shown, variable};
use crate::config::json_value;
use crate::finding::Examination;
use crate::spec::Conditions;
use crate::spec::places::Level;

/// The settings with the list of plugins that are switched off.
pub(super) const SETTINGS: &str = ".cline/data/settings/global-settings.json";

/// Checks that Cline's settings do not switch the plugin off.
pub(super) fn check(conditions: &Conditions<'_>, found: &mut Examination) {
    let moved = variable("CLINE_GLOBAL_SETTINGS_PATH").map(Into::into);
    let file = moved.or_else(|| super::SPEC.path(conditions.surroundings, Level::User, SETTINGS));
    let Some(file) = file else { return };
    let settings = contents_of(&file).map(|bytes| json_value(&bytes)).unwrap_or_default();
    if is_off(&settings, conditions.file) {
        let message = format!("{} switches the plugin off (disabledPlugins)", shown(&file));
        found.fail("switch", message, "switch it on again in Cline's list of plugins");
    }
}

fn is_off(settings: &Value, plugin: &Path) -> bool {
    let all = settings.get("disabledPlugins").and_then(Value::as_array).into_iter().flatten();
    all.filter_map(Value::as_str).any(|it| Path::new(it) == plugin || real(Path::new(it)) == real(plugin))
}
