//! Finds candidates for hooks: reads roots, plugins, declarations and settings, and runs nothing.

mod declared;
mod files;
mod managed;
mod roots;
mod scan;
mod settings;
pub(super) mod source;

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

pub use self::declared::{Declared, Handler, PluginFile, Service, SourceFile, WiredCommand, document, group};
pub(super) use self::declared::{PLUGIN_DATA_VARIABLE, Source};
pub use self::files::{Kept, ReadFile};
pub(super) use self::files::{LastRead, Since};
pub use self::managed::{ManagedDir, PluginPolicy};
pub(super) use self::roots::{HooksDir, Repositories, RootDir};
pub use self::roots::{MANIFEST, MARKETPLACE};
pub(super) use self::scan::{Candidate, Position, Scan, State, kind_by_name, scan_plugin};
pub(crate) use self::settings::GlobalSettings;
pub(super) use self::settings::{FILE as SETTINGS_FILE, Table, builtin_settings};
pub use self::settings::{SwitchedOff, collector, git_host};
pub use self::source::{Area, Finder, HookSource, MAX_FILES, MAX_HOOKS};
use crate::discovery::Problem;
use crate::hook::{COMPILE, Digest, Kind, Limits, MAX_COMPONENT};
use crate::inputs::Recording;
use crate::thresholds::Thresholds;
use crate::trust::TrustPolicy;
use hookbox_system::text;

/// The number of candidates of one directory, and of plugins of one root. Hundreds of hooks in a directory are a
/// mistake, or an attack: each one is asked for its events.
pub(crate) const MAX_CANDIDATES: usize = 256;

/// The number of candidates of a repository, over all its hooks directories and plugins. Each one is examined, listed
/// and reported.
pub(crate) const MAX_OF_REPOSITORY: usize = 512;

/// The candidates of all repositories and of the user, found or judged.
pub(super) struct Scanned<S = Scan> {
    pub(super) repositories: Repositories,
    /// The settings for all hooks together.
    pub(super) global: GlobalSettings,
    /// The settings and declarations that could be read.
    pub(super) read: Arc<LastRead>,
    /// The outermost repository first; the nearest one last, with the user's own candidates.
    pub(super) scans: Vec<S>,
}

/// Finds the candidates. The options are [`valid`].
pub(super) fn find(options: &Options, last: &Arc<LastRead>) -> Scanned {
    let repositories = roots::repositories(&options.cwd, options.home.as_deref(), &options.roots);
    let scan_outer = |repo: &PathBuf| Scan::new(last).repository(repo, &options.roots);
    let mut outer: Vec<_> = repositories.outer.iter().map(scan_outer).collect();
    let mut nearest = scan::scan(options, repositories.nearest.as_deref(), last);
    source::run_sources(options, &repositories, &mut outer, &mut nearest);
    let global = settings::global(&nearest.roots, options, &mut nearest.files.problems);
    let mut scans: Vec<Scan> = outer.into_iter().chain([nearest]).collect();
    managed::keep_only(&mut scans, &global, options);
    managed::refuse_plugins(&mut scans, &global.plugins);
    let read: LastRead = scans.iter_mut().flat_map(|scan| std::mem::take(&mut scan.files.next)).collect();
    Scanned { repositories, global, read: Arc::new(read), scans }
}

/// Returns the names of the hooks that are found, sorted, also of those that do not run. It runs and compiles
/// nothing.
pub fn names(options: &Options) -> Vec<String> {
    let found = scans(options);
    let candidates = found.iter().flat_map(|scan| &scan.candidates);
    let names: BTreeSet<String> = candidates.map(|it| it.name.clone()).collect();
    names.into_iter().collect()
}

/// A component that was found, and not examined.
#[derive(Clone, Debug)]
pub struct FoundComponent {
    /// The full name of its hook.
    pub name: String,
    /// Its file, absolute.
    pub path: PathBuf,
    /// The digest of its bytes.
    pub digest: Digest,
}

