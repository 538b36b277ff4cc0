//! The plugins of the home directory that hookbox installed.

use std::path::Path;

use crate::discovery::problem::Problem;
use crate::files::{self, FileAccess};
use crate::hook::Tier;
use crate::lockfile::{self, Lock};

/// The plugins that hookbox installed: their hooks need the user's trust.
pub(super) enum Installed {
    /// The plugins that the lock file names.
    Named(Lock),
    /// Perhaps all: the lock file cannot be read, or a command is changing the plugins.
    Unknown,
}

impl Installed {
    /// Reads the lock file beside a `plugins` directory of the user's.
    pub(super) fn read(access: &FileAccess, tier: Tier, plugins: &Path, problems: &mut Vec<Problem>) -> Self {
        if tier != Tier::GlobalPlugin {
            return Self::Named(Lock::default());
        }
        let pending = plugins.with_file_name(lockfile::PENDING);
        if access.entry_kind(&pending).is_ok() || access.is_symlink(&pending) {
            return Self::Unknown;
        }
        let file = plugins.with_file_name(lockfile::FILE);
        let why = match access.read_if_exists(&file, lockfile::MAX_FILE) {
            None => return Self::Named(Lock::default()),
            Some(Err(error)) => files::explain(&error),
            Some(Ok(bytes)) => match Lock::from_bytes(&bytes) {
                Ok(lock) => return Self::Named(lock),
                Err(error) => error.to_string(),
            },
        };
        let message = format!("{why}: the plugins beside it run only as far as you trust their hooks");
        problems.push(Problem::new(&file, message).hint(lockfile::hint(&file)));
        Self::Unknown
    }

    /// Returns true if hookbox may have installed the plugin in this directory.
    pub(super) fn contains(&self, directory: &str) -> bool {
        match self {
            Self::Named(lock) => lock.names_directory(directory),
            Self::Unknown => true,
        }
    }
}
