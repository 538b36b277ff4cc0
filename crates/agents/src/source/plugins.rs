//! Plugins of other agents: those that are installed and switched on, and the files of a plugin.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use super::Look;
use super::file::{self, Outside, Within};
use crate::agent::{Agent, Level};
use crate::manager::Problem;
use crate::text;
use hookbox::discovery::{Area, MAX_FILES, ReadFile};
use hookbox_system::limits;

/// The file with the list of the installed plugins.
const INSTALLED: &str = "installed_plugins.json";

/// The longest name of a plugin that is shown whole, in bytes.
const MAX_NAME: usize = 100;

/// An installed plugin.
#[derive(Debug, PartialEq, Eq)]
struct Installed {
    /// `NAME@MARKETPLACE`.
    name: String,
    directory: PathBuf,
    /// The project that it was installed for; `None` if it is for all.
    project: Option<PathBuf>,
}

impl Look<'_, '_> {
    /// Reads the plugins of an agent that are installed and switched on.
    pub(super) fn installed_plugins(&mut self, home: &Area, agent: Agent, directory: &Path) {
        let path = directory.join(INSTALLED);
        let Some(read) = self.finder.bytes(home, &path, limits::FILE) else { return };
        let installed = match read.and_then(|bytes| installed(&bytes)) {
            Ok(installed) => installed,
            Err(why) => {
                let message = format!("{why}: no hook of {}'s plugins runs", agent.title());
                return self.finder.problem(home, Problem::new(path, message));
            }
        };
        let settings = std::mem::take(&mut self.plugins);
        let last = |is_projects, name: &str| {
            let mut of_name =
                settings.iter().rev().filter(|(from, it, _)| *from == is_projects && it == name);
            of_name.next().map(|(.., is_on)| *is_on)
        };
        let repository = self.finder.repository();
        let mut taken = 0;
        for plugin in installed {
            let is_of = |project: &Path| repository.is_some_and(|repository| same(repository, project));
            let is_here = plugin.project.as_deref().is_none_or(is_of);
            let (user, project) = (last(false, &plugin.name), last(true, &plugin.name));
            // A repository cannot switch off a plugin that the user switched on. It switches on only those
            // that were installed for it.
            let is_on = user.unwrap_or(project == Some(true) && plugin.project.is_some());
            if user == Some(true) && project == Some(false) {
                let name = text::escape(&plugin.name, MAX_NAME);
                let message = format!("{name} is switched off by the project, and on by you: its hooks run");
                self.finder.problem(home, Problem::new(&path, message));
            }
            if !is_on || !is_here {
                continue;
            }
            taken += 1;
            if taken > MAX_FILES {
                let message =
                    format!("names more than {MAX_FILES} plugins: only the first {MAX_FILES} are used");
                self.finder.problem(home, Problem::new(&path, message));
                break;
            }
            self.plugin(agent, &plugin.directory, Some(&plugin.name));
        }
    }

    /// Reads the hooks of one plugin, in its directory. They are the user's own.
    pub(super) fn plugin(&mut self, agent: Agent, directory: &Path, name: Option<&str>) {
        let Some(area) = self.finder.plugin(directory) else { return };
        let mut manifest = agent.spec().hooks.as_ref().and_then(|hooks| hooks.manifest);
        let outside = |shown: String, path: &Path, within| {
            let (path, plugin) = (directory.join(path), Some(directory.to_owned()));
            Outside { agent, shown, path, level: Level::User, plugin, within }
        };
        let scripts = directory.join("hooks");
        let fallback = directory.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
        let mut called = plain(name.unwrap_or(&fallback));
        // The manifest has the name, so it is read first; its own hooks come after those of hooks/hooks.json.
        if let (None, Some(path)) = (name, manifest) {
            let probe = outside(String::new(), Path::new(path), Within::Manifest);
            match self.finder.file(&area, &probe.path, limits::FILE, |text| file::parse(text, &probe)) {
                ReadFile::Read(file) => called = file.name.map_or(called, |name| plain(&name)),
                ReadFile::Missing | ReadFile::Unusable => manifest = None,
            }
        }
        let shown = |rest: &str| format!("{agent}:plugin/{called}{rest}");
        let hooks = Path::new("hooks/hooks.json");
        self.read(&area, &outside(shown(""), hooks, Within::Hooks), &scripts, Some(&called));
        let Some(manifest) = manifest else { return };
        let file = outside(shown("/plugin.json"), Path::new(manifest), Within::Manifest);
        let ReadFile::Read(more) = self.read(&area, &file, &scripts, Some(&called)) else { return };
        for path in more {
            let relative = Path::new(&path);
            let is_beneath =
                relative.components().all(|it| matches!(it, Component::Normal(_) | Component::CurDir));
            let relative: PathBuf = relative.components().filter(|it| *it != Component::CurDir).collect();
            if !is_beneath {
                let path = text::escape(&path, 200);
                let message = format!("names {path:?}, expected a file of the plugin: its hooks do not run");
                self.finder.problem(&area, Problem::new(directory.join(manifest), message));
                continue;
            }
            if relative == hooks {
                continue;
            }
            let file = outside(plain(&shown(&format!("/{}", relative.display()))), &relative, Within::Hooks);
            if let ReadFile::Missing = self.read(&area, &file, &scripts, Some(&called)) {
                let message = "does not exist, and the plugin's manifest names it: its hooks do not run";
                self.finder.problem(&area, Problem::new(&file.path, message));
            }
        }
    }
}

/// Returns a name that can be shown, and that does not look like the label of a hook.
fn plain(name: &str) -> String {
    text::escape(text::prefix(name, MAX_NAME), MAX_NAME).replace('#', "_")
}

fn same(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// Reads Claude Code's list of plugins, in its order: one or several directories for each name.
fn installed(bytes: &[u8]) -> Result<Vec<Installed>, String> {
    let list: Value = serde_json::from_slice(bytes).map_err(|error| format!("is not JSON: {error}"))?;
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