/// Returns the components that are found and can be read, also those that do not run. It runs and compiles nothing.
pub fn components(options: &Options) -> Vec<FoundComponent> {
    let found = scans(options);
    let candidates = found.iter().flat_map(|scan| &scan.candidates).filter(|it| it.kind == Kind::Component);
    let with_digest = candidates.filter_map(|it| {
        let digest = it.dir.access.digest(&it.path, MAX_COMPONENT).ok()?;
        Some(FoundComponent { name: it.name.clone(), path: it.path.clone(), digest })
    });
    with_digest.collect()
}

fn scans(options: &Options) -> Vec<Scan> {
    find(&valid(options, &mut Vec::new()), &Arc::default()).scans
}

/// Returns the options with absolute paths and [`roots::valid`].
pub(super) fn valid(options: &Options, problems: &mut Vec<Problem>) -> Options {
    let (cwd, home) = (absolute(&options.cwd), options.home.as_deref().map(absolute));
    let here = if cwd.as_os_str().is_empty() { Path::new(".") } else { &cwd };
    let roots = roots::valid(&options.roots, here, problems);
    Options { cwd, home, roots, ..options.clone() }
}

/// Returns the repository of a working directory: the nearest ancestor with `.git` or a root, else the directory
/// itself. `None` in the home directory, in `/`, in a directory of another user, and without a directory.
pub fn repository(options: &Options) -> Option<PathBuf> {
    repositories(options).nearest
}

/// Returns the outermost repository around a working directory.
pub(crate) fn outermost_repository(options: &Options) -> Option<PathBuf> {
    let found = repositories(options);
    found.outer.into_iter().next().or(found.nearest)
}

fn repositories(options: &Options) -> Repositories {
    let home = options.home.as_deref().map(absolute);
    roots::repositories(&absolute(&options.cwd), home.as_deref(), &options.roots)
}

/// Returns an absolute path without `..`; symlinks stay, unless a `..` depends on them.
pub(super) fn absolute(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if path.components().any(|part| part == Component::ParentDir) {
        return std::fs::canonicalize(&path).unwrap_or(path);
    }
    path
}

/// The default roots.
pub const DEFAULT_ROOTS: [&str; 2] = [".hookbox", ".kodelet"];

