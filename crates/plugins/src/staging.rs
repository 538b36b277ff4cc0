//! Staging directories: where a plugin is written, and where one is put that was replaced or removed. Each is locked
//! while its process lives, so that what a killed one left can be told from what another one is still writing.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, DirBuilder, DirBuilderExt as _};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::PluginError;
use super::beneath::{self, Found};

/// The plugin in a staging directory.
pub(super) const TREE: &str = "tree";

/// The one that was replaced, where a file system cannot exchange two directories.
pub(super) const REPLACED: &str = "replaced";

/// How often a name is chosen.
const MAX_TRIES: u32 = 100;

/// The name of a staging directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StageName(String);

impl StageName {
    /// What the name of every staging directory begins with.
    const PREFIX: &'static str = ".hookbox-stage-";

    /// What the name of one begins with that is kept for the user.
    const KEPT: &'static str = ".hookbox-kept-";

    /// The staging directory of this name, if it can be one.
    pub(super) fn new(name: &str) -> Option<Self> {
        let rest = name.strip_prefix(Self::PREFIX)?;
        let is_plain = (1..=64).contains(&rest.len()) && rest.bytes().all(|it| it.is_ascii_alphanumeric());
        is_plain.then(|| Self(name.to_owned()))
    }

    /// A name that nobody else has chosen, as far as can be known; whoever uses it looks.
    fn random() -> Self {
        use std::hash::{BuildHasher as _, Hasher as _};
        let mut hasher = std::hash::RandomState::new().build_hasher();
        hasher.write_u32(std::process::id());
        Self(format!("{}{:08x}", Self::PREFIX, hasher.finish() & 0xffff_ffff))
    }

    /// The name.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// The name under which it is kept.
    fn kept(&self) -> String {
        format!("{}{}", Self::KEPT, self.0.strip_prefix(Self::PREFIX).unwrap_or_default())
    }
}

/// A staging directory of this process, removed when it is dropped.
#[derive(Debug)]
pub(super) struct StagingDirectory {
    plugins: Dir,
    dir: Dir,
    name: StageName,
    path: PathBuf,
    is_kept: bool,
    /// Locked as long as this lives.
    _lock: File,
}

impl StagingDirectory {
    /// Makes one in an open plugins directory, which has this path.
    pub(super) fn new(plugins: Dir, path: &Path) -> Result<Self, PluginError> {
        let wrong = |error| PluginError::io(path, error);
        let mut builder = DirBuilder::new();
        builder.mode(0o700);
        for _ in 0..MAX_TRIES {
            let name = StageName::random();
            match plugins.create_dir_with(name.as_str(), &builder) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made.map_err(wrong)?,
            }
            // Between these two a process that sweeps may take it for one that was left, and remove it.
            let shared = FlockOperation::NonBlockingLockShared;
            let Some(lock) = lock(&plugins, &name, shared).map_err(wrong)? else {
                drop(plugins.remove_dir(name.as_str()));
                continue;
            };
            let dir = match plugins.open_dir(name.as_str()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                dir => dir.map_err(wrong)?,
            };
            let path = path.join(name.as_str());
            return Ok(Self { plugins, dir, name, path, is_kept: false, _lock: lock });
        }
        Err(wrong(io::Error::other("finds no free name for a staging directory")))
    }

    /// It, open.
    pub(super) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Its name in the plugins directory.
    pub(super) fn name(&self) -> &StageName {
        &self.name
    }

    /// Its path, absolute.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Lets it stand when this is dropped: the next command needs it for a repair.
    pub(super) fn keep(&mut self) {
        self.is_kept = true;
    }

    /// Removes it now.
    pub(super) fn remove(&mut self) -> io::Result<()> {
        self.is_kept = true;
        remove(&self.plugins, &self.name)
    }
}

impl Drop for StagingDirectory {
    fn drop(&mut self) {
        if !self.is_kept
            && let Err(error) = remove(&self.plugins, &self.name)
        {
            tracing::warn!(path = %self.path.display(), %error, "a staging directory stays behind");
        }
    }
}

/// Locks a staging directory that no process has, to remove it; `None` where one has it, or it is gone.
pub(super) fn lock_left(plugins: &Dir, name: &StageName) -> io::Result<Option<File>> {
    lock(plugins, name, FlockOperation::NonBlockingLockExclusive)
}

/// The process that writes shares its lock with nobody; but NFS gives none but a shared one on a directory.
fn lock(plugins: &Dir, name: &StageName, how: FlockOperation) -> io::Result<Option<File>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(plugins, name.as_str(), flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(None),
        file => File::from(file?),
    };
    match rustix::fs::flock(&file, how) {
        Ok(()) => Ok(Some(file)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The staging directories in a plugins directory, whoever made them.
pub(super) fn all(plugins: &Dir) -> io::Result<Vec<StageName>> {
    let mut stages = Vec::new();
    for name in beneath::names(plugins)?.iter().filter_map(|name| StageName::new(name)) {
        if matches!(beneath::look(plugins, name.as_str())?, Some(Found::Directory(_))) {
            stages.push(name);
        }
    }
    Ok(stages)
}

/// Gives a staging directory another name, under which nothing removes it. The name comes back.
pub(super) fn keep(plugins: &Dir, name: &StageName) -> io::Result<String> {
    let kept = name.kept();
    beneath::move_to((plugins, name.as_str()), (plugins, &kept))?;
    Ok(kept)
}

/// Removes a staging directory. Symlinks in it are removed, not followed, and it may be as deep as it likes: what
/// stands in a directory in it is brought to the top before it is removed.
pub(super) fn remove(plugins: &Dir, name: &StageName) -> io::Result<()> {
    if !matches!(beneath::look(plugins, name.as_str())?, Some(Found::Directory(_))) {
        return Ok(());
    }
    let top = plugins.open_dir(name.as_str())?;
    let mut number = 0_u64;
    let mut waiting: Vec<String> = Vec::new();
    level(&top, &top, &mut number, &mut waiting)?;
    while let Some(next) = waiting.pop() {
        let dir = top.open_dir(&next)?;
        level(&top, &dir, &mut number, &mut waiting)?;
        top.remove_dir(&next)?;
    }
    plugins.remove_dir(name.as_str())
}

/// Removes the files of a directory, and brings its directories to the top.
fn level(top: &Dir, dir: &Dir, number: &mut u64, waiting: &mut Vec<String>) -> io::Result<()> {
    // What is renamed while a directory is read may be seen twice, or not at all.
    let names = dir.entries()?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
    for name in names {
        let about = dir.symlink_metadata(&name)?;
        if !about.is_dir() {
            dir.remove_file(&name)?;
            continue;
        }
        let free = loop {
            let free = format!("{number:x}");
            *number += 1;
            if beneath::look(top, &free)?.is_none() {
                break free;
            }
        };
        match rustix::fs::renameat(dir, &name, top, &free) {
            Ok(()) => waiting.push(free),
            // A layer of a container that was there before cannot be renamed.
            Err(Errno::XDEV) => dir.remove_dir_all(&name)?,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
