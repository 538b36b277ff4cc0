//! `plugins.lock`: which plugins hookbox installed in a root, from where, and as which bytes.
//!
//! Discovery reads it: a plugin of the home directory that it names runs only as far as the user trusts it. The crate
//! `hookbox-plugins` writes it.

mod entry;
mod name;
mod read;

use std::path::Path;

use hookbox_system::{Hint, text};

pub use entry::{InstalledFiles, Locked, LockedHook};
pub use name::{NameError, PluginName};
pub use read::LockError;

/// The file's name, in a root.
pub const FILE: &str = "plugins.lock";

/// The prefix of hookbox's own files in a plugins directory: staging directories, the lock.
pub const OWN: &str = ".hookbox-";

/// The lock file that a change under way has prepared, beside [`FILE`]. While it is there, [`FILE`] may not name a plugin
/// that is there already.
pub const PENDING: &str = ".plugins.lock.new";

/// The version of the format.
pub const VERSION: i64 = 1;

/// A file beyond this size is not read, in bytes: it would contain thousands of plugins.
pub const MAX_FILE: u64 = 4 << 20;

/// The most plugins that one file may name. A root has the same limit.
pub const MAX_PLUGINS: usize = 256;

/// The advice about a lock file that cannot be used.
pub fn hint(path: &Path) -> Hint {
    let path = path.to_string_lossy();
    let command = format!("mv {} {}", text::shell_word(&path), text::shell_word(&format!("{path}.old")));
    format!("repair it, or move it aside: {}", text::escape(&command, 8192)).into()
}

/// The contents of a `plugins.lock`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    /// In the order of their names, each name once.
    plugins: Vec<Locked>,
}

impl Lock {
    /// All of them, by name.
    pub fn iter(&self) -> std::slice::Iter<'_, Locked> {
        self.plugins.iter()
    }

    /// Returns the entry of this plugin.
    pub fn get(&self, name: &PluginName) -> Option<&Locked> {
        self.plugins.iter().find(|it| it.name == *name)
    }

    /// Returns the entry of the plugin in this directory, whatever the case of its letters.
    pub fn of_directory(&self, directory: &str) -> Option<&Locked> {
        self.plugins.iter().find(|it| it.name.dir().eq_ignore_ascii_case(directory))
    }

    /// Removes the lists of files: whoever may change a repository could leave out a file that a hook loads.
    #[must_use]
    pub fn without_files(mut self) -> Self {
        self.plugins.iter_mut().for_each(|it| it.files = InstalledFiles::default());
        self
    }

    /// Adds a plugin, or replaces its entry. Returns the replaced entry.
    pub fn insert(&mut self, locked: Locked) -> Option<Locked> {
        let before = self.remove(&locked.name);
        self.plugins.push(locked);
        self.plugins.sort_by(|a, b| a.name.cmp(&b.name));
        before
    }

    /// Removes a plugin. Returns its entry.
    pub fn remove(&mut self, name: &PluginName) -> Option<Locked> {
        let at = self.plugins.iter().position(|it| it.name == *name)?;
        Some(self.plugins.remove(at))
    }
}

#[cfg(test)]
mod tests;
