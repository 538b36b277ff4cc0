//! Programs that hookbox itself starts at an event, such as `git`. Their answers decide, so that an agent or a repository must
//! not be able to replace them.

use std::env;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::process::geteuid;

/// The directories in which operating systems have programs: Linux and macOS, the BSDs, NixOS, Guix, Nix and MacPorts.
const SYSTEM: &str = "/usr/bin /bin /usr/local/bin /usr/pkg/bin /run/current-system/sw/bin /run/current-system/profile/bin \
    /nix/var/nix/profiles/default/bin /opt/local/bin";

/// Returns the real path of a program that only root can change, and that is neither in a repository nor reached by a path in
/// one.
///
/// For root, who can change every file, it is a file of root that nobody else can write.
pub fn fixed(path: &Path) -> Option<PathBuf> {
    let real = path.canonicalize().ok().filter(|_| path.is_absolute())?;
    let about = real.metadata().ok()?;
    // A program that has several names does another thing by its real one.
    let is_program = about.is_file() && about.mode() & 0o111 != 0 && real.file_name() == path.file_name();
    let own = geteuid();
    let is_fixed = if own.is_root() {
        about.uid() == 0 && about.mode() & 0o022 == 0
    } else {
        !real.ancestors().any(|it| can_change(it, own.as_raw()))
    };
    (is_program && is_fixed && !is_in_repository(path) && !is_in_repository(&real)).then_some(real)
}

/// Returns the real path of a program that [is fixed](fixed), from the directories of the operating system.
pub fn of_system(name: &str) -> Option<PathBuf> {
    SYSTEM.split(' ').find_map(|directory| fixed(&Path::new(directory).join(name)))
}

/// Returns the real path of `git`: the one that the user's settings name, or that of the operating system. `PATH` does not
/// count: at an event it is the agent's, or that of a script in the repository.
pub fn git(named: Option<&Path>) -> Option<PathBuf> {
    named.and_then(fixed).or_else(|| of_system("git"))
}

/// Returns the real path of the first program on this `PATH` that [is fixed](fixed).
pub fn on_path(name: &str, path: &OsStr) -> Option<PathBuf> {
    env::split_paths(path).find_map(|directory| fixed(&directory.join(name)))
}

/// Returns true if a user can write a file or the entries of a directory, or can get the right to.
fn can_change(path: &Path, user: u32) -> bool {
    let is_own = path.metadata().map_or(true, |about| about.uid() == user);
    is_own || access(path, Access::WRITE_OK).is_ok()
}

/// Returns true if a directory above the path is the root of a repository, or may be one.
fn is_in_repository(path: &Path) -> bool {
    let is_missing =
        |it: PathBuf| it.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound);
    path.ancestors().skip(1).any(|directory| !is_missing(directory.join(".git")))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// Makes a program, as the user that runs the tests.
    fn program(path: &Path, mode: u32) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_program_is_fixed_if_only_root_can_change_it_and_no_repository_has_it() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().canonicalize().unwrap().join(name);
        let is_root = geteuid().is_root();
        for (name, mode) in [
            ("own/git", 0o755),
            ("read-only/git", 0o555),
            ("of-all/git", 0o757),
            ("of-group/git", 0o775),
            ("plain/git", 0o644),
            ("repo/node_modules/.bin/git", 0o755),
            ("repo/bin/git", 0o755),
            ("linked/bin/git", 0o755),
        ] {
            program(&at(name), mode);
        }
        fs::create_dir(at("repo/.git")).unwrap();
        fs::write(at("linked/.git"), "gitdir: elsewhere").unwrap();
        fs::create_dir(at("own/git.d")).unwrap();
        let git = of_system("git").expect("git belongs to the set-up");
        for (link, to) in [
            ("links/a/git", at("repo/bin/git")),
            ("links/b/git", git.clone()),
            ("links/c/git", "/bin/sh".into()),
            ("links/d/git", at("nowhere")),
            ("repo/links/git", git.clone()),
        ] {
            fs::create_dir_all(at(link).parent().unwrap()).unwrap();
            symlink(to, at(link)).unwrap();
        }
        symlink(at("repo/bin"), at("links/e")).unwrap();
        for (name, expected) in [
            // Root has no other programs than those that it could change.
            ("own/git", is_root.then(|| at("own/git"))),
            ("read-only/git", is_root.then(|| at("read-only/git"))),
            ("of-all/git", None),
            ("of-group/git", None),
            ("plain/git", None),
            ("own/git.d", None),
            ("own/none", None),
            ("repo/node_modules/.bin/git", None),
            ("repo/bin/git", None),
            ("linked/bin/git", None),
            ("links/a/git", None),
            ("links/b/git", Some(git.clone())),
            ("links/c/git", None),
            ("links/d/git", None),
            ("links/e/git", None),
            ("repo/links/git", None),
        ] {
            assert_eq!(fixed(&at(name)), expected, "{name}");
        }
        assert_eq!(fixed(&git), Some(git.clone()));
        for relative in ["git", "", "../../../../../../../../../../usr/bin/git"] {
            assert_eq!(fixed(Path::new(relative)), None, "{relative}");
        }
    }

    #[test]
    fn a_program_of_another_user_is_not_fixed_for_root() {
        if !geteuid().is_root() {
            return;
        }
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().canonicalize().unwrap().join("git");
        program(&path, 0o755);
        assert_eq!(fixed(&path), Some(path.clone()));
        std::os::unix::fs::chown(&path, Some(4242), None).unwrap();
        assert_eq!(fixed(&path), None);
    }

    #[test]
    fn a_path_through_the_working_directory_of_a_process_is_the_path_that_it_leads_to() {
        // The tests run in the repository, if they run in one.
        let here = env::current_dir().unwrap();
        let through = Path::new("/proc/self/cwd");
        if through.exists() && is_in_repository(&here.join("x")) {
            assert!(is_in_repository(&through.canonicalize().unwrap().join("git")));
        }
        assert!(!is_in_repository(Path::new("/usr/bin/git")));
    }

    #[test]
    fn the_first_fixed_program_of_a_path_is_taken() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().canonicalize().unwrap().join(name);
        program(&at("repo/bin/git"), 0o755);
        program(&at("of-all/git"), 0o777);
        fs::create_dir(at("repo/.git")).unwrap();
        let git = of_system("git").unwrap();
        let directories = |last: &Path| {
            env::join_paths([Path::new(""), Path::new("."), &at("repo/bin"), &at("of-all"), last]).unwrap()
        };
        assert_eq!(on_path("git", &directories(git.parent().unwrap())), Some(git));
        assert_eq!(on_path("git", &directories(&at("none"))), None);
    }
}
