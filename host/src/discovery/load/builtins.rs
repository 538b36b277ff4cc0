//! The settings of built-in hooks.

use std::collections::BTreeMap;

use crate::builtin::{self, Builtin, BuiltinSettings};
use crate::discovery::find::roots::RootDir;
use crate::discovery::find::settings::Table;
use crate::discovery::problem::Problem;
use crate::hook::{Origin, Settings};
use hookbox_system::text;

/// Returns the user's settings of each built-in hook, by its name. For each key the first root with a value
/// counts. The settings of a repository do not.
pub(super) fn user_settings(
    roots: &[RootDir],
    problems: &mut Vec<Problem>,
) -> BTreeMap<&'static str, BuiltinSettings> {
    builtin::ALL.iter().map(|builtin| (builtin.name, user_settings_of(builtin, roots, problems))).collect()
}

fn user_settings_of(builtin: &Builtin, roots: &[RootDir], problems: &mut Vec<Problem>) -> BuiltinSettings {
    let mut found = BuiltinSettings::default();
    for root in roots {
        let Some(table) = root.tables.get(builtin.name) else { continue };
        let mut note = |message: &str| {
            let message = format!("line {}: {message}", table.line);
            problems.push(Problem::new(root.settings_file(), message).of(builtin.name));
        };
        if root.origin != Origin::User {
            note("a repository has no say in a built-in hook: the table is left out");
            continue;
        }
        let Table { line, enabled, priority, .. } = *table;
        let Table { settings, settings_lines, file, .. } = table.clone();
        if *table != (Table { line, enabled, priority, settings, settings_lines, file, ..Table::default() }) {
            note("a built-in hook has only enabled, priority and settings: the other keys are left out");
        }
        found.enabled = found.enabled.or(enabled);
        found.priority = found.priority.or(priority);
        for (key, value) in own_settings(builtin, &table.settings, note) {
            found.settings.entry(key).or_insert(value);
        }
    }
    found
}

/// Returns the settings that the hook has, with valid values; the others are problems.
fn own_settings(builtin: &Builtin, said: &Settings, mut note: impl FnMut(&str)) -> Settings {
    let mut own = Settings::new();
    for (key, value) in said {
        let shown = text::escape(key, 80);
        match builtin.settings.iter().find(|setting| setting.key == key) {
            Some(setting) if (setting.is_valid)(value) => {
                own.insert(key.clone(), value.clone());
            }
            Some(setting) => note(&format!(
                "settings.{shown}: expected {}, found {}, which is left out",
                setting.expected,
                text::escape(value, 80)
            )),
            None => {
                let known: Vec<&str> = builtin.settings.iter().map(|setting| setting.key).collect();
                let known =
                    if known.is_empty() { "none, it has no settings".to_owned() } else { known.join(", ") };
                note(&format!("unknown setting {shown:?}, which is left out: expected {known}"));
            }
        }
    }
    own
}
