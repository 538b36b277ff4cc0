//! Results of examining hook files, for the next process: it need not ask a native hook for its event again, nor read a
//! component again, whose description the cache of compiled code has.
//!
//! A native hook's answer is valid for its digest. A component file counts as unchanged while the system reports the same
//! device and inode, the same size and the same times of change. Nobody gains a right by deceiving that: the code that
//! runs was compiled from the bytes of the digest, with the grants of that digest. At worst a file that was changed
//! behind the system's back runs as it was before.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::event::EventName;
use crate::hook::{Cause, Digest, HookError, OnFailure};
use crate::wasm::Component;
use hookbox_system::files::{private_dir, write_unsynced};
use hookbox_system::limits;

/// The name of the file in the private cache.
const FILE: &str = "components.json";
/// The version of the file's format. Each version of hookbox has a file of its own.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "/6");
/// The size limit of the file, in bytes: there is room for so many components, also with the longest paths.
const MAX_FILE: u64 = 8 << 20;
/// The number of components that are remembered. Untrusted ones are dropped first, then those that were read the
/// longest ago.
const MAX_ROWS: usize = 256;
/// The number of answers that are remembered, of some 100 bytes each.
const MAX_ANSWERS: usize = 1024;
/// The seconds after which a change of a file shows in its times: the clocks of file systems tick slowly, the slowest
/// every two seconds.
const SETTLED: i64 = 3;

/// The system's report of a file. Only the system sets the time of the last change (`ctime`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(path: &Path) -> io::Result<Self> {
        let about = fs::metadata(path)?;
        Ok(Self {
            device: about.dev(),
            inode: about.ino(),
            size: about.size(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
        })
    }

    /// Returns true if a change from `now` on would show.
    fn is_settled(&self, now: i64) -> bool {
        now - self.changed.0.max(self.modified.0) >= SETTLED
    }
}

/// The on-disk form.
#[derive(Default, Serialize, Deserialize)]
struct Contents {
    version: String,
    components: BTreeMap<PathBuf, Row>,
    /// The events of native hooks, by the digest of what they depend on.
    answers: BTreeMap<String, EventName>,
}

/// The result of the last look at the file of a component.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Row {
    stamp: Stamp,
    /// The time of reading it, in seconds since 1970.
    read: i64,
    /// True if it is the user's own, or trusted.
    trusted: bool,
    /// The digest of the bytes that were read; `None` if the time was up before that.
    pub(super) digest: Option<Digest>,
    /// The failure policy in its last description of itself.
    pub(super) on_failure: Option<OnFailure>,
    /// The reason why it cannot be used.
    failure: Option<Failure>,
}

/// The reason why a component cannot be used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Failure {
    cause: Cause,
    message: String,
    /// The time that it had, in milliseconds.
    within: u64,
}

impl Failure {
    /// Returns the failure, if another try would end in the same way. Of these causes only a timeout depends on the
    /// machine's load.
    fn of(error: &HookError, within: Duration) -> Option<Self> {
        let by_chance = matches!(
            error.cause,
            Cause::Compiling
                | Cause::Internal
                | Cause::Spawn
                | Cause::NotFound
                | Cause::Denied
                | Cause::Untrusted
        );
        let within = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
        (!by_chance).then(|| Self { cause: error.cause, message: error.message.clone(), within })
    }

    /// Returns true if a try in this time may end in another way.
    fn may_pass(&self, within: Duration, reread: bool) -> bool {
        // Two tries never have exactly the same time.
        let has_more = within.as_millis() / 2 > u128::from(self.within);
        self.cause == Cause::Timeout && (reread || has_more)
    }
}

/// Returns the files of the components that this private cache remembers, also if they have changed since.
pub fn remembered(cache: &Path) -> Vec<(Digest, PathBuf)> {
    let contents = read(&cache.join(FILE)).unwrap_or_default();
    contents.components.into_iter().filter_map(|(path, row)| Some((row.digest?, path))).collect()
}

