//! What an update changes: of the hooks also what they may do. Pure.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::contents::{Contents, PluginHook};
use super::files::Files;
use hookbox::internal::text;

/// How many of the other files that differ are shown.
const MAX_FILES: usize = 20;

/// What differs between two states of a plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Its skills.
    pub skills: Names,
    /// Its recipes.
    pub recipes: Names,
    /// Hooks that only the later state has.
    pub hooks_added: Vec<ChangedHook>,
    /// Hooks that only the earlier state has.
    pub hooks_removed: Vec<String>,
    /// Hooks that both have, and that are not the same.
    pub hooks_changed: Vec<ChangedHook>,
    /// Files that nothing of the above speaks of. They count as part of every hook that is not a component.
    pub other_files: Paths,
}

/// Files that came, went and changed, by their paths in the plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Paths {
    /// Those that only the later state has.
    pub added: Vec<String>,
    /// Those that only the earlier state has.
    pub removed: Vec<String>,
    /// Those that both have, with other bytes, another execute bit or another target.
    pub changed: Vec<String>,
}

/// Names that came and went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Names {
    /// Those that only the later state has.
    pub added: Vec<String>,
    /// Those that only the earlier state has.
    pub removed: Vec<String>,
}

/// A hook that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedHook {
    /// Its name in the plugin.
    pub name: String,
    /// What changed of it, at least one thing; of a hook that is new all that is to say of it, with nothing before.
    pub changes: Vec<Change>,
}

/// One thing that changed of a hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// What it is.
    pub what: What,
    /// What it was; several texts of what is a list.
    pub before: Vec<String>,
    /// What it is now.
    pub after: Vec<String>,
}

/// What can change of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum What {
    /// Its kind.
    Kind,
    /// Whether it is switched off, or cannot be used.
    Status,
    /// The events that it sees, with the tools where it sees only some.
    Events,
    /// Its place among the hooks of an event.
    Priority,
    /// What follows when it fails.
    OnFailure,
    /// Its wall-clock limit.
    Timeout,
    /// Whether it only observes.
    Observe,
    /// What it may answer beside pass, block, ask and warnings.
    Answers,
    /// The rights that it asks for.
    Asks,
    /// What an entry of a hooks.json runs.
    Runs,
    /// The bytes of its file, or of the file that declares it.
    Bytes,
}

impl What {
    /// The name, such as `on_failure`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kind => "kind",
            Self::Status => "status",
            Self::Events => "events",
            Self::Priority => "priority",
            Self::OnFailure => "on_failure",
            Self::Timeout => "timeout",
            Self::Observe => "observe",
            Self::Answers => "answers",
            Self::Asks => "asks",
            Self::Runs => "runs",
            Self::Bytes => "bytes",
        }
    }
}

impl Difference {
    /// What differs between these two states of one plugin.
    pub fn between(before: &Contents, after: &Contents) -> Self {
        let find =
            |contents: &Contents, name: &str| contents.hooks.iter().find(|it| it.name == name).cloned();
        let only = |these: &Contents, those: &Contents| -> Vec<String> {
            let names = these.hooks.iter().map(|it| it.name.clone());
            names.filter(|name| find(those, name).is_none()).collect()
        };
        let added = after.hooks.iter().filter(|hook| find(before, &hook.name).is_none());
        let added = added.map(|hook| ChangedHook { name: hook.name.clone(), changes: all(hook) });
        let changed = before.hooks.iter().filter_map(|before| {
            let changes = changes(before, &find(after, &before.name)?);
            (!changes.is_empty()).then(|| ChangedHook { name: before.name.clone(), changes })
        });
        Self {
            skills: Names::between(&before.skills, &after.skills),
            recipes: Names::between(&before.recipes, &after.recipes),
            hooks_added: added.collect(),
            hooks_removed: only(before, after),
            hooks_changed: changed.collect(),
            other_files: Paths::default(),
        }
    }

    /// The same, with the files that differ.
    pub fn of_files(before: (&Contents, &Files), after: (&Contents, &Files)) -> Self {
        let mut difference = Self::between(before.0, after.0);
        let told = difference.told(before.0, after.0);
        let others = |paths: &mut dyn Iterator<Item = &Path>| -> Vec<String> {
            let others = paths.filter(|path| !told.iter().any(|it| path.starts_with(it)));
            others.map(|path| path.to_string_lossy().into_owned()).collect()
        };
        let (before, after) = (before.1, after.1);
        difference.other_files = Paths {
            added: others(&mut after.only(before)),
            removed: others(&mut before.only(after)),
            changed: others(&mut before.changed(after)),
        };
        difference
    }

