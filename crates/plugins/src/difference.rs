//! The differences between two states of a plugin. No I/O.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::contents::{Contents, PluginHook};
use super::files::Files;
use hookbox_system::{limits, text};

/// The differences between two states of a plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The skills.
    pub skills: Names,
    /// The recipes.
    pub recipes: Names,
    /// The hooks that only the later state has.
    pub hooks_added: Vec<ChangedHook>,
    /// The hooks that only the earlier state has.
    pub hooks_removed: Vec<String>,
    /// The hooks that both states have, with differences.
    pub hooks_changed: Vec<ChangedHook>,
    /// The files that belong to none of the above. The digests of all hooks but components cover them.
    pub other_files: Paths,
}

/// Paths in the plugin that were added, removed or changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Paths {
    /// The files that only the later state has.
    pub added: Vec<String>,
    /// The files that only the earlier state has.
    pub removed: Vec<String>,
    /// The files that differ in bytes, execute bit or target.
    pub changed: Vec<String>,
}

/// Names that were added or removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Names {
    /// The names that only the later state has.
    pub added: Vec<String>,
    /// The names that only the earlier state has.
    pub removed: Vec<String>,
}

/// A new or changed hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedHook {
    /// The name in the plugin.
    pub name: String,
    /// The changes, at least one. A new hook has all of its properties here, with nothing before.
    pub changes: Vec<Change>,
}

/// A change of one property of a hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The name of the property, such as `on_failure`.
    pub what: &'static str,
    /// The earlier value. A list has several texts.
    pub before: Vec<String>,
    /// The later value.
    pub after: Vec<String>,
}

impl Difference {
    /// Compares two states of a plugin.
    pub fn between(before: &Contents, after: &Contents) -> Self {
        fn find<'a>(contents: &'a Contents, name: &str) -> Option<&'a PluginHook> {
            contents.hooks.iter().find(|it| it.name == name)
        }
        let mut difference = Self {
            skills: Names::between(&before.skills, &after.skills),
            recipes: Names::between(&before.recipes, &after.recipes),
            ..Self::default()
        };
        for hook in &before.hooks {
            match find(after, &hook.name) {
                None => difference.hooks_removed.push(hook.name.clone()),
                Some(after) => difference.hooks_changed.extend(ChangedHook::new(Some(hook), after)),
            }
        }
        let added = after.hooks.iter().filter(|hook| find(before, &hook.name).is_none());
        difference.hooks_added = added.filter_map(|hook| ChangedHook::new(None, hook)).collect();
        difference
    }

    /// Compares two states of a plugin, with their files.
    pub fn of_files(before: (&Contents, &Files), after: (&Contents, &Files)) -> Self {
        let mut difference = Self::between(before.0, after.0);
        let covered = difference.covered(before.0, after.0);
        let (Files(before), Files(after)) = (before.1, after.1);
        let paths: BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
        for path in paths.into_iter().filter(|path| !covered.iter().any(|it| path.starts_with(it))) {
            let Paths { added, removed, changed } = &mut difference.other_files;
            let list = match (before.get(path), after.get(path)) {
                (None, _) => added,
                (_, None) => removed,
                (before, after) if before != after => changed,
                _ => continue,
            };
            list.push(path.to_string_lossy().into_owned());
        }
        difference
    }

    /// Returns the files and directories of the skills, recipes and hooks that differ.
    fn covered(&self, before: &Contents, after: &Contents) -> BTreeSet<PathBuf> {
        let names = |names: &Names| [names.added.clone(), names.removed.clone()].concat();
        let skills = names(&self.skills).into_iter().map(|name| Path::new("skills").join(name));
        let recipes = names(&self.recipes).into_iter().map(|name| format!("recipes/{name}.md").into());
        let differs = |hook: &&PluginHook| {
            self.hooks_added.iter().chain(&self.hooks_changed).any(|it| it.name == hook.name)
                || self.hooks_removed.contains(&hook.name)
        };
        let hooks = before.hooks.iter().chain(&after.hooks).filter(differs).map(|it| it.file.clone());
        skills.chain(recipes).chain(hooks).collect()
    }

    /// Returns true if there is no difference.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Names {
    fn between(before: &[String], after: &[String]) -> Self {
        let only = |these: &[String], those: &[String]| -> Vec<String> {
            these.iter().filter(|name| !those.contains(name)).cloned().collect()
        };
        Self { added: only(after, before), removed: only(before, after) }
    }
}

