//! Finds hooks: roots, tiers, plugins and settings become hooks, a list to show, and problems.
//!
//! [`discover`] searches the four tiers, asks native hooks for their events and loads components. The gate of
//! [`crate::trust`] decides which of them run. It never fails: one bad file or directory is one [`Problem`].

mod approvable;
mod assemble;
mod assembly;
mod builtins;
mod candidate;
mod declared;
mod entry;
mod examine;
mod failing_hook;
mod fallback;
mod gate;
mod global_settings;
mod hook_cache;
mod judged_candidate;
mod lapsed;
mod launch;
mod limits;
mod missing;
mod options;
mod repo;
mod scan;
mod selection;
mod settings;
mod shadow;
pub mod source;
mod units;
mod unreadable_guard;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use approvable::{Approvable, Namesake};
#[doc(hidden)]
pub use declared::{document, reader};
pub use entry::{Entry, EntryStatus, Problem};
pub use fallback::Kept;
pub(crate) use fallback::LastGood;
pub(crate) use global_settings::GlobalSettings;
pub use global_settings::{DEFAULT_SKIP_COMMANDS, SwitchedOff, git_host};
pub use options::{DEFAULT_ROOTS, Options};
pub use units::{UnitError, parse_duration, parse_size, show_duration};
pub(crate) use unreadable_guard::guard as guard_of_unseen;

use crate::builtin::Wishes;
use crate::files::FileAccess;
use crate::hook::Hook;
use crate::trust::ProtectedDirs;
use crate::wasm::Runtime;

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
    /// The problems. A hook that was never trusted is not among them: its entry and its reports say so.
    pub problems: Vec<Problem>,
    /// The repository: the nearest one.
    pub repo: Option<PathBuf>,
    /// The repositories around it, the outermost first: their hooks count as well.
    pub outer: Vec<PathBuf>,
    /// The time that untrusted files took.
    pub(crate) untrusted_look: Duration,
    /// The user's settings of each built-in hook, by its name.
    pub(crate) builtins: BTreeMap<&'static str, Wishes>,
    /// The settings for all hooks together.
    pub(crate) global: GlobalSettings,
    /// The same hooks as in `entries`, for the commands that trust and grant; by tier, root, plugin directory
    /// name and file name.
    pub approvable: Vec<Approvable>,
    /// The directories that no hook may write to.
    pub protected: Arc<ProtectedDirs>,
    /// The broken files whose last state stays in force.
    pub(crate) kept: Vec<Kept>,
    /// The part of a hook that its entry does not show (its settings, grants and declaration), by its name
    /// and file.
    pub(crate) details: BTreeMap<(String, PathBuf), String>,
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
    fn take(&mut self, inner: Self) {
        self.entries.extend(inner.entries);
        self.entries.sort_by_key(|entry| (entry.tier.origin(), entry.priority));
        self.hooks.extend(inner.hooks);
        self.approvable.extend(inner.approvable);
        self.problems.extend(inner.problems);
        self.kept.extend(inner.kept);
        self.details.extend(inner.details);
        match (&mut self.last_good, inner.last_good) {
            (Some(last), Some(inner)) => last.take(inner),
            (last, inner) => *last = inner,
        }
        self.builtins = inner.builtins;
        self.protected = inner.protected;
    }
}

/// Returns the repository of a working directory: the nearest ancestor that holds `.git` or a root, else the
/// directory itself. `None` in the home directory, in `/`, in somebody else's directory, and without a
/// directory.
pub fn repository(options: &Options) -> Option<PathBuf> {
    repositories(options).nearest
}

/// Returns the outermost repository around a working directory.
pub fn outermost_repository(options: &Options) -> Option<PathBuf> {
    let found = repositories(options);
    found.outer.into_iter().next().or(found.nearest)
}

fn repositories(options: &Options) -> repo::Repositories {
    let home = options.home.as_deref().map(absolute);
    repo::find(&absolute(&options.cwd), home.as_deref(), &options.roots)
}

/// Finds the hooks.
pub async fn discover(options: &Options, runtime: &Runtime) -> Discovery {
    discover_again(options, &Arc::default(), runtime).await
}

