//! The plugins directory of a repository or a home directory.

use std::io;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::{PluginError, dir_ops};
use hookbox::lockfile::{self, Lock, LockError};

/// The hint for a root or a plugins directory that cannot be opened.
const OPENED: &str =
    "expected a directory that you may write, and that is not a symlink out of the repository";

/// The location of plugins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Location {
    /// A repository.
    Local,
    /// The home directory.
    Global,
}

impl Location {
    /// Returns `local` or `global`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Global => "global",
        }
    }
}

/// The plugins directory and the lock file of a root. All access is below one open directory, so that no
/// symlink in a repository leads out of it.
#[derive(Debug)]
pub struct Plugins {
    location: Location,
    /// The repository, or the home directory.
    base: PathBuf,
    /// The name of the root.
    root: String,
    /// The open root.
    pub(super) dir: Dir,
}

impl Plugins {
    /// Opens the plugins of this root in a repository or home directory, and makes the root and its `plugins`
    /// if needed. A root may be a symlink in the home directory only.
    ///
    /// # Errors
    ///
    /// An error if they cannot be made or opened.
    pub fn open(location: Location, base: &Path, root: &str) -> Result<Self, PluginError> {
        let plugins = Self::of(location, base, root, true)?;
        plugins.plugins()?;
        Ok(plugins)
    }

    /// Opens the plugins of a root that has `plugins` or `plugins.lock`; `None` if it has neither.
    ///
    /// # Errors
    ///
    /// An error if the root cannot be opened.
    pub fn find(location: Location, base: &Path, root: &str) -> Result<Option<Self>, PluginError> {
        let path = base.join(root);
        for name in ["plugins", lockfile::FILE] {
            match path.join(name).symlink_metadata() {
                Ok(_) => return Self::of(location, base, root, false).map(Some),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(PluginError::io(path, error)),
            }
        }
        Ok(None)
    }

    fn of(location: Location, base: &Path, root: &str, make: bool) -> Result<Self, PluginError> {
        let path = base.join(root);
        let opened = || -> io::Result<Dir> {
            let above = Dir::open_ambient_dir(base, ambient_authority())?;
            if location == Location::Global && above.symlink_metadata(root).is_ok_and(|it| it.is_symlink()) {
                return Dir::open_ambient_dir(&path, ambient_authority());
            }
            match above.open_dir(root) {
                // If a symlink leads out, `create_dir` fails because the name exists.
                Err(error) if make && error.kind() == io::ErrorKind::NotFound => {
                    // Another process may have made the root meanwhile.
                    let made = above.create_dir(root);
                    above.open_dir(root).map_err(|error| made.err().unwrap_or(error))
                }
                opened => opened,
            }
        };
        let dir = opened().map_err(|error| PluginError::io(&path, error).or_hint(OPENED))?;
        Ok(Self { location, base: base.to_owned(), root: root.to_owned(), dir })
    }

    /// Returns the location.
    pub fn location(&self) -> Location {
        self.location
    }

    /// Returns the repository, or the home directory.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// Returns the name of the root, such as `.hookbox`.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Returns the path of the plugins directory.
    pub fn path(&self) -> PathBuf {
        self.base.join(&self.root).join("plugins")
    }

    /// Returns the path of the lock file.
    pub fn lock_path(&self) -> PathBuf {
        self.base.join(&self.root).join(lockfile::FILE)
    }

    /// Opens the plugins directory, and makes it if needed.
    pub(super) fn plugins(&self) -> Result<Dir, PluginError> {
        self.dir
            .create_dir_all("plugins")
            .and_then(|()| self.dir.open_dir("plugins"))
            .map_err(|error| PluginError::io(self.path(), error).or_hint(OPENED))
    }

    /// Opens the plugins directory; `None` if it does not exist.
    pub(super) fn existing_plugins(&self) -> Result<Option<Dir>, PluginError> {
        let wrong = |error: io::Error| PluginError::io(self.path(), error).or_hint(OPENED);
        match dir_ops::entry_kind(&self.dir, "plugins").map_err(wrong)? {
            Some(_) => self.dir.open_dir("plugins").map(Some).map_err(wrong),
            None => Ok(None),
        }
    }

