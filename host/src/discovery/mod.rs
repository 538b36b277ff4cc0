//! Finds hooks: roots, tiers, plugins and settings become hooks, a list to show, and problems.
//!
//! Finding reads directories, declarations and settings, and runs nothing. Loading uses its candidates: the gate of
//! [`crate::trust`] decides which of them run, native hooks are asked for their events, and components are
//! compiled. Discovery never fails: one bad file or directory is one [`Problem`].
//!
//! A [`Manager`](crate::manager::Manager) does this for an agent. The functions here are for programs that look at hooks
//! without a session. Hooks in files that hookbox does not know, such as the configuration of an agent, come from a
//! [`HookSource`], which is given to [`Builder::source`](crate::manager::Builder::source).

mod find;
mod load;
mod problem;

#[cfg(test)]
mod tests;

pub use find::files::{Kept, ReadFile};
pub use find::options::{DEFAULT_ROOTS, Options, Progress};
pub(crate) use find::outermost_repository;
pub(crate) use find::settings::GlobalSettings;
pub use find::settings::{SwitchedOff, git_host};
pub use find::source::{Area, Finder, HookSource, MAX_FILES, MAX_HOOKS};
pub use find::{
    Declared, FoundComponent, Handler, MANIFEST, MARKETPLACE, PluginFile, SourceFile, WiredCommand,
    components, document, group, names, repository,
};
pub use load::{
    Discovery, Entry, EntryStatus, Found, Namesake, Tightened, examine_plugin, forget, remembered,
};
pub(crate) use load::{LastGood, discover, guard_of_unseen};
pub use problem::Problem;
