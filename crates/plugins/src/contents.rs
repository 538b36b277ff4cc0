//! What a plugin holds, be it staged or installed: skills, recipes and hooks, with what the hooks ask for.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use serde::Serialize;

use super::limits::{MAX_BYTES, MAX_ENTRIES, MAX_FILE};
use super::{LockedHook, PluginError, PluginErrorKind, PluginName};
use hookbox::Runtime;
use hookbox::capability::Capability;
use hookbox::event::EventName;
use hookbox::hook::Kind;
use hookbox::hook::{Digest, OnFailure, Subscription};
use hookbox::internal::discovery::{self, Approvable, Discovery};
use hookbox::internal::files::{EntryKind, FileAccess};
use hookbox::internal::text;
use hookbox::internal::tree;
use hookbox::manager::{Entry, EntryStatus, Problem};

/// How many skills and how many recipes are listed.
const MAX_NAMES: usize = 256;

/// How many bytes a recipe may have; an agent reads no more.
const MAX_RECIPE: u64 = 64 << 10;

/// How many programs without an execute bit are named.
const MAX_MENTIONED: usize = 20;

/// What a plugin holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contents {
    /// The directories of `skills/` that hold a `SKILL.md`, by name.
    pub skills: Vec<String>,
    /// The files `*.md` of `recipes/`, by name, without the ending.
    pub recipes: Vec<String>,
    /// The files of `hooks/` that are hooks, by name, then what its `hooks.json` declares, by position.
    pub hooks: Vec<PluginHook>,
    /// What is wrong with any of it; the paths are relative to the plugin.
    pub problems: Vec<Problem>,
}

/// A hook of a plugin, as it is before anybody has said anything of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PluginHook {
    /// Its name in the plugin, such as `guard.wasm` or `hooks.json#PreToolUse[0]`.
    pub name: String,
    /// Its full name, `org/repo/guard.wasm`.
    pub full_name: String,
    /// Its file, or the one that declares it, in the plugin.
    pub file: PathBuf,
    /// Its kind.
    pub kind: Kind,
    /// `Disabled` where its name ends in `.disable`, `Invalid` where it cannot be used, `Untrusted` where it has not
    /// been asked anything (native hooks, commands and tools), else `Active`.
    pub status: EntryStatus,
    /// What it sees, as a component or an entry says. A native hook is asked once it is trusted.
    #[serde(skip)]
    pub subscriptions: Vec<Subscription>,
    /// Its place among the hooks of an event: the lowest of its subscriptions.
    pub priority: i32,
    /// What follows when it fails, unless settings say otherwise.
    pub on_failure: OnFailure,
    /// Whether all its subscriptions only observe.
    pub observe: bool,
    /// Its wall-clock limit, unless settings say otherwise, such as `3s`.
    #[serde(skip)]
    pub timeout: String,
    /// What a component may answer beside pass, block, ask and warnings.
    pub answers: Vec<&'static str>,
    /// The rights that a component asks for.
    pub asks: Vec<Capability>,
    /// What an entry of hooks.json runs. Not escaped.
    pub runs: Option<String>,
    /// What a component says of itself. Not escaped.
    pub description: Option<String>,
    /// The digest of its file, or of the file that declares it, where that could be read.
    pub digest: Option<Digest>,
    /// The digest of the entry that declares it, with its place in its file.
    #[serde(skip)]
    pub entry: Option<Digest>,
    /// Why it cannot be used.
    pub problem: Option<String>,
}

impl PluginHook {
    /// The events that it sees, each once.
    pub fn events(&self) -> Vec<EventName> {
        let mut events: Vec<EventName> = Vec::new();
        for subscription in &self.subscriptions {
            if !events.contains(&subscription.event) {
                events.push(subscription.event.clone());
            }
        }
        events
    }
}

impl Contents {
    /// Looks into the plugin in this directory. Nothing of it runs but `describe` of its components, in a sandbox with
    /// nothing granted; nothing outside of it is read.
    pub async fn look(dir: &Path, name: &PluginName, runtime: &Runtime) -> Self {
        Self::look_in(dir, &name.dir(), runtime).await
    }

    /// The same of a plugin whose directory has this name: somebody may have put it there by hand, under any name.
    pub async fn look_in(dir: &Path, called: &str, runtime: &Runtime) -> Self {
        let discovery = discovery::examine_plugin(dir, called, runtime).await;
        let mut contents = Self::default();
        match Dir::open_ambient_dir(dir, ambient_authority()) {
            Ok(plugin) => {
                contents.skills = skills(&plugin, &mut contents.problems);
                contents.recipes = recipes(&plugin, &mut contents.problems);
            }
            Err(error) => contents.problems.push(problem(".", format!("cannot be read: {error}"))),
        }
        contents.hooks = hooks(dir, &called.replacen('@', "/", 1), &discovery);
        contents.problems.extend(without_execute_bit(dir, &contents.hooks));
        contents.problems.extend(discovery.problems.into_iter().map(|it| beneath(dir, it)));
        contents
    }

