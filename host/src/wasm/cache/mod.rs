//! The room for everything that is remembered of components, so that the next process does not compile, ask and read
//! them again.
//!
//! For each component there are `DIGEST-SETTINGS.cwasm`, its code for an engine with these settings, `DIGEST.json`
//! ([`Known`]), and `DIGEST.lock` while it is compiled. The stamps of the files that components were read from are in
//! `components.json` beside the room.
//!
//! Loading compiled code runs it. So the directory belongs to the user alone, and its files are written once,
//! in one step, and never changed: code that is mapped keeps its bytes. As in wasmtime's own cache, the bytes are not
//! checked again: whoever can change them can change hookbox, too. A file that was cut short has no section table and
//! does not load.

mod kept;
mod known;
mod turn;

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use wasmtime::Engine;
use wasmtime::component::Component;

use crate::hook::Digest;
use hookbox_system::files::{private_dir, write_atomic};

pub use self::kept::{CachedCode, RemovedCode};
pub(super) use self::known::Description;
pub use self::known::Known;
pub(super) use self::turn::PAUSE;
use hookbox_system::limits;

/// The version of the compiler's settings that an engine's own hash does not cover
/// ([`engine::compiler`](super::engine::compiler)). Counted up when they change.
const COMPILED: u32 = 3;

/// The number of components that are compiled between two prunings, in a process that compiles many.
const PRUNE_EVERY: usize = 64;

/// The room, in one or two private directories: a file is written to the first one that can be written.
#[derive(Debug)]
pub(super) struct Cache {
    first: CacheDir,
    second: Option<CacheDir>,
    /// The number of components whose code this process has kept.
    stored: AtomicUsize,
}

/// A private directory of the room.
#[derive(Debug)]
struct CacheDir {
    path: PathBuf,
    /// True if only the user can write the directory; checked once, when there is a file in it.
    is_private: OnceLock<bool>,
}

impl CacheDir {
    fn new(private: &Path) -> Self {
        Self { path: private.join("code"), is_private: OnceLock::new() }
    }

    /// Returns true if only the user can write the directory, which has to exist.
    fn is_private(&self) -> bool {
        *self.is_private.get_or_init(|| {
            let checked = private_dir::check(&self.path);
            if let Err(error) = &checked {
                let directory = self.path.display();
                tracing::warn!(%directory, %error, "what is remembered of components is not used");
            }
            checked.is_ok()
        })
    }

    /// Writes a file there.
    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        private_dir::open(&self.path, None).map_err(io::Error::other)?;
        write_atomic(&self.path.join(name), bytes)
    }
}

impl Cache {
    /// Names the room in one or two directories that are already private to the user.
    pub(super) fn new(first: &Path, second: Option<&Path>) -> Self {
        Self { first: CacheDir::new(first), second: second.map(CacheDir::new), stored: AtomicUsize::new(0) }
    }

    /// Returns the directories, the first one first.
    fn dirs(&self) -> impl Iterator<Item = &CacheDir> {
        std::iter::once(&self.first).chain(&self.second)
    }

    /// Writes a file to the first directory that can be written.
    fn write(&self, name: &str, bytes: &[u8]) {
        for dir in self.dirs() {
            match dir.write(name, bytes) {
                Ok(()) => break,
                Err(error) => {
                    tracing::warn!(directory = %dir.path.display(), %error, "cannot keep {name}");
                }
            }
        }
    }

    /// Returns true if there is compiled code of this component for an engine with these settings, in a directory that
    /// only the user can write.
    pub(super) fn has(&self, digest: &Digest, settings: u64) -> bool {
        self.code(digest, settings).is_some()
    }

    fn code(&self, digest: &Digest, settings: u64) -> Option<PathBuf> {
        let name = kept::code_name(digest, settings);
        let file = |dir: &CacheDir| Some(dir.path.join(&name)).filter(|it| it.exists() && dir.is_private());
        self.dirs().find_map(file)
    }

    /// Loads the compiled component.
    ///
    /// # Errors
    ///
    /// If the file is missing, is not the user's own, was cut short, or was made for another processor or
    /// version.
    pub(super) fn load(&self, digest: &Digest, engine: &Engine) -> wasmtime::Result<Component> {
        let path = self.code(digest, settings_of(engine));
        let path = path.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        note_use(&private_dir::open_file(&path)?);
        #[allow(unsafe_code, reason = "deserialising compiled code is unsafe by nature; see SAFETY")]
        // SAFETY: `deserialize_file` requires that the file was made by `Component::serialize` or
        // `Engine::precompile_component` and is not changed while it is mapped. `code` has checked that the
        // directory, and `open_file` that the file, belongs to the user and that nobody else may write it, so
        // that no other user and no repository can have made it. Only `store` writes here: the compiler's
        // output, synced and renamed when it is whole. No file is written to again.
        unsafe {
            Component::deserialize_file(engine, path)
        }
    }

