//! Makes hooks of candidates: judges and examines them, and builds those that run.
//!
//! Loading uses [`find`](super::find), which uses nothing of it.

mod assemble;
mod assembly;
mod builtins;
mod discovered;
mod entry;
mod examine;
mod gate;
mod hook_cache;
mod judged_candidate;
mod launch;
mod missing;
mod selection;
mod shadow;
mod tighten;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use self::assembly::unreadable_guard as guard_of_unseen;
pub use self::discovered::Discovery;
pub(crate) use self::discovered::LastGood;
pub use self::entry::{Entry, EntryStatus, Found, Namesake};
pub use self::hook_cache::{forget, remembered};
pub use self::tighten::Tightened;

use self::assembly::unreadable_guard;
use super::find::global_settings::GlobalSettings;
use super::find::last_read::LastRead;
use super::find::options::Options;
use super::find::repo::Repositories;
use super::find::roots;
use super::find::scan::{self, Scan};
use super::find::{self, Scanned, absolute};
use super::problem::Problem;
use crate::hook::{COMPILE, Tier};
use crate::wasm::Runtime;
use hookbox_system::files::FileAccess;

/// Finds the hooks. `last` is the working state of the last time: a file that is broken now stays in force in
/// its last version, unless that is against the user's will.
pub(crate) async fn discover(options: &Options, last: &Arc<LastGood>, runtime: &Runtime) -> Discovery {
    let mut options = options.clone();
    options.cwd = absolute(&options.cwd);
    options.home = options.home.map(|home| absolute(&home));
    let mut problems = Vec::new();
    let here = if options.cwd.as_os_str().is_empty() { Path::new(".") } else { &options.cwd };
    options.roots = roots::valid(&options.roots, here, &mut problems);
    let options = Arc::new(options);

    // Reading files blocks the thread, and other tasks of the agent must go on.
    let judged = {
        let (options, last, runtime) = (Arc::clone(&options), Arc::clone(&last.read), runtime.clone());
        blocking(options.one_event, move || find_and_judge(&options, &last, &runtime)).await
    };
    let Judged { repositories, global, read, mut scans } = match judged {
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
        let message = "the working directory is gone: nobody knows whose hooks run";
        let problem = Problem::new(".", message);
        let problem = problem.hint("change to a directory that exists, or give --cwd DIR");
        problems.push(Problem { hides: true, ..problem });
    }
    problems.extend(repositories.problem(&options.cwd));
    let Repositories { nearest: repo, outer, .. } = repositories;
    if global.switched_off.is_some() && !options.examine_switched_off {
        problems.extend(scans.iter_mut().flat_map(|it| std::mem::take(&mut it.scan.problems)));
        let kept = scans.into_iter().flat_map(|it| it.scan.kept).collect();
        let last_good = Some(LastGood { read, ..LastGood::default() });
        return Discovery { problems, repo, outer, global, kept, last_good, ..Discovery::default() };
    }
    let examiner = examine::Examiner::new(&options, runtime);
    let mut discovery = Discovery::default();
    let wishes = tighten::Wishes::of(scans.iter().map(|it| &it.scan));
    // The outermost first: an inner repository takes nothing away from it, no time either.
    for JudgedScan { scan, gate, judgements } in scans {
        let access = scan.repository.clone();
        let of_scan = assemble::assemble(scan, &gate, judgements, &options, &examiner, last, &wishes).await;
        discovery.take(of_scan);
        if let (Some(repo), true) = (gate.repository(), access.is_some_and(|it| it.is_exhausted())) {
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
        discovery.hooks.clear();
    }
    discovery.global = global;
    discovery
}

/// The candidates of all repositories and of the user, judged.
struct Judged {
    repositories: Repositories,
    global: GlobalSettings,
    /// The files that could be read.
    read: Arc<LastRead>,
    /// The outermost repository first; the nearest one last, with the user's own candidates.
    scans: Vec<JudgedScan>,
}

/// A scan with the judgements of its candidates.
struct JudgedScan {
    scan: Scan,
    gate: gate::Gate,
    judgements: Vec<gate::Judgement>,
}

/// Finds the candidates and judges them. None of them runs.
fn find_and_judge(options: &Options, last: &Arc<LastRead>, runtime: &Runtime) -> Judged {
    let Scanned { repositories, global, read, mut scans } = find::find(options, last);
    let mut problems = Vec::new();
    let granted = gate::Granted::read(options, runtime, global.git.as_deref(), &mut problems);
    let around: Vec<PathBuf> = repositories.outer.iter().chain(&repositories.nearest).cloned().collect();
    let of_scans = repositories.outer.iter().map(Some).chain([repositories.nearest.as_ref()]);
    let judge = |(repo, scan): (Option<&PathBuf>, &Scan)| {
        let gate = gate::Gate::new(options, Arc::clone(&granted), repo.map(PathBuf::as_path), &around);
        let judgements = gate.judge(scan, &scans, options);
        (gate, judgements)
    };
    let judged: Vec<_> = of_scans.zip(&scans).map(judge).collect();
    if let Some(nearest) = scans.last_mut() {
        nearest.problems.append(&mut problems);
    }
    let scans = scans.into_iter().zip(judged);
    let scans = scans.map(|(scan, (gate, judgements))| JudgedScan { scan, gate, judgements }).collect();
    Judged { repositories, global, read, scans }
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
            let mut scan = scan::scan_plugin(&dir, &called, tier);
            let granted = gate::Granted::read(&options, &runtime, None, &mut scan.problems);
            let gate = gate::Gate::new(&options, granted, Some(&dir), std::slice::from_ref(&dir));
            let judgements = gate.judge(&scan, std::slice::from_ref(&scan), &options);
            JudgedScan { scan, gate, judgements }
        })
        .await
    };
    let JudgedScan { scan, gate, judgements } = match judged {
        Ok(judged) => judged,
        Err(error) => {
            return Discovery { problems: vec![not_searched(&options, &error)], ..Discovery::default() };
        }
    };
    let examiner = examine::Examiner::new(&options, runtime);
    let (last, wishes) = (Arc::default(), tighten::Wishes::default());
    assemble::assemble(scan, &gate, judgements, &options, &examiner, &last, &wishes).await
}
