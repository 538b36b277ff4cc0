//! Compiled code on disk, so that a second process does not compile again.
//!
//! Loading compiled code runs it. So the directory belongs to the user alone, and its files are written once,
//! in one step, and never changed: code that is mapped keeps its bytes. A file is named by the digest of the
//! component and by the engine's settings. As in wasmtime's own cache, the bytes are not checked again:
//! whoever can change them can change hookbox, too. A file that was cut short has no section table and does
//! not load.

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use wasmtime::Engine;
use wasmtime::component::Component;

use super::kept_code::{self, RemovedCode};
use crate::hook::Digest;
use hookbox_system::files::{FileLock, LockError, private_dir, write_atomic};

/// The version of the compiler's settings that an engine's own hash does not cover
/// ([`engine::compiler`](super::engine::compiler)). Counted up when they change.
const COMPILED: u32 = 3;

/// The time after which a use is noted again. A note is a write, and most events need none.
const NOTED: Duration = Duration::from_secs(24 * 60 * 60);

/// The number of components that are compiled between two prunings, in a process that compiles many.
const PRUNE_EVERY: usize = 64;

/// The bytes for which there has to be room for each byte of a component. The code of a guard has three.
const CODE_PER_BYTE: usize = 4;

/// The most bytes that are written to see whether there is room.
const MOST_TRIED: usize = 16 << 20;

/// The time between two looks at a component that another process compiles.
const PAUSE: Duration = Duration::from_millis(5);

/// The private directories of compiled code: code is kept in the first one that can be written.
#[derive(Debug)]
pub(super) struct CodeCache {
    first: CodeDir,
    second: Option<CodeDir>,
    /// The number of components whose code this process has kept.
    stored: AtomicUsize,
}

/// A private directory of compiled code.
#[derive(Debug)]
struct CodeDir {
    path: PathBuf,
    /// True if only the user can write the directory; checked once, when there is code in it.
    is_private: OnceLock<bool>,
}

impl CodeDir {
    fn new(private: &Path) -> Self {
        Self { path: private.join("code"), is_private: OnceLock::new() }
    }

    fn path(&self, digest: &Digest, engine: &Engine) -> PathBuf {
        self.path.join(kept_code::name(digest, settings_of(engine)))
    }

    /// Returns the path of a component's code, if it is there and only the user can write the directory.
    fn code(&self, digest: &Digest, engine: &Engine) -> Option<PathBuf> {
        let path = self.path(digest, engine);
        let is_private = || {
            let opened = private_dir::open(&self.path, None);
            if let Err(error) = &opened {
                tracing::warn!(%error, "compiled code is not used");
            }
            opened.is_ok()
        };
        (path.exists() && *self.is_private.get_or_init(is_private)).then_some(path)
    }

    /// Writes a file there.
    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        private_dir::open(&self.path, None).map_err(io::Error::other)?;
        write_atomic(&self.path.join(name), bytes)
    }

    /// Returns true if as many bytes can be kept there as the code of a component of this size may have. The file of this
    /// test has the name of a lock, so that it is removed with those if this process is killed now.
    fn has_room(&self, digest: &Digest, size: usize) -> bool {
        let name = format!("{}.lock", Digest::of(digest.hex().as_bytes()).hex());
        let written = self.write(&name, &vec![0; size.saturating_mul(CODE_PER_BYTE).min(MOST_TRIED)]);
        let _ = std::fs::remove_file(self.path.join(name));
        if let Err(error) = &written {
            tracing::warn!(directory = %self.path.display(), %error, "cannot keep compiled code");
        }
        written.is_ok()
    }
}

/// The turn to compile a component. Other processes wait until it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    path: PathBuf,
    _lock: FileLock,
}