    /// The hooks that are not disabled.
    pub fn enabled(&self) -> impl Iterator<Item = &PluginHook> {
        self.hooks.iter().filter(|it| it.status != EntryStatus::Disabled)
    }

    /// How many hooks are disabled.
    pub fn disabled(&self) -> usize {
        self.hooks.len() - self.enabled().count()
    }

    /// Whether there is nothing that anybody could use, not even something broken or disabled.
    pub fn is_empty(&self) -> bool {
        self.skills.is_empty() && self.recipes.is_empty() && self.hooks.is_empty()
    }

    /// What the lock file says of the hooks.
    pub fn locked(&self) -> Vec<LockedHook> {
        let locked = self.hooks.iter().filter_map(|it| {
            Some(LockedHook { name: it.name.clone(), kind: it.kind, digest: it.digest.clone()? })
        });
        let mut locked: Vec<LockedHook> = locked.collect();
        locked.sort_by(|a, b| a.name.cmp(&b.name));
        // Two hooks of one name are one for whoever looks it up; the first one runs.
        locked.dedup_by(|a, b| a.name == b.name);
        locked
    }
}

/// The digest of all of an installed plugin: names, modes and bytes. It is what `plugins.lock` holds as `tree`.
///
/// # Errors
///
/// Where it cannot be read, or is larger than a plugin may be.
pub fn digest(dir: &Path) -> Result<Digest, PluginError> {
    // Symlinks count with what they lead to.
    tree::of_plugin(dir, 2 * MAX_ENTRIES, 2 * MAX_BYTES).map_err(|error| {
        PluginError::new(dir.to_string_lossy(), PluginErrorKind::Unexpected(error.to_string()))
    })
}

fn hooks(dir: &Path, name: &str, discovery: &Discovery) -> Vec<PluginHook> {
    let Ok(place) = FileAccess::repository(dir) else { return Vec::new() };
    let mut rows: Vec<&Entry> = discovery.entries.iter().collect();
    let prefix = format!("{name}/");
    let mut hooks = Vec::new();
    for found in &discovery.approvable {
        let is_its = |row: &&Entry| row.name == found.name && row.path.as_ref() == Some(&found.path);
        let Some(at) = rows.iter().position(is_its) else { continue };
        let row = rows.remove(at);
        let subscriptions = subscriptions(found, row);
        let manifest = found.manifest.as_ref();
        hooks.push(PluginHook {
            name: found.name.strip_prefix(&prefix).unwrap_or(&found.name).to_owned(),
            full_name: found.name.clone(),
            file: found.path.strip_prefix(dir).unwrap_or(&found.path).to_owned(),
            kind: found.kind,
            status: row.status,
            priority: subscriptions.iter().map(|it| it.priority).min().unwrap_or(row.priority),
            observe: !subscriptions.is_empty() && subscriptions.iter().all(|it| it.observe),
            subscriptions,
            on_failure: row.on_failure,
            timeout: row.timeout.clone(),
            answers: manifest.map(|it| it.answers.names()).unwrap_or_default(),
            asks: manifest.map(|it| it.capabilities.clone()).unwrap_or_default(),
            runs: found.runs.clone(),
            description: manifest.map(|it| it.description.clone()),
            digest: place.digest(&found.path, MAX_FILE).ok(),
            entry: found.entry(),
            problem: row
                .problem
                .as_ref()
                .filter(|_| row.status == EntryStatus::Invalid)
                .map(|message| within(dir, message)),
        });
    }
    hooks
}

/// What a component says that it sees, or the event of an entry.
fn subscriptions(found: &Approvable, row: &Entry) -> Vec<Subscription> {
    let asked = found.manifest.as_ref().map(|it| it.subscriptions.as_slice()).unwrap_or_default();
    if found.events.is_empty() {
        return asked.to_vec();
    }
    found
        .events
        .iter()
        .map(|event| {
            let asked = asked.iter().find(|it| it.event == *event).map(|it| it.tools.clone());
            let tools = if found.tools.is_empty() { asked.unwrap_or_default() } else { found.tools.clone() };
            let (priority, observe) = (row.priority, row.observe);
            let mut subscription = Subscription::to(event.clone());
            (subscription.tools, subscription.priority, subscription.observe) = (tools, priority, observe);
            subscription
        })
        .collect()
}

