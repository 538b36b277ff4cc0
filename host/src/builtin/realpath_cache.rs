//! Resolves the symlinks of many paths that share directories.

use hookbox_system::limits;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A cache of paths without symlinks. It resolves each directory once, so that a hundred names in twenty directories do
/// not take a thousand system calls.
#[derive(Default)]
pub(super) struct RealpathCache {
    known: HashMap<PathBuf, Known>,
}

/// The facts about one path.
#[derive(Clone, Default)]
struct Known {
    is_there: bool,
    real: Option<PathBuf>,
}

impl RealpathCache {
    /// Returns the result of [`Path::canonicalize`]; `None` if nothing has the path.
    pub(super) fn of(&mut self, path: &Path) -> Option<PathBuf> {
        self.known(path).real
    }

    /// Returns true if something has the path, be it a symlink to nothing.
    pub(super) fn is_there(&mut self, path: &Path) -> bool {
        self.known(path).is_there
    }

    fn known(&mut self, path: &Path) -> Known {
        if let Some(known) = self.known.get(path) {
            return known.clone();
        }
        let known = match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) if path.is_absolute() && path.as_os_str().len() <= limits::PATH => {
                self.of(parent).map(|parent| beneath(parent.join(name))).unwrap_or_default()
            }
            // The root, and a path that ends in `..`.
            _ => Known { is_there: path.symlink_metadata().is_ok(), real: path.canonicalize().ok() },
        };
        self.known.insert(path.to_owned(), known.clone());
        known
    }
}

/// Resolves a path whose directory has no symlinks.
fn beneath(path: PathBuf) -> Known {
    match path.symlink_metadata() {
        Ok(about) if about.is_symlink() => Known { is_there: true, real: path.canonicalize().ok() },
        Ok(_) => Known { is_there: true, real: Some(path) },
        Err(_) => Known::default(),
    }
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
                assert_eq!(real.is_there(&path), path.symlink_metadata().is_ok(), "{name}");
            }
        }
        for path in ["/", "/..", "", ".", "relative", &"/x".repeat(limits::PATH)] {
            assert_eq!(real.of(Path::new(path)), Path::new(path).canonicalize().ok(), "{path}");
        }
    }
}
