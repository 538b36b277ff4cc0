//! What component files held when they were last read, or why they could not be used, so that a process which answers one
//! event need not read, compile and describe each of them again.
//!
//! A file counts as unchanged while the system says so: same device and inode, same size, same times of change. Nobody
//! gains a right by deceiving that: what runs is the code that was compiled from the bytes of that digest, with the grants
//! of that digest. At worst a file that was changed behind the system's back runs as it was before.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::files::private_dir;
use crate::hook::{Digest, HookError, Manifest, OnFailure};
use crate::report::Cause;
use crate::wasm::{Component, Runtime};

/// The file, in the private cache.
const FILE: &str = "components.json";
/// Another version writes and understands another file.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "/3");
/// How large it may be, in bytes: some hundred components. Those that were not met in this process go first, of them
/// what nobody trusts, and then those that were read the longest ago.
const MAX_FILE: u64 = 1 << 20;
/// How many components are remembered.
const MAX_ROWS: usize = 256;
/// After how many seconds a file is read again that did not change: what the system says of it may be wrong.
const MAX_AGE: i64 = 24 * 60 * 60;
/// A file that changed so few seconds ago may change once more without another time: the clocks of file systems tick
/// slowly, the slowest every two seconds.
const SETTLED: i64 = 3;

/// What the system says of a file. Nobody but the system sets the time of the last change (`ctime`).
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

    /// Whether a change from `now` on would show.
    fn is_settled(&self, now: i64) -> bool {
        now - self.changed.0.max(self.modified.0) >= SETTLED
    }
}

/// The wire: all that is in the file.
#[derive(Serialize, Deserialize)]
struct Wire {
    version: String,
    components: BTreeMap<PathBuf, Row>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Row {
    stamp: Stamp,
    /// When it was read, in seconds since 1970.
    read: i64,
    /// Whether it is the user's own, or trusted.
    trusted: bool,
    /// The digest of what was read; `None` where the time was up before that.
    digest: Option<Digest>,
    /// What it said of itself when it was last described.
    manifest: Option<Manifest>,
    /// Why it cannot be used.
    failure: Option<Failure>,
}

/// Why a component cannot be used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Failure {
    cause: Cause,
    message: String,
    /// How long it had, in milliseconds.
    within: u64,
}

impl Failure {
    /// The failure, if another try would end in the same way: nothing here depends on the day but how long it takes.
    fn of(error: &HookError, within: Duration) -> Option<Self> {
        let by_chance = matches!(
            error.cause,
            Cause::Internal | Cause::Spawn | Cause::NotFound | Cause::Denied | Cause::Untrusted
        );
        let within = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
        (!by_chance).then(|| Self { cause: error.cause, message: error.message.clone(), within })
    }

    /// Whether a try in this time may end in another way.
    fn may_pass(&self, within: Duration, reread: bool) -> bool {
        // Two looks never have exactly the same time.
        let has_more = within.as_millis() / 2 > u128::from(self.within);
        self.cause == Cause::Timeout && (reread || has_more)
    }

    fn error(&self) -> HookError {
        HookError::new(self.cause, self.message.clone())
    }
}

/// The files that are known.
pub(super) struct ComponentCache {
    file: PathBuf,
    /// Whether each of them is read again all the same.
    reread: bool,
    rows: Mutex<Rows>,
}

#[derive(Default)]
struct Rows {
    /// As they stand in the file.
    read: BTreeMap<PathBuf, Row>,
    /// Those that this process met.
    met: BTreeMap<PathBuf, Row>,
    is_changed: bool,
}

