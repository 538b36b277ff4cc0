//! Following the sources of a project.

use std::fs;
use std::path::{Path, PathBuf};

use hookbox_system::files::changes::WatchedDirectories;
use thiserror::Error;

/// Directories at the top of a project that tools write, or that are not part of the hook. Elsewhere they may be modules.
const NOT_SOURCES: [&str; 5] = [".git", ".venv", "cases", "target", "venv"];

/// Directories that tools write anywhere.
const WRITTEN: [&str; 2] = ["__pycache__", "node_modules"];

/// The beginning of the name of a directory in which a build works.
pub(super) const WORK: &str = ".build-";

/// The file that marks a directory as a cache. cargo writes it into a target directory of any name.
const CACHE: &str = "CACHEDIR.TAG";

/// The number of directories that are watched. The system's own limits are some thousands for all programs of a user.
const MAX_DIRECTORIES: usize = 1_024;

/// The sources cannot be followed.
#[derive(Debug, Error)]
pub enum WatchError {
    /// The directory cannot be read.
    #[error("{}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The failure.
        source: std::io::Error,
    },
    /// The system does not let files be watched.
    #[error("changes of files cannot be followed")]
    System(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The sources of a project, and their changes.
#[derive(Debug)]
pub struct Sources {
    dir: PathBuf,
    watched: WatchedDirectories,
    seen: u64,
}

impl Sources {
    /// Follows the sources in the directory of a project.
    ///
    /// # Errors
    ///
    /// The directory cannot be read, or the system does not let files be watched.
    pub fn follow(dir: &Path) -> Result<Self, WatchError> {
        let fail = |source| WatchError::Directory { path: dir.to_owned(), source };
        let dir = dir.canonicalize().map_err(fail)?;
        let base = dir.clone();
        let counts = move |path: &Path| path.strip_prefix(&base).is_ok_and(is_source);
        let watched = WatchedDirectories::new(counts).map_err(|error| WatchError::System(error.into()))?;
        Ok(Self { dir, watched, seen: 0 })
    }

    /// Begins a build: later changes count. Returns the directories that cannot be watched, each with the reason.
    pub fn begin(&mut self) -> Vec<(PathBuf, String)> {
        let (directories, left_out) = directories(&self.dir);
        let failed = self.watched.watch(directories).into_iter();
        let mut failed: Vec<_> = failed.map(|(dir, error)| (dir, error.to_string())).collect();
        let too_many = "too many directories are watched already".to_owned();
        failed.extend(left_out.map(|dir| (dir, too_many)));
        self.seen = self.watched.changes().number();
        failed
    }

    /// Waits until a source has changed since the last [`begin`](Self::begin), and until the changes have ended. Returns
    /// the last path, from the directory of the project.
    pub async fn changed(&self) -> Option<PathBuf> {
        let changes = self.watched.changes();
        changes.after(self.seen).await;
        changes.quiet().await;
        changes.last().map(|path| path.strip_prefix(&self.dir).unwrap_or(&path).to_owned())
    }
}

/// Returns true if a change of this path, from the directory of the project, may change the hook.
fn is_source(path: &Path) -> bool {
    let names: Vec<_> = path.iter().map(|name| name.to_string_lossy()).collect();
    let is_foreign = |name: &str| {
        // Editors write them.
        let is_temporary = name.starts_with(".#") || name.ends_with('~') || name.ends_with(".swp");
        WRITTEN.contains(&name) || is_temporary || name == "Cargo.lock"
    };
    let is_foreign_at_the_top = match names.as_slice() {
        [name] if name.ends_with(".wasm") => true,
        [name, ..] => NOT_SOURCES.contains(&&**name) || name.starts_with(WORK),
        [] => false,
    };
    !is_foreign_at_the_top && !names.iter().any(|name| is_foreign(name))
}

/// Returns the directories with sources, and the first one beyond the limit. Symlinks are not followed.
fn directories(dir: &Path) -> (Vec<PathBuf>, Option<PathBuf>) {
    let (mut found, mut at) = (vec![dir.to_owned()], 0);
    while let Some(parent) = found.get(at).cloned() {
        at += 1;
        // A directory that has gone meanwhile has no changes, either.
        let Ok(entries) = fs::read_dir(&parent) else { continue };
        let mut beneath: Vec<PathBuf> = entries
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|it| it.is_dir()))
            .map(|entry| entry.path())
            .filter(|path| path.strip_prefix(dir).is_ok_and(is_source) && !path.join(CACHE).exists())
            .collect();
        beneath.sort();
        for path in beneath {
            if found.len() == MAX_DIRECTORIES {
                return (found, Some(path));
            }
            found.push(path);
        }
    }
    (found, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_build_or_an_editor_writes_is_not_a_source() {
        for (path, counts) in [
            ("src/lib.rs", true),
            ("Cargo.toml", true),
            (".cargo/config.toml", true),
            ("guard.rules.toml", true),
            ("guard", true),
            ("vendor/wit/hook.wit", true),
            ("src/table.wasm", true),
            ("guard.wasm", false),
            ("Cargo.lock", false),
            ("target/debug/x.d", false),
            ("src/target/mod.rs", true),
            ("src/cases/mod.rs", true),
            ("packages/a/node_modules/x.js", false),
            ("node_modules/x/index.js", false),
            (".venv/bin/python", false),
            (".git/index", false),
            ("vendor/hookbox_sdk/__pycache__/hook.pyc", false),
            (".build-a1b2/hook.js", false),
            ("cases/first.toml", false),
            ("src/lib.rs~", false),
            ("src/.#lib.rs", false),
            ("src/.lib.rs.swp", false),
        ] {
            assert_eq!(is_source(Path::new(path)), counts, "{path}");
        }
    }

    #[test]
    fn directories_that_tools_fill_are_not_watched() {
        let dir = tempfile::tempdir().unwrap();
        for path in ["src/deep", "target/debug", "node_modules/x", "out/release", ".git/refs"] {
            fs::create_dir_all(dir.path().join(path)).unwrap();
        }
        fs::write(dir.path().join("out/CACHEDIR.TAG"), "").unwrap();
        std::os::unix::fs::symlink("src", dir.path().join("link")).unwrap();
        let (found, left_out) = directories(dir.path());
        let found: Vec<_> = found.iter().map(|it| it.strip_prefix(dir.path()).unwrap()).collect();
        assert_eq!(found, ["", "src", "src/deep"].map(Path::new));
        assert_eq!(left_out, None);
    }

    #[test]
    fn the_number_of_directories_has_a_limit() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..MAX_DIRECTORIES {
            fs::create_dir(dir.path().join(format!("{number:04}"))).unwrap();
        }
        let (found, left_out) = directories(dir.path());
        assert_eq!((found.len(), left_out), (MAX_DIRECTORIES, Some(dir.path().join("1023"))));
    }
}
