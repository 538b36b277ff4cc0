//! The state of files in git, in the repository of the event, with the right
//! [`WorkTree`](crate::Capability::WorkTree).
//!
//! Every function returns `None` without the right, outside the repository and its linked worktrees, or if hookbox
//! cannot tell. A native hook gets no answer. A guard takes `None` as work that could be lost.
//!
//! ```no_run
//! use hookbox_sdk::work_tree;
//!
//! let is_clean = work_tree::tree("/srv/app").is_some_and(|it| it.is_clean());
//! # let _ = is_clean;
//! ```

#[cfg(not(target_arch = "wasm32"))]
use self::nothing as host;
#[cfg(target_arch = "wasm32")]
use crate::component::facts as host;

/// The state of a work tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// The directory, absolute.
    pub root: String,
    /// True for a linked one (`git worktree`).
    pub linked: bool,
    /// True if tracked files or the index differ from the last commit, or may differ.
    pub changed: bool,
    /// True if there are files that git neither tracks nor ignores.
    pub untracked: bool,
    /// The branch; none on a detached head.
    pub branch: Option<String>,
}

impl Tree {
    /// Returns true if nothing but the ignored files is in no commit.
    pub fn is_clean(&self) -> bool {
        !self.changed && !self.untracked
    }
}

/// The kind of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// Nothing is there.
    Missing,
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// Anything else.
    Other,
}

/// The state of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathState {
    /// The kind.
    pub kind: PathKind,
    /// True if git tracks it; for a directory, if git tracks every file in it.
    pub tracked: bool,
    /// True if it, or a tracked file below it, differs from the last commit, or may differ.
    pub changed: bool,
    /// True if git ignores it.
    pub ignored: bool,
}

impl PathState {
    /// Returns true if a commit has all of it.
    pub fn is_committed(&self) -> bool {
        self.tracked && !self.changed && matches!(self.kind, PathKind::File | PathKind::Directory)
    }
}

/// Returns the state of the work tree of a directory, which is absolute, or relative to that of the event.
pub fn tree(directory: &str) -> Option<Tree> {
    host::tree(directory)
}

/// Returns true if each commit of a branch, a tag or another reference is at a remote, as far as this machine knows.
pub fn is_pushed(directory: &str, reference: &str) -> Option<bool> {
    host::is_pushed(directory, reference)
}

/// Returns the state of a path, which is absolute, or relative to the directory of the event. A symbolic link at its end
/// is not followed.
pub fn path(path: &str) -> Option<PathState> {
    host::path(path)
}

/// The answers outside a component.
#[cfg(not(target_arch = "wasm32"))]
mod nothing {
    pub(super) fn tree(_: &str) -> Option<super::Tree> {
        None
    }

    pub(super) fn is_pushed(_: &str, _: &str) -> Option<bool> {
        None
    }

    pub(super) fn path(_: &str) -> Option<super::PathState> {
        None
    }
}
