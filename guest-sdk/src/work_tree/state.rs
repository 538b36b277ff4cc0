//! The states of files in git.

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
    /// The number of the file or directory on this machine, from its device and inode; `None` if nothing is there. Another
    /// one in its place has another number.
    pub id: Option<u64>,
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
