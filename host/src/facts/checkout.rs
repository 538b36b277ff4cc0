//! Finds the repository and branch of a directory in `.git`, without running git.

use hookbox_system::limits;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The repository and the branch that is checked out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checkout {
    /// The repository: `org/repo` of the remote `origin`, else the path of the directory. Two directories of
    /// one name are two repositories.
    pub repository: Option<String>,
    /// The branch; none on a detached head.
    pub branch: Option<String>,
}

impl Checkout {
    /// Finds the repository and branch of this directory, or of the nearest one above it with a `.git`.
    /// Without one both are absent.
    ///
    /// Both are what the files of `.git` say. They name a place; they do not prove whose it is.
    pub fn of(directory: &Path) -> Self {
        let found = directory.ancestors().find_map(|dir| git_directory(&dir.join(".git")));
        let Some(git) = found else { return Self::default() };
        // A worktree has a head of its own, and shares the rest.
        let shared = read(&git.join("commondir")).map_or(git.clone(), |to| git.join(to.trim()));
        let remote = read(&shared.join("config")).and_then(|config| origin(&config));
        let by_path = || {
            let shared = shared.canonicalize().ok()?;
            let is_usual = shared.file_name().is_some_and(|name| name == ".git");
            let top = shared.parent().filter(|_| is_usual).unwrap_or(&shared);
            top.to_str().map(str::to_owned)
        };
        let branch = read(&git.join("HEAD"))
            .and_then(|head| Some(head.trim().strip_prefix("ref: refs/heads/")?.to_owned()));
        Self {
            repository: remote.filter(|name| is_name(name)).or_else(by_path).filter(|name| is_name(name)),
            branch: branch.filter(|name| is_name(name)),
        }
    }
}

/// Returns `.git` itself, or its target in a worktree.
fn git_directory(git: &Path) -> Option<PathBuf> {
    if fs::metadata(git).ok()?.is_dir() {
        return Some(git.to_owned());
    }
    let text = read(git)?;
    let to = git.parent()?.join(text.trim().strip_prefix("gitdir: ")?);
    to.is_dir().then_some(to)
}

/// Returns the main working tree of a linked one (`git worktree add`). Both sides have to name each other, so that no
/// directory makes itself a working tree of a repository.
pub(crate) fn main_tree(linked: &Path) -> Option<PathBuf> {
    let git = linked.canonicalize().ok()?.join(".git");
    // A symlink would make it the working tree that it leads to.
    fs::symlink_metadata(&git).ok().filter(fs::Metadata::is_file)?;
    let own = git_directory(&git)?.canonicalize().ok()?;
    let shared = own.join(read(&own.join("commondir"))?.trim()).canonicalize().ok()?;
    let back = own.join(read(&own.join("gitdir"))?.trim());
    let names_it = back.parent()?.canonicalize().ok()?.join(".git") == git && back.ends_with(".git");
    let is_below = own.parent() == Some(&*shared.join("worktrees"));
    let is_usual = shared.file_name().is_some_and(|name| name == ".git");
    shared.parent().filter(|_| names_it && is_below && is_usual).map(Path::to_owned)
}

/// Returns `org/repo` of the remote `origin`, whatever the form of its URL.
fn origin(config: &str) -> Option<String> {
    let section = config.split_once("[remote \"origin\"]")?.1;
    let lines = section.lines().map(str::trim).take_while(|line| !line.starts_with('['));
    let mut values = lines.filter_map(|line| line.split_once('='));
    let (_, url) = values.find(|(key, _)| key.trim() == "url")?;
    let url = url.trim().trim_end_matches('/').trim_end_matches(".git");
    let mut parts = url.rsplit(['/', ':']).filter(|part| !part.is_empty());
    let (repo, org) = (parts.next()?, parts.next()?);
    Some(format!("{org}/{repo}"))
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= limits::PATH && !name.chars().any(char::is_control)
}

fn read(path: &Path) -> Option<String> {
    // A pipe is not opened: it would be waited for. Git writes no symlinks here.
    fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    let mut text = String::new();
    File::open(path).ok()?.take(limits::FILE).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_repository_is_named_by_its_origin_whatever_the_form_of_the_url() {
        for (url, want) in [
            ("https://github.com/org/repo.git", Some("org/repo")),
            ("https://user@host.example:8443/group/org/repo/", Some("org/repo")),
            ("git@github.com:org/repo.git", Some("org/repo")),
            ("ssh://git@host/org/repo", Some("org/repo")),
            ("repo", None),
        ] {
            let config = format!(
                "[core]\n\turl = no\n[remote \"origin\"]\n\tfetch = x\n\turl = {url}\n[branch \"x\"]\n"
            );
            assert_eq!(origin(&config).as_deref(), want, "{url}");
        }
        assert_eq!(origin("[remote \"origin\"]\n[remote \"other\"]\nurl = a/b\n"), None);
    }

    #[test]
    fn the_branch_is_the_one_of_the_nearest_git_directory() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        put(&at("repo/.git/HEAD"), "ref: refs/heads/feat/145-hooks\n");
        put(&at("repo/.git/config"), "[remote \"origin\"]\nurl = git@host:org/repo.git\n");
        put(&at("repo/.git/worktrees/w/HEAD"), "0123456789abcdef\n");
        put(&at("repo/.git/worktrees/w/commondir"), "../..\n");
        put(&at("w/.git"), &format!("gitdir: {}\n", at("repo/.git/worktrees/w").display()));
        put(&at("plain/.git/HEAD"), "ref: refs/heads/a\u{1b}[31m\n");
        put(&at("other/plain/.git/HEAD"), "ref: refs/heads/main\n");
        put(&at("sly/.git/config"), "[remote \"origin\"]\nurl = host:a/b\u{1b}[31m\n");
        std::os::unix::fs::symlink(at("repo/.git/HEAD"), at("sly/.git/HEAD")).unwrap();
        let path = |name: &str| at(name).canonicalize().unwrap().to_str().unwrap().to_owned();
        fs::create_dir_all(at("repo/sub/deep")).unwrap();
        let of = |path: &str| Checkout::of(&at(path));
        let checkout = |repository: &str, branch: Option<&str>| Checkout {
            repository: Some(repository.to_owned()),
            branch: branch.map(str::to_owned),
        };
        assert_eq!(of("repo/sub/deep"), checkout("org/repo", Some("feat/145-hooks")));
        assert_eq!(of("w"), checkout("org/repo", None), "a worktree on a detached head");
        assert_eq!(of("plain"), checkout(&path("plain"), None), "a name that a terminal would obey is none");
        assert_eq!(of("other/plain"), checkout(&path("other/plain"), Some("main")));
        assert_eq!(
            of("sly"),
            checkout(&path("sly"), None),
            "a symlink, and a remote that a terminal would obey"
        );
        assert_eq!(of("nowhere"), Checkout::default());
    }
}
