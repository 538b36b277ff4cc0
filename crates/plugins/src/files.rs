//! The files of a plugin, to list those that an update changes.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::limits::{MAX_BYTES, MAX_ENTRIES};
use super::{PluginError, PluginErrorKind};
use hookbox_system::files::{EntryKind, FileAccess};

/// All files and symlinks of a plugin, each with its kind and digest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files(pub(super) BTreeMap<PathBuf, String>);

impl Files {
    /// Lists the files below this directory, without following symlinks.
    ///
    /// # Errors
    ///
    /// An error if a file cannot be read, or the directory exceeds twice the limits of a plugin: a user may
    /// have added files.
    pub fn of(dir: &Path) -> Result<Self, PluginError> {
        let wrong = |path: &Path, error: io::Error| PluginError::io(path, error);
        let too_large = || {
            let what = "is larger than a plugin may be, so that its files are not compared".to_owned();
            PluginError::new(dir.to_string_lossy(), PluginErrorKind::TooLarge(what))
        };
        let access = FileAccess::repository(dir).map_err(|error| wrong(dir, error))?;
        let (mut entries, mut bytes) = (2 * MAX_ENTRIES, 2 * MAX_BYTES);
        let mut files = BTreeMap::new();
        let mut waiting = vec![dir.to_owned()];
        while let Some(at) = waiting.pop() {
            let (names, more) = access.names(&at).map_err(|error| wrong(&at, error))?;
            if more {
                return Err(too_large());
            }
            for name in names {
                entries = entries.checked_sub(1).ok_or_else(too_large)?;
                let path = at.join(name);
                let state = if access.is_symlink(&path) {
                    format!("symlink {}", access.read_link(&path).unwrap_or_default().display())
                } else {
                    match access.entry_kind(&path).map_err(|error| wrong(&path, error))? {
                        EntryKind::Directory => {
                            waiting.push(path);
                            continue;
                        }
                        EntryKind::File { executable, len } => {
                            bytes = bytes.checked_sub(len).ok_or_else(too_large)?;
                            let digest = access.digest(&path, len).map_err(|error| wrong(&path, error))?;
                            format!("{} {digest}", if executable { "program" } else { "file" })
                        }
                        EntryKind::Special => "special".to_owned(),
                    }
                };
                files.insert(path.strip_prefix(dir).unwrap_or(&path).to_owned(), state);
            }
        }
        Ok(Self(files))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn files_differ_by_bytes_execute_bit_and_what_a_symlink_says() {
        let temp = tempfile::tempdir().unwrap();
        let states = ["before", "after"].map(|name| {
            let dir = temp.path().join(name);
            fs::create_dir_all(dir.join("hooks/lib")).unwrap();
            for file in ["same", "bytes", "mode", name] {
                fs::write(dir.join("hooks/lib").join(file), "x").unwrap();
            }
            symlink(name, dir.join("link")).unwrap();
            symlink("/etc/passwd", dir.join("out")).unwrap();
            // A directory that leads back to itself.
            symlink(".", dir.join("loop")).unwrap();
            dir
        });
        let [before, after] = &states;
        fs::write(after.join("hooks/lib/bytes"), "y").unwrap();
        fs::set_permissions(after.join("hooks/lib/mode"), fs::Permissions::from_mode(0o755)).unwrap();
        let (before, after) = (Files::of(before).unwrap(), Files::of(after).unwrap());
        let differ = |path: &&PathBuf| before.0.get(*path) != after.0.get(*path);
        let all: std::collections::BTreeSet<&PathBuf> = before.0.keys().chain(after.0.keys()).collect();
        let differing: Vec<&str> = all.into_iter().filter(differ).map(|it| it.to_str().unwrap()).collect();
        let want = ["hooks/lib/after", "hooks/lib/before", "hooks/lib/bytes", "hooks/lib/mode", "link"];
        assert_eq!(differing, want);
        assert!(Files::of(&temp.path().join("gone")).is_err());
    }
}
