//! `plugins.lock`: which plugins hookbox installed in a root, from where, and as which bytes.
//!
//! Discovery reads it: a plugin of the home directory that it names runs only as far as the user trusts it. The crate
//! `hookbox-plugins` writes it.

mod name;
mod read;

use std::collections::BTreeSet;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use hookbox_system::{Hint, text};

pub use name::{NameError, PluginName};
pub use read::LockError;

use crate::hook::{Digest, Kind};

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

/// A plugin, as it was installed, and as the file names it. The fields are in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Locked {
    /// Its name.
    pub name: PluginName,
    /// Its source, in the text form that parses back to it.
    pub source: String,
    /// The branch, tag or commit that was asked for; none for the source's own choice.
    pub reference: Option<String>,
    /// The commit that this was then, of a git repository: hexadecimal digits.
    pub commit: Option<String>,
    /// The digest of the manifest that this was then, of an OCI artifact.
    pub manifest: Option<Digest>,
    /// The digest of all that was installed: names, modes and bytes.
    pub tree: Digest,
    /// The digest of the public key (its SubjectPublicKeyInfo) that a signature was verified against.
    pub key: Option<Digest>,
    /// When, in RFC 3339.
    pub installed: String,
    /// Its files; an earlier hookbox recorded none.
    #[serde(default, skip_serializing_if = "InstalledFiles::is_unknown")]
    pub files: InstalledFiles,
    /// Its hooks, in the order of their names.
    #[serde(rename = "hook", default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<LockedHook>,
}

/// The files and symlinks of a plugin that were installed, and its empty directories, by their paths in the plugin. A
/// file that came later, such as a log, is no part of the plugin's digests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "BTreeSet<PathBuf>")]
pub struct InstalledFiles(BTreeSet<PathBuf>);

impl InstalledFiles {
    /// Returns true if this entry was installed, or a file below it. If no files are known, all were.
    pub fn contains(&self, path: &Path) -> bool {
        let from_here = (Bound::Included(path), Bound::Unbounded);
        self.is_unknown() || self.0.range::<Path, _>(from_here).next().is_some_and(|it| it.starts_with(path))
    }

    fn is_unknown(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the paths in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(PathBuf::as_path)
    }
}

impl From<BTreeSet<PathBuf>> for InstalledFiles {
    fn from(all: BTreeSet<PathBuf>) -> Self {
        // A directory is there if a file below it is.
        let has_more = |path: &PathBuf| {
            let below = all.range::<Path, _>((Bound::Excluded(path.as_path()), Bound::Unbounded)).next();
            below.is_some_and(|it| it.starts_with(path))
        };
        Self(all.iter().filter(|path| !has_more(path)).cloned().collect())
    }
}

impl FromIterator<PathBuf> for InstalledFiles {
    fn from_iter<I: IntoIterator<Item = PathBuf>>(paths: I) -> Self {
        BTreeSet::from_iter(paths).into()
    }
}

/// A hook of a plugin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedHook {
    /// Its name in the plugin, such as `guard.wasm` or `hooks.json#PreToolUse[0]`.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// The digest of its file; of an entry of a hooks.json, of that file.
    pub digest: Digest,
}

#[cfg(test)]
mod tests;
