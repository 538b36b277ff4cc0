//! Staging directories: a plugin is written into one, and a removed or replaced one is moved there. The process that
//! made a staging directory holds a lock on it, so that another one removes only those of dead processes.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, DirBuilder, DirBuilderExt as _};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::{PluginError, dir_ops};

/// The name of the plugin in a staging directory.
pub(super) const TREE: &str = "tree";

/// The start of the name of every staging directory.
const PREFIX: &str = ".hookbox-stage-";

/// How many names are tried.
const MAX_TRIES: u32 = 100;

/// A staging directory of this process, removed when it is dropped.
#[derive(Debug)]
pub(super) struct StagingDirectory {
    plugins: Dir,
    dir: Dir,
    name: String,
    path: PathBuf,
    is_kept: bool,
    _lock: File,
}

impl StagingDirectory {
    /// Makes a staging directory in an open plugins directory of this path.
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
            let Some(lock) = lock(&plugins, &name, FlockOperation::NonBlockingLockShared).map_err(wrong)?
            else {
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

    /// Returns the open directory.
    pub(super) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Returns its absolute path.
    pub(super) fn path(&self) -> &Path {
        &self.path
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

/// Locks a staging directory whose process is dead; returns `None` if the process lives or the directory is gone.
pub(super) fn lock_abandoned(plugins: &Dir, name: &str) -> io::Result<Option<File>> {
    lock(plugins, name, FlockOperation::NonBlockingLockExclusive)
}

/// The owner's lock is a shared one because NFS gives no other on a directory.
fn lock(plugins: &Dir, name: &str, operation: FlockOperation) -> io::Result<Option<File>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(plugins, name, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(None),
        file => File::from(file?),
    };
    match rustix::fs::flock(&file, operation) {
        Ok(()) => Ok(Some(file)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
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

/// Removes a directory of any depth. Removes symlinks without following them. Every subdirectory moves to the top before it
/// is emptied: a recursion would need a file descriptor for each level, and a plugin may have thousands.
pub(super) fn remove(plugins: &Dir, name: &str) -> io::Result<()> {
    if !dir_ops::is_directory(plugins, name)? {
        return Ok(());
    }
    let top = plugins.open_dir(name)?;
    let mut number = 0_u64;
    let mut waiting: Vec<String> = Vec::new();
    empty(&top, &top, &mut number, &mut waiting)?;
    while let Some(next) = waiting.pop() {
        empty(&top, &top.open_dir(&next)?, &mut number, &mut waiting)?;
        top.remove_dir(&next)?;
    }
    plugins.remove_dir(name)
}

/// Removes the files of a directory, and moves its subdirectories to the top under the next free numbers.
fn empty(top: &Dir, dir: &Dir, number: &mut u64, waiting: &mut Vec<String>) -> io::Result<()> {
    // All names are read first: a rename while a directory is read may hide or repeat some.
    let names = dir.entries()?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
    for name in names {
        if !dir.symlink_metadata(&name)?.is_dir() {
            dir.remove_file(&name)?;
            continue;
        }
        let free = loop {
            let free = format!("{number:x}");
            *number += 1;
            if dir_ops::entry_kind(top, &free)?.is_none() {
                break free;
            }
        };
        match rustix::fs::renameat(dir, &name, top, &free) {
            Ok(()) => waiting.push(free),
            // A directory of a lower layer of a container's file system cannot be renamed.
            Err(Errno::XDEV) => dir.remove_dir_all(&name)?,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