impl ChangedHook {
    /// Compares the properties of a hook; `None` if they are the same. A new hook has no state before.
    fn new(before: Option<&PluginHook>, after: &PluginHook) -> Option<Self> {
        let changes =
            PROPERTIES.iter().filter(|(what, _)| before.is_some() || !matches!(*what, STATUS | BYTES));
        let changes = changes.map(|(what, of)| Change {
            what,
            before: before.map(of).unwrap_or_default(),
            after: of(after),
        });
        let changes: Vec<Change> = changes.filter(|change| change.before != change.after).collect();
        (!changes.is_empty()).then(|| Self { name: after.name.clone(), changes })
    }
}

const STATUS: &str = "status";
const EVENTS: &str = "events";
const ANSWERS: &str = "answers";
const ASKS: &str = "asks";
const BYTES: &str = "bytes";

/// A property of a hook: its name, and its value.
type Property = (&'static str, fn(&PluginHook) -> Vec<String>);

/// The properties that are compared, in the order in which they are shown.
const PROPERTIES: [Property; 11] = [
    ("kind", |it| vec![it.kind.as_str().to_owned()]),
    (STATUS, |it| vec![it.status.as_str().to_owned()]),
    (EVENTS, events),
    ("priority", |it| vec![it.priority.to_string()]),
    ("on_failure", |it| vec![it.on_failure.as_str().to_owned()]),
    ("timeout", |it| vec![it.timeout.clone()]),
    ("observe", |it| vec![it.observe.to_string()]),
    (ANSWERS, |it| it.answers.iter().map(|answer| (*answer).to_owned()).collect()),
    (ASKS, |it| it.asks.iter().map(ToString::to_string).collect()),
    ("runs", |it| it.runs.iter().cloned().collect()),
    (BYTES, |it| it.digest.iter().map(ToString::to_string).collect()),
];

/// Returns the events, each with its tools.
fn events(hook: &PluginHook) -> Vec<String> {
    let events = hook.subscriptions.iter().map(|it| match it.tools.as_slice() {
        [] => it.event.as_str().to_owned(),
        tools => format!("{} ({})", it.event.as_str(), tools.join(" ")),
    });
    events.collect::<BTreeSet<String>>().into_iter().collect()
}

impl fmt::Display for Change {
    /// Writes one line, escaped: the added (`+`) and removed (`-`) items of a list, or the values before and
    /// after.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |text: &String| text::escape(text, 4096);
        write!(f, "{}:", self.what)?;
        match self.what {
            EVENTS | ANSWERS | ASKS => {
                for added in self.after.iter().filter(|it| !self.before.contains(it)) {
                    write!(f, " +{}", show(added))?;
                }
                for removed in self.before.iter().filter(|it| !self.after.contains(it)) {
                    write!(f, " -{}", show(removed))?;
                }
                Ok(())
            }
            BYTES => f.write_str(" changed"),
            _ => {
                let shown = |side: &[String]| side.iter().map(show).collect::<Vec<_>>().join(" ");
                match self.before.as_slice() {
                    [] => write!(f, " {}", shown(&self.after)),
                    before => write!(f, " {} -> {}", shown(before), shown(&self.after)),
                }
            }
        }
    }
}

impl fmt::Display for Difference {
    /// Writes a line for each difference, escaped and indented by two spaces.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line =
            |sign: &str, what: &str, name: &str| format!("  {sign} {what} {}", text::escape(name, 1024));
        let mut lines = Vec::new();
        for (sign, what, names) in [
            ("+", "skill", &self.skills.added),
            ("-", "skill", &self.skills.removed),
            ("+", "recipe", &self.recipes.added),
            ("-", "recipe", &self.recipes.removed),
            ("-", "hook", &self.hooks_removed),
        ] {
            lines.extend(names.iter().map(|name| line(sign, what, name)));
        }
        for (sign, hooks) in [("+", &self.hooks_added), ("~", &self.hooks_changed)] {
            for hook in hooks {
                lines.push(line(sign, "hook", &hook.name));
                lines.extend(hook.changes.iter().map(|change| format!("      {change}")));
            }
        }
        let Paths { added, removed, changed } = &self.other_files;
        let mut files = Vec::new();
        for (sign, paths) in [("+", added), ("-", removed), ("~", changed)] {
            files.extend(paths.iter().map(|path| line(sign, "file", path)));
        }
        let more = files.len().saturating_sub(limits::NAMED);
        lines.extend(files.into_iter().take(limits::NAMED));
        lines.extend((more > 0).then(|| format!("  … and {more} more files")));
        f.write_str(&lines.join("\n"))
    }
}

#[cfg(test)]
mod tests;
