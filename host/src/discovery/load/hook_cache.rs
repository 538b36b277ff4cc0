//! Results of examining hook files, for the next process: it need not ask a native hook for its event again, nor read,
//! compile and describe a component again.
//!
//! A native hook's answer holds for its digest. A component file counts as unchanged while the system reports the same
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
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::event::EventName;
use crate::files::{private_dir, write_atomic};
use crate::hook::{Cause, Digest, HookError, Manifest, OnFailure};
use crate::wasm::{Component, Runtime};

/// The name of the file in the private cache.
const FILE: &str = "components.json";
/// The version of the file's format. Each version of hookbox has a file of its own.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "/4");
/// The size limit of the file, in bytes: some hundred components.
const MAX_FILE: u64 = 1 << 20;
/// The part of that for components: the rest is for the answers of native hooks.
const MAX_COMPONENTS: usize = 768 << 10;
/// The number of components that are remembered. Untrusted ones are dropped first, then those that were read the
/// longest ago.
const MAX_ROWS: usize = 256;
/// The number of answers that are remembered, of some 100 bytes each.
const MAX_ANSWERS: usize = 1024;
/// After how many seconds an unchanged file is read again: the system's report may be wrong.
const MAX_AGE: i64 = 24 * 60 * 60;
/// A file that changed so few seconds ago may change again at the same recorded time: the clocks of file systems tick
/// slowly, the slowest every two seconds.
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

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Row {
    stamp: Stamp,
    /// When it was read, in seconds since 1970.
    read: i64,
    /// Whether it is the user's own, or trusted.
    trusted: bool,
    /// The digest of the bytes that were read; `None` if the time was up before that.
    digest: Option<Digest>,
    /// Its last description of itself.
    manifest: Option<Manifest>,
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
            Cause::Internal | Cause::Spawn | Cause::NotFound | Cause::Denied | Cause::Untrusted
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

    fn error(&self) -> HookError {
        HookError::new(self.cause, self.message.clone())
    }
}

/// The remembered results.
pub(super) struct HookCache {
    file: PathBuf,
    /// Whether each component is read again all the same.
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
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the event that the program with these bytes answered at this path, with these variables.
    pub(super) fn answer(
        &self,
        program: &Path,
        digest: &Digest,
        environment: Option<&[String]>,
    ) -> Option<EventName> {
        self.state().contents.answers.get(&key(program, digest, environment)).cloned()
    }

    /// Remembers an answer. A failure is not remembered: the hook may do better next time.
    pub(super) fn learn_answer(
        &self,
        program: &Path,
        digest: &Digest,
        environment: Option<&[String]>,
        event: &EventName,
    ) {
        let mut state = self.state();
        // A full cache starts anew: its hooks are asked once more.
        if state.contents.answers.len() >= MAX_ANSWERS {
            state.contents.answers.clear();
        }
        state.contents.answers.insert(key(program, digest, environment), event.clone());
        state.is_changed = true;
    }

    /// Returns the component in this file, if the file is unchanged and its code is still cached.
    pub(super) fn component(&self, path: &Path, runtime: &Runtime) -> Option<Component> {
        let row = self.row(path).filter(|row| !self.reread && row.failure.is_none())?;
        let (digest, manifest) = (row.digest?, row.manifest?);
        tracing::debug!(path = %path.display(), %digest, "a component is unchanged");
        let size = usize::try_from(row.stamp.size).ok()?;
        runtime.load_known(&digest, size, manifest)
    }

    /// Returns the reason why the component in this file cannot be used, if the file is unchanged, and another try in
    /// this time would end as the last one did.
    pub(super) fn failure(
        &self,
        path: &Path,
        within: Duration,
        runtime: &Runtime,
    ) -> Option<(Option<Digest>, HookError)> {
        let Row { digest, failure, .. } = self.row(path)?;
        let failure = failure.filter(|failure| !failure.may_pass(within, self.reread))?;
        // Another process with more time may have compiled it since.
        let is_compiled = digest.as_ref().is_some_and(|digest| runtime.has_code(digest));
        let holds = failure.cause != Cause::Timeout || !is_compiled;
        holds.then(|| (digest, failure.error()))
    }

