//! Following changes of hooks and settings on disk.

mod watched_dirs;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::broadcast;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use self::watched_dirs::WatchedDirs;
use super::{Manager, Reload};
use crate::discovery::Problem;
use hookbox_system::files::changes::WatchedDirectories;
use hookbox_system::{mutex, text};

/// The shortest time between two reloads: a hook that writes into its own directory at every event must not
/// keep the host busy.
const PAUSE: Duration = Duration::from_secs(1);

/// The number of reloads in a row, each within [`PAUSE`] of the one before, that make a storm.
const STORM: u32 = 5;

/// Stands for the number of changes while the directories are not watched yet.
const NONE_SEEN: u64 = u64::MAX;

/// The number of reloads that wait for a reader. The oldest are dropped beyond it.
const WAITING: usize = 16;

/// The error if changes cannot be followed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// It was not called inside a tokio runtime.
    #[error("changes of files cannot be followed: expected a tokio runtime, found none")]
    NoRuntime,
    /// The system does not let files be watched.
    #[error("changes of files cannot be followed: {}", text::escape(&.0.to_string(), 500))]
    System(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Calls [`Manager::reload`] whenever hooks or settings change on disk, until it is dropped.
///
/// It follows the roots, their `hooks/` and `plugins/*/hooks/`, the builder's directories and the trust file,
/// also those that do not exist yet. Symlinks in the home directory are followed to their targets. It reloads
/// when files have been quiet for 200 ms, after 2 s at the latest, and at most once a second.
///
/// It does not see changes by another machine on a network filesystem, nor files elsewhere that a script loads:
/// call [`Manager::reload`] for those. A repository's hook that the user trusts is checked before each run in any
/// case.
#[derive(Debug)]
#[must_use = "it stops when it is dropped"]
pub struct Watcher {
    reloads: broadcast::Receiver<Reload>,
    system: Arc<System>,
    task: JoinHandle<()>,
}

impl Watcher {
    /// Waits for the next reload that changed something or found a new problem. Returns `None` when the runtime
    /// ends. The last 16 reloads wait for a reader. Dropping the future loses no reload.
    pub async fn next(&mut self) -> Option<Reload> {
        loop {
            match self.reloads.recv().await {
                Ok(reload) => return Some(reload),
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }

    /// Returns a handle that reloads this manager, the one that is followed, at once.
    pub fn latest(&self, manager: &Manager) -> Latest {
        Latest { system: Arc::clone(&self.system), manager: manager.clone() }
    }
}

/// Reloads a manager that a [`Watcher`] follows before an event, so that no event misses a change.
#[derive(Clone, Debug)]
pub struct Latest {
    system: Arc<System>,
    manager: Manager,
}

impl Latest {
    /// Reloads if something has changed since the last reload, also if files are not quiet yet. Returns the reload if it
    /// changed something or found a new problem.
    pub async fn catch_up(&self) -> Option<Reload> {
        let (number, seen) = (self.system.directories.changes().number(), &self.system.seen);
        match seen.load(Ordering::SeqCst) {
            known if known == number => return None,
            NONE_SEEN => {}
            _ => seen.store(number, Ordering::SeqCst),
        }
        Some(self.manager.reload().await).filter(|reload| !reload.is_empty())
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.task.abort();
        self.system.directories.stop();
    }
}

impl Manager {
    /// Follows changes of hooks and settings on disk and reloads after each. It also reloads once at the start, for
    /// changes since the last search. The work runs in a task of the current tokio runtime.
    ///
    /// # Errors
    ///
    /// [`WatchError`] outside of a tokio runtime, and if the system refuses to watch files at all. A single
    /// directory that cannot be watched is a problem of the next reload.
    pub fn watch(&self) -> Result<Watcher, WatchError> {
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| WatchError::NoRuntime)?;
        let system = Arc::new(System::new()?);
        let (tell, reloads) = broadcast::channel(WAITING);
        let task = runtime.spawn(follow(self.clone(), Arc::clone(&system), tell));
        Ok(Watcher { reloads, system, task })
    }
}

/// The directories of a search, and the system's watcher of them.
#[derive(Debug)]
struct System {
    watched: Arc<Mutex<WatchedDirs>>,
    directories: WatchedDirectories,
    /// The number of changes before the last reload.
    seen: AtomicU64,
}

impl System {
    fn new() -> Result<Self, WatchError> {
        let watched = Arc::new(Mutex::new(WatchedDirs::default()));
        let heard = Arc::clone(&watched);
        let directories = WatchedDirectories::new(move |path| mutex::lock(&heard).contains(path))
            .map_err(|error| WatchError::System(error.into()))?;
        Ok(Self { watched, directories, seen: AtomicU64::new(NONE_SEEN) })
    }

    /// Watches these directories and no others. The reload that follows sees changes in between.
    fn arm(&self, watched: WatchedDirs) -> Vec<Problem> {
        *mutex::lock(&self.watched) = watched.clone();
        let failed = self.directories.watch(watched.iter().map(Path::to_owned).collect());
        let of_system = failed.iter().map(|(directory, error)| {
            let why = text::escape(&error.to_string(), 300);
            not_watched(directory, &why)
        });
        let left_out = watched.left_out();
        let beyond =
            left_out.map(|directory| not_watched(directory, "too many directories are watched already"));
        of_system.chain(beyond).collect()
    }
}

fn not_watched(directory: &Path, why: &str) -> Problem {
    let problem = Problem::new(directory, format!("is not watched: {why}"));
    problem.hint("reload by hand when hooks there have changed")
}

async fn follow(manager: Manager, system: Arc<System>, tell: broadcast::Sender<Reload>) {
    let changes = system.directories.changes();
    let mut reported = BTreeSet::new();
    let mut storm = Storm::default();
    loop {
        let watched = manager.watched_dirs().await;
        let (arming, armed) = (Arc::clone(&system), watched.clone());
        let unwatched = tokio::task::spawn_blocking(move || arming.arm(watched)).await.unwrap_or_default();
        let seen = changes.number();
        let mut reload = manager.reload().await;
        system.seen.store(seen, Ordering::SeqCst);
        let reloaded = Instant::now();
        reload.problems.extend(unwatched.into_iter().filter(|it| reported.insert(it.path.clone())));
        if storm.begins() {
            reload.storm = changes.last();
        }
        if let Some(path) = &reload.storm {
            tracing::warn!(path = %path.display(), "changes all the time: hooks are searched only once a second");
        }
        if !reload.is_empty() {
            // An error means that nobody listens, which is fine.
            tell.send(reload).ok();
        }
        // The reload found other directories to watch: read them again once they are watched.
        if manager.watched_dirs().await != armed {
            changes.note();
        }
        changes.after(seen).await;
        storm.note(reloaded.elapsed());
        changes.quiet().await;
        sleep_until(reloaded + PAUSE).await;
    }
}

/// A run of changes without end.
#[derive(Debug, Default)]
struct Storm {
    in_a_row: u32,
    is_reported: bool,
}

impl Storm {
    /// Records a change that came this long after the reload before.
    fn note(&mut self, after: Duration) {
        *self = if after < PAUSE {
            Self { in_a_row: self.in_a_row.saturating_add(1), ..*self }
        } else {
            Self::default()
        };
    }

    /// Returns true once per storm: when it starts.
    fn begins(&mut self) -> bool {
        let begins = self.in_a_row >= STORM && !self.is_reported;
        self.is_reported |= begins;
        begins
    }
}

impl Manager {
    async fn watched_dirs(&self) -> WatchedDirs {
        let plan = self.plan.lock().await;
        let Some(plan) = plan.as_ref().filter(|plan| plan.builder.directories) else {
            return WatchedDirs::default();
        };
        let (options, snapshot) = (plan.builder.discovery.clone(), self.snapshot());
        let found = move || {
            WatchedDirs::of(
                &options,
                snapshot.found.outer.iter().chain(&snapshot.found.repo),
                &snapshot.entries,
            )
        };
        tokio::task::spawn_blocking(found).await.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookbox_system::files::changes::QUIET;

    #[test]
    fn a_storm_is_said_once_until_it_is_quiet_again() {
        let mut storm = Storm::default();
        let mut begun = Vec::new();
        for look in 0..20 {
            storm.note(if look == 12 { PAUSE } else { QUIET });
            if storm.begins() {
                begun.push(look);
            }
        }
        assert_eq!(begun, [4, 17]);
    }

    #[test]
    fn without_a_runtime_nothing_is_followed() {
        assert!(matches!(Manager::empty().watch(), Err(WatchError::NoRuntime)));
    }
}
