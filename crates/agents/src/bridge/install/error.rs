//! The error of a file that is not changed.

use std::io;
use std::path::{Path, PathBuf};

use crate::config::DocumentError;
use crate::text;
use hookbox::Hint;

/// A configuration was not changed, and neither was anything else.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {what}", text::escape(&path.to_string_lossy(), 1000))]
pub struct InstallError {
    /// The file, or the directory.
    pub path: PathBuf,
    /// The problem.
    pub what: String,
    /// The next step for the user.
    pub hint: Hint,
}

impl InstallError {
    pub(crate) fn new(path: &Path, what: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self { path: path.to_owned(), what: what.into(), hint: hint.into() }
    }

    pub(crate) fn io(path: &Path, error: &io::Error) -> Self {
        let hint = match error.kind() {
            io::ErrorKind::PermissionDenied => "see who may write there",
            io::ErrorKind::ReadOnlyFilesystem => {
                "another program may manage it: let that one write the entries that --dry-run shows"
            }
            _ => "nothing was changed",
        };
        Self::new(path, text::escape(&error.to_string(), 500), hint)
    }

    pub(crate) fn document(path: &Path, error: DocumentError) -> Self {
        Self { path: path.to_owned(), what: error.what, hint: error.hint }
    }
}