    /// Like [`HookCache::failure`], for the component with this digest in any file.
    pub(super) fn failure_of(&self, digest: &Digest, within: Duration) -> Option<HookError> {
        let state = self.state();
        let mut same = state.contents.components.values().filter(|row| row.digest.as_ref() == Some(digest));
        let failure = same.find_map(|row| row.failure.as_ref().filter(|_| row.is_recent(now())));
        failure.filter(|failure| !failure.may_pass(within, self.reread)).map(Failure::error)
    }

    /// Returns the failure policy in the last description of the component in this file.
    pub(super) fn on_failure(&self, path: &Path) -> Option<OnFailure> {
        let state = self.state();
        let manifest = state.contents.components.get(path)?.manifest.as_ref()?;
        Some(manifest.on_failure.unwrap_or_default())
    }

    fn row(&self, path: &Path) -> Option<Row> {
        let row = self.state().contents.components.get(path)?.clone();
        (row.is_recent(now()) && Stamp::of(path).is_ok_and(|now| now == row.stamp)).then_some(row)
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
        let (manifest, failure) = match result {
            Ok(component) if stamp.size != component.size() as u64 => return,
            Ok(component) => (Some(component.manifest().clone()), None),
            Err(error) => {
                let Some(failure) = Failure::of(error, within) else { return };
                // Its earlier description has the policy for its failures.
                let before = self.state().contents.components.get(path).and_then(|row| row.manifest.clone());
                (before, Some(failure))
            }
        };
        self.insert(path, Row { stamp, read: now(), trusted, digest: digest.cloned(), manifest, failure });
    }

    fn insert(&self, path: &Path, row: Row) {
        let mut state = self.state();
        state.contents.components.insert(path.to_owned(), row);
        state.is_changed = true;
    }

    /// Writes the cache, if anything was learned. If that fails, or another process writes at the same time, some of it
    /// is learned again.
    pub(super) fn keep(&self) {
        let mut state = self.state();
        if !std::mem::take(&mut state.is_changed) {
            return;
        }
        state.contents.limit();
        VERSION.clone_into(&mut state.contents.version);
        if let Err(error) = write(&self.file, &state.contents) {
            tracing::debug!(path = %self.file.display(), %error, "what is known of hooks was not kept");
        }
    }
}

impl Row {
    /// Returns true if it was read a short time ago, and not in the future.
    fn is_recent(&self, now: i64) -> bool {
        (0..MAX_AGE).contains(&(now - self.read))
    }
}

impl Contents {
    /// Drops the components that there is no room for.
    fn limit(&mut self) {
        let mut rows: Vec<(PathBuf, Row)> = std::mem::take(&mut self.components).into_iter().collect();
        rows.sort_by_key(|(_, row)| Reverse((row.trusted, row.read)));
        let mut room = MAX_COMPONENTS;
        let fits = |row: &(PathBuf, Row)| {
            let left = serde_json::to_vec(row).ok().and_then(|text| room.checked_sub(text.len()));
            room = left.unwrap_or(room);
            left.is_some()
        };
        self.components = rows.into_iter().filter(fits).take(MAX_ROWS).collect();
    }
}

