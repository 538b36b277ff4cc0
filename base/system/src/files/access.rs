//! Reading files: the user's own files wherever they are, a repository's files only within the repository.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt as _, OpenOptionsExt as _};
use rustix::fs::OFlags;

use super::refusal::{self, check_owner, check_system, escape, too_large};
use crate::Digest;

/// The number of names that are read of one directory. A directory of hooks has far fewer.
pub const MAX_NAMES: usize = 65_536;

/// The files that may be read. Paths are absolute, as they are shown to the user.
#[derive(Clone)]
pub enum FileAccess {
    /// Any file, whoever may write it: for files that nothing is run from.
    Anywhere,
    /// The user's own files. Symlinks may lead to any file that belongs to the user or the system and that nobody else
    /// may write.
    Global,
    /// The administrator's files.
    System(Arc<SystemFiles>),
    /// The files of a repository. They are opened beneath its directory, so that no symlink and no `..` leads out.
    Repository(Arc<Repository>),
}

/// The rule for files that decide for every user of the machine: each of them, and each directory on the way to it, belongs
/// to the administrator, can be written by nobody else, and is no symlink. So nobody else can change it after a check.
#[derive(Debug)]
pub struct SystemFiles {
    /// The outermost directory that has to be so: `/`.
    pub top: PathBuf,
    /// The uid of the administrator: 0.
    pub owner: u32,
}

impl SystemFiles {
    fn check(&self, path: &Path) -> io::Result<()> {
        path.ancestors().take_while(|it| it.starts_with(&self.top)).try_for_each(|it| {
            check_system(&fs::symlink_metadata(it)?, self.owner, (it != path).then_some(it))
        })
    }
}

/// An open repository.
pub struct Repository {
    dir: Dir,
    path: PathBuf,
    /// The path without symlinks, to recognise absolute links that stay inside.
    real: PathBuf,
    /// Set when a file could not be read because file descriptors or memory ran out.
    is_exhausted: AtomicBool,
}

/// The kind of a directory entry, with symlinks followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File {
        /// True if any execute bit is set.
        executable: bool,
        /// The size in bytes.
        len: u64,
    },
    /// A directory.
    Directory,
    /// A pipe, a socket or a device: never opened.
    Special,
}

impl FileAccess {
    /// Opens a repository.
    ///
    /// # Errors
    ///
    /// The system's own.
    pub fn repository(path: &Path) -> io::Result<Self> {
        let dir = Dir::open_ambient_dir(path, ambient_authority())?;
        let (real, is_exhausted) = (fs::canonicalize(path)?, AtomicBool::new(false));
        Ok(Self::Repository(Arc::new(Repository { dir, path: path.to_owned(), real, is_exhausted })))
    }

    /// Returns true if file descriptors or memory ran out while the repository was read: a missing file may then be one
    /// that the user trusts.
    pub fn is_exhausted(&self) -> bool {
        matches!(self, Self::Repository(repo) if repo.is_exhausted.load(Ordering::Relaxed))
    }

    /// Returns the kind of the entry at this path.
    ///
    /// # Errors
    ///
    /// The system's own, or one that [`is_escape`](super::is_escape) recognises.
    pub fn entry_kind(&self, path: &Path) -> io::Result<EntryKind> {
        self.entry(path).map(|(kind, _)| kind)
    }

    /// Returns the kind of the entry at this path, and the result of [`FileAccess::check_owner`], in one look.
    ///
    /// # Errors
    ///
    /// As for [`FileAccess::entry_kind`].
    pub fn entry(&self, path: &Path) -> io::Result<(EntryKind, io::Result<()>)> {
        let (is_file, is_dir, mode, len, owner) = match self {
            Self::Anywhere | Self::Global => {
                let about = fs::metadata(path)?;
                let owner = if matches!(self, Self::Global) { check_owner(&about) } else { Ok(()) };
                (about.is_file(), about.is_dir(), about.mode(), about.len(), owner)
            }
            Self::System(system) => {
                let about = fs::symlink_metadata(path)?;
                let owner = match system.check(path) {
                    // It is refused as a whole: of neither kind, it would be passed over.
                    Err(error) if about.is_symlink() => return Err(error),
                    owner => owner,
                };
                (about.is_file(), about.is_dir(), about.mode(), about.len(), owner)
            }
            Self::Repository(repo) => {
                let about = repo.note(repo.resolve(path).and_then(|path| repo.dir.metadata(path)))?;
                (about.is_file(), about.is_dir(), about.mode(), about.len(), Ok(()))
            }
        };
        let kind = match (is_file, is_dir) {
            (true, _) => EntryKind::File { executable: mode & 0o111 != 0, len },
            (_, true) => EntryKind::Directory,
            _ => EntryKind::Special,
        };
        Ok((kind, owner))
    }

