//! The result of a discovery, with the state that worked: it stays in force for a file that is broken at the next one.
//!
//! Only wanted hooks are kept: a removed file is gone, and a hook that is disabled, or not trusted in its present form, is
//! not replaced by its last version.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::entry::Entry;
use crate::builtin::BuiltinSettings;
use crate::discovery::find::global_settings::GlobalSettings;
use crate::discovery::find::last_read::{Kept, LastRead, Since};
use crate::discovery::problem::Problem;
use crate::hook::Hook;
use crate::mcp;
use crate::rules::Rules;
use crate::trust::ProtectedDirs;
use crate::wasm::Component;

/// The hooks that were found, and the problems on the way.
#[derive(Default)]
pub struct Discovery {
    /// Every hook, also those that do not run, in run order: origin, priority, tier, root, plugin directory
    /// name, file name. A hook that does not run has the default priority.
    pub entries: Vec<Entry>,
    /// The hooks that run, in the order of registration: tier, root, plugin directory name, file name. A
    /// stable sort by the descriptor's `tier.origin()` and the subscription's `priority` makes it the order
    /// of a chain. Hooks that only fail (untrusted, or a guard that is missing, broken or unreadable) are
    /// among them.
    pub hooks: Vec<Arc<dyn Hook>>,
    /// The problems. An untrusted hook is not one: its entry and its reports have the reason.
    pub problems: Vec<Problem>,
    /// The repository: the nearest one.
    pub repo: Option<PathBuf>,
    /// The repositories around it, the outermost first: their hooks count as well.
    pub outer: Vec<PathBuf>,
    /// The time that examining untrusted files took.
    pub(crate) untrusted_time: Duration,
    /// The user's settings of each built-in hook, by its name.
    pub(crate) builtins: BTreeMap<&'static str, BuiltinSettings>,
    /// The settings for all hooks together.
    pub(crate) global: GlobalSettings,
    /// The directories that no hook may write to.
    pub protected: Arc<ProtectedDirs>,
    /// The broken files whose last state stays in force.
    pub(crate) kept: Vec<Kept>,
    /// The working state for the next discovery; `None` if this one failed.
    pub(crate) last_good: Option<LastGood>,
}

impl Discovery {
    /// Returns a discovery without any hook.
    pub(crate) fn new() -> Self {
        Self { last_good: Some(LastGood::default()), ..Self::default() }
    }

    /// Adds the hooks of a repository to those of the repositories around it. Their names do not shadow each
    /// other.
    pub(super) fn take(&mut self, inner: Self) {
        self.entries.extend(inner.entries);
        self.entries.sort_by_key(|entry| (entry.tier.origin(), entry.priority));
        self.hooks.extend(inner.hooks);
        self.problems.extend(inner.problems);
        self.kept.extend(inner.kept);
        match (&mut self.last_good, inner.last_good) {
            (Some(last), Some(inner)) => last.take(inner),
            (last, inner) => *last = inner,
        }
        self.builtins = inner.builtins;
        self.protected = inner.protected;
    }
}

/// The working state that a discovery found, for the next one.
#[derive(Default)]
pub(crate) struct LastGood {
    /// Settings and declarations.
    pub(super) read: Arc<LastRead>,
    /// Servers that may be running, by the directory of their root, the root and their name.
    pub(super) servers: HashMap<(PathBuf, usize, String), Arc<mcp::Server>>,
    /// Components, by file.
    pub(super) components: HashMap<PathBuf, Since<Component>>,
    /// Rules, by file.
    pub(super) rules: HashMap<PathBuf, Since<Rules>>,
}

impl LastGood {
    /// Adds the hooks of another repository; the files are read for all repositories at once.
    pub(super) fn take(&mut self, other: Self) {
        self.servers.extend(other.servers);
        self.components.extend(other.components);
        self.rules.extend(other.rules);
    }
}