    /// The files and directories that are spoken of already.
    fn told(&self, before: &Contents, after: &Contents) -> BTreeSet<PathBuf> {
        let names = |names: &Names| [names.added.clone(), names.removed.clone()].concat();
        let skills = names(&self.skills).into_iter().map(|name| Path::new("skills").join(name));
        let recipes = names(&self.recipes).into_iter().map(|name| format!("recipes/{name}.md").into());
        let touched = self.touched();
        let is_told = |hook: &&PluginHook| {
            touched.contains(hook.name.as_str()) || self.hooks_removed.contains(&hook.name)
        };
        let hooks = before.hooks.iter().chain(&after.hooks).filter(is_told).map(|it| it.file.clone());
        skills.chain(recipes).chain(hooks).collect()
    }

    /// Whether nothing differs. The plugin's other files still may.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The names of the hooks that are new or not what they were.
    fn touched(&self) -> BTreeSet<&str> {
        self.hooks_added.iter().chain(&self.hooks_changed).map(|it| it.name.as_str()).collect()
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

/// What is to say of a hook that is new.
fn all(hook: &PluginHook) -> Vec<Change> {
    let is_said = |what: &What| !matches!(what, What::Status | What::Bytes);
    let fields = FIELDS.iter().filter(|(what, _)| is_said(what));
    let said = fields.map(|(what, of)| Change { what: *what, before: Vec::new(), after: of(hook) });
    said.filter(|change| !change.after.is_empty()).collect()
}

/// What changed of one hook.
fn changes(before: &PluginHook, after: &PluginHook) -> Vec<Change> {
    let compared =
        FIELDS.iter().map(|(what, of)| Change { what: *what, before: of(before), after: of(after) });
    compared.filter(|change| change.before != change.after).collect()
}

/// What is compared of hooks.
type Field = (What, fn(&PluginHook) -> Vec<String>);

/// All of it, in the order in which it is shown.
const FIELDS: [Field; 11] = [
    (What::Kind, |it| vec![it.kind.as_str().to_owned()]),
    (What::Status, |it| vec![it.status.as_str().to_owned()]),
    (What::Events, events),
    (What::Priority, |it| vec![it.priority.to_string()]),
    (What::OnFailure, |it| vec![it.on_failure.as_str().to_owned()]),
    (What::Timeout, |it| vec![it.timeout.clone()]),
    (What::Observe, |it| vec![it.observe.to_string()]),
    (What::Answers, |it| it.answers.iter().map(|answer| (*answer).to_owned()).collect()),
    (What::Asks, |it| it.asks.iter().map(ToString::to_string).collect()),
    (What::Runs, |it| it.runs.iter().cloned().collect()),
    (What::Bytes, |it| it.digest.iter().map(ToString::to_string).collect()),
];

/// The events, each with its tools.
fn events(hook: &PluginHook) -> Vec<String> {
    let named = hook.subscriptions.iter().map(|it| match it.tools.as_slice() {
        [] => it.event.as_str().to_owned(),
        tools => format!("{} ({})", it.event.as_str(), tools.join(" ")),
    });
    let mut named: Vec<String> = named.collect();
    named.sort();
    named.dedup();
    named
}

impl fmt::Display for Change {
    /// One line, safe to show: what is a list by what came (`+`) and went (`-`), anything else as before and after.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |text: &String| text::escape(text, 4096);
        write!(f, "{}:", self.what.as_str())?;
        match self.what {
            What::Events | What::Answers | What::Asks => {
                for added in self.after.iter().filter(|it| !self.before.contains(it)) {
                    write!(f, " +{}", show(added))?;
                }
                for removed in self.before.iter().filter(|it| !self.after.contains(it)) {
                    write!(f, " -{}", show(removed))?;
                }
                Ok(())
            }
            What::Bytes => f.write_str(" changed"),
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
    /// A line for each thing, indented by two spaces, without a line break at the end; safe to show.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        let mut list = |sign: &str, what: &str, names: &[String]| {
            lines.extend(names.iter().map(|name| format!("  {sign} {what} {}", text::escape(name, 200))));
        };
        list("+", "skill", &self.skills.added);
        list("-", "skill", &self.skills.removed);
        list("+", "recipe", &self.recipes.added);
        list("-", "recipe", &self.recipes.removed);
        list("-", "hook", &self.hooks_removed);
        let signed = [("+", &self.hooks_added), ("~", &self.hooks_changed)];
        for (sign, hook) in signed.iter().flat_map(|(sign, hooks)| hooks.iter().map(move |it| (sign, it))) {
            lines.push(format!("  {sign} hook {}", text::escape(&hook.name, 200)));
            lines.extend(hook.changes.iter().map(|change| format!("      {change}")));
        }
        let Paths { added, removed, changed } = &self.other_files;
        let signed = [("+", added), ("-", removed), ("~", changed)];
        let files = signed.iter().flat_map(|(sign, paths)| paths.iter().map(move |path| (sign, path)));
        let more = files.clone().count().saturating_sub(MAX_FILES);
        let files = files.take(MAX_FILES);
        lines.extend(files.map(|(sign, path)| format!("  {sign} file {}", text::escape(path, 1024))));
        lines.extend((more > 0).then(|| format!("  … and {more} more files")));
        f.write_str(&lines.join("\n"))
    }
}

#[cfg(test)]
mod tests;
