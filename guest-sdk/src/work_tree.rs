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

pub(crate) mod state;

#[cfg(not(target_arch = "wasm32"))]
use self::nothing as host;
pub use self::state::{PathKind, PathState, Tree};
#[cfg(target_arch = "wasm32")]
use crate::component::facts as host;

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
