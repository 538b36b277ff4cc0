//! Listing the plugins of a plugins directory.

use std::io;
use std::path::PathBuf;

use cap_std::fs::Dir;

use super::record_trust::forget;
use super::{
    Location, Locked, PluginError, PluginErrorKind, PluginName, Plugins, Silent, dir_ops, remove,
    remove_by_hand,
};
use hookbox::escape;
use hookbox::lockfile::OWN;
use hookbox::manager::Manager;
use hookbox::trust::Record;

/// A plugin that is in a plugins directory or in its lock file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownPlugin {
    /// `org/repo`, or a name made of the directory's if that is not `org@repo`.
    pub name: String,
    /// The name to install and remove it by; `None` if that of its directory is not `org@repo`.
    pub id: Option<PluginName>,
    /// The name of its directory.
    pub dir: String,
    /// The path of its directory.
    pub path: PathBuf,
    /// The entry of the lock file.
    pub locked: Option<Locked>,
    /// True if its directory exists.
    pub is_here: bool,
}

impl KnownPlugin {
    /// Returns the error about a plugin that only the lock file names.
    pub fn missing(&self, plugins: &Plugins) -> PluginError {
        let mut flags = String::new();
        if plugins.location() == Location::Global {
            flags.push_str(" --global");
        }
        if plugins.root() != ".hookbox" {
            flags.push_str(&format!(" --root {}", escape(plugins.root(), 200)));
        }
        let what = "is named by plugins.lock, and is not here".to_owned();
        PluginError::new(&self.name, PluginErrorKind::Unexpected(what))
            .hint(format!("install what plugins.lock names with `hookbox plugin add{flags}`"))
    }

    /// Removes the plugin with the trust in its hooks and their grants, and returns the removed records.
    ///
    /// # Errors
    ///
    /// Those of [`remove()`] and of the trust file.
    pub fn remove(&self, plugins: &Plugins, manager: &Manager) -> Result<Vec<Record>, PluginError> {
        let lock = plugins.lock_exclusively()?;
        // In this order, because a kill in between must not leave trust without a plugin.
        let records = forget(manager, plugins, &self.path, &[])?;
        match &self.id {
            Some(name) => remove(&lock, name, &Silent)?,
            None => remove_by_hand(&lock, &self.dir)?,
        }
        Ok(records)
    }
}

/// Returns all plugins of a plugins directory and its lock file, by name. A symlink is not a plugin. A directory with a name
/// other than `org@repo` is one, because discovery searches it.
///
/// # Errors
///
/// An error if the plugins directory or the lock file cannot be read.
pub fn known(plugins: &Plugins) -> Result<Vec<KnownPlugin>, PluginError> {
    let lock = plugins.lock()?;
    let mut dirs = directories(plugins)?;
    let here = dirs.len();
    let missing = lock.iter().map(|locked| locked.name.dir()).filter(|dir| !dirs.contains(dir));
    dirs.extend(missing.collect::<Vec<_>>());
    let known = dirs.into_iter().enumerate().map(|(number, dir)| {
        let id = PluginName::from_dir(&dir).ok();
        let locked = id.as_ref().and_then(|id| lock.get(id)).cloned();
        // The names of its hooks begin with this.
        let name = dir.replacen('@', "/", 1);
        KnownPlugin { name, id, path: plugins.path().join(&dir), dir, locked, is_here: number < here }
    });
    let mut known: Vec<KnownPlugin> = known.collect();
    known.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(known)
}

/// Returns the installed plugins, by name: the directories with names `org@repo`. A symlink is not a plugin.
///
/// # Errors
///
/// An error if the plugins directory or the lock file cannot be read.
pub fn installed(plugins: &Plugins) -> Result<Vec<KnownPlugin>, PluginError> {
    Ok(known(plugins)?.into_iter().filter(|it| it.is_here && it.id.is_some()).collect())
}

/// Returns the names of the directories in a plugins directory.
fn directories(plugins: &Plugins) -> Result<Vec<String>, PluginError> {
    let Some(dir) = plugins.existing_plugins()? else { return Ok(Vec::new()) };
    let wrong = |error: io::Error| PluginError::io(plugins.path(), error);
    let mut directories = Vec::new();
    for name in names(&dir).map_err(wrong)? {
        if dir_ops::is_directory(&dir, &name).map_err(wrong)? {
            directories.push(name);
        }
    }
    Ok(directories)
}

/// Returns the names in a plugins directory, without those of hookbox's own files.
pub(super) fn names(dir: &Dir) -> io::Result<Vec<String>> {
    let mut names = dir_ops::names(dir)?;
    names.retain(|name| !name.starts_with(OWN));
    Ok(names)
}
