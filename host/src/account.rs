//! The user's account in the system's databases.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::unistd::{Gid, Group, Uid, User};

fn user() -> Option<User> {
    User::from_uid(Uid::effective()).ok().flatten()
}

/// Returns the home directory of the account, if hooks there are missed with `home` as the home directory. Returns
/// `Some(None)` if the account has no home directory and `home` is `/`, in which no user lives.
pub(crate) fn other_home(home: &Path, roots: &[String]) -> Option<Option<PathBuf>> {
    elsewhere(home, user().map(|user| user.dir), roots)
}

fn elsewhere(home: &Path, account: Option<PathBuf>, roots: &[String]) -> Option<Option<PathBuf>> {
    let has_root = |home: &Path| roots.iter().any(|root| fs::symlink_metadata(home.join(root)).is_ok());
    match account {
        Some(account) => (!is_same(home, &account) && has_root(&account)).then_some(Some(account)),
        None => (home.parent().is_none() && !has_root(home)).then_some(None),
    }
}

/// Returns true if two paths name one directory.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).map(|it| (it.dev(), it.ino())).ok();
    one == other || identity(one).is_some_and(|one| identity(other) == Some(one))
}

/// Returns true if a group is the user's private one: it has the user's name and no other members. On systems with such
/// groups, files are writable by their group.
pub(crate) fn is_private_group(gid: u32) -> bool {
    let group = Group::from_gid(Gid::from_raw(gid)).ok().flatten();
    user().zip(group).is_some_and(|(user, group)| {
        user.gid == group.gid && user.name == group.name && group.mem.iter().all(|name| *name == user.name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_home_matters_if_it_has_hooks_or_is_unknown() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        fs::create_dir_all(at("hooks/.hookbox")).unwrap();
        fs::create_dir_all(at("none/.other")).unwrap();
        std::os::unix::fs::symlink(at("hooks"), at("link")).unwrap();
        let roots = [".hookbox".to_owned()];
        for (home, account, want) in [
            (at("none"), Some(at("hooks")), Some(Some(at("hooks")))),
            ("/".into(), Some(at("hooks")), Some(Some(at("hooks")))),
            ("/".into(), Some(at("none")), None),
            ("/".into(), None, Some(None)),
            (at("hooks"), Some(at("none")), None),
            (at("hooks"), Some(at("hooks")), None),
            (at("link"), Some(at("hooks")), None),
            (at("none"), Some(at("gone")), None),
            (at("none"), None, None),
        ] {
            assert_eq!(elsewhere(&home, account.clone(), &roots), want, "{home:?} {account:?}");
        }
    }
}
