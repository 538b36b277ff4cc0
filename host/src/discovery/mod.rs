//! Finds hooks: roots, tiers, plugins and settings become hooks, a list to show, and problems.
//!
//! Finding reads directories, declarations and settings, and runs nothing. Loading uses its candidates: the gate of
//! [`crate::trust`] decides which of them run, native hooks are asked for their events, and components are
//! compiled. Discovery never fails: one bad file or directory is one [`Problem`].

mod find;
mod load;
mod problem;
mod progress;

#[cfg(test)]
mod tests;

pub(crate) use find::global_settings::GlobalSettings;
pub use find::global_settings::{SwitchedOff, git_host};
pub use find::last_read::Kept;
pub use find::options::{DEFAULT_ROOTS, Options};
pub use find::{
    Declared, FoundComponent, Handler, MANIFEST, MARKETPLACE, PluginFile, WiredCommand, components, document,
    group, names, reader, repository,
};
pub(crate) use find::{outermost_repository, source, source_file};
pub use load::{
    Discovery, Entry, EntryStatus, Found, Namesake, Tightened, examine_plugin, forget, remembered,
};
pub(crate) use load::{LastGood, discover, guard_of_unseen};
pub use problem::Problem;
pub use progress::Progress;
