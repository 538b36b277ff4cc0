//! Plugins: directories with skills, recipes and hooks, installed from git repositories, local directories and OCI
//! registries (ADR 029), and pinned in a [`plugins.lock`](hookbox::internal::lockfile).
//!
//! All sources write through one [`Stage`], which holds the rules; what it gives is put in its place by one change
//! that a kill at any moment leaves undone or done.

mod beneath;
mod change;
mod contents;
mod count;
mod decide;
mod difference;
mod directory;
mod entry_path;
mod error;
pub mod fetch;
mod files;
mod guard;
mod installed;
mod journal;
pub mod limits;
mod lock_file;
mod lock_text;
mod observer;
#[cfg(feature = "oci")]
pub mod registry;
mod repair;
mod source;
mod stage;
mod staging;
mod transaction;

pub use contents::{Contents, PluginHook, digest};
pub use difference::{Change, ChangedHook, Difference, Names, Paths, What};
pub use directory::{Location, Plugins};
pub use entry_path::{EntryPath, EntryPathError};
pub use error::{PluginError, PluginErrorKind};
pub use files::Files;
pub use guard::Guard;
pub use hookbox::internal::lockfile::{
    FILE as LOCK_FILE, Lock, LockError, Locked, LockedHook, NameError, PluginName,
};
pub use installed::{Installed, installed};
pub use observer::{Observer, Silent, Step};
pub use repair::{Repair, needs_repair, repair};
pub use source::{DEFAULT_GIT_HOST, GitUrl, Hosts, OciReference, Resolved, Source};
pub use stage::{Stage, Staged};
pub use transaction::{Removed, Replace, install, remove};

/// What of a repository is installed (ADR 029).
pub(crate) const INSTALLED: [&str; 3] = ["skills", "recipes", "hooks"];
