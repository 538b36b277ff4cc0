//! The user's account in the system's databases.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::unistd::{Gid, Group, Uid, User};

fn user() -> Option<User> {
    User::from_uid(Uid::effective()).ok().flatten()
}

/// Returns the home directory of the account. The file of local accounts comes first: to ask the system's databases
/// for such an account takes fifteen more system calls.
fn home() -> Option<PathBuf> {
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    local_home(&passwd, Uid::effective().as_raw()).or_else(|| user().map(|user| user.dir))
}

fn local_home(passwd: &str, uid: u32) -> Option<PathBuf> {
    // name:password:uid:gid:comment:home:shell (passwd(5))
    let of = |line: &str| -> Option<PathBuf> {
        let fields: Vec<&str> = line.split(':').collect();
        let [_, _, id, _, _, home, _] = fields[..] else { return None };
        (id.parse() == Ok(uid) && home.starts_with('/')).then(|| home.into())
    };
    passwd.lines().find_map(of)
}

/// Returns the home directory of the account, if hooks there are missed with `home` as the home directory. Returns
/// `Some(None)` if the account has no home directory and `home` is `/`, in which no user lives.
pub fn other_home(home: &Path, roots: &[String]) -> Option<Option<PathBuf>> {
    elsewhere(home, self::home(), roots)
}

fn elsewhere(home: &Path, account: Option<PathBuf>, roots: &[String]) -> Option<Option<PathBuf>> {
    let has_root = |home: &Path| roots.iter().any(|root| fs::symlink_metadata(home.join(root)).is_ok());
    match account {
        Some(account) => (!is_same(home, &account) && has_root(&account)).then_some(Some(account)),
        None => (home.parent().is_none() && !has_root(home)).then_some(None),
    }
}

/// Returns true if two paths name one directory.
pub fn is_same(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).map(|it| (it.dev(), it.ino())).ok();
    one == other || identity(one).is_some_and(|one| identity(other) == Some(one))
}

/// Returns true if a group is the user's private one: it has the user's name and no other members. On systems with such
/// groups, files are writable by their group.
pub fn is_private_group(gid: u32) -> bool {
    let group = Group::from_gid(Gid::from_raw(gid)).ok().flatten();
    user().zip(group).is_some_and(|(user, group)| {
        user.gid == group.gid && user.name == group.name && group.mem.iter().all(|name| *name == user.name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_of_a_local_account_is_found_by_its_number() {
        let passwd =
            "root:x:0:0:root:/root:/bin/sh\nbroken:x:7\nann:x:7:7:A, B:/home/ann:/bin/sh\nnobody:x:9:9:::\n";
        for (uid, want) in [(0, Some("/root")), (7, Some("/home/ann")), (9, None), (70, None)] {
            assert_eq!(local_home(passwd, uid), want.map(PathBuf::from), "{uid}");
        }
    }

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
