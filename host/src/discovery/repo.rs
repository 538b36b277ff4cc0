//! Which directory is the repository.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The nearest ancestor of `cwd` that holds `.git` or a root, else `cwd` itself. A path that is not absolute (an
/// empty one: nobody could say which directory it is) has no repository.
///
/// Below the home directory every ancestor counts; outside it only those that the user owns, so that nobody else
/// plants hooks in `/tmp` or `/srv`. The home directory is never a repository: what stands in it is the user's
/// own. A directory above the home directory, and `/`, is one only if the user owns it and it says so itself.
pub(super) fn find(cwd: &Path, home: Option<&Path>, roots: &[String]) -> Option<PathBuf> {
    if !cwd.is_absolute() {
        return None;
    }
    // Directories are compared by identity: `$HOME` may be spelled with a symlink where `cwd` is not.
    let mut parents_of_home = home.into_iter().flat_map(Path::ancestors).skip(1);
    let home = home.and_then(identity);
    let user = rustix::process::geteuid().as_raw();
    let ancestors: Vec<_> = cwd.ancestors().map(|dir| (dir, fs::metadata(dir).ok())).collect();
    let (_, here) = ancestors.first()?;
    let at_home = |it: &Option<Metadata>| home.is_some() && it.as_ref().map(id) == home;
    let below_home = ancestors.iter().skip(1).any(|(_, it)| at_home(it));
    let counts = |it: &Option<Metadata>| it.as_ref().is_some_and(|it| below_home || it.uid() == user);
    for (dir, it) in ancestors.iter().take_while(|(_, it)| !at_home(it)) {
        if counts(it) && is_marked(dir, roots) {
            return Some((*dir).to_owned());
        }
    }
    let above_home =
        parents_of_home.any(|dir| dir == cwd || here.is_some() && identity(dir) == here.as_ref().map(id));
    // A directory that was removed meanwhile is none, and neither is somebody else's, such as `/tmp`.
    let is_directory = here.as_ref().is_some_and(Metadata::is_dir);
    let by_itself = !above_home && cwd.parent().is_some() && is_directory && counts(here) && !at_home(here);
    by_itself.then(|| cwd.to_owned())
}

/// Device and inode.
fn identity(dir: &Path) -> Option<(u64, u64)> {
    fs::metadata(dir).ok().as_ref().map(id)
}

fn id(it: &Metadata) -> (u64, u64) {
    (it.dev(), it.ino())
}

/// Whether a directory says of itself that it is a repository.
fn is_marked(dir: &Path, roots: &[String]) -> bool {
    let there = |name: &str| fs::symlink_metadata(dir.join(name)).ok();
    there(".git").is_some()
        || roots.iter().any(|root| there(root).is_some_and(|it| it.is_dir() || it.is_symlink()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(dirs: &[&str]) -> tempfile::TempDir {
        let temp = tempfile::tempdir().unwrap();
        for dir in dirs {
            fs::create_dir_all(temp.path().join(dir)).unwrap();
        }
        temp
    }

    #[test]
    fn the_repository_is_the_nearest_marked_ancestor() {
        let temp = tree(&[
            "home/p/.git",
            "home/p/sub/deep",
            "home/q/.hookbox",
            "home/q/r/.kodelet",
            "home/q/r/s",
            "home/.hookbox",
            "home/plain/x",
            "out/.git",
            "out/sub",
        ]);
        let roots = [".hookbox".to_owned(), ".kodelet".to_owned()];
        for (cwd, want) in [
            ("home/p/sub/deep", Some("home/p")),
            ("home/p", Some("home/p")),
            ("home/q/r/s", Some("home/q/r")),
            ("home/q", Some("home/q")),
            // The home directory holds a root and is no repository all the same.
            ("home/plain/x", Some("home/plain/x")),
            ("home", None),
            ("out/sub", Some("out")),
        ] {
            let found = find(&temp.path().join(cwd), Some(&temp.path().join("home")), &roots);
            assert_eq!(found, want.map(|dir| temp.path().join(dir)), "{cwd}");
        }
    }

    #[test]
    fn a_directory_above_the_home_directory_must_say_that_it_is_a_repository() {
        let temp = tree(&["a/home", "b/.git", "b/home"]);
        let roots = [".hookbox".to_owned()];
        let at = |path: &str| temp.path().join(path);
        assert_eq!(find(&at("a"), Some(&at("a/home")), &roots), None);
        assert_eq!(find(&at("b"), Some(&at("b/home")), &roots), Some(at("b")));
        assert_eq!(find(Path::new("/"), Some(&at("a/home")), &roots), None);
    }

    #[test]
    fn a_path_that_is_no_directory_of_its_own_is_no_repository() {
        let temp = tree(&["home", "p/.git", "p/sub"]);
        let home = temp.path().join("home");
        let at = |path: &str| temp.path().join(path);
        for (cwd, want) in [
            (PathBuf::new(), None),
            (".".into(), None),
            ("sub".into(), None),
            ("/".into(), None),
            (at("gone"), None),
            (at("p/gone/deep"), Some(at("p"))),
        ] {
            assert_eq!(find(&cwd, Some(&home), &[]), want, "{}", cwd.display());
            assert_eq!(find(&cwd, None, &[]), want, "{}", cwd.display());
        }
    }

    #[test]
    fn a_home_directory_behind_a_symlink_is_still_no_repository() {
        let temp = tree(&["real/.hookbox", "real/p"]);
        std::os::unix::fs::symlink("real", temp.path().join("home")).unwrap();
        let roots = [".hookbox".to_owned()];
        let home = temp.path().join("home");
        assert_eq!(find(&temp.path().join("real"), Some(&home), &roots), None);
        assert_eq!(find(&temp.path().join("real/p"), Some(&home), &roots), Some(temp.path().join("real/p")));
    }

    #[test]
    fn outside_of_the_home_directory_only_what_the_user_owns_is_a_repository() {
        let temp = tree(&["theirs/.git", "theirs/sub", "home"]);
        let theirs = temp.path().join("theirs");
        if std::os::unix::fs::chown(&theirs, Some(12_345), None).is_err() {
            return; // Only root can give a directory away.
        }
        let found = |home: &str| find(&theirs.join("sub"), Some(&temp.path().join(home)), &[]);
        assert_eq!(found("home"), Some(theirs.join("sub")));
        // Where nothing says that it is one, the directory itself has to be the user's, too.
        let open = temp.path().join("open");
        fs::create_dir(&open).unwrap();
        std::os::unix::fs::chown(&open, Some(12_345), None).unwrap();
        fs::set_permissions(&open, std::os::unix::fs::PermissionsExt::from_mode(0o1777)).unwrap();
        assert_eq!(find(&open, Some(&temp.path().join("home")), &[]), None);
        assert_eq!(find(&open, None, &[]), None);
        assert_eq!(find(&open, Some(temp.path()), &[]), Some(open));
        // Below it ownership does not matter.
        assert_eq!(found("."), Some(theirs.clone()));
    }
}
