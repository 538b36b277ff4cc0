//! Listing the installed plugins.

use std::io;
use std::path::PathBuf;

use cap_std::fs::Dir;

use super::{Locked, PluginError, PluginName, Plugins, dir_ops};
use hookbox::internal::lockfile::OWN;

/// An installed plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// The name.
    pub name: PluginName,
    /// The name of its directory, `org@repo`.
    pub dir: String,
    /// The path of its directory.
    pub path: PathBuf,
    /// The entry of the lock file; `None` if hookbox did not install the plugin.
    pub locked: Option<Locked>,
}

/// Returns the installed plugins, by name: the directories with names `org@repo`. A symlink is not a plugin.
///
/// # Errors
///
/// An error if the plugins directory or the lock file cannot be read.
pub fn installed(plugins: &Plugins) -> Result<Vec<Installed>, PluginError> {
    let lock = plugins.lock()?;
    let Some(dir) = plugins.existing_plugins()? else { return Ok(Vec::new()) };
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

/// Returns the names in a plugins directory, without those of hookbox's own files.
pub(super) fn names(dir: &Dir) -> io::Result<Vec<String>> {
    let mut names = dir_ops::names(dir)?;
    names.retain(|name| !name.starts_with(OWN));
    Ok(names)
}
