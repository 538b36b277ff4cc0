//! The entry of one plugin in the lock file.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::PluginName;
use crate::hook::{Digest, Kind};

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
