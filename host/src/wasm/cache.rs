//! Compiled code on disk, so that a second process does not compile again.
//!
//! Loading compiled code runs whatever is in the file. So the directory belongs to the user alone (0700), files
//! are written under a temporary name, synced and renamed, are named by the digest of the component and by the
//! engine's settings, and are never overwritten: one that is mapped keeps its bytes. Each ends in a seal, so that one that
//! was cut or damaged since is not run: the time that was set as that of its last modification, and a checksum, which is
//! compared where the system says another time. That finds accidents; against malice stands the directory's mode.

use std::fs::{self, DirBuilder};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wasmtime::Engine;
use wasmtime::component::Component;

use crate::files::private_dir;
use crate::hook::Digest;

/// What the engines of a name's hash do not say: what the compiler was told beside their settings
/// ([`engine::compiler`](super::engine::compiler)). Counted up when that changes.
const COMPILED: u32 = 3;

/// How a seal begins.
const SEAL: [u8; 8] = *b"hookbox\n";

/// How long a seal is, in bytes.
const SEALED: usize = SEAL.len() + size_of::<u64>() + size_of::<u32>();

/// How much is read at once, in bytes: what the second level of a processor's cache holds.
const CHUNK: usize = 64 << 10;

/// A private directory of compiled code.
#[derive(Clone, Debug)]
pub(super) struct CodeCache {
    dir: PathBuf,
}

impl CodeCache {
    /// The cache in a directory that is already private to the user.
    pub(super) fn new(private: &Path) -> Self {
        Self { dir: private.join("code") }
    }

    fn path(&self, digest: &Digest, engine: &Engine) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        COMPILED.hash(&mut hasher);
        engine.precompile_compatibility_hash().hash(&mut hasher);
        self.dir.join(format!("{}-{:016x}.cwasm", digest.hex(), hasher.finish()))
    }

    /// Whether there is compiled code of this component, in a directory where nobody else can have put it.
    pub(super) fn has(&self, digest: &Digest, engine: &Engine) -> bool {
        let path = self.path(digest, engine);
        if !path.exists() {
            return false;
        }
        let private = self.check();
        if let Err(error) = &private {
            tracing::warn!(path = %self.dir.display(), %error, "compiled code is not used");
        }
        private.is_ok()
    }

    /// Whether the directory is the user's own, and nobody else may write to it.
    fn check(&self) -> io::Result<()> {
        let about = fs::metadata(&self.dir)?;
        if about.uid() != rustix::process::geteuid().as_raw() {
            return Err(io::Error::other(format!("it belongs to another user (uid {})", about.uid())));
        }
        match about.mode() & 0o777 {
            mode if mode & 0o022 != 0 => {
                Err(io::Error::other(format!("others may write to it (mode {mode:o})")))
            }
            _ => Ok(()),
        }
    }

    /// The compiled component.
    ///
    /// # Errors
    ///
    /// Where the file is not there, is damaged, or was made for another processor or another version.
    pub(super) fn load(&self, digest: &Digest, engine: &Engine) -> wasmtime::Result<Component> {
        let path = self.path(digest, engine);
        check_seal(&path)?;
        #[allow(unsafe_code, reason = "deserialising compiled code is unsafe by nature; see SAFETY")]
        // SAFETY: `deserialize_file` requires that the file was made by `Component::serialize` or
        // `Engine::precompile_component` and is not changed while it is mapped. Only `store` writes here, what the
        // compiler's engine made, under a temporary name that is renamed when it is whole; no file is written to again, and
        // its seal says that nothing has become of it since. What follows the code is not looked at.
        // The directory was checked to be the user's own with mode 0700, so nobody else, and no repository, can put a
        // file there.
        unsafe {
            Component::deserialize_file(engine, path)
        }
    }

    /// Takes away what does not load, so that it is compiled again.
    pub(super) fn remove(&self, digest: &Digest, engine: &Engine, error: &wasmtime::Error) {
        let path = self.path(digest, engine);
        tracing::warn!(path = %path.display(), %error, "a cached component does not load; compiling it again");
        let _ = fs::remove_file(path);
    }

    /// Keeps compiled code. A cache that cannot be written is no failure: the next process compiles again.
    pub(super) fn store(&self, digest: &Digest, engine: &Engine, code: &[u8]) {
        let path = self.path(digest, engine);
        if let Err(error) = self.write(&path, code) {
            tracing::warn!(path = %path.display(), %error, "cannot keep compiled code");
        }
    }

    fn write(&self, path: &Path, code: &[u8]) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        self.check()?;
        let mut file = tempfile::NamedTempFile::new_in(&self.dir)?;
        let modified = a_while_ago();
        file.write_all(code)?;
        file.write_all(&seal(modified, crc32fast::hash(code)))?;
        file.as_file().set_modified(UNIX_EPOCH + Duration::from_secs(modified))?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }
}

/// A time before now, in seconds since 1970, that every file system can keep: whoever writes to the file sets another.
fn a_while_ago() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // The coarsest keep every second second.
    now.as_secs().saturating_sub(2) & !1
}

/// The seal of a file with this time of modification, and code with this checksum.
fn seal(modified: u64, checksum: u32) -> [u8; SEALED] {
    let mut seal = [0; SEALED];
    let parts = SEAL.into_iter().chain(modified.to_le_bytes()).chain(checksum.to_le_bytes());
    seal.iter_mut().zip(parts).for_each(|(to, from)| *to = from);
    seal
}

