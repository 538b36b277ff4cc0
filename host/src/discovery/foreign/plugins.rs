//! Plugins of other agents: which of Claude Code's are installed and switched on, and what a plugin's directory says.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::super::candidate::HooksDir;
use super::super::declared::{Outside, Within};
use super::super::entry::Problem;
use super::super::limits::MAX_CANDIDATES;
use super::super::scan::Scan;
use crate::dialect::agent::{Agent, Level};
use crate::files::{self, EntryKind, FileAccess};
use crate::hook::{Origin, Tier};
use crate::text;

/// Where Claude Code notes what is installed.
const INSTALLED: &str = "installed_plugins.json";

/// A list beyond this size is not read.
const MAX_INSTALLED: u64 = 4 << 20;

/// The longest name of a plugin that is shown whole, in bytes.
const MAX_NAME: usize = 100;

/// An installed plugin of Claude Code.
#[derive(Debug, PartialEq, Eq)]
struct Installed {
    /// `NAME@MARKETPLACE`.
    name: String,
    directory: PathBuf,
    /// The project that it was installed for; none where it is for all.
    project: Option<PathBuf>,
}

impl Scan {
    /// The plugins of Claude Code that are installed here and switched on.
    pub(super) fn claude_plugins(&mut self, plugins: &Path, repo: Option<&Path>) {
        let path = plugins.join(INSTALLED);
        let read = match FileAccess::Global.read(&path, MAX_INSTALLED) {
            Ok(bytes) => installed(&bytes),
            Err(error)
                if error.kind() == io::ErrorKind::NotFound && !FileAccess::Global.is_symlink(&path) =>
            {
                return;
            }
            Err(error) => Err(files::explain(&error)),
        };
        let installed = match read {
            Ok(installed) => installed,
            Err(why) => {
                let message = format!("{why}: no hook of Claude Code's plugins runs");
                self.problems.push(Problem::new(path, message));
                return;
            }
        };
        let said = std::mem::take(&mut self.foreign.plugins);
        let last = |origin, name: &str| {
            said.iter().rev().find(|(from, it, _)| *from == origin && it == name).map(|(.., is_on)| *is_on)
        };
        let mut taken = 0;
        for plugin in installed {
            let is_here =
                plugin.project.as_deref().is_none_or(|project| repo.is_some_and(|repo| same(repo, project)));
            let (user, project) = (last(Origin::User, &plugin.name), last(Origin::Repo, &plugin.name));
            // A repository cannot switch off what the user switched on, and switches on only what was installed for it.
            let is_on = match user {
                Some(is_on) => is_on,
                None => project == Some(true) && plugin.project.is_some(),
            };
            if user == Some(true) && project == Some(false) {
                let name = text::escape(&plugin.name, MAX_NAME);
                let message = format!("{name} is switched off by the project, and on by you: its hooks run");
                self.problems.push(Problem::new(&path, message));
            }
            if !is_on || !is_here {
                continue;
            }
            taken += 1;
            if taken > MAX_CANDIDATES {
                let message = format!(
                    "names more than {MAX_CANDIDATES} plugins: only the first {MAX_CANDIDATES} are used"
                );
                self.problems.push(Problem::new(&path, message));
                break;
            }
            self.agent_plugin(Agent::Claude, &plugin.directory, Some(&plugin.name));
        }
    }

