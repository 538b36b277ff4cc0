//! Reading files of a place: the home directory as far as it is the user's own, a repository only within itself.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt as _, OpenOptionsExt as _};

use crate::account;
use crate::hook::Digest;
use crate::text;

/// What is read from at most one directory, in names. Beyond it lies no hooks directory that anybody meant.
const MAX_NAMES: usize = 65_536;

/// Where files are read. Paths are absolute, as they are shown; a repository's are opened beneath it, so that no
/// symlink and no `..` in it leads out.
#[derive(Clone)]
pub(crate) enum Place {
    /// Any files, whoever may write them: nothing of them runs.
    #[cfg_attr(
        not(feature = "bridge"),
        allow(dead_code, reason = "the doctor looks at other programs' files")
    )]
    Anywhere,
    /// The user's own files: symlinks may lead anywhere, to what is the user's or the system's own and nobody else may write.
    Global,
    /// A repository.
    Repository(Arc<Repository>),
}

/// A repository that is open.
pub(crate) struct Repository {
    dir: Dir,
    path: PathBuf,
    /// The path without symlinks, to recognise absolute links that stay inside.
    real: PathBuf,
    /// Whether something could not be read for want of what no repository takes away: file descriptors, memory.
    is_exhausted: AtomicBool,
}

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A regular file.
    File {
        /// Whether any execute bit is set.
        executable: bool,
        /// Its size in bytes.
        len: u64,
    },
    /// A directory.
    Directory,
    /// A pipe, a socket, a device: never opened.
    Special,
}

impl Place {
    /// Opens a repository.
    pub(crate) fn repository(path: &Path) -> io::Result<Self> {
        let dir = Dir::open_ambient_dir(path, ambient_authority())?;
        let (real, is_exhausted) = (fs::canonicalize(path)?, AtomicBool::new(false));
        Ok(Self::Repository(Arc::new(Repository { dir, path: path.to_owned(), real, is_exhausted })))
    }

    /// Whether something of a repository could not be read so far for want of file descriptors or memory: what is missing
    /// then may be what the user trusts.
    pub(crate) fn is_exhausted(&self) -> bool {
        matches!(self, Self::Repository(repo) if repo.is_exhausted.load(Ordering::Relaxed))
    }

    /// What a path leads to, symlinks followed.
    pub(crate) fn find(&self, path: &Path) -> io::Result<Found> {
        let (is_file, is_dir, mode, len) = match self {
            Self::Anywhere | Self::Global => {
                let it = fs::metadata(path)?;
                (it.is_file(), it.is_dir(), it.mode(), it.len())
            }
            Self::Repository(repo) => {
                let it = repo.noted(repo.resolve(path).and_then(|path| repo.dir.metadata(path)))?;
                (it.is_file(), it.is_dir(), it.mode(), it.len())
            }
        };
        Ok(match (is_file, is_dir) {
            (true, _) => Found::File { executable: mode & 0o111 != 0, len },
            (_, true) => Found::Directory,
            _ => Found::Special,
        })
    }

    /// That a file or directory of the user's is one that nobody else may write; a symlink counts as what it leads to.
    ///
    /// # Errors
    ///
    /// The system's own, and one that [`is_exposed`] knows.
    pub(crate) fn check_owner(&self, path: &Path) -> io::Result<()> {
        self.check(|| fs::metadata(path))
    }

    fn check(&self, about: impl FnOnce() -> io::Result<fs::Metadata>) -> io::Result<()> {
        match self {
            Self::Global => Exposed::find(&about()?).map_or(Ok(()), |exposed| Err(io::Error::other(exposed))),
            Self::Anywhere | Self::Repository(_) => Ok(()),
        }
    }

    /// What to do about a file or directory that somebody else may write, where one stands there.
    pub(crate) fn mend(&self, path: &Path) -> Option<String> {
        let error = self.check_owner(path).err()?;
        let path = text::shell_word(&text::escape(&path.to_string_lossy(), 4096));
        Some(match exposed(&error)? {
            Exposed::Mode(_) => format!("look at what stands there, then: chmod go-w {path}"),
            Exposed::Owner(_) => {
                format!("look at what stands there, then make it yours: chown \"$(id -u)\" {path}")
            }
        })
    }