/// Whether a file is as it was written.
fn check_seal(path: &Path) -> io::Result<()> {
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "it was cut or damaged");
    let file = private_dir::open_file(path)?;
    let about = file.metadata()?;
    let len = about.len().checked_sub(SEALED as u64).ok_or_else(damaged)?;
    let mut sealed = [0; SEALED];
    file.read_exact_at(&mut sealed, len)?;
    let Some((name, rest)) = sealed.split_first_chunk() else { return Err(damaged()) };
    let Some((modified, checksum)) = rest.split_first_chunk() else { return Err(damaged()) };
    let modified = UNIX_EPOCH.checked_add(Duration::from_secs(u64::from_le_bytes(*modified)));
    if *name != SEAL {
        return Err(damaged());
    }
    if modified.is_some() && modified == about.modified().ok() {
        return Ok(());
    }
    let (mut code, mut hasher, mut chunk) = (file.take(len), crc32fast::Hasher::new(), vec![0; CHUNK]);
    loop {
        match code.read(&mut chunk)? {
            0 => break,
            read => hasher.update(chunk.get(..read).unwrap_or_default()),
        }
    }
    if code.limit() == 0 && hasher.finalize().to_le_bytes() == checksum { Ok(()) } else { Err(damaged()) }
}

/// The component of code that was compiled for this process.
pub(super) fn load_compiled(engine: &Engine, code: &Compiled) -> wasmtime::Result<Component> {
    #[allow(unsafe_code, reason = "deserialising compiled code is unsafe by nature; see SAFETY")]
    // SAFETY: `deserialize` requires bytes that `Engine::precompile_component` made; a `Compiled` is made of nothing else, here
    // or in the program that the host has named for it, which ended well after it had printed all of them.
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
    /// Where the bytes are no valid component.
    pub(super) fn new(compiler: &Engine, bytes: &[u8]) -> wasmtime::Result<Self> {
        compiler.precompile_component(bytes).map(Self)
    }

    /// What the host's own compiler printed.
    pub(super) fn of_compiler(code: Vec<u8>) -> Self {
        Self(code)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::PermissionsExt as _;

    use super::super::engine::{self, Allocation, Linked};
    use super::*;

    /// The smallest component.
    const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

    #[test]
    fn what_is_compiled_once_is_for_every_engine_that_runs_components() {
        let temp = tempfile::tempdir().unwrap();
        let cache = CodeCache::new(temp.path());
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
    fn what_was_cut_or_damaged_is_not_loaded() {
        let temp = tempfile::tempdir().unwrap();
        let cache = CodeCache::new(temp.path());
        let digest = Digest::of(EMPTY);
        let compiled = Compiled::new(&engine::compiler().unwrap(), EMPTY).unwrap();
        let engine = Linked::new(Allocation::OnDemand).unwrap().engine;
        cache.store(&digest, &engine, compiled.bytes());
        let path = cache.path(&digest, &engine);
        let whole = fs::read(&path).unwrap();
        let refused = |bytes: &[u8], what: &str| {
            fs::remove_file(&path).unwrap();
            fs::write(&path, bytes).unwrap();
            assert!(cache.load(&digest, &engine).is_err(), "{what}");
        };
        let ends = whole.len() - SEALED..whole.len();
        // Of a damaged time the checksum knows no harm.
        let time = ends.start + SEAL.len()..ends.start + SEAL.len() + size_of::<u64>();
        for at in (0..whole.len()).step_by(997).chain(ends.clone()).filter(|at| !time.contains(at)) {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << (at % 8);
            refused(&damaged, &format!("a bit of byte {at}"));
        }
        for len in (0..whole.len()).step_by(997).chain(ends) {
            refused(&whole[..len], &format!("the first {len} bytes"));
        }
        refused(&[&whole[..], b"x"].concat(), "a byte more");
        // Nobody waits for the other end of a pipe.
        fs::remove_file(&path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert!(cache.load(&digest, &engine).is_err(), "a pipe");
        fs::remove_file(&path).unwrap();
        fs::write(&path, whole).unwrap();
        cache.load(&digest, &engine).unwrap();
        // As it comes from the compiler: whoever writes to it in its place sets another time.
        fs::remove_file(&path).unwrap();
        cache.store(&digest, &engine, compiled.bytes());
        cache.load(&digest, &engine).unwrap();
        File::options().write(true).open(&path).unwrap().write_all_at(b"x", 100).unwrap();
        assert!(cache.load(&digest, &engine).is_err(), "written to in its place");
    }

    #[test]
    fn a_directory_that_others_may_write_to_is_not_used() {
        let temp = tempfile::tempdir().unwrap();
        let cache = CodeCache::new(temp.path());
        let digest = Digest::of(EMPTY);
        let compiled = Compiled::new(&engine::compiler().unwrap(), EMPTY).unwrap();
        let engine = Linked::new(Allocation::OnDemand).unwrap().engine;
        let mode =
            |mode| fs::set_permissions(temp.path().join("code"), fs::Permissions::from_mode(mode)).unwrap();
        cache.store(&digest, &engine, compiled.bytes());
        for (bits, used) in [(0o700, true), (0o755, true), (0o720, false), (0o702, false), (0o777, false)] {
            mode(bits);
            assert_eq!(cache.has(&digest, &engine), used, "{bits:o}");
        }
        fs::remove_file(cache.path(&digest, &engine)).unwrap();
        cache.store(&digest, &engine, compiled.bytes());
        mode(0o700);
        assert!(!cache.has(&digest, &engine), "nothing is put there either");
    }
}
