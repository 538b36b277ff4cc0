//! Staging directories: a new plugin is written into one, and an old plugin is moved there. A process locks
//! its staging directories, so that others remove only those of dead processes.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, DirBuilder, DirBuilderExt as _};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::{PluginError, dir_ops};

/// The name of the plugin in a staging directory.
pub(super) const TREE: &str = "tree";

/// The name of the files that are not installed in a staging directory.
pub(super) const BESIDE: &str = "beside";

/// The start of the name of every staging directory.
const PREFIX: &str = ".hookbox-stage-";

/// The start of the name of a plugin that is moved aside, on a file system that cannot exchange two
/// directories.
pub(super) const ASIDE: &str = ".hookbox-old-";

/// The most names to try.
const MAX_TRIES: u32 = 100;

/// A staging directory of this process, removed when it is dropped.
#[derive(Debug)]
pub(super) struct StagingDirectory {
    plugins: Dir,
    pub(super) dir: Dir,
    name: String,
    /// The absolute path.
    pub(super) path: PathBuf,
    is_kept: bool,
    _lock: File,
}

impl StagingDirectory {
    /// Makes a staging directory in a plugins directory, which has this path.
    pub(super) fn new(plugins: Dir, path: &Path) -> Result<Self, PluginError> {
        let wrong = |error| PluginError::io(path, error);
        let mut builder = DirBuilder::new();
        builder.mode(0o700);
        for _ in 0..MAX_TRIES {
            let name = random_name();
            match plugins.create_dir_with(&name, &builder) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made.map_err(wrong)?,
            }
            // Until the lock is taken, a repair by another process may remove the new directory.
            let Some(lock) = lock(&plugins, &name, File::try_lock_shared).map_err(wrong)? else {
                drop(plugins.remove_dir(&name));
                continue;
            };
            let dir = match plugins.open_dir(&name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                dir => dir.map_err(wrong)?,
            };
            let path = path.join(&name);
            return Ok(Self { plugins, dir, name, path, is_kept: false, _lock: lock });
        }
        Err(wrong(io::Error::other("finds no free name for a staging directory")))
    }

    /// Keeps the directory after this is dropped, for a repair.
    pub(super) fn keep(&mut self) {
        self.is_kept = true;
    }
}

impl Drop for StagingDirectory {
    fn drop(&mut self) {
        if !self.is_kept
            && let Err(error) = remove(&self.plugins, &self.name)
        {
            tracing::warn!(path = %self.path.display(), %error, "a staging directory cannot be removed");
        }
    }
}

fn random_name() -> String {
    use std::hash::{BuildHasher as _, Hasher as _};
    let mut hasher = std::hash::RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    format!("{PREFIX}{:08x}", hasher.finish() & 0xffff_ffff)
}

/// Locks a staging directory whose process is dead; returns `None` if the process lives or the directory is
/// gone.
pub(super) fn lock_abandoned(plugins: &Dir, name: &str) -> io::Result<Option<File>> {
    lock(plugins, name, File::try_lock)
}

/// The owner's lock is a shared one because NFS gives no other on a directory.
fn lock(
    plugins: &Dir,
    name: &str,
    try_lock: fn(&File) -> Result<(), TryLockError>,
) -> io::Result<Option<File>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(plugins, name, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(None),
        file => File::from(file?),
    };
    match try_lock(&file) {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Returns the names of all staging directories in a plugins directory.
pub(super) fn all(plugins: &Dir) -> io::Result<Vec<String>> {
    let is_ours = |name: &str| {
        let rest = name.strip_prefix(PREFIX).unwrap_or_default();
        (1..=64).contains(&rest.len()) && rest.bytes().all(|it| it.is_ascii_alphanumeric())
    };
    let mut names = dir_ops::names(plugins)?;
    names.retain(|name| is_ours(name) && dir_ops::is_directory(plugins, name).unwrap_or_default());
    Ok(names)
}

/// Removes a directory, if there is one. Removes symlinks without following them.
pub(super) fn remove(plugins: &Dir, name: &str) -> io::Result<()> {
    if !dir_ops::is_directory(plugins, name)? {
        return Ok(());
    }
    plugins.remove_dir_all(name)
}