    /// Whether a symlink stands at this path.
    pub(crate) fn is_symlink(&self, path: &Path) -> bool {
        match self {
            Self::Anywhere | Self::Global => fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink()),
            Self::Repository(repo) => repo
                .beneath(path)
                .and_then(|it| repo.dir.symlink_metadata(it))
                .is_ok_and(|it| it.is_symlink()),
        }
    }

    /// The names in a directory, in the order of their bytes, and whether there were more than can be meant.
    pub(crate) fn names(&self, path: &Path) -> io::Result<(Vec<OsString>, bool)> {
        let mut names: Vec<OsString> = match self {
            Self::Anywhere | Self::Global => fs::read_dir(path)?
                .take(MAX_NAMES + 1)
                .map(|entry| Ok(entry?.file_name()))
                .collect::<io::Result<_>>()?,
            Self::Repository(repo) => repo
                .noted(repo.resolve(path).and_then(|path| repo.dir.read_dir(path)))?
                .take(MAX_NAMES + 1)
                .map(|entry| Ok(entry?.file_name()))
                .collect::<io::Result<_>>()?,
        };
        let more = names.len() > MAX_NAMES;
        names.truncate(MAX_NAMES);
        names.sort();
        Ok((names, more))
    }

    /// What the symlink at this path says, if one stands there.
    pub(crate) fn link(&self, path: &Path) -> Option<PathBuf> {
        match self {
            Self::Anywhere | Self::Global => fs::read_link(path).ok(),
            Self::Repository(repo) => repo.beneath(path).and_then(|it| repo.dir.read_link_contents(it)).ok(),
        }
    }

    /// The path without symlinks; a repository's only where it lies in it. Nothing is opened by what this finds: it
    /// tells whether two paths lead to the same.
    pub(crate) fn real(&self, path: &Path) -> io::Result<PathBuf> {
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
    pub(crate) fn read(&self, path: &Path, max: u64) -> io::Result<Vec<u8>> {
        let (file, len) = self.open_within(path, max)?;
        let mut bytes = Vec::with_capacity(usize::try_from(len).unwrap_or_default());
        file.take(max + 1).read_to_end(&mut bytes)?;
        // It may have grown since.
        if bytes.len() as u64 > max { Err(too_large(max)) } else { Ok(bytes) }
    }

    /// The digest of a regular file of at most `max` bytes, which is not held in memory.
    ///
    /// # Errors
    ///
    /// As for [`Place::read`].
    pub(crate) fn digest(&self, path: &Path, max: u64) -> io::Result<Digest> {
        let (file, _) = self.open_within(path, max)?;
        let mut file = file.take(max + 1);
        let digest = Digest::of_reader(&mut file)?;
        if file.limit() == 0 { Err(too_large(max)) } else { Ok(digest) }
    }

    /// Opens a regular file that has at most `max` bytes now, and says how many.
    fn open_within(&self, path: &Path, max: u64) -> io::Result<(File, u64)> {
        let file = self.open(path)?;
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        if about.len() > max { Err(too_large(max)) } else { Ok((file, about.len())) }
    }

    /// Opens a file to read. A pipe that was put there after a look at it must not make the open wait.
    pub(crate) fn open(&self, path: &Path) -> io::Result<File> {
        let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        match self {
            Self::Anywhere | Self::Global => {
                let file = fs::OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?;
                self.check(|| file.metadata())?;
                Ok(file)
            }
            Self::Repository(repo) => {
                let mut options = cap_std::fs::OpenOptions::new();
                options.read(true).custom_flags(nonblocking);
                let file = repo.resolve(path).and_then(|path| repo.dir.open_with(path, &options));
                Ok(repo.noted(file)?.into_std())
            }
        }
    }
}

impl Repository {
    /// Notes a failure that says nothing of the repository.
    fn noted<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if result.as_ref().err().is_some_and(is_exhausted) {
            self.is_exhausted.store(true, Ordering::Relaxed);
        }
        result
    }

    /// The path as seen from the repository.
    fn beneath<'a>(&self, path: &'a Path) -> io::Result<&'a Path> {
        let beneath = path.strip_prefix(&self.path).map_err(|_| escape())?;
        // An empty path leads nowhere.
        Ok(if beneath.as_os_str().is_empty() { Path::new(".") } else { beneath })
    }

    /// The path beneath the repository to open for `path`. An absolute symlink that stays inside is followed here,
    /// since a confined directory refuses every absolute one; what this finds is then opened confined.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let beneath = self.beneath(path)?;
        match self.dir.metadata(beneath) {
            Err(error) if is_escape(&error) => {
                let real = fs::canonicalize(path)?;
                real.strip_prefix(&self.real).map(Path::to_owned).map_err(|_| escape())
            }
            _ => Ok(beneath.to_owned()),
        }
    }
}