/// Returns the digest of everything that an answer depends on. A script may behave by its own path (`$0`) and by its
/// environment: by the names of the variables that it gets, in any order.
fn key(program: &Path, digest: &Digest, environment: Option<&[String]>) -> String {
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
    write_atomic(to, &serde_json::to_vec(contents)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EventName;
    use crate::hook::Subscription;
    use crate::outcome::Answers;
    use std::os::unix::fs::PermissionsExt as _;

    fn open(cache: &Path) -> HookCache {
        HookCache::open(cache, false)
    }

    fn row(path: &Path) -> Row {
        let manifest = Manifest {
            name: "guard".to_owned(),
            version: "1".to_owned(),
            description: String::new(),
            subscriptions: vec![Subscription::to(EventName::BeforeToolCall)],
            answers: Answers::ALL,
            capabilities: vec!["read:$REPO".parse().unwrap()],
            on_failure: None,
        };
        let stamp = Stamp::of(path).unwrap();
        let (digest, manifest) = (Some(Digest::of(b"x")), Some(manifest));
        Row { stamp, read: now(), trusted: true, digest, manifest, failure: None }
    }

    #[test]
    fn what_is_kept_holds_until_the_file_changes() {
        let temp = tempfile::tempdir().unwrap();
        let (path, other) = (temp.path().join("x.wasm"), temp.path().join("y.wasm"));
        let write = |text: &str| fs::write(&path, text).unwrap();
        write("12");
        let kept = |row: &Row| {
            let known = open(temp.path());
            known.insert(&path, row.clone());
            known.keep();
            open(temp.path()).row(&path)
        };
        let as_it_is = row(&path);
        assert_eq!(kept(&as_it_is).as_ref(), Some(&as_it_is));
        assert_eq!(open(temp.path()).row(&other), None);
        let mode = fs::metadata(temp.path().join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);

        for field in ["device", "inode", "size", "modified", "changed"] {
            let mut then = as_it_is.clone();
            match field {
                "device" => then.stamp.device += 1,
                "inode" => then.stamp.inode += 1,
                "size" => then.stamp.size += 1,
                "modified" => then.stamp.modified.1 -= 1,
                _ => then.stamp.changed.1 -= 1,
            }
            assert_eq!(kept(&then), None, "{field}");
        }
        assert!(kept(&as_it_is).is_some());
        fs::remove_file(&path).unwrap();
        assert_eq!(open(temp.path()).row(&path), None);
    }

    #[test]
    fn a_file_that_has_just_changed_is_not_remembered() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("x.wasm");
        fs::write(&path, "12").unwrap();
        assert_eq!(open(temp.path()).stamp(&path), None);
        let stamp = Stamp::of(&path).unwrap();
        let changed = stamp.changed.0;
        for (now, want) in
            [(changed - 100, false), (changed, false), (changed + 2, false), (changed + 3, true)]
        {
            assert_eq!(stamp.is_settled(now), want, "{}", now - changed);
        }
        // A time of modification is whatever somebody said: one that lies ahead is no reason to trust it.
        let ahead = Stamp { modified: (changed + 1000, 0), ..stamp };
        assert!(!ahead.is_settled(changed + 10));
    }

    #[test]
    fn what_is_no_such_file_is_learned_again() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("x.wasm");
        fs::write(&path, "12").unwrap();
        let known = open(temp.path());
        known.insert(&path, row(&path));
        known.keep();
        let file = temp.path().join(FILE);
        let whole = fs::read_to_string(&file).unwrap();
        for broken in [
            String::new(),
            "{".to_owned(),
            "[]".to_owned(),
            whole.replace(VERSION, "0.0.0/4"),
            whole.replace("sha256:", "md5:"),
            whole.replace("before_tool_call", "no_event"),
            whole.replace("read:$REPO", "everything"),
            format!("{whole}{}", " ".repeat(usize::try_from(MAX_FILE).unwrap())),
        ] {
            fs::write(&file, &broken).unwrap();
            assert_eq!(open(temp.path()).row(&path), None, "{}", &broken[..broken.len().min(200)]);
        }
        fs::write(&file, whole).unwrap();
        assert!(open(temp.path()).row(&path).is_some());
    }

    #[test]
    fn what_was_read_long_ago_is_read_again() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("x.wasm");
        fs::write(&path, "12").unwrap();
        let row = row(&path);
        for (age, want) in [(-1, false), (0, true), (MAX_AGE - 1, true), (MAX_AGE, false)] {
            assert_eq!(row.is_recent(row.read + age), want, "{age}");
        }
    }

    #[test]
    fn a_failure_is_remembered_unless_more_time_may_end_it() {
        let second = Duration::from_secs(1);
        for (cause, within, reread, tried_again) in [
            (Cause::Incompatible, 60 * second, true, false),
            (Cause::Memory, 60 * second, true, false),
            (Cause::Timeout, second, false, false),
            (Cause::Timeout, second + second / 2, false, false),
            (Cause::Timeout, 3 * second, false, true),
            (Cause::Timeout, second, true, true),
        ] {
            let failure = Failure::of(&HookError::new(cause, "no"), second).unwrap();
            assert_eq!(failure.may_pass(within, reread), tried_again, "{cause} {within:?} {reread}");
        }
        for cause in [Cause::Internal, Cause::Spawn, Cause::NotFound] {
            assert_eq!(Failure::of(&HookError::new(cause, "no"), second), None, "{cause}");
        }
    }

    #[test]
    fn what_nobody_trusts_pushes_nothing_of_the_users_out() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("own.wasm");
        fs::write(&path, "12").unwrap();
        let known = open(temp.path());
        known.insert(&path, row(&path));
        for n in 0..MAX_ROWS {
            let theirs = Row { trusted: false, read: now() + 10, ..row(&path) };
            known.insert(&temp.path().join(format!("{n}.wasm")), theirs);
        }
        known.keep();
        assert!(open(temp.path()).row(&path).is_some());
    }

    #[test]
    fn of_too_many_bytes_the_oldest_are_forgotten() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("x.wasm");
        fs::write(&path, "12").unwrap();
        let large = |read: i64| {
            let mut row = Row { read, ..row(&path) };
            row.manifest.as_mut().unwrap().description = "x".repeat(100 << 10);
            row
        };
        let name = |number: i64| temp.path().join(format!("{number:02}.wasm"));
        for number in 0..30 {
            let known = open(temp.path());
            known.insert(&name(number), large(number));
            known.keep();
        }
        let known = open(temp.path());
        let kept: Vec<PathBuf> = known.state().contents.components.keys().cloned().collect();
        assert_eq!(kept, (23..30).map(name).collect::<Vec<_>>());
    }

    #[test]
    fn only_so_many_are_remembered() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("zzz.wasm");
        fs::write(&path, "12").unwrap();
        let known = open(temp.path());
        for n in 0..MAX_ROWS {
            known.insert(&temp.path().join(format!("{n}.wasm")), Row { read: now() - 10, ..row(&path) });
        }
        known.insert(&path, row(&path));
        known.keep();
        let known = open(temp.path());
        assert_eq!(known.state().contents.components.len(), MAX_ROWS);
        assert!(known.row(&path).is_some());
        for n in 0..=MAX_ANSWERS {
            known.learn_answer(&path, &Digest::of(&n.to_le_bytes()), None, &EventName::TurnEnd);
        }
        assert!(known.state().contents.answers.len() <= MAX_ANSWERS);
    }

    #[test]
    fn an_answer_holds_for_these_bytes_at_this_path_in_this_environment() {
        let temp = tempfile::tempdir().unwrap();
        let (program, digest) = (Path::new("/hooks/x"), Digest::of(b"x"));
        let names = |names: &[&str]| -> Vec<String> { names.iter().map(|name| (*name).to_owned()).collect() };
        let environments = [None, Some(names(&[])), Some(names(&["PATH"])), Some(names(&["HOME", "PATH"]))];
        let events = [EventName::TurnEnd, EventName::AgentStop, EventName::AfterTurn, EventName::OnError];
        let cache = HookCache::open(&temp.path().join("new/cache"), false);
        for (environment, event) in environments.iter().zip(&events) {
            cache.learn_answer(program, &digest, environment.as_deref(), event);
        }
        cache.keep();
        let cache = HookCache::open(&temp.path().join("new/cache"), false);
        for (environment, event) in environments.iter().zip(&events) {
            assert_eq!(cache.answer(program, &digest, environment.as_deref()).as_ref(), Some(event));
        }
        let reordered = names(&["PATH", "HOME", "PATH"]);
        assert_eq!(cache.answer(program, &digest, Some(&reordered)), Some(EventName::OnError));
        assert_eq!(cache.answer(program, &Digest::of(b"y"), None), None);
        assert_eq!(cache.answer(Path::new("/hooks/y"), &digest, None), None);
    }
}
