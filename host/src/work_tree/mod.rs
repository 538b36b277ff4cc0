//! The state of the git repository that an event is about: what is committed, and what is pushed.
//!
//! The program `git` gives the answers, and runs nothing that the repository names. Every doubt is `None`, and a caller
//! takes it as work that can be lost: another repository than that of the event's directory and its linked worktrees, a
//! setting that is not known to be harmless, a submodule, a slow disk, a git that is missing or that the agent could replace.

mod git;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use self::git::Git;
use hookbox_system::limits;

/// A work tree: the directory of a checkout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tree {
    /// The directory, absolute and without symlinks.
    pub(crate) root: PathBuf,
    /// True for a linked worktree (`git worktree add`).
    pub(crate) linked: bool,
    /// True if a tracked file or the index differs from the commit, or may differ.
    pub(crate) changed: bool,
    /// True if there are files that git neither tracks nor ignores.
    pub(crate) untracked: bool,
    /// The branch; none on a detached head.
    pub(crate) branch: Option<String>,
}

/// The kind of what is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PathKind {
    /// Nothing.
    Missing,
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symlink, whatever it leads to.
    Link,
    /// A device, a pipe or a socket.
    Other,
}

/// The state of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PathState {
    /// Its kind.
    pub(crate) kind: PathKind,
    /// The number of the file or directory; `None` if nothing is there. A journal of before has none.
    pub(crate) id: Option<u64>,
    /// True if git tracks it; for a directory, if git tracks every file in it.
    pub(crate) tracked: bool,
    /// True if it, or a tracked file in it, differs from the commit, or may differ.
    pub(crate) changed: bool,
    /// True if git ignores it.
    pub(crate) ignored: bool,
}

/// Answers questions about the repository of an event.
pub(crate) struct WorkTrees {
    cwd: PathBuf,
    patience: Duration,
    ends: OnceLock<Instant>,
    git: Option<Git>,
    /// The directory that all worktrees of the event's repository share.
    common: OnceCell<Option<PathBuf>>,
}

impl WorkTrees {
    /// Makes it for an event of an agent that works in `cwd`, and a hook with this time limit. `git` is the program that the
    /// user's settings name. It runs nothing yet.
    pub(crate) fn of(cwd: &Path, git: Option<&Path>, wall: Duration) -> Self {
        // A guard can still answer after it.
        let (patience, git) = (wall / 2, Git::find(git));
        Self { cwd: cwd.to_owned(), patience, ends: OnceLock::new(), git, common: OnceCell::new() }
    }

    /// Returns true if there is a git that can be asked. Without one, every answer is `None`.
    pub(crate) fn has_git(&self) -> bool {
        self.git.is_some()
    }

    /// Returns the end of the time for questions, which begins with the first one.
    fn ends(&self) -> Instant {
        *self.ends.get_or_init(|| Instant::now() + self.patience)
    }

    /// Returns the work tree that a directory belongs to.
    pub(crate) async fn tree(&self, directory: &Path) -> Option<Tree> {
        let ends = self.ends();
        let (git, checkout) = self.checkout(directory, ends).await?;
        let index = git.index(&checkout.root, None, ends).await?;
        let status = git.status(&checkout.root, None, ends).await?;
        Some(Tree {
            linked: checkout.linked,
            changed: index.is_odd || status.changed,
            untracked: status.untracked,
            branch: status.branch,
            root: checkout.root,
        })
    }

    /// Returns true if each commit of a reference is at a remote, as far as this machine knows.
    pub(crate) async fn is_pushed(&self, directory: &Path, reference: &str) -> Option<bool> {
        let is_odd = |it: char| it.is_control() || matches!(it, ':' | ' ');
        if reference.is_empty()
            || reference.len() > limits::PATH
            || reference.starts_with(['-', '^'])
            || reference.contains(is_odd)
        {
            return None;
        }
        let ends = self.ends();
        let (git, checkout) = self.checkout(directory, ends).await?;
        git.is_pushed(&checkout.root, reference, ends).await
    }

    /// Returns the state of an absolute path. A symlink at its end is not followed.
    pub(crate) async fn path(&self, path: &Path) -> Option<PathState> {
        let ends = self.ends();
        let (kind, id) = kind(path)?;
        let (parent, name) = (path.parent()?, path.file_name()?);
        // What is missing may be in a directory that is missing, too.
        let place = parent.ancestors().find(|it| it.is_dir())?.canonicalize().ok()?;
        let (git, checkout) = self.checkout(&place, ends).await?;
        let state = |tracked, changed, ignored| Some(PathState { kind, id, tracked, changed, ignored });
        if kind == PathKind::Missing {
            return state(false, false, false);
        }
        let relative = place.strip_prefix(&checkout.root).ok()?.join(name);
        let index = git.index(&checkout.root, Some(&relative), ends).await?;
        let status = git.status(&checkout.root, Some(&relative), ends).await?;
        let has_all = index.has_entries && !status.untracked && status.ignored.is_empty();
        let is_ignored = |it: &PathBuf| relative.starts_with(it);
        state(has_all, index.is_odd || status.changed, status.ignored.iter().any(is_ignored))
    }

    /// Returns the checkout of a directory, if it belongs to the repository of the event.
    async fn checkout(&self, directory: &Path, ends: Instant) -> Option<(&Git, Checkout)> {
        if !directory.is_absolute() {
            return None;
        }
        let git = self.git.as_ref()?;
        let of_event = self.common.get_or_init(|| async {
            let own = git.checkout(&self.cwd, ends).await?;
            git.is_harmless(&own.root, ends).await?.then_some(own.common)
        });
        let common = of_event.await.as_ref()?;
        let checkout = git.checkout(directory, ends).await?;
        (checkout.common == *common).then_some((git, checkout))
    }
}

/// A directory with a checkout.
#[derive(Debug)]
struct Checkout {
    root: PathBuf,
    linked: bool,
    /// The directory that all worktrees of the repository share.
    common: PathBuf,
}

/// Returns the kind of a path, and its number.
fn kind(path: &Path) -> Option<(PathKind, Option<u64>)> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some((PathKind::Missing, None)),
        Err(_) => return None,
    };
    let kind = match found.file_type() {
        it if it.is_dir() => PathKind::Directory,
        it if it.is_file() => PathKind::File,
        it if it.is_symlink() => PathKind::Link,
        _ => PathKind::Other,
    };
    Some((kind, Some(found.dev().rotate_left(40) ^ found.ino())))
}

/// Returns the path that these bytes are.
fn as_path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests;
