//! The plugins directory of a place.

use std::io;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt as _};

use super::{PluginError, PluginErrorKind};
use crate::lockfile::{self, Lock, LockError};

/// Where plugins are installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Location {
    /// In a repository, for all who work in it.
    Local,
    /// In the home directory, for all that the user does.
    Global,
}

impl Location {
    /// The word for it: `local` or `global` (ADR 029).
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Global => "global",
        }
    }
}

/// A root's plugins directory and lock file. Everything in it is read and written beneath a directory that was opened
/// once, so that no symlink in a repository leads out of it.
#[derive(Debug)]
pub struct Plugins {
    location: Location,
    /// The repository, or the home directory.
    base: PathBuf,
    /// The root's name.
    root: String,
    /// The root, open.
    dir: Dir,
}

impl Plugins {
    /// Opens the plugins of this root in a repository or home directory, and makes the root and its `plugins` where
    /// they are missing. A root that is a symlink is followed in the home directory only.
    ///
    /// # Errors
    ///
    /// Where they cannot be made or opened.
    pub fn open(location: Location, base: &Path, root: &str) -> Result<Self, PluginError> {
        let path = base.join(root);
        let opened = || -> io::Result<Dir> {
            let above = Dir::open_ambient_dir(base, ambient_authority())?;
            if location == Location::Global && above.symlink_metadata(root).is_ok_and(|it| it.is_symlink()) {
                let dir = Dir::open_ambient_dir(&path, ambient_authority())?;
                dir.create_dir_all("plugins")?;
                return Ok(dir);
            }
            // Where a symlink leads out, making it fails as if a file stood there.
            let dir = above.open_dir(root).or_else(|error| match error.kind() {
                io::ErrorKind::NotFound => above.create_dir(root).and_then(|()| above.open_dir(root)),
                _ => Err(error),
            })?;
            dir.create_dir_all("plugins")?;
            Ok(dir)
        };
        let dir = opened().map_err(|error| {
            let hint =
                "expected a directory that you may write, and that is no symlink out of the repository";
            PluginError::io(&path, error).or_hint(hint)
        })?;
        Ok(Self { location, base: base.to_owned(), root: root.to_owned(), dir })
    }

    /// The same if the root and its `plugins` are there already; `None` where they are not.
    ///
    /// # Errors
    ///
    /// Where they cannot be opened.
    pub fn find(location: Location, base: &Path, root: &str) -> Result<Option<Self>, PluginError> {
        match base.join(root).join("plugins").symlink_metadata() {
            Ok(_) => Self::open(location, base, root).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match base.join(root).join(lockfile::FILE).symlink_metadata() {
                    Ok(_) => Self::open(location, base, root).map(Some),
                    Err(_) => Ok(None),
                }
            }
            Err(error) => Err(PluginError::io(base.join(root), error)),
        }
    }

    /// Where they are installed.
    pub fn location(&self) -> Location {
        self.location
    }

    /// The repository, or the home directory.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// The root's name.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// The path of the plugins directory.
    pub fn path(&self) -> PathBuf {
        self.base.join(&self.root).join("plugins")
    }

    /// The path of the lock file.
    pub fn lock_path(&self) -> PathBuf {
        self.base.join(&self.root).join(lockfile::FILE)
    }

    /// The root, open: it holds the lock file and `plugins`.
    pub(super) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// The plugins directory, open.
    ///
    /// # Errors
    ///
    /// Where it cannot be opened, or leads out of the root.
    pub(super) fn plugins(&self) -> Result<Dir, PluginError> {
        self.dir.open_dir("plugins").map_err(|error| PluginError::io(self.path(), error))
    }

    /// What the lock file says; nothing where there is none.
    ///
    /// # Errors
    ///
    /// Where it cannot be read, or is no lock file.
    pub fn lock(&self) -> Result<Lock, PluginError> {
        use std::io::Read as _;
        let path = self.lock_path();
        let wrong = |kind: PluginErrorKind| {
            let shown = crate::text::escape(&path.to_string_lossy(), 1024);
            PluginError::new(path.to_string_lossy(), kind)
                .hint(format!("repair it, or move it aside: mv {shown} {shown}.old"))
        };
        let mut text = String::new();
        let mut options = OpenOptions::new();
        // A pipe of that name must not make the open wait.
        options.read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
        let read = self.dir.open_with(lockfile::FILE, &options).and_then(|file| {
            if !file.metadata()?.is_file() {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "is no file"));
            }
            file.take(lockfile::MAX_FILE + 1).read_to_string(&mut text)
        });
        match read {
            Ok(_) if text.len() as u64 > lockfile::MAX_FILE => Err(wrong(LockError::TooLarge.into())),
            Ok(_) => Lock::parse(&text).map_err(|error| wrong(error.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Lock::default()),
            Err(error) => Err(wrong(error.into())),
        }
    }
}