    /// Checks that nobody else may write a file or directory of the user's. Symlinks are followed.
    ///
    /// # Errors
    ///
    /// The system's own, or one that [`is_exposed`](super::is_exposed) recognises.
    pub fn check_owner(&self, path: &Path) -> io::Result<()> {
        match self {
            Self::Global => check_owner(&fs::metadata(path)?),
            Self::System(system) => system.check(path),
            Self::Anywhere | Self::Repository(_) => Ok(()),
        }
    }

    /// Returns the command that takes the right to write this file or directory from others, if they have it.
    pub fn permission_hint(&self, path: &Path) -> Option<String> {
        let error = self.check_owner(path).err()?;
        match self {
            Self::System(_) => refusal::is_exposed(&error).then(|| {
                "as the administrator, give it and the directories above it to root alone: chown root, chmod go-w; a \
                 symlink is not used"
                    .to_owned()
            }),
            _ => refusal::permission_hint(&error, path),
        }
    }

    /// Returns true if this path is a symlink.
    pub fn is_symlink(&self, path: &Path) -> bool {
        match self {
            Self::Anywhere | Self::Global => fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink()),
            // Such a file is refused for it, and never a missing one.
            Self::System(_) => false,
            Self::Repository(repo) => {
                let about = repo.beneath(path).and_then(|it| repo.dir.symlink_metadata(it));
                about.is_ok_and(|it| it.is_symlink())
            }
        }
    }

    /// Returns the names in a directory in the order of their bytes, and true if there are more than are read.
    ///
    /// # Errors
    ///
    /// As for [`FileAccess::entry_kind`].
    pub fn names(&self, path: &Path) -> io::Result<(Vec<OsString>, bool)> {
        let mut names: Vec<OsString> = match self {
            Self::Anywhere | Self::Global | Self::System(_) => fs::read_dir(path)?
                .take(MAX_NAMES + 1)
                .map(|entry| Ok(entry?.file_name()))
                .collect::<io::Result<_>>()?,
            Self::Repository(repo) => repo
                .note(repo.resolve(path).and_then(|path| repo.dir.read_dir(path)))?
                .take(MAX_NAMES + 1)
                .map(|entry| Ok(entry?.file_name()))
                .collect::<io::Result<_>>()?,
        };
        let has_more = names.len() > MAX_NAMES;
        names.truncate(MAX_NAMES);
        names.sort();
        Ok((names, has_more))
    }

    /// Returns the target of the symlink at this path.
    pub fn read_link(&self, path: &Path) -> Option<PathBuf> {
        match self {
            Self::Anywhere | Self::Global | Self::System(_) => fs::read_link(path).ok(),
            Self::Repository(repo) => repo.beneath(path).and_then(|it| repo.dir.read_link_contents(it)).ok(),
        }
    }

    /// Returns the path without symlinks, to compare it with another one. Nothing is opened by it.
    ///
    /// # Errors
    ///
    /// As for [`FileAccess::entry_kind`].
    pub fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        let real = fs::canonicalize(path)?;
        match self {
            Self::Repository(repo) if !real.starts_with(&repo.real) => Err(escape()),
            _ => Ok(real),
        }
    }

    /// Reads a regular file of at most `max` bytes.
    ///
    /// # Errors
    ///
    /// `FileTooLarge` beyond `max`, `InvalidInput` for anything but a regular file.
    pub fn read(&self, path: &Path, max: u64) -> io::Result<Vec<u8>> {
        let (file, len) = self.open_within(path, max)?;
        let mut bytes = Vec::with_capacity(usize::try_from(len).unwrap_or_default());
        file.take(max + 1).read_to_end(&mut bytes)?;
        // The file may have grown since it was opened.
        if bytes.len() as u64 > max { Err(too_large(max)) } else { Ok(bytes) }
    }

    /// Reads a file like [`FileAccess::read`]; `None` if it does not exist. A broken symlink is an error.
    pub fn read_if_exists(&self, path: &Path, max: u64) -> Option<io::Result<Vec<u8>>> {
        match self.read(path, max) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && !self.is_symlink(path) => None,
            read => Some(read),
        }
    }

    /// Returns true if this is a regular file that begins with `#!`.
    pub fn is_script(&self, path: &Path) -> bool {
        let mut start = [0; 2];
        let read = self.open_within(path, u64::MAX).and_then(|(mut file, _)| file.read_exact(&mut start));
        read.is_ok() && start == *b"#!"
    }

    /// Computes the digest of a regular file of at most `max` bytes, without holding the file in memory.
    ///
    /// # Errors
    ///
    /// As for [`FileAccess::read`].
    pub fn digest(&self, path: &Path, max: u64) -> io::Result<Digest> {
        let (file, _) = self.open_within(path, max)?;
        let mut file = file.take(max + 1);
        let digest = Digest::of_reader(&mut file)?;
        if file.limit() == 0 { Err(too_large(max)) } else { Ok(digest) }
    }

    /// Opens a regular file of at most `max` bytes, and returns its size.
    fn open_within(&self, path: &Path, max: u64) -> io::Result<(File, u64)> {
        let file = self.open(path)?;
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        if about.len() > max { Err(too_large(max)) } else { Ok((file, about.len())) }
    }

    /// Opens a file to read. This does not block if the file has been replaced by a pipe.
    ///
    /// # Errors
    ///
    /// As for [`FileAccess::entry_kind`] and [`FileAccess::check_owner`].
    pub fn open(&self, path: &Path) -> io::Result<File> {
        let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
        match self {
            Self::Anywhere | Self::Global | Self::System(_) => {
                if let Self::System(system) = self {
                    system.check(path)?;
                }
                let file = fs::OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?;
                if matches!(self, Self::Global) {
                    check_owner(&file.metadata()?)?;
                }
                Ok(file)
            }
            Self::Repository(repo) => {
                let mut options = cap_std::fs::OpenOptions::new();
                options.read(true).custom_flags(nonblocking);
                let file = repo.resolve(path).and_then(|path| repo.dir.open_with(path, &options));
                Ok(repo.note(file)?.into_std())
            }
        }
    }
}

