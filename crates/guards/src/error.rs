//! The reasons why a guard cannot be put into its place.

use std::io;
use std::path::{Path, PathBuf};

use hookbox::trust::{PrivateFileError, PrivateFileErrorKind};

/// The reason why a file of a guard cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {kind}", path = path.display())]
pub struct GuardsError {
    /// The file.
    pub path: PathBuf,
    /// The reason.
    #[source]
    pub kind: GuardsErrorKind,
}

/// The kinds of [`GuardsError`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GuardsErrorKind {
    /// The settings are not TOML, or have another value where a table belongs.
    #[error("{0}")]
    Settings(String),
    /// The inventory of what was written cannot be used.
    #[error(transparent)]
    Inventory(PrivateFileErrorKind),
    /// Another process changed the settings since they were read.
    #[error("somebody else changed it just now")]
    Changed,
    /// The system refused.
    #[error(transparent)]
    Io(io::Error),
}

impl GuardsError {
    pub(crate) fn new(path: &Path, kind: GuardsErrorKind) -> Self {
        Self { path: path.to_owned(), kind }
    }

    pub(crate) fn io(path: &Path, error: io::Error) -> Self {
        Self::new(path, GuardsErrorKind::Io(error))
    }
}

impl From<PrivateFileError> for GuardsError {
    fn from(PrivateFileError { path, kind }: PrivateFileError) -> Self {
        Self { path, kind: GuardsErrorKind::Inventory(kind) }
    }
}
