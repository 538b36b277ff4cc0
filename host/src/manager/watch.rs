//! Following changes of hooks and settings on disk.

mod watched_dirs;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::{Notify, broadcast};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

use self::watched_dirs::WatchedDirs;
use super::{Manager, Reload};
use crate::discovery::Problem;
use crate::mutex;
use crate::text;

/// The time without changes before files are read: an editor saves, and a compiler writes, in many steps.
const QUIET: Duration = Duration::from_millis(200);

/// The longest wait for that.
const PATIENCE: Duration = Duration::from_secs(2);

/// The shortest time between two reloads: a hook that writes into its own directory at every event must not
/// keep the host busy.
const PAUSE: Duration = Duration::from_secs(1);

/// The number of reloads in a row, each within [`PAUSE`] of the one before, that make a storm.
const STORM: u32 = 5;

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
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.task.abort();
        self.system.watcher().take();
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
        let system = Arc::new(System::default());
        let signal = Arc::clone(&system.signal);
        let watcher = notify::recommended_watcher(move |event| signal.hear(event))
            .map_err(|error| WatchError::System(error.into()))?;
        *system.watcher() = Some(watcher);
        let (tell, reloads) = broadcast::channel(WAITING);
        let task = runtime.spawn(follow(self.clone(), Arc::clone(&system), tell));
        Ok(Watcher { reloads, system, task })
    }
}

/// The system's watcher, and its signal.
#[derive(Debug, Default)]
struct System {
    watcher: Mutex<Option<RecommendedWatcher>>,
    signal: Arc<Signal>,
}

impl System {
    fn watcher(&self) -> MutexGuard<'_, Option<RecommendedWatcher>> {
        mutex::lock(&self.watcher)
    }

    /// Watches these directories and no others. All of them are watched anew, because a directory that was
    /// replaced has the old path. The reload that follows sees changes in between.
    fn arm(&self, watched: WatchedDirs) -> Vec<Problem> {
        let before = std::mem::replace(&mut *self.signal.watched(), watched.clone());
        let mut slot = self.watcher();
        let Some(watcher) = slot.as_mut() else { return Vec::new() };
        for directory in before.iter() {
            watcher.unwatch(directory).ok();
        }
        let mut problems = Vec::new();
        for directory in watched.iter() {
            if let Err(error) = watcher.watch(directory, RecursiveMode::NonRecursive)
                && directory.exists()
            {
                let why = text::escape(&error.to_string(), 300);
                problems.push(not_watched(directory, &why));
            }
        }
        let left_out = watched.left_out();
        problems.extend(
            left_out.map(|directory| not_watched(directory, "too many directories are watched already")),
        );
        problems
    }
}

fn not_watched(directory: &Path, why: &str) -> Problem {
    let problem = Problem::new(directory, format!("is not watched: {why}"));
    problem.hint("reload by hand when hooks there have changed")
}

/// The changes, from the system's thread to the task that reloads.
#[derive(Debug, Default)]
struct Signal {
    watched: Mutex<WatchedDirs>,
    changes: AtomicU64,
    last: Mutex<Option<PathBuf>>,
    wake: Notify,
}

impl Signal {
    fn watched(&self) -> MutexGuard<'_, WatchedDirs> {
        mutex::lock(&self.watched)
    }

    fn last(&self) -> MutexGuard<'_, Option<PathBuf>> {
        mutex::lock(&self.last)
    }

    fn hear(&self, event: notify::Result<notify::Event>) {
        // Events were lost: anything may have changed.
        let path = match event {
            Err(_) => None,
            Ok(event) if event.need_rescan() => None,
            Ok(event) => {
                let watched = is_change(event.kind).then(|| self.first_watched(event.paths)).flatten();
                let Some(path) = watched else { return };
                Some(path)
            }
        };
        if path.is_some() {
            *self.last() = path;
        }
        self.note();
    }

    fn note(&self) {
        self.changes.fetch_add(1, Ordering::SeqCst);
        self.wake.notify_one();
    }

    fn first_watched(&self, paths: Vec<PathBuf>) -> Option<PathBuf> {
        let watched = self.watched();
        paths.into_iter().find(|path| watched.contains(path))
    }

    fn changes(&self) -> u64 {
        self.changes.load(Ordering::SeqCst)
    }

    /// Waits for a change after `seen`.
    async fn changed(&self, seen: u64) {
        while self.changes() == seen {
            self.wake.notified().await;
        }
    }

    /// Waits until nothing has changed for [`QUIET`], [`PATIENCE`] at most.
    async fn quiet(&self) {
        let until = Instant::now() + PATIENCE;
        loop {
            let seen = self.changes();
            let calm = timeout(QUIET, self.changed(seen)).await.is_err();
            if calm || Instant::now() >= until {
                return;
            }
        }
    }
}

/// Returns true if files may have changed. Discovery opens and reads them, which is not a change.
fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
        EventKind::Access(_) => false,
        _ => true,
    }
}

async fn follow(manager: Manager, system: Arc<System>, tell: broadcast::Sender<Reload>) {
    let signal = &system.signal;
    let mut reported = BTreeSet::new();
    let mut storm = Storm::default();
    loop {
        let watched = manager.watched_dirs().await;
        let (arming, armed) = (Arc::clone(&system), watched.clone());
        let unwatched = tokio::task::spawn_blocking(move || arming.arm(watched)).await.unwrap_or_default();
        let seen = signal.changes();
        let mut reload = manager.reload().await;
        let reloaded = Instant::now();
        reload.problems.extend(unwatched.into_iter().filter(|it| reported.insert(it.path.clone())));
        if storm.begins() {
            reload.storm = signal.last().clone();
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
            signal.note();
        }
        signal.changed(seen).await;
        storm.note(reloaded.elapsed());
        signal.quiet().await;
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
            WatchedDirs::of(&options, snapshot.outer.iter().chain(&snapshot.repository), &snapshot.entries)
        };
        tokio::task::spawn_blocking(found).await.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::event::{CreateKind, DataChange, Flag, MetadataKind, ModifyKind, RemoveKind, RenameMode};

    #[test]
    fn what_a_search_does_itself_is_not_a_change() {
        for (kind, want) in [
            (EventKind::Access(AccessKind::Open(AccessMode::Any)), false),
            (EventKind::Access(AccessKind::Read), false),
            (EventKind::Access(AccessKind::Close(AccessMode::Read)), false),
            (EventKind::Access(AccessKind::Close(AccessMode::Write)), true),
            (EventKind::Create(CreateKind::File), true),
            (EventKind::Modify(ModifyKind::Data(DataChange::Any)), true),
            (EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any)), true),
            (EventKind::Modify(ModifyKind::Name(RenameMode::To)), true),
            (EventKind::Remove(RemoveKind::File), true),
            (EventKind::Any, true),
        ] {
            assert_eq!(is_change(kind), want, "{kind:?}");
        }
    }

    #[test]
    fn lost_events_and_errors_count_as_a_change() {
        let signal = Signal::default();
        signal.hear(Ok(notify::Event::new(EventKind::Create(CreateKind::File)).add_path("/x/y".into())));
        assert_eq!(signal.changes(), 0, "nobody asked for this directory");
        signal.hear(Ok(notify::Event::new(EventKind::Other).set_flag(Flag::Rescan)));
        signal.hear(Err(notify::Error::generic("lost")));
        assert_eq!(signal.changes(), 2);
    }

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
