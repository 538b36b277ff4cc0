//! The files and variables around an agent's configuration, as the doctor reads and shows them.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::config::MAX_BYTES;
use crate::files::{FileAccess, explain};
use crate::finding::Examination;
use crate::text;

/// Returns a variable of this process, if it is set and not empty.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|it| !it.is_empty())
}

/// Returns true if a variable of this process has this value.
pub(crate) fn has(name: &str, value: &str) -> bool {
    variable(name).is_some_and(|it| it == value)
}

/// Reads a regular file; `None` if it does not exist. Any other error is a finding.
pub(crate) fn contents(path: &Path, found: &mut Examination) -> Option<Vec<u8>> {
    contents_of(path).map_err(|error| report_unread(path, &error, found)).ok()
}

/// Reads a regular file of usual size.
pub(crate) fn contents_of(path: &Path) -> std::io::Result<Vec<u8>> {
    FileAccess::Anywhere.read(path, MAX_BYTES as u64)
}

/// Adds a finding about a file that cannot be read, unless it does not exist.
pub(crate) fn report_unread(path: &Path, error: &std::io::Error, found: &mut Examination) {
    if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) {
        let message = format!("{} {}", shown(path), explain(error));
        found.fail("configuration", message, "make it a file of usual size that you can read");
    }
}

/// Returns a path for a person, escaped.
pub(crate) fn shown(path: &Path) -> String {
    text::escape(&path.to_string_lossy(), 500)
}

/// Returns a path without symlinks, if it exists.
pub(crate) fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Returns the root of the repository around a directory.
pub(crate) fn repository_root(directory: &Path) -> Option<&Path> {
    directory.ancestors().find(|it| it.join(".git").symlink_metadata().is_ok())
}
