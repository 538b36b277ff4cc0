//! The contents of a staged or installed plugin: skills, recipes and hooks.

mod command_files;

use std::io::Read as _;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use serde::Serialize;

pub use self::command_files::MissingFile;

use super::limits::{MAX_BYTES, MAX_ENTRIES, MAX_FILE};
use super::{EntryPath, Location, Locked, LockedHook, PluginError, PluginErrorKind};
use hookbox::Runtime;
use hookbox::capability::Capability;
use hookbox::discovery::{self, Discovery};
use hookbox::event::EventName;
use hookbox::hook::{Digest, Kind, OnFailure, Subscription, Tier};
use hookbox::internal::tree;
use hookbox::manager::{Entry, EntryStatus, PluginFile, Problem};
use hookbox_system::files::{EntryKind, FileAccess};
use hookbox_system::{limits, text};

/// The most skills, and the most recipes, that are listed.
const MAX_NAMES: usize = 256;

/// The most bytes of a recipe: an agent reads no more.
const MAX_RECIPE: u64 = 64 << 10;

/// The contents of a plugin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contents {
    /// The directories in `skills/` that have a `SKILL.md`, by name.
    pub skills: Vec<String>,
    /// The files `*.md` of `recipes/`, by name, without the ending.
    pub recipes: Vec<String>,
    /// The files in `hooks/` that are hooks, by name, then the entries of its `hooks.json`, by position.
    pub hooks: Vec<PluginHook>,
    /// The other entries at the top, by name; a directory ends in a slash.
    pub others: Vec<String>,
    /// The files that its commands run, and that are not in the plugin.
    pub missing: Vec<MissingFile>,
    /// The problems, with paths relative to the plugin.
    pub problems: Vec<Problem>,
}

/// A hook of a plugin, without the trust and the settings of a user.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PluginHook {
    /// The name in the plugin, such as `guard.wasm` or `hooks.json#PreToolUse[0]`.
    pub name: String,
    /// The full name, `org/repo/guard.wasm`.
    pub full_name: String,
    /// The path in the plugin of its file, or of the file that declares it.
    pub file: PathBuf,
    /// The kind.
    pub kind: Kind,
    /// `Disabled` if its name ends in `.disable`, `Invalid` if it cannot be used, `Active` for a component,
    /// and `Untrusted` for others: they run only after they are trusted.
    pub status: EntryStatus,
    /// The events that a component or an entry declares. A native hook is asked for them after it is trusted.
    #[serde(skip)]
    pub subscriptions: Vec<Subscription>,
    /// The lowest priority of its subscriptions.
    pub priority: i32,
    /// The consequence of a failure, unless settings override it.
    pub on_failure: OnFailure,
    /// True if all its subscriptions only observe.
    pub observe: bool,
    /// The wall-clock limit, such as `3s`, unless settings override it.
    #[serde(skip)]
    pub timeout: String,
    /// The answers that a component declares beside pass, block, ask and warnings.
    pub answers: Vec<&'static str>,
    /// The rights that a component asks for.
    pub asks: Vec<Capability>,
    /// The command line of an entry of hooks.json. Not escaped.
    pub runs: Option<String>,
    /// The files of the plugin that it runs.
    #[serde(skip)]
    pub files: Vec<PluginFile>,
    /// The description of a component. Not escaped.
    pub description: Option<String>,
    /// The digest of its file, or of the file that declares it, if that can be read.
    pub digest: Option<Digest>,
    /// The digest of the entry that declares it, with its position in the file.
    #[serde(skip)]
    pub entry: Option<Digest>,
    /// The reason why it cannot be used.
    pub problem: Option<String>,
}

