//! Resolves the symlinks of many paths that share directories.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The longest path that is resolved part by part, in bytes: `PATH_MAX`.
const MAX: usize = 4096;

/// A cache of paths without symlinks. It resolves each directory once, so that a hundred names in twenty directories do
/// not take a thousand system calls.
#[derive(Default)]
pub(super) struct RealpathCache {
    known: HashMap<PathBuf, Option<PathBuf>>,
}

impl RealpathCache {
    /// Returns the result of [`Path::canonicalize`]; `None` if nothing has the path.
    pub(super) fn of(&mut self, path: &Path) -> Option<PathBuf> {
        if path.as_os_str().len() > MAX {
            return path.canonicalize().ok();
        }
        if let Some(known) = self.known.get(path) {
            return known.clone();
        }
        let real = match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) if path.is_absolute() => {
                self.of(parent).and_then(|parent| beneath(parent.join(name)))
            }
            // The root, and a path that ends in `..`.
            _ => path.canonicalize().ok(),
        };
        self.known.insert(path.to_owned(), real.clone());
        real
    }
}

/// Resolves a path whose directory has no symlinks.
fn beneath(path: PathBuf) -> Option<PathBuf> {
    if path.symlink_metadata().ok()?.is_symlink() { path.canonicalize().ok() } else { Some(path) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_path_is_resolved_as_the_system_does() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        fs::create_dir_all(at("a/b")).unwrap();
        fs::write(at("a/b/file"), "").unwrap();
        for (link, to) in
            [("link", "a"), ("a/up", "../a/b"), ("loop", "loop"), ("gone", "nowhere"), ("to", "a/b/file")]
        {
            symlink(to, at(link)).unwrap();
        }
        let mut real = RealpathCache::default();
        for name in [
            "a/b/file",
            "a/b",
            "link/b/file",
            "link",
            "a/up/file",
            "link/up/file",
            "a/./b/file",
            "a/../a/b/file",
            "a/up/..",
            "a/up/../b",
            "to",
            "loop",
            "loop/x",
            "gone",
            "gone/x",
            "a/b/file/x",
            "none/x/y",
            "",
        ] {
            let path = at(name);
            for _ in 0..2 {
                assert_eq!(real.of(&path), path.canonicalize().ok(), "{name}");
            }
        }
        for path in ["/", "/..", "", ".", "relative", &"/x".repeat(MAX)] {
            assert_eq!(real.of(Path::new(path)), Path::new(path).canonicalize().ok(), "{path}");
        }
    }
}