/// Programs in `hooks/` that are no hooks, for they have no execute bit. One that a hooks.json names needs none.
fn without_execute_bit(dir: &Path, hooks: &[PluginHook]) -> Vec<Problem> {
    let at = Path::new("hooks");
    let Ok(place) = FileAccess::repository(dir) else { return Vec::new() };
    let (names, _) = place.names(&dir.join(at)).unwrap_or_default();
    let is_program = |name: &str| {
        let path = dir.join(at).join(name);
        let mut start = Vec::new();
        !name.ends_with(".disable")
            && matches!(place.entry_kind(&path), Ok(EntryKind::File { executable: false, .. }))
            && !hooks.iter().any(|hook| hook.file == at.join(name))
            && !hooks.iter().any(|hook| hook.runs.as_ref().is_some_and(|line| line.contains(name)))
            && place.open(&path).and_then(|file| file.take(4).read_to_end(&mut start)).is_ok()
            && (start.starts_with(b"#!") || start == *b"\x7fELF")
    };
    let names = names.into_iter().take(MAX_ENTRIES).filter_map(|name| name.into_string().ok());
    let mut names: Vec<String> = names.filter(|name| is_program(name)).collect();
    let more = names.len().saturating_sub(MAX_MENTIONED);
    names.truncate(MAX_MENTIONED);
    let mut problems: Vec<Problem> = Vec::new();
    for name in names {
        let path = at.join(&name);
        let shown = text::escape(&text::shell_word(&path.to_string_lossy()), 300);
        let hint = format!("where it is a hook: chmod +x {shown}; else move it into a directory of hooks/");
        let message = "is no hook: it has no execute bit".to_owned();
        problems.push(Problem { hint: Some(hint), ..problem(&path.to_string_lossy(), message) });
    }
    if more > 0 {
        problems.push(problem("hooks", format!("has {more} more programs without an execute bit")));
    }
    problems
}

fn skills(plugin: &Dir, problems: &mut Vec<Problem>) -> Vec<String> {
    let mut skills = names(plugin, "skills");
    skills.retain(|name| plugin.metadata(format!("skills/{name}/SKILL.md")).is_ok_and(|it| it.is_file()));
    listed(skills, "skills", problems)
}

/// The first by name, where there are more than anybody reads.
fn listed(mut names: Vec<String>, what: &str, problems: &mut Vec<Problem>) -> Vec<String> {
    if names.len() > MAX_NAMES {
        let all = names.len();
        let message = format!("holds {all} {what}: only the first {MAX_NAMES} by name are listed");
        problems.push(problem(what, message));
        names.truncate(MAX_NAMES);
    }
    names
}

/// The recipes, as an agent finds them.
fn recipes(plugin: &Dir, problems: &mut Vec<Problem>) -> Vec<String> {
    let mut recipes = Vec::new();
    for name in names(plugin, "recipes") {
        let Some(stem) = name.strip_suffix(".md") else { continue };
        let path = format!("recipes/{name}");
        let why = match plugin.metadata(&path) {
            Ok(about) if !about.is_file() => "expected a file".to_owned(),
            Ok(about) if about.len() > MAX_RECIPE => format!("it has more than {MAX_RECIPE} bytes"),
            Ok(_) => {
                recipes.push(stem.to_owned());
                continue;
            }
            Err(error) => text::escape(&error.to_string(), 200),
        };
        if problems.len() < MAX_NAMES {
            problems.push(problem(&path, format!("is no recipe: {why}")));
        }
    }
    listed(recipes, "recipes", problems)
}

/// The names in a directory of the plugin, sorted; none where there is no such directory.
fn names(plugin: &Dir, directory: &str) -> Vec<String> {
    let Ok(entries) = plugin.read_dir(directory) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    // More than is ever installed; what was put there by hand may hold more.
    let mut names: Vec<String> = names.take(2 * MAX_ENTRIES).collect();
    names.sort();
    names
}

fn problem(path: &str, message: String) -> Problem {
    Problem { path: path.into(), hook: None, message, hint: None, hides: false, is_off: false }
}

/// The same problem with paths in the plugin: it is the same wherever the plugin stands.
fn beneath(dir: &Path, problem: Problem) -> Problem {
    let path = match problem.path.strip_prefix(dir) {
        Ok(inside) if inside.as_os_str().is_empty() => PathBuf::from("."),
        Ok(inside) => inside.to_owned(),
        Err(_) => problem.path.clone(),
    };
    Problem { path, message: within(dir, &problem.message), ..problem }
}

/// A message without the path that the plugin has now.
fn within(dir: &Path, message: &str) -> String {
    message.replace(&format!("{}/", text::escape(&dir.to_string_lossy(), 4096)), "")
}

#[cfg(test)]
mod tests;