    /// Reads the lock file; a missing one is empty. A symlink is not followed. That of a repository has no lists of files.
    ///
    /// # Errors
    ///
    /// An error if the file cannot be read, or is not a lock file.
    pub fn lock(&self) -> Result<Lock, PluginError> {
        use io::ErrorKind::{InvalidData, InvalidInput};
        let path = self.lock_path();
        let wrong =
            |error: LockError| PluginError::new(path.to_string_lossy(), error).hint(lockfile::hint(&path));
        match dir_ops::read(&self.dir, lockfile::FILE, lockfile::MAX_FILE) {
            Ok(Some(bytes)) => {
                let lock = Lock::from_bytes(&bytes).map_err(wrong)?;
                Ok(if self.location == Location::Local { lock.without_files() } else { lock })
            }
            Ok(None) => Ok(Lock::default()),
            Err(error) if error.kind() == InvalidData => Err(wrong(LockError::TooLarge)),
            Err(error) if error.kind() == InvalidInput => {
                Err(PluginError::io(&path, error).hint("put the file itself there, or move it aside"))
            }
            Err(error) => Err(PluginError::io(&path, error).or_hint(lockfile::hint(&path))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{installed, needs_repair};
    use std::fs;

    #[test]
    fn whoever_only_looks_makes_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let find = || Plugins::find(Location::Local, temp.path(), ".hookbox");
        assert!(find().unwrap().is_none());
        let root = temp.path().join(".hookbox");
        assert!(!root.exists());
        fs::create_dir(&root).unwrap();
        assert!(find().unwrap().is_none());

        fs::write(root.join(lockfile::FILE), "version = 1").unwrap();
        let plugins = find().unwrap().unwrap();
        assert_eq!(installed(&plugins).unwrap(), []);
        assert!(!needs_repair(&plugins).unwrap());
        assert_eq!(fs::read_dir(&root).unwrap().count(), 1);
        // Whoever changes something does.
        drop(plugins.lock_exclusively().unwrap());
        assert!(plugins.path().is_dir());

        fs::remove_dir_all(plugins.path()).unwrap();
        std::os::unix::fs::symlink("nowhere", plugins.path()).unwrap();
        let plugins = find().unwrap().unwrap();
        installed(&plugins).unwrap_err();
        plugins.lock_exclusively().unwrap_err();
        fs::remove_dir_all(&root).unwrap();
        fs::write(&root, "").unwrap();
        find().unwrap_err();
    }

    #[test]
    fn a_lock_file_is_a_file_of_text_that_stands_there_itself() {
        let temp = tempfile::tempdir().unwrap();
        let plugins = Plugins::open(Location::Local, temp.path(), ".hookbox").unwrap();
        let path = plugins.lock_path();
        assert_eq!(plugins.lock().unwrap(), Lock::default());
        type Put = fn(&Path);
        let cases: [(Put, &str, &str); 6] = [
            (|it| std::os::unix::fs::symlink("nowhere", it).unwrap(), "is a symlink", "put the file itself"),
            (|it| std::os::unix::fs::symlink("mine", it).unwrap(), "is a symlink", "put the file itself"),
            (|it| fs::create_dir(it).unwrap(), "is not a regular file", "put the file itself"),
            (
                |it| fs::write(it, b"version = 1\n# \xff").unwrap(),
                "line 2: is not UTF-8",
                "move it aside: mv",
            ),
            (|it| fs::write(it, "garbage").unwrap(), "is not a plugins.lock", "move it aside: mv"),
            (
                |it| fs::File::create(it).unwrap().set_len(lockfile::MAX_FILE + 1).unwrap(),
                "is larger than 4 MiB",
                "move it aside: mv",
            ),
        ];
        fs::write(path.with_file_name("mine"), "version = 1").unwrap();
        for (put, what, hint) in cases {
            put(&path);
            let error = plugins.lock().unwrap_err();
            assert!(error.to_string().contains(what), "{what}: {error}");
            assert!(error.hint.as_deref().unwrap_or_default().contains(hint), "{what}: {error:?}");
            fs::remove_file(&path).or_else(|_| fs::remove_dir(&path)).unwrap();
        }
    }
}
