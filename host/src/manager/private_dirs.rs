//! The choice of the private directories.

use std::path::{Path, PathBuf};

/// The choice of a private directory.
#[derive(Clone, Debug, Default)]
pub(super) enum PrivateDir {
    #[default]
    Default,
    At(PathBuf),
    None,
}

impl PrivateDir {
    pub(super) fn of(directory: Option<PathBuf>) -> Self {
        directory.map_or(Self::None, Self::At)
    }

    pub(super) fn path(
        &self,
        default: fn(Option<&Path>) -> Option<PathBuf>,
        home: Option<&Path>,
    ) -> Option<PathBuf> {
        match self {
            Self::Default => default(home),
            Self::At(directory) => Some(directory.clone()),
            Self::None => None,
        }
    }
}
