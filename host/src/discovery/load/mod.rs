//! Makes hooks of candidates: judges and examines them, and builds those that run.
//!
//! Loading uses [`find`](super::find), which uses nothing of it.

mod build;
mod examine;
mod gate;
mod hook_cache;
mod judged;
mod launch;
mod missing;
mod select;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use self::examine::{Described, Examiner};
use self::gate::{Gate, Granted};
pub use self::hook_cache::{forget, remembered};
use self::judged::Judged;
pub(crate) use self::missing::unreadable_guard as guard_of_unseen;
use self::missing::{managed_guard, unreadable_guard};
use self::select::Wishes;
use super::find::{
    self, GlobalSettings, Kept, LastRead, Options, Repositories, Scan, Scanned, Since, absolute,
};
use super::{Entry, Problem};
use crate::builtin::BuiltinSettings;
use crate::hook::{COMPILE, Hook, Kind, Origin, Tier};
use crate::trust::ProtectedDirs;
use crate::wasm::Runtime;
use hookbox_system::files::FileAccess;

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
    fn take(&mut self, inner: Self) {
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
    read: Arc<LastRead>,
    /// Servers that may be running, by the directory of their root, the root and their name.
    #[cfg(feature = "mcp")]
    servers: HashMap<(PathBuf, usize, String), Arc<crate::mcp::Server>>,
    /// Components and rules, by kind and file.
    described: HashMap<(Kind, PathBuf), Since<Described>>,
}

impl LastGood {
    /// Adds the hooks of another repository; the files are read for all repositories at once.
    fn take(&mut self, other: Self) {
        #[cfg(feature = "mcp")]
        self.servers.extend(other.servers);
        self.described.extend(other.described);
    }
}

/// Finds the hooks. `last` is the working state of the last time: a file that is broken now stays in force in
/// its last version, unless that is against the user's will.
pub(crate) async fn discover(options: &Options, last: &Arc<LastGood>, runtime: &Runtime) -> Discovery {
    let mut problems = Vec::new();
    let options = Arc::new(find::valid(options, &mut problems));

    // Reading files blocks the thread, and other tasks of the agent must go on.
    let judged = {
        let (options, last, runtime) = (Arc::clone(&options), Arc::clone(&last.read), runtime.clone());
        blocking(options.one_event, move || find_and_judge(&options, &last, &runtime)).await
    };
    let Scanned { repositories, global, read, scans } = match judged {
        Ok(judged) => judged,
        Err(error) => {
            problems.push(not_searched(&options, &error).hiding(&FileAccess::Global));
            return Discovery {
                hooks: Vec::from_iter(unreadable_guard(&problems).filter(|_| options.unseen_blocks)),
                problems,
                ..Discovery::default()
            };
        }
    };
    if options.cwd.as_os_str().is_empty() {
        let message = "the working directory is gone: hookbox cannot tell whose hooks to run";
        let problem = Problem::new(".", message);
        let problem = problem.hint("change to a directory that exists, or give --cwd DIR");
        problems.push(Problem { hides: true, ..problem });
    }
    problems.extend(repositories.problem(&options.cwd));
    let Repositories { nearest: repo, outer, .. } = repositories;
    let examiner = Arc::new(Examiner::new(&options, runtime));
    let mut discovery = Discovery::default();
    let wishes = Wishes::of(&scans);
    // The outermost first: an inner repository takes nothing away from it, no time either.
    for scan in scans {
        let (access, repo) = (scan.scan.repository.clone(), scan.gate.repository().map(Path::to_owned));
        discovery.take(build::build(scan, &options, &examiner, last, &wishes).await);
        if let (Some(repo), true) = (repo, access.is_some_and(|it| it.is_exhausted())) {
            let message = "was not searched as a whole: the system ran out of file descriptors or memory";
            problems.push(Problem { hides: true, ..Problem::new(repo, message) });
        }
    }
    examiner.save_cache();
    if let Some(last_good) = &mut discovery.last_good {
        last_good.read = read;
    }
    discovery.untrusted_time = examiner.untrusted_time();
    discovery.repo = repo;
    discovery.outer = outer;
    discovery.problems.splice(0..0, problems);
    discovery.hooks.extend(unreadable_guard(&discovery.problems).filter(|_| options.unseen_blocks));
    if global.switched_off.is_some() {
        discovery.hooks.retain(|it| it.descriptor().tier.origin() == Origin::Managed);
    }
    let fault = options.managed.as_ref().and_then(|it| it.fault(&discovery.problems));
    discovery.hooks.extend(fault.map(managed_guard));
    discovery.global = global;
    discovery
}

