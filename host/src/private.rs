//! Directories that belong to the user alone: compiled code is loaded from one, trust and state are kept in
//! another.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt as _, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// Why a directory cannot be used as a private one.
#[derive(Debug, thiserror::Error)]
#[error("{path} cannot be used: {kind}", path = path.display())]
pub struct PrivateError {
    /// The directory.
    pub path: PathBuf,
    /// What is wrong with it.
    pub kind: PrivateErrorKind,
}

/// What is wrong with a directory that should be private.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrivateErrorKind {
    /// It lies inside the repository, which may have been written by somebody else.
    #[error("it lies inside the repository {}", .0.display())]
    InRepository(PathBuf),
    /// It belongs to another user.
    #[error("it belongs to another user (uid {0})")]
    Owner(u32),
    /// Others may write to it.
    #[error("others may write to it (mode {0:o})")]
    Mode(u32),
    /// It is no directory.
    #[error("it is no directory")]
    NotADirectory,
    /// The system says no.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Where compiled code and cached answers are kept by default: `$XDG_CACHE_HOME/hookbox`, else `~/.cache/hookbox`.
pub fn default_cache(home: Option<&Path>) -> Option<PathBuf> {
    let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    base.or_else(|| home.map(|home| home.join(".cache"))).map(|base| base.join("hookbox"))
}

/// Where trust, grants and state are kept by default: `$XDG_DATA_HOME/hookbox`, else `~/.local/share/hookbox`.
pub fn default_data(home: Option<&Path>) -> Option<PathBuf> {
    let base = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    base.or_else(|| home.map(|home| home.join(".local/share"))).map(|base| base.join("hookbox"))
}

/// Opens a private directory: made with mode 0700 where it is missing; one that stands has to be the user's own,
/// not writable by others, and outside the repository.
///
/// # Errors
///
/// [`PrivateError`] says which of these does not hold.
pub fn open(path: &Path, repository: Option<&Path>) -> Result<PathBuf, PrivateError> {
    check(path, repository).map_err(|kind| PrivateError { path: path.to_owned(), kind })
}

fn check(path: &Path, repository: Option<&Path>) -> Result<PathBuf, PrivateErrorKind> {
    let outside = |path: &Path| match repository {
        Some(repository) if !repository.as_os_str().is_empty() && path.starts_with(repository) => {
            Err(PrivateErrorKind::InRepository(repository.to_owned()))
        }
        _ => Ok(()),
    };
    // Before anything is made there, and again when symlinks are resolved.
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
    let metadata = fs::metadata(&path)?;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(PrivateErrorKind::Owner(metadata.uid()));
    }
    if metadata.mode() & 0o022 != 0 {
        return Err(PrivateErrorKind::Mode(metadata.mode() & 0o777));
    }
    if metadata.mode() & 0o077 != 0 {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
    }
    Ok(path)
}

/// Opens a file in such a directory to read. Only a regular file that stands there itself is opened: no symlink is
/// followed, and nobody waits for the other end of a pipe that was put in its place.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// Reads such a file, which may have at most `max` bytes.
pub(crate) fn read_file(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_file(path)?.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn only_a_regular_file_that_stands_there_itself_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("file"), "12345").unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        let read = |name: &str, max: u64| read_file(&at(name), max).ok();
        assert_eq!(read("file", 5).as_deref(), Some(&b"12345"[..]));
        for (name, max) in [("file", 4), ("link", 5), ("pipe", 5), (".", 5), ("nothing", 5)] {
            assert_eq!(read(name, max), None, "{name}");
        }
        // Nor does anybody wait for a device.
        assert!(read_file(Path::new("/dev/zero"), 5).is_err());
    }
}