/// A path without `.` and `..`, by its letters: symlinks are not followed, and nothing is looked at.
pub(crate) fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

fn too_large(max: u64) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("larger than {max} bytes"))
}

fn escape() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "it leads out of the repository")
}

/// Whether a path was refused because it leads out of the repository, rather than by the kernel.
pub(crate) fn is_escape(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

/// Whether a file could not be read because the process or the system has run out of something: nothing that whoever
/// wrote the file can bring about.
pub(crate) fn is_exhausted(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let exhausted = [Errno::MFILE, Errno::NFILE, Errno::NOMEM];
    error.raw_os_error().is_some_and(|code| exhausted.iter().any(|it| it.raw_os_error() == code))
}

/// Why a file or directory of the user's is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum Exposed {
    #[error("others may write it (mode {0:o})")]
    Mode(u32),
    #[error("it belongs to another user (uid {0})")]
    Owner(u32),
}

impl Exposed {
    fn find(about: &fs::Metadata) -> Option<Self> {
        let (owner, mode) = (about.uid(), about.mode());
        if owner != 0 && owner != rustix::process::geteuid().as_raw() {
            return Some(Self::Owner(owner));
        }
        let others = mode & 0o002 != 0 || mode & 0o020 != 0 && !account::is_private_group(about.gid());
        others.then_some(Self::Mode(mode & 0o777))
    }
}

fn exposed(error: &io::Error) -> Option<Exposed> {
    error.get_ref()?.downcast_ref().copied()
}

/// Whether a file or directory was refused because somebody else may write it.
pub(crate) fn is_exposed(error: &io::Error) -> bool {
    exposed(error).is_some()
}

/// An error of the file system in words that read after a path.
pub(crate) fn explain(error: &io::Error) -> String {
    if is_escape(error) {
        return "leads out of the repository".to_owned();
    }
    if let Some(exposed) = exposed(error) {
        return format!("is not used: {exposed}");
    }
    if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        return "is a symlink that leads to itself".to_owned();
    }
    match error.kind() {
        io::ErrorKind::NotFound => "leads nowhere".to_owned(),
        kind if error.raw_os_error().is_some() => format!("cannot be read: {kind}"),
        _ => format!("cannot be read: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_path_is_made_plain_by_its_letters() {
        for (path, want) in
            [("/a/./b//c/", "/a/b/c"), ("/a/../b", "/b"), ("/../../b", "/b"), ("a/../../b", "b"), (".", "")]
        {
            assert_eq!(plain(Path::new(path)), Path::new(want), "{path}");
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
        let place = Place::repository(&repo).unwrap();
        assert_eq!(place.find(&repo).unwrap(), Found::Directory);
        assert_eq!(place.names(&repo).unwrap().0.len(), 7);
        for inside in ["sub/file", "relative", "absolute", "sub/../relative"] {
            assert_eq!(place.read(&repo.join(inside), 100).unwrap(), b"inside", "{inside}");
        }
        for out in
            ["out", "out-absolute", "out-dir/file", "proc", "../outside/file", "sub/../../outside/file"]
        {
            let error = place.find(&repo.join(out)).unwrap_err();
            assert!(is_escape(&error), "{out}: {error}");
            assert!(place.read(&repo.join(out), 100).is_err(), "{out}");
        }
        assert_eq!(Place::Global.read(&repo.join("out"), 100).unwrap(), b"outside");
    }

    #[test]
    fn a_file_beyond_its_limit_is_not_read() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("file"), "12345").unwrap();
        assert!(Place::Global.read(&temp.path().join("file"), 5).is_ok());
        let error = Place::Global.read(&temp.path().join("file"), 4).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert!(Place::Global.read(temp.path(), 4).is_err());
        let digest = |max| Place::Global.digest(&temp.path().join("file"), max);
        assert_eq!(digest(5).unwrap(), Digest::of(b"12345"));
        assert_eq!(digest(4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }
}