/// A scan whose candidates are judged.
struct JudgedScan {
    scan: Scan,
    gate: Gate,
    judged: Vec<Arc<Judged>>,
}

impl JudgedScan {
    /// Judges the candidates of a scan. `names` counts the candidates of each name in all scans.
    fn new(mut scan: Scan, gate: Gate, names: &HashMap<String, usize>, options: &Options) -> Self {
        let judged = gate.judge(&mut scan, names, options).into_iter().map(Arc::new).collect();
        Self { scan, gate, judged }
    }
}

/// Counts the candidates of each name.
fn names(scans: &[Scan]) -> HashMap<String, usize> {
    let mut names = HashMap::new();
    for candidate in scans.iter().flat_map(|scan| &scan.candidates) {
        *names.entry(candidate.name.clone()).or_default() += 1;
    }
    names
}

/// Finds the candidates and judges them. None of them runs.
fn find_and_judge(options: &Options, last: &Arc<LastRead>, runtime: &Runtime) -> Scanned<JudgedScan> {
    let Scanned { repositories, global, read, mut scans } = find::find(options, last);
    let mut problems = Vec::new();
    let granted = Granted::read(options, runtime, &global, &mut problems);
    if let Some(nearest) = scans.last_mut() {
        nearest.files.problems.append(&mut problems);
    }
    let around: Vec<PathBuf> = repositories.outer.iter().chain(&repositories.nearest).cloned().collect();
    let of_scans = repositories.outer.iter().map(Some).chain([repositories.nearest.as_ref()]);
    let names = names(&scans);
    let judge = |(repo, scan): (Option<&PathBuf>, Scan)| {
        let gate = Gate::new(options, Arc::clone(&granted), repo.map(PathBuf::as_path), &around);
        JudgedScan::new(scan, gate, &names, options)
    };
    let scans = of_scans.zip(scans).map(judge).collect();
    Scanned { repositories, global, read, scans }
}

fn not_searched(options: &Options, error: &tokio::task::JoinError) -> Problem {
    Problem::new(&options.cwd, format!("was not searched for hooks: {error}"))
}

/// Does work that blocks: in this thread, or in one of its own, so that other tasks go on.
async fn blocking<T: Send + 'static>(
    here: bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, tokio::task::JoinError> {
    if here { Ok(work()) } else { tokio::task::spawn_blocking(work).await }
}

/// Examines one plugin in any directory, as if a repository had it in a directory of this name (`org@repo`).
/// Its hooks are untrusted: only `describe` of its components runs, in a sandbox with nothing granted.
pub async fn examine_plugin(dir: &Path, called: &str, tier: Tier, runtime: &Runtime) -> Discovery {
    let (dir, called) = (absolute(dir), called.to_owned());
    // The user asked for this plugin, and waits for it.
    let options = Arc::new(Options { untrusted_timeout: COMPILE, ..Options::new(&dir, None) });
    let judged = {
        let (options, runtime) = (Arc::clone(&options), runtime.clone());
        tokio::task::spawn_blocking(move || {
            let mut scan = find::scan_plugin(&dir, &called, tier);
            let global = GlobalSettings::default();
            let granted = Granted::read(&options, &runtime, &global, &mut scan.files.problems);
            let gate = Gate::new(&options, granted, Some(&dir), std::slice::from_ref(&dir));
            let names = names(std::slice::from_ref(&scan));
            JudgedScan::new(scan, gate, &names, &options)
        })
        .await
    };
    let scan = match judged {
        Ok(scan) => scan,
        Err(error) => {
            return Discovery { problems: vec![not_searched(&options, &error)], ..Discovery::default() };
        }
    };
    let (examiner, last) = (Arc::new(Examiner::new(&options, runtime)), Arc::default());
    build::build(scan, &options, &examiner, &last, &Wishes::default()).await
}
