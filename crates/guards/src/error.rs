//! The reasons why a guard cannot be put into its place.

use std::io;
use std::path::{Path, PathBuf};

use hookbox::trust::{Inventory, InventoryError};
use hookbox_system::files::{FileLock, LockError};

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
    /// The inventory of what was written is not one of this version.
    #[error("{0}")]
    Inventory(InventoryError),
    /// Another process changed the settings since they were read.
    #[error("somebody else changed it just now")]
    Changed,
    /// Another process adds or removes guards.
    #[error("is locked by another process for more than {} s", FileLock::PATIENCE.as_secs())]
    Locked,
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

    pub(crate) fn inventory(data: &Path, error: InventoryError) -> Self {
        let path = data.join(Inventory::FILE);
        match error {
            InventoryError::Io(error) => Self::io(&path, error),
            error => Self::new(&path, GuardsErrorKind::Inventory(error)),
        }
    }

    pub(crate) fn lock(path: &Path, error: LockError) -> Self {
        match error {
            LockError::Io(error) => Self::io(path, error),
            _ => Self::new(path, GuardsErrorKind::Locked),
        }
    }
}