impl PluginHook {
    /// Returns its events, each once.
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
    /// Reads the plugin in this directory, and nothing outside of it. This only runs `describe` of its
    /// components, in a sandbox without grants. `called` is the name of its directory: `org@repo`, or any
    /// other that a user gave it. Of a plugin in a repository, the limits of a repository apply.
    pub async fn look(dir: &Path, called: &str, location: Location, runtime: &Runtime) -> Self {
        let tier = match location {
            Location::Local => Tier::RepoPlugin,
            Location::Global => Tier::GlobalPlugin,
        };
        let discovery = discovery::examine_plugin(dir, called, tier, runtime).await;
        let mut contents = Self::default();
        match Dir::open_ambient_dir(dir, ambient_authority()) {
            Ok(plugin) => {
                contents.skills = skills(&plugin, &mut contents.problems);
                contents.recipes = recipes(&plugin, &mut contents.problems);
                contents.others = others(&plugin, &mut contents.problems);
            }
            Err(error) => contents.problems.push(Problem::new(".", format!("cannot be read: {error}"))),
        }
        contents.hooks = hooks(dir, &called.replacen('@', "/", 1), &discovery);
        contents.problems.extend(discovery.entries.iter().filter_map(|it| {
            let message = format!(
                "{} needs quotes around ${} in its line: the directory of the plugin has a space in its name, so the \
                 hook does not run",
                text::escape(&it.name, 200),
                it.found.unquoted?
            );
            Some(Problem::new("hooks", message))
        }));
        contents.problems.extend(without_execute_bit(dir, &contents.hooks));
        command_files::check(dir, &contents.hooks, &mut contents.missing, &mut contents.problems);
        contents.problems.extend(discovery.problems.into_iter().map(|it| beneath(dir, it)));
        contents
    }

    /// Returns the hooks that are not disabled.
    pub fn enabled(&self) -> impl Iterator<Item = &PluginHook> {
        self.hooks.iter().filter(|it| it.status != EntryStatus::Disabled)
    }

    /// Returns the number of disabled hooks.
    pub fn disabled(&self) -> usize {
        self.hooks.len() - self.enabled().count()
    }

    /// Returns true if the plugin has no skill, recipe or hook, not even a broken or disabled one.
    pub fn is_empty(&self) -> bool {
        self.skills.is_empty() && self.recipes.is_empty() && self.hooks.is_empty()
    }

    /// Checks that the plugin has anything usable, and the files that its commands run.
    ///
    /// # Errors
    ///
    /// [`PluginErrorKind::Empty`] with its problems, or [`PluginErrorKind::Unexpected`] with a hook and its file. `shown`
    /// names the plugin and is escaped.
    pub fn check(&self, shown: &str) -> Result<(), PluginError> {
        if !self.is_empty() {
            return self.check_command_files(shown);
        }
        let expected = "expected skills/NAME/SKILL.md, recipes/NAME.md, or hooks/NAME with an execute bit, .wasm or .rules.toml";
        let problems = self.problems.iter().map(ToString::to_string);
        let hint: Vec<String> = [expected.to_owned()].into_iter().chain(problems).collect();
        let (what, kind) = (shown.to_owned(), PluginErrorKind::Empty);
        Err(PluginError { what, kind, hint: Some(hint.join("; ").into()) })
    }

    /// Returns the entries of the hooks for the lock file.
    pub fn locked(&self) -> Vec<LockedHook> {
        let locked = self.hooks.iter().filter_map(|it| {
            Some(LockedHook { name: it.name.clone(), kind: it.kind, digest: it.digest.clone()? })
        });
        let mut locked: Vec<LockedHook> = locked.collect();
        locked.sort_by(|a, b| a.name.cmp(&b.name));
        // Of two hooks with one name the first one runs.
        locked.dedup_by(|a, b| a.name == b.name);
        locked
    }
}

/// Computes the digest of all names, modes and bytes of a plugin, which `plugins.lock` records as `tree`. Of an installed
/// plugin with its entry there, files that came later are left out.
///
/// # Errors
///
/// An error if the plugin cannot be read, or exceeds twice the limits of a plugin.
pub fn digest(dir: &Path, locked: Option<&Locked>) -> Result<Digest, PluginError> {
    let files = locked.map(|it| it.files.clone()).unwrap_or_default();
    // The digest of a symlink covers its target.
    tree::of_plugin(dir, files, 2 * MAX_ENTRIES, 2 * MAX_BYTES).map_err(|error| {
        PluginError::new(dir.to_string_lossy(), PluginErrorKind::Unexpected(error.to_string()))
    })
}

