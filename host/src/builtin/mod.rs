//! The hooks that are part of hookbox: ordinary hooks of the tier `built in`. The user can switch each of them off.

mod budget;
mod command;
mod compact_trigger;
mod hookbox_process;
mod programs;
mod protected;
mod realpath_cache;
mod self_protection;

use std::path::PathBuf;
use std::sync::Arc;

use crate::hook::{Descriptor, Hook, Settings};
use crate::thresholds::Thresholds;

pub use budget::BUDGET;
pub use compact_trigger::COMPACT_TRIGGER;
pub use protected::Protection;
pub use self_protection::SELF_PROTECTION;

/// Every built-in hook, in the order in which hooks of the same priority run. A line here is all that a new one needs:
/// listing, settings and the book read this table.
pub static ALL: [Builtin; 3] = [self_protection::BUILTIN, compact_trigger::BUILTIN, budget::BUILTIN];

/// The description of a built-in hook, with its constructor.
pub struct Builtin {
    /// The full name, `builtin:` and a word.
    pub name: &'static str,
    /// The purpose, in one sentence.
    pub description: &'static str,
    /// The keys of its own settings.
    pub(crate) settings: &'static [Setting],
    /// The constructor.
    pub(crate) make: fn(&Surroundings, &BuiltinSettings) -> Arc<dyn Hook>,
}

debug_by!(Builtin, name);

/// A key of a built-in hook's own settings.
pub(crate) struct Setting {
    pub(crate) key: &'static str,
    /// The values that it takes, to be read after "expected".
    pub(crate) expected: &'static str,
    pub(crate) is_valid: fn(&str) -> bool,
}

/// The inputs of a built-in hook.
#[derive(Clone, Debug, Default)]
pub(crate) struct Surroundings {
    /// The directory names that hold hooks.
    pub(crate) roots: Vec<String>,
    pub(crate) home: Option<PathBuf>,
    pub(crate) repository: Option<PathBuf>,
    /// Hooks, directories of hooks, and hookbox's data and cache.
    pub(crate) places: Vec<PathBuf>,
    /// The command lines of declared hooks that run, each with the directory that its paths are relative to.
    pub(crate) commands: Vec<(String, PathBuf)>,
    /// Files of other programs that decide about hooks.
    pub(crate) protection: Protection,
    pub(crate) thresholds: Thresholds,
}

/// The user's settings of a built-in hook.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BuiltinSettings {
    /// False if it is switched off.
    pub(crate) enabled: Option<bool>,
    /// Its priority among the host's hooks.
    pub(crate) priority: Option<i32>,
    /// Its own settings: known keys with valid values.
    pub(crate) settings: Settings,
}

impl BuiltinSettings {
    /// Applies the user's priority to a descriptor.
    fn prioritise(&self, descriptor: Descriptor) -> Descriptor {
        match self.priority {
            Some(priority) => descriptor.priority(priority),
            None => descriptor,
        }
    }
}

/// Returns true for the name of a built-in hook.
pub(crate) fn is_builtin(name: &str) -> bool {
    ALL.iter().any(|builtin| builtin.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::Kind;

    #[test]
    fn each_is_made_under_its_name_and_stands_in_the_book() {
        let book = include_str!("../../../docs/src/built-in-hooks.md");
        for builtin in &ALL {
            let user_settings = BuiltinSettings { priority: Some(7), ..BuiltinSettings::default() };
            let hook = (builtin.make)(&Surroundings::default(), &user_settings);
            let descriptor = hook.descriptor();
            assert_eq!((descriptor.name.as_str(), descriptor.kind), (builtin.name, Kind::Builtin));
            assert!(descriptor.subscriptions.iter().all(|it| it.priority == 7), "{}", builtin.name);
            let row = format!("| `{}` | {} |", builtin.name, builtin.description);
            assert!(book.contains(&row), "docs/src/built-in-hooks.md lacks: {row}");
            for setting in builtin.settings {
                assert!(book.contains(&format!("`{}`", setting.key)), "{} {}", builtin.name, setting.key);
            }
        }
    }
}