impl Drop for Turn {
    fn drop(&mut self) {
        // A process that waits for the removed file looks into the cache first. If there is nothing, two of them
        // may compile: that costs time and nothing else.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl CodeCache {
    /// Names the cache in one or two directories that are already private to the user.
    pub(super) fn new(first: &Path, second: Option<&Path>) -> Self {
        Self { first: CodeDir::new(first), second: second.map(CodeDir::new), stored: AtomicUsize::new(0) }
    }

    /// Returns the first directory.
    pub(super) fn dir(&self) -> &Path {
        &self.first.path
    }

    /// Returns the directories, the first one first.
    pub(super) fn dirs(&self) -> impl Iterator<Item = &Path> {
        self.all().map(|dir| dir.path.as_path())
    }

    fn all(&self) -> impl Iterator<Item = &CodeDir> {
        std::iter::once(&self.first).chain(&self.second)
    }

    /// Returns the private directory of the first cache with room for the code of a component of this size.
    pub(super) fn root_with_room(&self, digest: &Digest, size: usize) -> Option<&Path> {
        let dir = self.all().find(|dir| dir.has_room(digest, size))?;
        dir.path.parent()
    }

    /// Waits until no other process compiles this component. `None` if that takes too long, or if there is no lock:
    /// then both compile.
    pub(super) async fn turn(&self, digest: &Digest, patience: Duration) -> Option<Turn> {
        let begin = Instant::now();
        let name = kept_code::lock_name(digest);
        loop {
            // Opened each time: the last one has removed its file.
            let (path, file) = self.all().find_map(|dir| {
                let path = private_dir::open(&dir.path, None).ok()?.join(&name);
                let file = private_dir::create_file(&path).ok()?;
                Some((path, file))
            })?;
            match FileLock::exclusive(file, Duration::ZERO) {
                Ok(lock) => {
                    // A process that was killed may have left the file.
                    let _ = lock.file().set_modified(SystemTime::now());
                    return Some(Turn { path, _lock: lock });
                }
                Err(LockError::Busy(_)) if begin.elapsed() < patience => {
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error) => {
                    tracing::debug!(%digest, %error, "a component is compiled beside another process");
                    return None;
                }
            }
        }
    }

    /// Returns the time since another process began to compile this component; `None` if no process does.
    pub(super) fn compiling_since(&self, digest: &Digest) -> Option<Duration> {
        self.all().find_map(|dir| {
            let file = private_dir::open_file(&dir.path.join(kept_code::lock_name(digest))).ok()?;
            let began = file.metadata().and_then(|about| about.modified()).ok()?;
            match FileLock::shared(file, Duration::ZERO) {
                Err(LockError::Busy(_)) => Some(began.elapsed().unwrap_or_default()),
                _ => None,
            }
        })
    }

    /// Waits for one of so many places to compile in, over all processes: each of them may take a gigabyte. `None` if
    /// that takes too long, or if there is no lock.
    pub(super) async fn place(&self, places: usize, patience: Duration) -> Option<FileLock> {
        let begin = Instant::now();
        let dir = self.all().find_map(|dir| private_dir::open(dir.path.parent()?, None).ok())?;
        loop {
            for place in 0..places {
                let file = private_dir::create_file(&dir.join(format!("compiling-{place}.lock"))).ok()?;
                match FileLock::exclusive(file, Duration::ZERO) {
                    Ok(lock) => return Some(lock),
                    Err(LockError::Busy(_)) => {}
                    Err(_) => return None,
                }
            }
            if begin.elapsed() >= patience {
                return None;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Returns true if there is compiled code of this component, in a directory that only the user can write.
    pub(super) fn has(&self, digest: &Digest, engine: &Engine) -> bool {
        self.code(digest, engine).is_some()
    }

    fn code(&self, digest: &Digest, engine: &Engine) -> Option<PathBuf> {
        self.all().find_map(|dir| dir.code(digest, engine))
    }

    /// Loads the compiled component.
    ///
    /// # Errors
    ///
    /// If the file is missing, is not the user's own, was cut short, or was made for another processor or
    /// version.
    pub(super) fn load(&self, digest: &Digest, engine: &Engine) -> wasmtime::Result<Component> {
        let path = self.code(digest, engine).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        note_use(&private_dir::open_file(&path)?);
        #[allow(unsafe_code, reason = "deserialising compiled code is unsafe by nature; see SAFETY")]
        // SAFETY: `deserialize_file` requires that the file was made by `Component::serialize` or
        // `Engine::precompile_component` and is not changed while it is mapped. `has` has checked that the
        // directory, and `open_file` that the file, belongs to the user and that nobody else may write it, so
        // that no other user and no repository can have made it. Only `store` writes here: the compiler's
        // output, synced and renamed when it is whole. No file is written to again.
        unsafe {
            Component::deserialize_file(engine, path)
        }
    }

    /// Removes damaged code: the next event starts a process that compiles again, and does not wait for it.
    pub(super) fn remove(&self, digest: &Digest, engine: &Engine) {
        if let Some(path) = self.code(digest, engine) {
            let _ = std::fs::remove_file(path);
        }
    }

    /// Keeps compiled code. If that fails, the next process compiles again.
    pub(super) fn store(&self, digest: &Digest, engine: &Engine, code: &[u8]) {
        let name = kept_code::name(digest, settings_of(engine));
        for dir in self.all() {
            match dir.write(&name, code) {
                Ok(()) => break,
                Err(error) => {
                    tracing::warn!(directory = %dir.path.display(), %error, "cannot keep compiled code");
                }
            }
        }
        // To compile takes much longer than this, and most processes do not.
        if self.stored.fetch_add(1, Ordering::Relaxed).is_multiple_of(PRUNE_EVERY)
            && let Err(error) = self.prune(engine)
        {
            tracing::debug!(%error, "compiled code is not pruned");
        }
    }

    /// Removes code that was not used for long, and the least recently used code if there is too much.
    pub(super) fn prune(&self, engine: &Engine) -> io::Result<RemovedCode> {
        let mut removed = RemovedCode::default();
        for dir in self.dirs() {
            removed += kept_code::prune(dir, settings_of(engine), SystemTime::now())?;
        }
        Ok(removed)
    }
}

/// Returns a hash of everything that compiled code depends on beside the component.
pub(super) fn settings_of(engine: &Engine) -> u64 {
    let mut hasher = DefaultHasher::new();
    COMPILED.hash(&mut hasher);
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.finish()
}

/// Notes the use of compiled code in the time of its file, once a day: its bytes stay the same.
fn note_use(file: &File) {
    let now = SystemTime::now();
    let noted = file.metadata().and_then(|about| about.modified());
    let is_noted = noted.is_ok_and(|noted| now.duration_since(noted).is_ok_and(|age| age < NOTED));
    // On a file system that cannot be written, code is used and looks unused.
    if !is_noted && let Err(error) = file.set_modified(now) {
        tracing::debug!(%error, "the use of compiled code is not noted");
    }
}

/// Loads code that was compiled for this process.
pub(super) fn load_compiled(engine: &Engine, code: &Compiled) -> wasmtime::Result<Component> {
    #[allow(unsafe_code, reason = "deserialising compiled code is unsafe by nature; see SAFETY")]
    // SAFETY: `deserialize` requires bytes that `Engine::precompile_component` made. A `Compiled` holds
    // nothing else: it was made here, or by the compiler program that the host has named, which printed all
    // of it and ended well.
    unsafe {
        Component::deserialize(engine, &code.0)
    }
}

/// Code that was compiled for this process.
pub(super) struct Compiled(Vec<u8>);

impl Compiled {
    /// Compiles a component.
    ///
    /// # Errors
    ///
    /// If the bytes are not a valid component.
    pub(super) fn new(compiler: &Engine, bytes: &[u8]) -> wasmtime::Result<Self> {
        compiler.precompile_component(bytes).map(Self)
    }

    /// Wraps the output of the host's own compiler program.
    pub(super) fn of_compiler(code: Vec<u8>) -> Self {
        Self(code)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use super::super::engine::{self, Allocation, Linked};
    use super::*;

    /// The smallest component.
    const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

    #[test]
    fn code_that_is_compiled_once_runs_in_every_engine() {
        let temp = tempfile::tempdir().unwrap();
        let cache = CodeCache::new(temp.path(), None);
        let digest = Digest::of(EMPTY);
        let compiled = Compiled::new(&engine::compiler().unwrap(), EMPTY).unwrap();
        let engines =
            [Allocation::Pooled, Allocation::OnDemand].map(|kind| Linked::new(kind).unwrap().engine);
        for engine in &engines {
            load_compiled(engine, &compiled).unwrap();
            assert!(Compiled::new(engine, EMPTY).is_err(), "it has no compiler");
            assert!(!cache.has(&digest, engine) && cache.load(&digest, engine).is_err());
        }
        cache.store(&digest, &engines[0], compiled.bytes());
        for engine in &engines {
            assert!(cache.has(&digest, engine));
            cache.load(&digest, engine).unwrap();
        }
        assert_eq!(fs::read_dir(temp.path().join("code")).unwrap().count(), 1);
        let mode = fs::metadata(temp.path().join("code")).unwrap().mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn a_file_that_was_cut_short_or_replaced_is_not_loaded() {
        let temp = tempfile::tempdir().unwrap();
        let cache = CodeCache::new(temp.path(), None);
        let digest = Digest::of(EMPTY);
        let compiled = Compiled::new(&engine::compiler().unwrap(), EMPTY).unwrap();
        let engine = Linked::new(Allocation::OnDemand).unwrap().engine;
        let path = cache.first.path(&digest, &engine);
        let whole = compiled.bytes();
        for len in (0..whole.len()).step_by(997).chain(whole.len() - 16..whole.len()) {
            cache.store(&digest, &engine, &whole[..len]);
            assert!(cache.load(&digest, &engine).is_err(), "the first {len} bytes");
        }
        cache.store(&digest, &engine, whole);
        cache.load(&digest, &engine).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o620)).unwrap();
        assert!(cache.load(&digest, &engine).is_err(), "others may write it");
        fs::remove_file(&path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert!(cache.load(&digest, &engine).is_err(), "a pipe does not block");
    }

    #[test]
    fn the_use_of_code_is_noted_once_a_day_and_its_bytes_stay() {
        let temp = tempfile::tempdir().unwrap();
        let cache = CodeCache::new(temp.path(), None);
        let digest = Digest::of(EMPTY);
        let engine = Linked::new(Allocation::OnDemand).unwrap().engine;
        cache.store(&digest, &engine, Compiled::new(&engine::compiler().unwrap(), EMPTY).unwrap().bytes());
        let path = cache.first.path(&digest, &engine);
        let (bytes, now) = (fs::read(&path).unwrap(), SystemTime::now());
        let (hour, day) = (Duration::from_secs(60 * 60), NOTED);
        for (before, is_noted) in
            [(now - hour, false), (now - day - hour, true), (now + hour, true), (now + 900 * day, true)]
        {
            File::open(&path).unwrap().set_modified(before).unwrap();
            let before = fs::metadata(&path).unwrap().modified().unwrap();
            cache.load(&digest, &engine).unwrap();
            let after = fs::metadata(&path).unwrap().modified().unwrap();
            assert_eq!(after != before, is_noted);
            assert!(after <= now + hour, "a time in the future is corrected");
        }
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }

    #[tokio::test]
    async fn one_process_after_the_other_has_the_turn_and_a_killed_one_blocks_nobody() {
        let temp = tempfile::tempdir().unwrap();
        let (one, other) = (CodeCache::new(temp.path(), None), CodeCache::new(temp.path(), None));
        let (digest, second) = (Digest::of(EMPTY), Digest::of(b"another one"));
        let turn = one.turn(&digest, Duration::ZERO).await.unwrap();
        assert!(other.turn(&digest, Duration::ZERO).await.is_none(), "it compiles as well");
        assert!(other.turn(&second, Duration::ZERO).await.is_some());
        // Waits for as long as it takes.
        let waiting = tokio::spawn(async move { other.turn(&digest, Duration::MAX).await });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(turn);
        drop(waiting.await.unwrap().unwrap());
        // The system unlocks the file of a killed process, and the file stays.
        private_dir::create_file(&one.dir().join(kept_code::lock_name(&second))).unwrap();
        drop(one.turn(&second, Duration::ZERO).await.unwrap());
        assert_eq!(fs::read_dir(one.dir()).unwrap().count(), 0, "nothing is left");
        fs::set_permissions(one.dir(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(one.turn(&second, Duration::ZERO).await.is_none(), "no lock where others may write");
    }

    #[test]
    fn a_directory_that_others_may_write_to_is_not_used() {
        let temp = tempfile::tempdir().unwrap();
        let cache = CodeCache::new(temp.path(), None);
        let digest = Digest::of(EMPTY);
        let compiled = Compiled::new(&engine::compiler().unwrap(), EMPTY).unwrap();
        let engine = Linked::new(Allocation::OnDemand).unwrap().engine;
        let mode =
            |mode| fs::set_permissions(temp.path().join("code"), fs::Permissions::from_mode(mode)).unwrap();
        cache.store(&digest, &engine, compiled.bytes());
        for (bits, used) in [(0o700, true), (0o755, true), (0o720, false), (0o702, false), (0o777, false)] {
            mode(bits);
            assert_eq!(CodeCache::new(temp.path(), None).has(&digest, &engine), used, "{bits:o}");
        }
        fs::remove_file(cache.first.path(&digest, &engine)).unwrap();
        cache.store(&digest, &engine, compiled.bytes());
        assert!(!cache.first.path(&digest, &engine).exists(), "nothing is put there either");
    }
}
