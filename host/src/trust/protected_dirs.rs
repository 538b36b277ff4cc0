//! Directories that no hook may write, because their files decide which hooks run.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::capability::{Base, Capability, Directory, Rights};

/// The values of `$REPO` and `$HOME`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bases {
    /// `$REPO`.
    pub repo: Option<PathBuf>,
    /// `$HOME`.
    pub home: Option<PathBuf>,
}

/// Hookbox's own directories, and the roots of hooks.
#[derive(Clone, Debug, Default)]
pub struct ProtectedDirs {
    bases: Bases,
    /// Hookbox's own directories and the user's roots. A hook may write neither in them nor in a directory above them.
    whole: Vec<PathBuf>,
    /// The roots of the repository. A hook may not write in them. It may write in a directory above them, because their
    /// files are trusted by their digests.
    inside: Vec<PathBuf>,
    /// Both lists, also without symlinks.
    followed: OnceLock<[Vec<PathBuf>; 2]>,
}

impl ProtectedDirs {
    /// Protects these directories. Their symlinks are followed once, when somebody asks for a right to write.
    pub(crate) fn new(bases: Bases, whole: Vec<PathBuf>, inside: Vec<PathBuf>) -> Self {
        Self { bases, whole, inside, followed: OnceLock::new() }
    }

    /// Returns the protected directory that a hook with this right could write, if there is one.
    pub fn conflict(&self, right: &Capability) -> Option<&Path> {
        let Capability::ReadWrite(directory) = right else { return None };
        let written = self.path(directory)?;
        let (plain, real) = (written.clone(), real(&written));
        let lies_in = |path: &PathBuf| plain.starts_with(path) || real.starts_with(path);
        let holds = |path: &PathBuf| path.starts_with(&plain) || path.starts_with(&real);
        let both =
            |paths: &Vec<PathBuf>| paths.iter().flat_map(|path| [self::real(path), path.clone()]).collect();
        let [whole, inside] = self.followed.get_or_init(|| [&self.whole, &self.inside].map(both));
        let whole = whole.iter().find(|path| lies_in(path) || holds(path));
        whole.or_else(|| inside.iter().find(|path| lies_in(path))).map(PathBuf::as_path)
    }

    /// Returns the rights of a hook that asked for `asked` and was granted `granted`, without those that could write a
    /// protected directory, and the rights that were left out for that reason.
    pub fn rights(&self, asked: &[Capability], granted: &[Capability]) -> (Rights, Vec<Capability>) {
        let rights = Rights::of(asked, granted);
        let (refused, kept): (Vec<_>, Vec<_>) =
            rights.effective().iter().cloned().partition(|right| self.conflict(right).is_some());
        if refused.is_empty() {
            return (rights, refused);
        }
        // A granted address counts although the hook has not asked for it.
        let others =
            granted.iter().filter(|it| !matches!(it, Capability::Read(_) | Capability::ReadWrite(_)));
        let kept: Vec<Capability> = kept.into_iter().chain(others.cloned()).collect();
        (Rights::of(asked, &kept), refused)
    }

    /// Returns the path of a directory; none for `$DATA`, which belongs to the hook.
    fn path(&self, directory: &Directory) -> Option<PathBuf> {
        let base = match directory.base() {
            Base::Root => Path::new("/"),
            Base::Repo => self.bases.repo.as_deref()?,
            Base::Home => self.bases.home.as_deref()?,
            Base::Data => return None,
        };
        Some(directory.below(base))
    }
}

/// Resolves the symlinks of a path, as far as it exists.
fn real(path: &Path) -> PathBuf {
    for existing in path.ancestors() {
        if let Ok(real) = existing.canonicalize() {
            return match path.strip_prefix(existing) {
                Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
                _ => real,
            };
        }
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_grant_lets_a_hook_write_what_decides_over_hooks() {
        let temp = tempfile::tempdir().unwrap();
        let at = |path: &str| temp.path().join(path);
        for dir in ["home/.hookbox", "home/data", "repo/.hookbox", "home/notes"] {
            std::fs::create_dir_all(at(dir)).unwrap();
        }
        std::os::unix::fs::symlink(at("home/.hookbox"), at("repo/link")).unwrap();
        let bases = Bases { repo: Some(at("repo")), home: Some(at("home")) };
        let protected = ProtectedDirs::new(
            bases,
            vec![at("home/data"), at("home/.hookbox"), at("home/.kodelet")],
            vec![at("repo/.hookbox")],
        );
        for (right, refused) in [
            ("read-write:$HOME".to_owned(), true),
            ("read-write:/".to_owned(), true),
            ("read-write:$HOME/.hookbox".to_owned(), true),
            ("read-write:$HOME/.kodelet/hooks".to_owned(), true),
            ("read-write:$HOME/data/hooks".to_owned(), true),
            ("read-write:$REPO/.hookbox/hooks".to_owned(), true),
            ("read-write:$REPO/link".to_owned(), true),
            (format!("read-write:{}", at("home/data").display()), true),
            ("read-write:$HOME/notes".to_owned(), false),
            ("read-write:$HOME/.hookbox-notes".to_owned(), false),
            ("read-write:$REPO".to_owned(), false),
            ("read-write:$REPO/out".to_owned(), false),
            ("read-write:$DATA".to_owned(), false),
            ("read:$HOME".to_owned(), false),
            ("read:$HOME/data".to_owned(), false),
            ("store".to_owned(), false),
        ] {
            let right: Capability = right.parse().unwrap();
            assert_eq!(protected.conflict(&right).is_some(), refused, "{right}");
        }
        let parse =
            |texts: &[&str]| -> Vec<Capability> { texts.iter().map(|it| it.parse().unwrap()).collect() };
        let asked = parse(&["read-write:$HOME", "read-write:$HOME/notes", "store"]);
        let granted = parse(&["read-write:$HOME", "store", "http:http://127.0.0.1:8080"]);
        let (rights, refused) = protected.rights(&asked, &granted);
        assert_eq!(refused, parse(&["read-write:$HOME"]));
        assert_eq!(rights.effective(), parse(&["read-write:$HOME/notes", "store"]));
        assert!(rights.granted().contains(&granted[2]));
    }
}
