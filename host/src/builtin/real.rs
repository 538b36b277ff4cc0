//! Where many paths that lie near each other lead to.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Beyond this length, in bytes, a path is looked at as a whole: one of a system has fewer (`PATH_MAX`).
const MAX: usize = 4096;

/// Paths without symlinks, each directory on the way looked at once: a hundred names in twenty directories would
/// otherwise be some thousand looks.
#[derive(Default)]
pub(super) struct RealPaths {
    known: HashMap<PathBuf, Option<PathBuf>>,
}

impl RealPaths {
    /// What [`Path::canonicalize`] says of it; `None` where nothing stands there.
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
            // The root, and what ends in `..`.
            _ => path.canonicalize().ok(),
        };
        self.known.insert(path.to_owned(), real.clone());
        real
    }
}

/// A path in a directory whose path has no symlinks.
fn beneath(path: PathBuf) -> Option<PathBuf> {
    if path.symlink_metadata().ok()?.is_symlink() { path.canonicalize().ok() } else { Some(path) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_path_leads_where_the_system_says() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        fs::create_dir_all(at("a/b")).unwrap();
        fs::write(at("a/b/file"), "").unwrap();
        for (link, to) in
            [("link", "a"), ("a/up", "../a/b"), ("loop", "loop"), ("gone", "nowhere"), ("to", "a/b/file")]
        {
            symlink(to, at(link)).unwrap();
        }
        let mut real = RealPaths::default();
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