impl ComponentCache {
    /// Those that are remembered in this private directory. What cannot be read is learned again.
    pub(super) fn open(cache: &Path, reread: bool) -> Self {
        let file = cache.join(FILE);
        let read = read(&file).unwrap_or_default();
        Self { file, reread, rows: Mutex::new(Rows { read, ..Rows::default() }) }
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The component in this file, if the file is as it was and its code is still there.
    pub(super) fn component(&self, path: &Path, runtime: &Runtime) -> Option<Component> {
        let row = self.row(path).filter(|row| !self.reread && row.failure.is_none())?;
        let (digest, manifest) = (row.digest?, row.manifest?);
        tracing::debug!(path = %path.display(), %digest, "a component is as it was");
        let size = usize::try_from(row.stamp.size).ok()?;
        runtime.load_known(&digest, size, manifest)
    }

    /// Why the component in this file cannot be used, if the file is as it was, and a look in this time would end as the
    /// last one did.
    pub(super) fn failure(
        &self,
        path: &Path,
        within: Duration,
        runtime: &Runtime,
    ) -> Option<(Option<Digest>, HookError)> {
        let Row { digest, failure, .. } = self.row(path)?;
        let failure = failure.filter(|failure| !failure.may_pass(within, self.reread))?;
        // Whoever had more time has compiled it since.
        let is_compiled = digest.as_ref().is_some_and(|digest| runtime.has_code(digest));
        let holds = failure.cause != Cause::Timeout || !is_compiled;
        holds.then(|| (digest, failure.error()))
    }

    /// The same of the component with this digest, in whatever file.
    pub(super) fn failure_of(&self, digest: &Digest, within: Duration) -> Option<HookError> {
        let rows = self.rows();
        let mut same = rows.read.values().filter(|row| row.digest.as_ref() == Some(digest));
        let failure = same.find_map(|row| row.failure.as_ref().filter(|_| row.is_recent(now())));
        failure.filter(|failure| !failure.may_pass(within, self.reread)).map(Failure::error)
    }

    /// What the component that was last read in this file says of its failures.
    pub(super) fn on_failure(&self, path: &Path) -> Option<OnFailure> {
        let rows = self.rows();
        let manifest = rows.read.get(path)?.manifest.as_ref()?;
        Some(manifest.on_failure.unwrap_or_default())
    }

    fn row(&self, path: &Path) -> Option<Row> {
        let mut rows = self.rows();
        let is_as_it_was =
            |row: &&Row| row.is_recent(now()) && Stamp::of(path).is_ok_and(|now| now == row.stamp);
        let row = rows.read.get(path).filter(is_as_it_was)?.clone();
        rows.met.insert(path.to_owned(), row.clone());
        Some(row)
    }

    /// What the system says of a file that is about to be read, if it can be remembered at all.
    pub(super) fn stamp(&self, path: &Path) -> Option<Stamp> {
        Stamp::of(path).ok().filter(|stamp| stamp.is_settled(now()))
    }

    /// Remembers what a look in this time came to, where the file has stayed as it was.
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
                // What it said before says what follows from its failures.
                (self.rows().read.get(path).and_then(|row| row.manifest.clone()), Some(failure))
            }
        };
        self.insert(path, Row { stamp, read: now(), trusted, digest: digest.cloned(), manifest, failure });
    }

    fn insert(&self, path: &Path, row: Row) {
        let mut rows = self.rows();
        rows.met.insert(path.to_owned(), row);
        rows.is_changed = true;
    }

    /// Writes what was learned, if anything was. Where that fails, or another process does so at the same time, some of
    /// it is learned again.
    pub(super) fn keep(&self) {
        let components = {
            let mut rows = self.rows();
            if !std::mem::take(&mut rows.is_changed) {
                return;
            }
            rows.kept()
        };
        let wire = Wire { version: VERSION.to_owned(), components };
        if let Err(error) = write(&self.file, &wire) {
            tracing::debug!(path = %self.file.display(), %error, "what is known of components was not kept");
        }
    }
}

impl Row {
    /// Whether it was read a short time ago. One that was read in the future was not.
    fn is_recent(&self, now: i64) -> bool {
        (0..MAX_AGE).contains(&(now - self.read))
    }
}

impl Rows {
    /// Those that there is room for.
    fn kept(&self) -> BTreeMap<PathBuf, Row> {
        let met = self.met.iter().map(|row| (true, row));
        let rest = self.read.iter().filter(|(path, _)| !self.met.contains_key(*path)).map(|row| (false, row));
        let mut rows: Vec<(bool, (&PathBuf, &Row))> = met.chain(rest).collect();
        rows.sort_by_key(|(is_met, (_, row))| Reverse((*is_met, row.trusted, row.read)));
        // What stands around the rows is shorter than one of them.
        let mut room = usize::try_from(MAX_FILE).unwrap_or(usize::MAX) - 1024;
        let fits = |(path, row): &(&PathBuf, &Row)| {
            let Ok(text) = serde_json::to_vec(&(path, row)) else { return false };
            let left = room.checked_sub(text.len());
            room = left.unwrap_or(room);
            left.is_some()
        };
        let rows = rows.into_iter().map(|(_, row)| row).filter(fits).take(MAX_ROWS);
        rows.map(|(path, row)| (path.clone(), row.clone())).collect()
    }
}

/// The time in seconds since 1970.
fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_secs()).unwrap_or(i64::MAX)
}

fn read(file: &Path) -> Option<BTreeMap<PathBuf, Row>> {
    let text = private_dir::read_file(file, MAX_FILE).ok()?;
    let wire: Wire = serde_json::from_slice(&text).ok()?;
    (wire.version == VERSION).then_some(wire.components)
}

fn write(to: &Path, wire: &Wire) -> io::Result<()> {
    let text = serde_json::to_vec(wire)?;
    if text.len() as u64 > MAX_FILE {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    // Mode 0600 from the start, and whole or not there.
    let dir = to.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(&text)?;
    file.as_file().sync_all()?;
    file.persist(to)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EventName;
    use crate::hook::Subscription;
    use crate::outcome::Answers;
    use std::os::unix::fs::PermissionsExt as _;

    fn open(cache: &Path) -> ComponentCache {
        ComponentCache::open(cache, false)
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
            whole.replace(VERSION, "0.0.0/3"),
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
        let kept: Vec<PathBuf> = known.rows().read.keys().cloned().collect();
        assert_eq!(kept, (20..30).map(name).collect::<Vec<_>>());
    }

    #[test]
    fn only_so_many_are_remembered_and_those_that_were_met_first() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("zzz.wasm");
        fs::write(&path, "12").unwrap();
        let known = open(temp.path());
        for n in 0..MAX_ROWS {
            known.insert(&temp.path().join(format!("{n}.wasm")), row(&path));
        }
        known.keep();
        let known = open(temp.path());
        assert_eq!(known.rows().read.len(), MAX_ROWS);
        known.insert(&path, row(&path));
        known.keep();
        let known = open(temp.path());
        assert_eq!(known.rows().read.len(), MAX_ROWS);
        assert!(known.row(&path).is_some());
    }
}