    /// Removes damaged code, so that it is compiled again.
    pub(super) fn remove(&self, digest: &Digest, engine: &Engine) {
        if let Some(path) = self.code(digest, settings_of(engine)) {
            let _ = std::fs::remove_file(path);
        }
    }

    /// Keeps compiled code. If that fails, the next process compiles again.
    pub(super) fn store(&self, digest: &Digest, engine: &Engine, code: &[u8]) {
        self.write(&kept::code_name(digest, settings_of(engine)), code);
        // To compile takes much longer than this, and most processes do not.
        if self.stored.fetch_add(1, Ordering::Relaxed).is_multiple_of(PRUNE_EVERY)
            && let Err(error) = self.prune(settings_of(engine))
        {
            tracing::debug!(%error, "what is remembered of components is not pruned");
        }
    }
}

/// Returns a hash of everything that compiled code depends on beside the component.
pub(super) fn settings_of(engine: &Engine) -> u64 {
    let mut hasher = DefaultHasher::new();
    COMPILED.hash(&mut hasher);
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.finish()
}

/// Notes the use of compiled code in the time of its file, once a day: its bytes stay the same, a note is a write, and
/// most events need none.
fn note_use(file: &File) {
    let now = SystemTime::now();
    let noted = file.metadata().and_then(|about| about.modified());
    let is_noted = noted.is_ok_and(|noted| now.duration_since(noted).is_ok_and(|age| age < limits::DAY));
    // On a file system that cannot be written, code is used and looks unused.
    if !is_noted && let Err(error) = file.set_modified(now) {
        tracing::debug!(%error, "the use of compiled code is not noted");
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use super::super::compiler::{Compiled, load_compiled};
    use super::super::engine::{self, Allocation, Linked};
    use super::*;

    /// The smallest component.
    const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

    fn path(cache: &Cache, digest: &Digest, engine: &Engine) -> PathBuf {
        cache.first.path.join(kept::code_name(digest, settings_of(engine)))
    }

    #[test]
    fn code_that_is_compiled_once_runs_in_every_engine() {
        let temp = tempfile::tempdir().unwrap();
        let cache = Cache::new(temp.path(), None);
        let digest = Digest::of(EMPTY);
        let compiled = Compiled::new(&engine::compiler().unwrap(), EMPTY).unwrap();
        let engines =
            [Allocation::Pooled, Allocation::OnDemand].map(|kind| Linked::new(kind).unwrap().engine);
        for engine in &engines {
            load_compiled(engine, &compiled).unwrap();
            assert!(Compiled::new(engine, EMPTY).is_err(), "it has no compiler");
            assert!(!cache.has(&digest, settings_of(engine)) && cache.load(&digest, engine).is_err());
        }
        cache.store(&digest, &engines[0], compiled.bytes());
        for engine in &engines {
            assert!(cache.has(&digest, settings_of(engine)));
            cache.load(&digest, engine).unwrap();
        }
        assert_eq!(fs::read_dir(temp.path().join("code")).unwrap().count(), 1);
        let mode = fs::metadata(temp.path().join("code")).unwrap().mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn a_file_that_was_cut_short_or_replaced_is_not_loaded() {
        let temp = tempfile::tempdir().unwrap();
        let cache = Cache::new(temp.path(), None);
        let digest = Digest::of(EMPTY);
        let compiled = Compiled::new(&engine::compiler().unwrap(), EMPTY).unwrap();
        let engine = Linked::new(Allocation::OnDemand).unwrap().engine;
        let path = path(&cache, &digest, &engine);
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
        let cache = Cache::new(temp.path(), None);
        let digest = Digest::of(EMPTY);
        let engine = Linked::new(Allocation::OnDemand).unwrap().engine;
        cache.store(&digest, &engine, Compiled::new(&engine::compiler().unwrap(), EMPTY).unwrap().bytes());
        let path = path(&cache, &digest, &engine);
        let (bytes, now) = (fs::read(&path).unwrap(), SystemTime::now());
        let (hour, day) = (limits::DAY / 24, limits::DAY);
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

    #[test]
    fn a_directory_that_others_may_write_to_is_not_used() {
        let temp = tempfile::tempdir().unwrap();
        let cache = Cache::new(temp.path(), None);
        let digest = Digest::of(EMPTY);
        let compiled = Compiled::new(&engine::compiler().unwrap(), EMPTY).unwrap();
        let engine = Linked::new(Allocation::OnDemand).unwrap().engine;
        let mode =
            |mode| fs::set_permissions(temp.path().join("code"), fs::Permissions::from_mode(mode)).unwrap();
        cache.store(&digest, &engine, compiled.bytes());
        for (bits, used) in [(0o700, true), (0o755, true), (0o720, false), (0o702, false), (0o777, false)] {
            mode(bits);
            assert_eq!(Cache::new(temp.path(), None).has(&digest, settings_of(&engine)), used, "{bits:o}");
        }
        fs::remove_file(path(&cache, &digest, &engine)).unwrap();
        cache.store(&digest, &engine, compiled.bytes());
        assert!(!path(&cache, &digest, &engine).exists(), "nothing is put there either");
    }
}
