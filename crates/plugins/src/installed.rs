//! What is installed.

use std::io;
use std::path::PathBuf;

use cap_std::fs::Dir;

use super::{Locked, PluginError, PluginName, Plugins, dir_ops};
use hookbox::internal::lockfile::OWN;

/// A plugin that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// Its name.
    pub name: PluginName,
    /// The name of its directory, `org@repo`.
    pub dir: String,
    /// The path of its directory.
    pub path: PathBuf,
    /// What the lock file says of it; nothing of a plugin that was put there by hand.
    pub locked: Option<Locked>,
}

/// The plugins that are there, by name: the directories whose names are those of plugins. A symlink is none.
///
/// # Errors
///
/// Where the plugins directory or the lock file cannot be read.
pub fn installed(plugins: &Plugins) -> Result<Vec<Installed>, PluginError> {
    let lock = plugins.lock()?;
    let Some(dir) = plugins.plugins_there()? else { return Ok(Vec::new()) };
    let wrong = |error: io::Error| PluginError::io(plugins.path(), error);
    let mut all = Vec::new();
    for name in names(&dir).map_err(wrong)? {
        let Ok(plugin) = PluginName::from_dir(&name) else { continue };
        if dir_ops::is_directory(&dir, &name).map_err(wrong)? {
            let (path, locked) = (plugins.path().join(&name), lock.get(&plugin).cloned());
            all.push(Installed { name: plugin, dir: name, path, locked });
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

/// The names in a plugins directory that are not hookbox's own.
pub(super) fn names(dir: &Dir) -> io::Result<Vec<String>> {
    let mut names = dir_ops::names(dir)?;
    names.retain(|name| !name.starts_with(OWN));
    Ok(names)
}