impl Repository {
    /// Notes a failure that the repository has not caused.
    fn note<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if result.as_ref().err().is_some_and(refusal::is_exhausted) {
            self.is_exhausted.store(true, Ordering::Relaxed);
        }
        result
    }

    /// Returns the path relative to the repository.
    fn beneath<'a>(&self, path: &'a Path) -> io::Result<&'a Path> {
        let beneath = path.strip_prefix(&self.path).map_err(|_| escape())?;
        // The system does not open an empty path.
        Ok(if beneath.as_os_str().is_empty() { Path::new(".") } else { beneath })
    }

    /// Returns the path to open beneath the repository. `cap-std` refuses every absolute symlink, so this follows one
    /// that stays inside; its target is then opened beneath the repository like any other path.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let beneath = self.beneath(path)?;
        match self.dir.metadata(beneath) {
            Err(error) if refusal::is_escape(&error) => {
                let real = fs::canonicalize(path)?;
                real.strip_prefix(&self.real).map(Path::to_owned).map_err(|_| escape())
            }
            _ => Ok(beneath.to_owned()),
        }
    }
}

/// Removes `.` and resolves `..` in a path, without following symlinks and without reading anything.
pub fn normalize_path(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            part => normal.push(part),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn dots_in_a_path_are_resolved_without_its_symlinks() {
        for (path, want) in
            [("/a/./b//c/", "/a/b/c"), ("/a/../b", "/b"), ("/../../b", "/b"), ("a/../../b", "b"), (".", "")]
        {
            assert_eq!(normalize_path(Path::new(path)), Path::new(want), "{path}");
        }
    }

    #[test]
    fn a_repository_is_read_only_within_itself() {
        let temp = tempfile::tempdir().unwrap();
        let (repo, outside) = (temp.path().join("repo"), temp.path().join("outside"));
        fs::create_dir_all(repo.join("sub")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(repo.join("sub/file"), "inside").unwrap();
        fs::write(outside.join("file"), "outside").unwrap();
        for (link, target) in [
            ("relative", Path::new("sub/file").to_owned()),
            ("absolute", repo.join("sub/file")),
            ("out", Path::new("../outside/file").to_owned()),
            ("out-absolute", outside.join("file")),
            ("out-dir", outside.clone()),
            ("proc", PathBuf::from("/proc/self/cwd")),
        ] {
            symlink(target, repo.join(link)).unwrap();
        }
        let files = FileAccess::repository(&repo).unwrap();
        assert_eq!(files.entry_kind(&repo).unwrap(), EntryKind::Directory);
        assert_eq!(files.names(&repo).unwrap().0.len(), 7);
        for inside in ["sub/file", "relative", "absolute", "sub/../relative"] {
            assert_eq!(files.read(&repo.join(inside), 100).unwrap(), b"inside", "{inside}");
        }
        for out in
            ["out", "out-absolute", "out-dir/file", "proc", "../outside/file", "sub/../../outside/file"]
        {
            let error = files.entry_kind(&repo.join(out)).unwrap_err();
            assert!(refusal::is_escape(&error), "{out}: {error}");
            assert!(files.read(&repo.join(out), 100).is_err(), "{out}");
        }
        assert_eq!(FileAccess::Global.read(&repo.join("out"), 100).unwrap(), b"outside");
    }

    #[test]
    fn a_file_beyond_its_limit_is_not_read() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("file"), "12345").unwrap();
        assert!(FileAccess::Global.read(&temp.path().join("file"), 5).is_ok());
        let error = FileAccess::Global.read(&temp.path().join("file"), 4).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert!(FileAccess::Global.read(temp.path(), 4).is_err());
        let digest = |max| FileAccess::Global.digest(&temp.path().join("file"), max);
        assert_eq!(digest(5).unwrap(), Digest::of(b"12345"));
        assert_eq!(digest(4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }
}
