//! The reasons why a file is not used.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::{account, text};

/// The reason why a file or directory of the user's is not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Exposed {
    #[error("others may write it (mode {0:o})")]
    Mode(u32),
    #[error("it belongs to another user (uid {0})")]
    Owner(u32),
    #[error("it is a symlink")]
    Link,
    #[error("{}, above it: {why}", text::shown_path(directory))]
    Above { directory: PathBuf, why: Box<Exposed> },
}

/// Checks that a file belongs to the user or the system, and that nobody else may write it.
pub(super) fn check_owner(about: &Metadata) -> io::Result<()> {
    let (owner, mode) = (about.uid(), about.mode());
    if owner != 0 && owner != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other(Exposed::Owner(owner)));
    }
    let is_exposed = mode & 0o002 != 0 || mode & 0o020 != 0 && !account::is_private_group(about.gid());
    if is_exposed { Err(io::Error::other(Exposed::Mode(mode & 0o777))) } else { Ok(()) }
}

/// Checks that a file belongs to the administrator, that nobody else may write it, and that it is no symlink. `above` is
/// its path, if it is a directory above the one in question.
pub(super) fn check_system(about: &Metadata, administrator: u32, above: Option<&Path>) -> io::Result<()> {
    let why = match (about.uid(), about.mode()) {
        _ if about.is_symlink() => Exposed::Link,
        (owner, _) if owner != administrator => Exposed::Owner(owner),
        (_, mode) if mode & 0o022 != 0 => Exposed::Mode(mode & 0o777),
        _ => return Ok(()),
    };
    Err(io::Error::other(match above {
        Some(directory) => Exposed::Above { directory: directory.to_owned(), why: Box::new(why) },
        None => why,
    }))
}

fn exposed(error: &io::Error) -> Option<&Exposed> {
    error.get_ref()?.downcast_ref()
}

/// Returns true if a file or directory was refused because somebody else may write it.
pub fn is_exposed(error: &io::Error) -> bool {
    exposed(error).is_some()
}

/// Returns the command that takes the right to write this file or directory from others.
pub(super) fn permission_hint(error: &io::Error, path: &Path) -> Option<String> {
    let path = text::shell_word(&text::shown_path(path));
    Some(match exposed(error)? {
        Exposed::Mode(_) => format!("check its contents, then: chmod go-w {path}"),
        _ => format!("check its contents, then make it yours: chown \"$(id -u)\" {path}"),
    })
}

pub(super) fn too_large(max: u64) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("larger than {max} bytes"))
}

pub(super) fn escape() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "it leads out of the repository")
}

/// Returns true if a path was refused because it leads out of the repository, rather than by the kernel.
pub fn is_escape(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

/// Returns true if a file could not be read because the process or the system ran out of file descriptors or memory:
/// the author of the file cannot cause that.
pub fn is_exhausted(error: &io::Error) -> bool {
    let exhausted = [Errno::MFILE, Errno::NFILE, Errno::NOMEM];
    error.raw_os_error().is_some_and(|code| exhausted.iter().any(|it| it.raw_os_error() == code))
}

/// Describes an error of the file system, to be read after a path.
pub fn explain(error: &io::Error) -> String {
    if is_escape(error) {
        return "leads out of the repository".to_owned();
    }
    if let Some(exposed) = exposed(error) {
        return format!("is not used: {exposed}");
    }
    if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) {
        return "is a symlink that leads to itself".to_owned();
    }
    match error.kind() {
        io::ErrorKind::NotFound => "leads nowhere".to_owned(),
        kind if error.raw_os_error().is_some() => format!("cannot be read: {kind}"),
        _ => format!("cannot be read: {error}"),
    }
}