/// Forgets everything that this private cache remembers of hooks.
///
/// # Errors
///
/// If the file cannot be removed.
pub fn forget(cache: &Path) -> io::Result<()> {
    match fs::remove_file(cache.join(FILE)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The remembered results.
pub(super) struct HookCache {
    file: PathBuf,
    /// True if each component is read again, also if it did not change.
    reread: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    contents: Contents,
    is_changed: bool,
}

impl HookCache {
    /// Opens the cache in this private directory. A file that cannot be read is learned anew.
    pub(super) fn open(cache: &Path, reread: bool) -> Self {
        let file = cache.join(FILE);
        let contents = read(&file).unwrap_or_default();
        Self { file, reread, state: Mutex::new(State { contents, is_changed: false }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        hookbox_system::mutex::lock(&self.state)
    }

    /// Returns the event that a program with this [`key`] answered.
    pub(super) fn answer(&self, key: &str) -> Option<EventName> {
        self.state().contents.answers.get(key).cloned()
    }

    /// Remembers an answer. A failure is not remembered: the hook may do better next time.
    pub(super) fn learn_answer(&self, key: String, event: &EventName) {
        let mut state = self.state();
        // A full cache starts anew: its hooks are asked once more.
        if state.contents.answers.len() >= MAX_ANSWERS {
            state.contents.answers.clear();
        }
        state.contents.answers.insert(key, event.clone());
        state.is_changed = true;
    }

    /// Returns the failure policy in the last description of the component in this file.
    pub(super) fn on_failure(&self, path: &Path) -> Option<OnFailure> {
        self.state().contents.components.get(path)?.on_failure
    }

    /// Returns the result of the last look at this file, if the file is unchanged.
    pub(super) fn row(&self, path: &Path) -> Option<Row> {
        let row = self.state().contents.components.get(path)?.clone();
        (row.is_recent(now()) && Stamp::of(path).is_ok_and(|now| now == row.stamp)).then_some(row)
    }

    /// Returns the digest and the size of the component in an unchanged file, if it could be used.
    pub(super) fn usable<'a>(&self, row: &'a Row) -> Option<(&'a Digest, usize)> {
        let is_usable = !self.reread && row.failure.is_none();
        Some((row.digest.as_ref().filter(|_| is_usable)?, usize::try_from(row.stamp.size).ok()?))
    }

    /// Returns the reason why the component in an unchanged file cannot be used, if another try in this time would end as
    /// the last one did.
    pub(super) fn failure(
        &self,
        row: &Row,
        within: Duration,
        has_code: impl FnOnce(&Digest) -> bool,
    ) -> Option<HookError> {
        let failure = row.failure.as_ref().filter(|failure| !failure.may_pass(within, self.reread))?;
        // Another process with more time may have compiled it since.
        let is_compiled = failure.cause == Cause::Timeout && row.digest.as_ref().is_some_and(has_code);
        (!is_compiled).then(|| HookError::new(failure.cause, failure.message.clone()))
    }

    /// Returns the system's report of a file that is about to be read, if a later change of it would show.
    pub(super) fn stamp(&self, path: &Path) -> Option<Stamp> {
        Stamp::of(path).ok().filter(|stamp| stamp.is_settled(now()))
    }

    /// Remembers the result of a try in this time, if the file is unchanged since its stamp.
    pub(super) fn learn(
        &self,
        path: &Path,
        (stamp, trusted): (Stamp, bool),
        within: Duration,
        (digest, result): (Option<&Digest>, Result<&Component, &HookError>),
    ) {
        if Stamp::of(path).ok() != Some(stamp) {
            return;
        }
        let (on_failure, failure) = match result {
            Ok(component) if stamp.size != component.size() as u64 => return,
            Ok(component) => (Some(component.manifest().on_failure.unwrap_or_default()), None),
            Err(error) => {
                let Some(failure) = Failure::of(error, within) else { return };
                // Its earlier description has the policy for its failures.
                (self.on_failure(path), Some(failure))
            }
        };
        self.insert(path, Row { stamp, read: now(), trusted, digest: digest.cloned(), on_failure, failure });
    }

    fn insert(&self, path: &Path, row: Row) {
        let mut state = self.state();
        // The file is text.
        if path.to_str().is_some() {
            state.contents.components.insert(path.to_owned(), row);
            state.is_changed = true;
        }
    }

    /// Writes the cache, if anything was learned. If that fails, or another process writes at the same time, some of it
    /// is learned again.
    pub(super) fn save(&self) {
        let mut state = self.state();
        if !std::mem::take(&mut state.is_changed) {
            return;
        }
        state.contents.limit();
        VERSION.clone_into(&mut state.contents.version);
        if let Err(error) = write(&self.file, &state.contents) {
            tracing::debug!(path = %self.file.display(), %error, "the cache of hooks was not written");
        }
    }
}

impl Row {
    /// Returns true if it was read a short time ago, and not in the future.
    fn is_recent(&self, now: i64) -> bool {
        u64::try_from(now - self.read).is_ok_and(|age| age < limits::DAY.as_secs())
    }
}

impl Contents {
    /// Drops the components beyond the limit.
    fn limit(&mut self) {
        let mut rows: Vec<(PathBuf, Row)> = std::mem::take(&mut self.components).into_iter().collect();
        rows.sort_by_key(|(_, row)| Reverse((row.trusted, row.read)));
        self.components = rows.into_iter().take(MAX_ROWS).collect();
    }
}

/// Returns the digest of everything that an answer depends on. A script may behave by its own path (`$0`) and by its
/// environment: by the names of the variables that it gets, in any order.
pub(super) fn key(program: &Path, digest: &Digest, environment: Option<&[String]>) -> String {
    let mut key = digest.to_string().into_bytes();
    key.push(0);
    key.extend_from_slice(program.as_os_str().as_bytes());
    // No path contains NUL, so that a path with names is never another path.
    for name in environment.into_iter().flat_map(|names| names.iter().collect::<BTreeSet<_>>()) {
        key.push(0);
        key.extend_from_slice(name.as_bytes());
    }
    if environment.is_some() {
        key.push(0);
    }
    Digest::of(&key).hex().to_owned()
}

/// Returns the time in seconds since 1970.
fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_secs()).unwrap_or(i64::MAX)
}

fn read(file: &Path) -> Option<Contents> {
    let text = private_dir::read_file(file, MAX_FILE).ok()?;
    let contents: Contents = serde_json::from_slice(&text).ok()?;
    (contents.version == VERSION).then_some(contents)
}

fn write(to: &Path, contents: &Contents) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(to.parent().unwrap_or(Path::new(".")))?;
    write_unsynced(to, &serde_json::to_vec(contents)?)
}

#[cfg(test)]
mod tests;