    /// The hooks of one plugin, in its directory. They are the user's own.
    pub(super) fn agent_plugin(&mut self, agent: Agent, directory: &Path, name: Option<&str>) {
        let place = match FileAccess::repository(directory) {
            Ok(place) => place,
            Err(error) => {
                let message = format!("{}: the plugin's hooks do not run", files::explain(&error));
                self.problems.push(Problem::new(directory, message));
                return;
            }
        };
        let manifest = match agent {
            Agent::Claude => Some(".claude-plugin/plugin.json"),
            Agent::Codex => Some(".codex-plugin/plugin.json"),
            Agent::Gemini => Some("gemini-extension.json"),
            Agent::Qwen => Some("qwen-extension.json"),
            Agent::Copilot | Agent::Cursor | Agent::OpenCode => None,
        };
        let fallback = directory.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
        // A directory for each file, so that their hooks come one file after another.
        let dir = |root: usize, shown: &str| {
            Arc::new(HooksDir {
                place: place.clone(),
                tier: Tier::GlobalPlugin,
                root,
                plugin_dir: shown.to_owned(),
                plugin: Some(shown.to_owned()),
                path: directory.join("hooks"),
                needs_trust: false,
                base: directory.to_owned(),
            })
        };
        let outside = |shown: String, path: &Path, within| {
            let (path, plugin) = (directory.join(path), Some(directory.to_owned()));
            Arc::new(Outside { agent, shown, path, level: Level::User, plugin, within })
        };
        // The manifest says the name, so it is looked at first; what it declares comes after hooks/hooks.json.
        let mut called = plain(name.unwrap_or(&fallback));
        let mut more = Vec::new();
        let mut at_manifest = None;
        if let Some(manifest) = manifest {
            let path = Path::new(manifest);
            let probe = outside(format!("{agent}:plugin/{called}/plugin.json"), path, Within::Manifest);
            if let Some(file) = self.foreign_file(&place, Origin::User, &probe) {
                if let (None, Some(said)) = (name, file.name) {
                    called = plain(&said);
                }
                more = file.files;
                at_manifest = Some(path);
            }
        }
        let shown = |rest: &str| format!("{agent}:plugin/{called}{rest}");
        let hooks = Path::new("hooks/hooks.json");
        let is_there = matches!(place.entry_kind(&directory.join(hooks)), Ok(EntryKind::File { .. }));
        if is_there || manifest.is_none() {
            let dir = dir(self.next_root(), &called);
            self.outside(&place, Origin::User, &dir, &outside(shown(""), hooks, Within::Hooks));
        }
        if let Some(path) = at_manifest {
            let dir = dir(self.next_root(), &called);
            self.outside(&place, Origin::User, &dir, &outside(shown("/plugin.json"), path, Within::Manifest));
        }
        for path in more {
            let relative = Path::new(&path);
            let is_beneath =
                relative.components().all(|it| matches!(it, Component::Normal(_) | Component::CurDir));
            let relative: PathBuf = relative.components().filter(|it| *it != Component::CurDir).collect();
            if !is_beneath {
                let path = text::escape(&path, 200);
                let message = format!("names {path:?}, expected a file of the plugin: its hooks do not run");
                self.problems.push(Problem::new(directory.join(manifest.unwrap_or_default()), message));
                continue;
            }
            if relative == hooks {
                continue;
            }
            let file = outside(plain(&shown(&format!("/{}", relative.display()))), &relative, Within::Hooks);
            let dir = dir(self.next_root(), &called);
            if self.outside(&place, Origin::User, &dir, &file).is_none()
                && !matches!(place.entry_kind(&file.path), Ok(EntryKind::File { .. }))
            {
                let message = "is not there, and the plugin's manifest names it: its hooks do not run";
                self.problems.push(Problem::new(&file.path, message));
            }
        }
    }
}

/// A name that can be shown, and is no other name's beginning.
fn plain(name: &str) -> String {
    text::escape(text::prefix(name, MAX_NAME), MAX_NAME).replace('#', "_")
}

fn same(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// The plugins in Claude Code's list, in its order: one or several places for each name.
fn installed(bytes: &[u8]) -> Result<Vec<Installed>, String> {
    let list: Value = serde_json::from_slice(bytes).map_err(|error| format!("is no JSON: {error}"))?;
    let Some(plugins) = list.get("plugins").and_then(Value::as_object) else {
        return Err("expected an object with \"plugins\", found none".to_owned());
    };
    let mut all = Vec::new();
    for (name, places) in plugins {
        let places = places.as_array().map_or_else(|| std::slice::from_ref(places), Vec::as_slice);
        for place in places {
            let text = |key: &str| place.get(key).and_then(Value::as_str);
            let Some(directory) = text("installPath").map(PathBuf::from).filter(|it| it.is_absolute()) else {
                continue;
            };
            let project = text("projectPath").map(PathBuf::from);
            all.push(Installed { name: name.clone(), directory, project });
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_the_list_are_read() {
        let new = br#"{"version": 2, "plugins": {"a@m": [
            {"scope": "user", "installPath": "/p/a/1", "version": "1"},
            {"scope": "project", "installPath": "/p/a/2", "projectPath": "/w"},
            {"installPath": "relative"}]}}"#;
        let old = br#"{"version": 1, "plugins": {"a@m": {"installPath": "/p/a/1"}}}"#;
        let at = |directory: &str, project: Option<&str>| Installed {
            name: "a@m".to_owned(),
            directory: directory.into(),
            project: project.map(PathBuf::from),
        };
        assert_eq!(installed(new), Ok(vec![at("/p/a/1", None), at("/p/a/2", Some("/w"))]));
        assert_eq!(installed(old), Ok(vec![at("/p/a/1", None)]));
        assert!(installed(b"[]").is_err() && installed(b"{").is_err());
    }
}