/// Returns the entries of an installed plugin that its installation did not write, sorted. A new directory is one entry,
/// with a slash behind its name.
pub fn added(dir: &Path, locked: &Locked) -> Vec<String> {
    let Ok(plugin) = Dir::open_ambient_dir(dir, ambient_authority()) else { return Vec::new() };
    let (mut added, mut waiting) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(directory) = waiting.pop() {
        for name in names(&plugin, &format!("./{}", directory.to_string_lossy())) {
            let path = directory.join(name);
            let is_dir = plugin.symlink_metadata(&path).is_ok_and(|it| it.is_dir());
            match (locked.files.contains(&path), is_dir) {
                (true, true) => waiting.push(path),
                (true, false) => {}
                (false, true) => added.push(format!("{}/", path.display())),
                (false, false) => added.push(path.display().to_string()),
            }
        }
    }
    added.sort();
    added.truncate(MAX_NAMES);
    added
}

fn hooks(dir: &Path, name: &str, discovery: &Discovery) -> Vec<PluginHook> {
    let Ok(access) = FileAccess::repository(dir) else { return Vec::new() };
    let prefix = format!("{name}/");
    let mut in_files: Vec<&Entry> = discovery.entries.iter().filter(|it| it.found.is_in_file()).collect();
    in_files.sort_by_key(|it| it.found.order);
    in_files
        .into_iter()
        .map(|entry| {
            let (found, path) = (&entry.found, entry.path.as_deref().unwrap_or(dir));
            let subscriptions = subscriptions(entry);
            let manifest = found.manifest.as_ref();
            PluginHook {
                name: entry.name.strip_prefix(&prefix).unwrap_or(&entry.name).to_owned(),
                full_name: entry.name.clone(),
                file: path.strip_prefix(dir).unwrap_or(path).to_owned(),
                kind: entry.kind,
                status: entry.status,
                priority: subscriptions.iter().map(|it| it.priority).min().unwrap_or(entry.priority),
                observe: !subscriptions.is_empty() && subscriptions.iter().all(|it| it.observe),
                subscriptions,
                on_failure: entry.on_failure,
                timeout: entry.timeout.clone(),
                answers: manifest.map(|it| it.answers.names()).unwrap_or_default(),
                asks: manifest.map(|it| it.capabilities.clone()).unwrap_or_default(),
                runs: found.runs.clone(),
                files: found.plugin_files.clone(),
                description: manifest.map(|it| it.description.clone()),
                digest: access.digest(path, MAX_FILE).ok(),
                entry: found.declaration(),
                problem: entry
                    .problem
                    .as_ref()
                    .filter(|_| entry.status == EntryStatus::Invalid)
                    .map(|message| within(dir, message)),
            }
        })
        .collect()
}

/// Returns the subscriptions of a component, or the event of a declaration.
fn subscriptions(entry: &Entry) -> Vec<Subscription> {
    let found = &entry.found;
    let asked = found.manifest.as_ref().map(|it| it.subscriptions.as_slice()).unwrap_or_default();
    if found.events.is_empty() {
        return asked.to_vec();
    }
    let of_event = |event: &EventName| {
        let asked = asked.iter().find(|it| it.event == *event).map(|it| it.tools.clone());
        let tools = if found.tools.is_empty() { asked.unwrap_or_default() } else { found.tools.clone() };
        let (priority, observe) = (entry.priority, entry.observe);
        let mut subscription = Subscription::to(event.clone());
        (subscription.tools, subscription.priority, subscription.observe) = (tools, priority, observe);
        subscription
    };
    found.events.iter().map(of_event).collect()
}

