//! Directories and files that belong to the user alone: compiled code is loaded from one directory, and trust and
//! state are kept in another.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt as _, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;

/// The reason why a directory cannot be used as a private one.
#[derive(Debug, thiserror::Error)]
#[error("{path} cannot be used: {kind}", path = path.display())]
pub struct PrivateError {
    /// The directory.
    pub path: PathBuf,
    /// The reason.
    pub kind: PrivateErrorKind,
}

/// The kinds of [`PrivateError`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrivateErrorKind {
    /// The directory is inside the repository, whose files may come from somebody else.
    #[error("it lies inside the repository {}", .0.display())]
    InRepository(PathBuf),
    /// The directory belongs to another user.
    #[error("it belongs to another user (uid {0})")]
    Owner(u32),
    /// Others may write to it.
    #[error("others may write to it (mode {0:o})")]
    Mode(u32),
    /// The path is not a directory.
    #[error("it is not a directory")]
    NotADirectory,
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Returns the default directory of compiled code and cached answers: `$XDG_CACHE_HOME/hookbox`, else `~/.cache/hookbox`.
pub fn default_cache(home: Option<&Path>) -> Option<PathBuf> {
    let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    base.or_else(|| home.map(|home| home.join(".cache"))).map(|base| base.join("hookbox"))
}

/// Returns the default directory of trust, grants and state: `$XDG_DATA_HOME/hookbox`, else `~/.local/share/hookbox`.
pub fn default_data(home: Option<&Path>) -> Option<PathBuf> {
    let base = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    base.or_else(|| home.map(|home| home.join(".local/share"))).map(|base| base.join("hookbox"))
}

/// Returns the directory of compiled code if the default one cannot be written: `$XDG_RUNTIME_DIR/hookbox`. The system
/// empties it at the end of the user's last session. `None` if nobody made a private directory for that user, outside of
/// the repository.
pub fn second_cache(repository: Option<&Path>) -> Option<PathBuf> {
    let base = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute())?;
    let about = fs::metadata(&base).ok()?;
    let is_own = about.uid() == rustix::process::geteuid().as_raw() && about.mode() & 0o077 == 0;
    let own = base.canonicalize().ok().filter(|_| is_own)?.join("hookbox");
    open(&own, repository).ok()
}

/// Opens a private directory, and creates it with mode 0700 if it is missing. Returns its path without symlinks.
///
/// # Errors
///
/// [`PrivateError`] if it belongs to another user, if others may write to it, or if it lies in the repository.
pub fn open(path: &Path, repository: Option<&Path>) -> Result<PathBuf, PrivateError> {
    made(path, repository).map_err(|kind| PrivateError { path: path.to_owned(), kind })
}

/// Checks that a directory belongs to the user, and that nobody else may write to it.
///
/// # Errors
///
/// [`PrivateErrorKind`], without the path.
pub fn check(path: &Path) -> Result<(), PrivateErrorKind> {
    let metadata = fs::metadata(path)?;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(PrivateErrorKind::Owner(metadata.uid()));
    }
    if metadata.mode() & 0o022 != 0 { Err(PrivateErrorKind::Mode(metadata.mode() & 0o777)) } else { Ok(()) }
}

fn made(path: &Path, repository: Option<&Path>) -> Result<PathBuf, PrivateErrorKind> {
    let outside = |path: &Path| match repository {
        Some(repository) if !repository.as_os_str().is_empty() && path.starts_with(repository) => {
            Err(PrivateErrorKind::InRepository(repository.to_owned()))
        }
        _ => Ok(()),
    };
    // Checked before anything is created there, and again when the symlinks are resolved.
    outside(path)?;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => PrivateErrorKind::NotADirectory,
        _ => PrivateErrorKind::Io(error),
    })?;
    let path = path.canonicalize()?;
    outside(&path)?;
    if let Some(repository) = repository.and_then(|repository| repository.canonicalize().ok())
        && path.starts_with(&repository)
    {
        return Err(PrivateErrorKind::InRepository(repository));
    }
    check(&path)?;
    if fs::metadata(&path)?.mode() & 0o077 != 0 {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
    }
    Ok(path)
}

/// Opens a file of a private directory to read it.
///
/// # Errors
///
/// The system's own, and `InvalidInput` for anything but a regular file of the user's own that nobody else may write. No
/// symlink is followed, and a pipe does not block.
pub fn open_file(path: &Path) -> io::Result<File> {
    open_private(path, OpenOptions::new().read(true))
}

/// Opens a file of a private directory to write it, and creates it with mode 0600 if it is missing.
///
/// # Errors
///
/// As for [`open_file`].
pub fn create_file(path: &Path) -> io::Result<File> {
    open_private(path, OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600))
}

/// Reads a file of a private directory, of at most `max` bytes.
///
/// # Errors
///
/// As for [`open_file`], and `FileTooLarge` beyond `max`.
pub fn read_file(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let file = open_file(path)?;
    // With room for all of it, one read is enough.
    let size = file.metadata()?.len().min(max);
    let mut bytes = Vec::with_capacity(usize::try_from(size + 1).unwrap_or_default());
    file.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max { Err(super::refusal::too_large(max)) } else { Ok(bytes) }
}

fn open_private(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let refused = |why: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    let file =
        match options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed()).open(path) {
            Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
                return refused("it is a symlink");
            }
            file => file?,
        };
    let about = file.metadata()?;
    if !about.is_file() {
        return refused("it is not a regular file");
    }
    if about.uid() != rustix::process::geteuid().as_raw() {
        return refused("it belongs to another user");
    }
    if about.mode() & 0o022 != 0 { refused("others may write it") } else { Ok(file) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn a_private_directory_is_the_users_alone_and_in_no_repository() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let made = open(&at("new/cache"), None).unwrap();
        assert_eq!(fs::metadata(made).unwrap().mode() & 0o777, 0o700);

        fs::create_dir(at("open")).unwrap();
        fs::set_permissions(at("open"), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(open(&at("open"), None).unwrap_err().kind, PrivateErrorKind::Mode(0o777)));

        fs::write(at("file"), "").unwrap();
        assert!(matches!(open(&at("file"), None).unwrap_err().kind, PrivateErrorKind::NotADirectory));

        let inside = open(&at("repo/cache"), Some(&at("repo"))).unwrap_err();
        assert!(matches!(inside.kind, PrivateErrorKind::InRepository(_)), "{inside}");
    }

    #[test]
    fn only_a_private_regular_file_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        create_file(&at("file")).unwrap().write_all(b"12345").unwrap();
        assert_eq!(fs::metadata(at("file")).unwrap().mode() & 0o777, 0o600);
        fs::write(at("shared"), "12345").unwrap();
        fs::set_permissions(at("shared"), fs::Permissions::from_mode(0o620)).unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        let read = |name: &str, max: u64| read_file(&at(name), max).ok();
        assert_eq!(read("file", 5).as_deref(), Some(&b"12345"[..]));
        for (name, max) in [("file", 4), ("shared", 5), ("link", 5), ("pipe", 5), (".", 5), ("nothing", 5)] {
            assert_eq!(read(name, max), None, "{name}");
        }
        assert!(read_file(Path::new("/dev/zero"), 5).is_err());
    }
}