/// Finds the hooks. `last` is the working state of the last time: a file that is broken now stays in force in
/// its last version, unless that is against the user's will.
pub(crate) async fn discover_again(options: &Options, last: &Arc<LastGood>, runtime: &Runtime) -> Discovery {
    let mut options = options.clone();
    options.cwd = absolute(&options.cwd);
    options.home = options.home.map(|home| absolute(&home));
    let mut problems = Vec::new();
    let here = if options.cwd.as_os_str().is_empty() { Path::new(".") } else { &options.cwd };
    options.roots = scan::valid_roots(&options.roots, here, &mut problems);
    let options = Arc::new(options);

    // Listing and reading settings blocks; it must not hold up other tasks of the agent.
    let looked = {
        let (options, last, runtime) = (Arc::clone(&options), Arc::clone(last), runtime.clone());
        blocking(options.one_event, move || {
            let repositories = repo::find(&options.cwd, options.home.as_deref(), &options.roots);
            let repo = repositories.nearest.as_deref();
            let mut found = scan::scan(&options, repo, Arc::clone(&last));
            let scan_outer = |repo: &PathBuf| scan::scan_outer(&options, repo, Arc::clone(&last));
            let mut outer: Vec<_> = repositories.outer.iter().map(scan_outer).collect();
            source::look(&options, &repositories, &mut outer, &mut found);
            let global = global_settings::of(&found.roots, &options, &mut found.problems);
            let around: Vec<PathBuf> =
                repositories.outer.iter().chain(&repositories.nearest).cloned().collect();
            let records = gate::read_records(&options, &mut found.problems);
            let gate = gate::Gate::open(&options, &runtime, repo, &around, Arc::clone(&records));
            let all: Vec<&scan::Scan> = outer.iter().chain([&found]).collect();
            let judged = gate.judge(&found, &all, &options);
            let look = |(repo, scan): (&PathBuf, &scan::Scan)| {
                let gate = gate::Gate::open(&options, &runtime, Some(repo), &around, Arc::clone(&records));
                let judged = gate.judge(scan, &all, &options);
                (gate, judged)
            };
            let looks: Vec<_> = repositories.outer.iter().zip(&outer).map(look).collect();
            (repositories, found, global, gate, judged, outer.into_iter().zip(looks).collect::<Vec<_>>())
        })
        .await
    };
    let (repositories, scan, global, gate, judged, outer) = match looked {
        Ok(looked) => looked,
        Err(error) => {
            let problem = Problem::new(&options.cwd, format!("was not looked through: {error}"));
            problems.push(problem.hiding(&FileAccess::Global));
            return Discovery {
                hooks: Vec::from_iter(unreadable_guard::guard(&problems).filter(|_| options.unseen_blocks)),
                problems,
                ..Discovery::default()
            };
        }
    };
    if options.cwd.as_os_str().is_empty() {
        problems.push(Problem::no_directory());
    }
    problems.extend(repositories.problem(&options.cwd));
    let repo::Repositories { nearest: repo, outer: around, .. } = repositories;
    if global.switched_off.is_some() && !options.look_anyway {
        problems.extend(outer.into_iter().flat_map(|(scan, _)| scan.problems));
        problems.extend(scan.problems);
        let (kept, last_good) = (scan.kept, Some(scan.next));
        return Discovery { problems, repo, outer: around, global, kept, last_good, ..Discovery::default() };
    }
    let examiner = examine::Examiner::new(&options, last, runtime);
    let mut discovery = Discovery::default();
    let scans = outer.iter().map(|(scan, _)| scan).chain([&scan]);
    let places: Vec<Option<FileAccess>> = scans.map(|scan| scan.repository.clone()).collect();
    // The outermost first: what lies in it takes nothing away from it, no time either.
    for (path, (scan, (gate, judged))) in around.iter().zip(outer) {
        discovery.take(assemble::assemble(scan, &gate, judged, &options, Some(path), &examiner).await);
    }
    discovery.take(assemble::assemble(scan, &gate, judged, &options, repo.as_deref(), &examiner).await);
    examiner.keep();
    discovery.untrusted_look = examiner.untrusted_look();
    for (path, place) in around.iter().chain(&repo).zip(places) {
        if place.is_some_and(|place| place.is_exhausted()) {
            let what = "was not looked through as a whole: the system ran out of file descriptors or memory";
            problems.push(Problem { hides: true, ..Problem::new(path, what) });
        }
    }
    discovery.repo = repo;
    discovery.outer = around;
    discovery.problems.splice(0..0, problems);
    discovery.hooks.extend(unreadable_guard::guard(&discovery.problems).filter(|_| options.unseen_blocks));
    if global.switched_off.is_some() {
        discovery.hooks.clear();
    }
    discovery.global = global;
    discovery
}

/// Does work that blocks: in this thread, or in one of its own, so that other tasks go on.
async fn blocking<T: Send + 'static>(
    here: bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, tokio::task::JoinError> {
    if here { Ok(work()) } else { tokio::task::spawn_blocking(work).await }
}

/// Examines one plugin in any directory, as if a repository had it in a directory of this name (`org@repo`).
/// Nothing of it is trusted, and only `describe` of its components runs, in a sandbox with nothing granted.
pub async fn look_into_plugin(dir: &Path, called: &str, runtime: &Runtime) -> Discovery {
    let (dir, called) = (absolute(dir), called.to_owned());
    let options = Arc::new(Options::new(&dir, None));
    let looked = {
        let (options, runtime) = (Arc::clone(&options), runtime.clone());
        tokio::task::spawn_blocking(move || {
            let found = scan::scan_plugin(&dir, &called);
            let gate =
                gate::Gate::open(&options, &runtime, Some(&dir), std::slice::from_ref(&dir), Arc::default());
            let judged = gate.judge(&found, &[&found], &options);
            (found, gate, judged)
        })
        .await
    };
    let (scan, gate, judged) = match looked {
        Ok(looked) => looked,
        Err(error) => {
            let problem = Problem::new(&options.cwd, format!("was not looked through: {error}"));
            return Discovery { problems: vec![problem], ..Discovery::default() };
        }
    };
    let examiner = examine::Examiner::new(&options, &Arc::default(), runtime);
    assemble::assemble(scan, &gate, judged, &options, Some(&options.cwd), &examiner).await
}

/// Returns an absolute path without `..`; symlinks stay, unless a `..` depends on them.
fn absolute(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if path.components().any(|part| part == std::path::Component::ParentDir) {
        return std::fs::canonicalize(&path).unwrap_or(path);
    }
    path
}