/// The places in which hooks are found, and the rules for them.
#[derive(Clone, Debug)]
pub struct Options {
    /// The working directory, from which the repository is found. A relative path is taken from the process's
    /// own directory. A directory that does not exist has no repository of its own.
    pub cwd: PathBuf,
    /// The home directory; without it the user has no hooks.
    pub home: Option<PathBuf>,
    /// The administrator's directory. Default: that of the system.
    pub managed: Option<ManagedDir>,
    /// The names of directories with hooks, in their order. Default: [`DEFAULT_ROOTS`].
    pub roots: Vec<String>,
    /// Hooks directories of the embedder, treated like the user's own: tier global, after the roots. No
    /// settings file applies to them. Default: none.
    pub directories: Vec<PathBuf>,
    /// The rule for which hooks of a repository run. Default: [`TrustPolicy::Recorded`].
    pub trust: TrustPolicy,
    /// Limits that go before every default and setting, also if they are higher. Default: none.
    pub limits: Limits,
    /// A private directory for the cached answers of native hooks to `hook`; without it each one is asked
    /// each time.
    pub cache: Option<PathBuf>,
    /// A private directory with the user's trust and grants, and the state of hooks. Without it nothing of a
    /// repository is trusted and nothing is granted.
    pub data: Option<PathBuf>,
    /// The command of the agent that the hooks are for, such as `commit`. One of the user's `skip_commands`
    /// (`commit` and `pr` by default) gets no hooks. Default: none.
    pub command: Option<String>,
    /// The thresholds of the context window, if the user's settings have none. Default: 0.7 and 0.8, compact.
    pub thresholds: Thresholds,
    /// Further sources of hooks. Default: none.
    pub sources: Vec<Arc<dyn HookSource>>,
    /// Examines the hooks also if none of them runs, to show and approve them. Default: no.
    pub examine_switched_off: bool,
    /// Names hooks by their paths in advice: its reader may be in another directory. Default: no.
    pub whole_paths: bool,
    /// The process answers one event and ends, with nothing else running beside. The user's files are read in
    /// the thread that needs them. A component that failed and did not change is not tried again. Default: no.
    pub one_event: bool,
    /// Reads and describes a component again that did not change. Default: no, unless it was last read a day ago.
    pub reread: bool,
    /// The time limit for loading a component that the user trusts. Default: that of compiling.
    pub component_timeout: Duration,
    /// The longest wait for all components that the user trusts and that are not compiled yet, if compiling goes on
    /// afterwards. Default: no such limit, and compiling ends with the search.
    pub compile_wait: Option<Duration>,
    /// The time limit for examining all hooks together that the user has not trusted. Default: 10 s.
    pub untrusted_timeout: Duration,
    /// A file or directory that cannot be read, and so hides hooks of the user's, counts as a guard that
    /// fails in every event: for a program that answers for an agent. Default: no, it is only a problem.
    pub unseen_blocks: bool,
    /// Counts the hooks that are found and examined.
    pub progress: Progress,
    /// No hook runs, at the wish of the program or its user, but the administrator's.
    pub(crate) no_hooks: bool,
    /// Makes components record their inputs.
    pub(crate) recording: Recording,
}

impl Options {
    /// Returns the options with which a command finds the same hooks, each with a space behind it.
    pub fn flags(&self) -> String {
        if self.roots == DEFAULT_ROOTS {
            return String::new();
        }
        self.roots
            .iter()
            .map(|root| format!("--root {} ", text::escape(&text::shell_word(root), 255)))
            .collect()
    }

    /// Returns the defaults for this working directory and home directory.
    pub fn new(cwd: impl Into<PathBuf>, home: Option<PathBuf>) -> Self {
        Self {
            cwd: cwd.into(),
            home,
            managed: Some(ManagedDir::of_system()),
            roots: DEFAULT_ROOTS.map(str::to_owned).into(),
            directories: Vec::new(),
            trust: TrustPolicy::default(),
            limits: Limits::default(),
            cache: None,
            data: None,
            command: None,
            thresholds: Thresholds::default(),
            sources: Vec::new(),
            examine_switched_off: false,
            whole_paths: false,
            one_event: false,
            reread: false,
            component_timeout: COMPILE + COMPILE,
            compile_wait: None,
            // An agent waits for this before its first event.
            untrusted_timeout: Duration::from_secs(10),
            unseen_blocks: false,
            progress: Progress::default(),
            no_hooks: false,
            recording: Recording::default(),
        }
    }

    /// Returns true if a source would find a hook of this name.
    pub(crate) fn covers(&self, name: &str) -> bool {
        self.sources.iter().any(|source| source.covers(name))
    }
}

/// The progress of a search for hooks: most of its time passes with new components, which are compiled. Clones share
/// the counts.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    found: AtomicUsize,
    examined: AtomicUsize,
}

impl Progress {
    /// Returns the number of hooks that are to be examined, as far as they are known.
    pub fn found(&self) -> usize {
        self.0.found.load(Ordering::Relaxed)
    }

    /// Returns the number of hooks that were examined.
    pub fn examined(&self) -> usize {
        self.0.examined.load(Ordering::Relaxed)
    }

    pub(in crate::discovery) fn find(&self, hooks: usize) {
        self.0.found.fetch_add(hooks, Ordering::Relaxed);
    }

    pub(in crate::discovery) fn examine(&self) {
        self.0.examined.fetch_add(1, Ordering::Relaxed);
    }
}
