//! The temporary directories that a demo works in.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use tempfile::TempDir;

/// A home with the user's hooks, a project, and hookbox's cache and data.
pub(super) struct Directories {
    pub(super) home: PathBuf,
    pub(super) work: PathBuf,
    pub(super) cache: PathBuf,
    pub(super) data: PathBuf,
    /// Removes all of them when dropped.
    _dir: TempDir,
}

impl Directories {
    /// Creates the directories, with these components as the user's hooks, and makes the project the working
    /// directory of the process.
    pub(super) fn new(from: &Path, components: &[&str]) -> Result<Self> {
        let dir = tempfile::Builder::new().prefix("hookbox-demo-").tempdir()?;
        let at = |name: &str| dir.path().join(name);
        let directories =
            Self { home: at("home"), work: at("project"), cache: at("cache"), data: at("data"), _dir: dir };
        let hooks = directories.home.join(".hookbox/hooks");
        fs::create_dir_all(&hooks)?;
        fs::create_dir_all(&directories.work)?;
        for name in components {
            let file = format!("{name}.wasm");
            fs::copy(from.join(&file), hooks.join(&file)).with_context(|| format!("cannot copy {file}"))?;
        }
        // Native hooks run in the directory of the process.
        std::env::set_current_dir(&directories.work)?;
        Ok(directories)
    }
}

/// Writes an executable file.
pub(super) fn executable(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    Ok(())
}
