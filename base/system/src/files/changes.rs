//! Changes of files, as the system reports them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use crate::mutex;

/// The time without changes before files are read: an editor saves, and a compiler writes, in many steps.
pub const QUIET: Duration = Duration::from_millis(200);

/// The longest wait for that.
const PATIENCE: Duration = Duration::from_secs(2);

/// Directories that the system watches, none of them recursively, and their changes.
#[derive(Debug)]
pub struct WatchedDirectories {
    watcher: Mutex<Option<RecommendedWatcher>>,
    directories: Mutex<Vec<PathBuf>>,
    changes: Arc<Changes>,
}

impl WatchedDirectories {
    /// Watches nothing yet. `counts` decides if the change of a path counts.
    ///
    /// # Errors
    ///
    /// The system does not let files be watched.
    pub fn new(counts: impl Fn(&Path) -> bool + Send + Sync + 'static) -> Result<Self, notify::Error> {
        let changes = Arc::new(Changes::default());
        let signal = Arc::clone(&changes);
        let watcher = notify::recommended_watcher(move |event| signal.hear(event, &counts))?;
        Ok(Self { watcher: Mutex::new(Some(watcher)), directories: Mutex::default(), changes })
    }

    /// Watches these directories and no others, and returns those that exist and cannot be watched. All of them are
    /// watched anew, because a directory that was replaced has the old path.
    pub fn watch(&self, directories: Vec<PathBuf>) -> Vec<(PathBuf, notify::Error)> {
        let mut slot = mutex::lock(&self.watcher);
        let Some(watcher) = slot.as_mut() else { return Vec::new() };
        let mut watched = mutex::lock(&self.directories);
        for directory in watched.iter() {
            watcher.unwatch(directory).ok();
        }
        let mut failed = Vec::new();
        for directory in &directories {
            if let Err(error) = watcher.watch(directory, RecursiveMode::NonRecursive)
                && directory.exists()
            {
                failed.push((directory.clone(), error));
            }
        }
        *watched = directories;
        failed
    }

    /// Watches nothing from now on.
    pub fn stop(&self) {
        mutex::lock(&self.watcher).take();
    }

    /// Returns the changes.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }
}

/// The changes, from the system's thread to a task.
#[derive(Debug, Default)]
pub struct Changes {
    number: AtomicU64,
    last: Mutex<Option<PathBuf>>,
    wake: Notify,
}

impl Changes {
    fn hear(&self, event: notify::Result<notify::Event>, counts: impl Fn(&Path) -> bool) {
        // Events were lost: anything may have changed.
        let path = match event {
            Err(_) => None,
            Ok(event) if event.need_rescan() => None,
            Ok(event) if !is_change(event.kind) => return,
            Ok(event) => match event.paths.into_iter().find(|path| counts(path)) {
                None => return,
                path => path,
            },
        };
        if path.is_some() {
            *mutex::lock(&self.last) = path;
        }
        self.note();
    }

    /// Counts a change that the system did not report.
    pub fn note(&self) {
        self.number.fetch_add(1, Ordering::SeqCst);
        self.wake.notify_one();
    }

    /// Returns the number of changes so far.
    pub fn number(&self) -> u64 {
        self.number.load(Ordering::SeqCst)
    }

    /// Returns the last path that changed.
    pub fn last(&self) -> Option<PathBuf> {
        mutex::lock(&self.last).clone()
    }

    /// Waits for a change after the first `seen` ones.
    pub async fn after(&self, seen: u64) {
        while self.number() == seen {
            self.wake.notified().await;
        }
    }

    /// Waits until nothing has changed for [`QUIET`], two seconds at most.
    pub async fn quiet(&self) {
        let until = Instant::now() + PATIENCE;
        loop {
            let seen = self.number();
            let calm = timeout(QUIET, self.after(seen)).await.is_err();
            if calm || Instant::now() >= until {
                return;
            }
        }
    }
}

/// Returns true if files may have changed. hookbox opens and reads them, which is not a change.
fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
        EventKind::Access(_) => false,
        _ => true,
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
        let changes = Changes::default();
        let created =
            |path: &str| Ok(notify::Event::new(EventKind::Create(CreateKind::File)).add_path(path.into()));
        let counts = |path: &Path| path.starts_with("/x");
        changes.hear(created("/y/z"), counts);
        assert_eq!((changes.number(), changes.last()), (0, None), "nobody asked for this directory");
        changes.hear(created("/x/z"), counts);
        assert_eq!((changes.number(), changes.last()), (1, Some("/x/z".into())));
        changes.hear(Ok(notify::Event::new(EventKind::Other).set_flag(Flag::Rescan)), counts);
        changes.hear(Err(notify::Error::generic("lost")), counts);
        assert_eq!(changes.number(), 3);
    }
}
