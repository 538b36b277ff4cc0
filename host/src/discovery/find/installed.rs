//! The plugins of a root that hookbox installed.

use std::path::Path;

use crate::discovery::problem::Problem;
use crate::hook::Tier;
use crate::lockfile::{self, InstalledFiles, Lock};
use hookbox_system::files::{self, FileAccess};

/// The plugins that hookbox installed in a root.
#[derive(Default)]
pub(super) struct Installed {
    lock: Lock,
    /// True if hookbox may have installed any other plugin of the home directory: the lock file cannot be read, or a
    /// command is changing the plugins.
    perhaps_all: bool,
}

impl Installed {
    /// Reads the lock file beside a `plugins` directory of the user's. Whoever may change a repository writes its lock file,
    /// so that nothing depends on that one.
    pub(super) fn read(access: &FileAccess, tier: Tier, plugins: &Path, problems: &mut Vec<Problem>) -> Self {
        if tier != Tier::GlobalPlugin {
            return Self::default();
        }
        let unknown = Self { perhaps_all: true, ..Self::default() };
        let pending = plugins.with_file_name(lockfile::PENDING);
        if access.entry_kind(&pending).is_ok() || access.is_symlink(&pending) {
            return unknown;
        }
        let file = plugins.with_file_name(lockfile::FILE);
        let why = match access.read_if_exists(&file, lockfile::MAX_FILE) {
            None => return Self::default(),
            Some(Err(error)) => files::explain(&error),
            Some(Ok(bytes)) => match Lock::from_bytes(&bytes) {
                Ok(lock) => return Self { lock, perhaps_all: false },
                Err(error) => error.to_string(),
            },
        };
        let message = format!("{why}: the plugins beside it run only as far as you trust their hooks");
        problems.push(Problem::new(&file, message).hint(lockfile::hint(&file)));
        unknown
    }

    /// Returns true if hookbox may have installed the plugin in this directory.
    pub(super) fn contains(&self, directory: &str) -> bool {
        self.perhaps_all || self.lock.of_directory(directory).is_some()
    }

    /// Returns the files that it installed in this directory, if they are known.
    pub(super) fn files(&self, directory: &str) -> InstalledFiles {
        self.lock.of_directory(directory).map(|it| it.files.clone()).unwrap_or_default()
    }
}