/// Warns about programs in `hooks/` that are not hooks because they have no execute bit. A program that a
/// hooks.json names needs none.
fn without_execute_bit(dir: &Path, hooks: &[PluginHook]) -> Vec<Problem> {
    let at = Path::new("hooks");
    // Beside commands of another agent's events (`hooks.json#PreToolUse[0]`) no file there is a native hook, with or without
    // the bit.
    let is_of_agent = |hook: &PluginHook| {
        let event = hook.name.rsplit_once('#').map(|(_, event)| event.rsplit(':').next().unwrap_or(event));
        event.is_some_and(|event| event.starts_with(|c: char| c.is_ascii_uppercase()))
    };
    if hooks.iter().any(is_of_agent) && !hooks.iter().any(|hook| hook.kind == Kind::Native) {
        return Vec::new();
    }
    let Ok(access) = FileAccess::repository(dir) else { return Vec::new() };
    let (names, _) = access.names(&dir.join(at)).unwrap_or_default();
    let is_program = |name: &str| {
        let path = dir.join(at).join(name);
        let mut start = Vec::new();
        !name.ends_with(".disable")
            && matches!(access.entry_kind(&path), Ok(EntryKind::File { executable: false, .. }))
            && !hooks.iter().any(|hook| hook.file == at.join(name))
            && !hooks.iter().any(|hook| hook.runs.as_ref().is_some_and(|line| line.contains(name)))
            && access.open(&path).and_then(|file| file.take(4).read_to_end(&mut start)).is_ok()
            && (start.starts_with(b"#!") || start == *b"\x7fELF")
    };
    let names = names.into_iter().take(MAX_ENTRIES).filter_map(|name| name.into_string().ok());
    let mut names: Vec<String> = names.filter(|name| is_program(name)).collect();
    let more = names.len().saturating_sub(limits::NAMED);
    names.truncate(limits::NAMED);
    let mut problems: Vec<Problem> = Vec::new();
    for name in names {
        let path = at.join(&name);
        let shown = text::escape(&text::shell_word(&path.to_string_lossy()), 300);
        let hint = format!("if it is a hook: chmod +x {shown}; else move it into a directory of hooks/");
        let message = "is not a hook: it has no execute bit".to_owned();
        problems.push(Problem { hint: Some(hint.into()), ..Problem::new(path, message) });
    }
    if more > 0 {
        problems.push(Problem::new("hooks", format!("has {more} more programs without an execute bit")));
    }
    problems
}

fn skills(plugin: &Dir, problems: &mut Vec<Problem>) -> Vec<String> {
    let mut skills = names(plugin, "skills");
    skills.retain(|name| plugin.metadata(format!("skills/{name}/SKILL.md")).is_ok_and(|it| it.is_file()));
    listed(skills, "skills", problems)
}

/// Cuts a list that is longer than anybody reads.
fn listed(mut names: Vec<String>, what: &str, problems: &mut Vec<Problem>) -> Vec<String> {
    if names.len() > MAX_NAMES {
        let all = names.len();
        let message = format!("has {all} {what}: only the first {MAX_NAMES} by name are listed");
        problems.push(Problem::new(what, message));
        names.truncate(MAX_NAMES);
    }
    names
}

/// Returns the recipes that an agent finds.
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
            problems.push(Problem::new(&path, format!("is not a recipe: {why}")));
        }
    }
    listed(recipes, "recipes", problems)
}

/// Returns the entries at the top beside skills, recipes and hooks.
fn others(plugin: &Dir, problems: &mut Vec<Problem>) -> Vec<String> {
    let mut names = names(plugin, ".");
    names.retain(|name| EntryPath::new(name.as_bytes()).is_ok_and(|it| !it.is_a_part()));
    for name in &mut names {
        if plugin.symlink_metadata(&*name).is_ok_and(|it| it.is_dir()) {
            name.push('/');
        }
    }
    listed(names, "other files", problems)
}

/// Returns the names in a directory of the plugin, sorted. A missing directory has none.
fn names(plugin: &Dir, directory: &str) -> Vec<String> {
    let Ok(entries) = plugin.read_dir(directory) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    // A user may have put more files there than hookbox installs.
    let mut names: Vec<String> = names.take(2 * MAX_ENTRIES).collect();
    names.sort();
    names
}

/// Makes the paths of a problem relative to the plugin, so that they are the same in every directory.
fn beneath(dir: &Path, problem: Problem) -> Problem {
    let path = match problem.path.strip_prefix(dir) {
        Ok(inside) if inside.as_os_str().is_empty() => PathBuf::from("."),
        Ok(inside) => inside.to_owned(),
        Err(_) => problem.path.clone(),
    };
    Problem { path, message: within(dir, &problem.message), ..problem }
}

/// Removes the path of the plugin from a message.
fn within(dir: &Path, message: &str) -> String {
    message.replace(&format!("{}/", text::shown_path(dir)), "")
}

#[cfg(test)]
mod tests;
