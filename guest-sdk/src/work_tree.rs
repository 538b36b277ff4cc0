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

#![cfg_attr(not(target_arch = "wasm32"), allow(unused_variables, reason = "only hookbox answers"))]

pub(crate) mod state;

pub use self::state::{PathKind, PathState, Tree};

/// Returns the state of the work tree of a directory, which is absolute, or relative to that of the event.
pub fn tree(directory: &str) -> Option<Tree> {
    #[cfg(target_arch = "wasm32")]
    return crate::component::facts::tree(directory);
    #[cfg(not(target_arch = "wasm32"))]
    None
}

/// Returns true if each commit of a branch, a tag or another reference is at a remote, as far as this machine knows. A
/// remote whose address is a path of this machine does not count.
pub fn is_pushed(directory: &str, reference: &str) -> Option<bool> {
    #[cfg(target_arch = "wasm32")]
    return crate::component::facts::is_pushed(directory, reference);
    #[cfg(not(target_arch = "wasm32"))]
    None
}

/// Returns the state of a path, which is absolute, or relative to the directory of the event. A symbolic link at its end
/// is not followed.
pub fn path(path: &str) -> Option<PathState> {
    #[cfg(target_arch = "wasm32")]
    return crate::component::facts::path(path);
    #[cfg(not(target_arch = "wasm32"))]
    None
}
