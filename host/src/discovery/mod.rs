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

#[cfg(test)]
mod tests;

pub use find::files::{Kept, ReadFile};
pub(crate) use find::outermost_repository;
pub use find::{DEFAULT_ROOTS, Options, Progress};
use std::fmt;
use std::path::PathBuf;

use hookbox_system::Hint;
use hookbox_system::files::FileAccess;
use hookbox_system::text;

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

/// A problem with a file, directory or hook. It is local: everything else still works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file or directory.
    pub path: PathBuf,
    /// The hook that it is about, if it is about one.
    pub hook: Option<String>,
    /// The problem, in words that follow the path; text from outside in it is escaped.
    pub message: String,
    /// The next step for the user.
    pub hint: Option<Hint>,
    /// True if it hides which hooks the user has, or what they do. A guard may be among them, so that it
    /// counts as a hook that fails in every event, and blocks there.
    pub hides: bool,
    /// True if a hook is off that the user relies on: a guard of the user's own, or a trusted hook. An
    /// agent's user sees it in every event.
    pub is_off: bool,
}

impl Problem {
    /// Makes a problem with this path.
    pub fn new(path: impl Into<PathBuf>, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            hook: None,
            message: message.into(),
            hint: None,
            hides: false,
            is_off: false,
        }
    }

    /// Adds the hook.
    #[must_use]
    fn of(mut self, hook: &str) -> Self {
        self.hook = Some(hook.to_owned());
        self
    }

    /// Adds the next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Hint>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Marks that a hook is off that the user relies on.
    #[must_use]
    fn off(self) -> Self {
        Self { is_off: true, ..self }
    }

    /// Marks that it hides hooks of the user's, if these files are the user's. If another user may write the file,
    /// it gets a hint.
    #[must_use]
    fn hiding(mut self, access: &FileAccess) -> Self {
        self.hides = matches!(access, FileAccess::Global);
        self.hint = self.hint.or_else(|| access.permission_hint(&self.path).map(Hint::from));
        self
    }
}

impl fmt::Display for Problem {
    /// Writes one line without the hint, safe to show: `PATH: MESSAGE`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", text::escape(&self.path.to_string_lossy(), 4096), self.message)
    }
}
