//! Compiled code on disk, so that a second process does not compile again.
//!
//! Loading compiled code runs it. So the directory belongs to the user alone, and its files are written once,
//! in one step, and never changed: code that is mapped keeps its bytes. A file is named by the digest of the
//! component and by the engine's settings. As in wasmtime's own cache, the bytes are not checked again:
//! whoever can change them can change hookbox, too. A file that was cut short has no section table and does
//! not load.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use wasmtime::Engine;
use wasmtime::component::Component;

use crate::files::{private_dir, write_atomic};
use crate::hook::Digest;

/// The version of the compiler's settings that an engine's own hash does not cover
/// ([`engine::compiler`](super::engine::compiler)). Counted up when they change.
const COMPILED: u32 = 3;

/// A private directory of compiled code.
#[derive(Clone, Debug)]
pub(super) struct CodeCache {
    dir: PathBuf,
}

impl CodeCache {
    /// Names the cache in a directory that is already private to the user.
    pub(super) fn new(private: &Path) -> Self {
        Self { dir: private.join("code") }
    }

    fn path(&self, digest: &Digest, engine: &Engine) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        COMPILED.hash(&mut hasher);
        engine.precompile_compatibility_hash().hash(&mut hasher);
        self.dir.join(format!("{}-{:016x}.cwasm", digest.hex(), hasher.finish()))
    }

    /// Returns true if there is compiled code of this component, in a directory that only the user can write.
    pub(super) fn has(&self, digest: &Digest, engine: &Engine) -> bool {
        let path = self.path(digest, engine);
        if !path.exists() {
            return false;
        }
        let private = private_dir::open(&self.dir, None);
        if let Err(error) = &private {
            tracing::warn!(%error, "compiled code is not used");
        }
        private.is_ok()
    }

    /// Loads the compiled component.
    ///
    /// # Errors
    ///
    /// If the file is missing, is not the user's own, was cut short, or was made for another processor or
    /// version.
    pub(super) fn load(&self, digest: &Digest, engine: &Engine) -> wasmtime::Result<Component> {
        let path = self.path(digest, engine);
        private_dir::open_file(&path)?;
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

    /// Removes code that does not load, so that it is compiled again.
    pub(super) fn remove(&self, digest: &Digest, engine: &Engine, error: &wasmtime::Error) {
        let path = self.path(digest, engine);
        tracing::warn!(path = %path.display(), %error, "a cached component does not load; compiling it again");
        let _ = std::fs::remove_file(path);
    }

    /// Keeps compiled code. If that fails, the next process compiles again.
    pub(super) fn store(&self, digest: &Digest, engine: &Engine, code: &[u8]) {
        let path = self.path(digest, engine);
        let opened = private_dir::open(&self.dir, None).map_err(io::Error::other);
        if let Err(error) = opened.and_then(|_| write_atomic(&path, code)) {
            tracing::warn!(path = %path.display(), %error, "cannot keep compiled code");
        }
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
    fn a_file_that_was_cut_short_or_replaced_is_not_loaded() {
        let temp = tempfile::tempdir().unwrap();
        let cache = CodeCache::new(temp.path());
        let digest = Digest::of(EMPTY);
        let compiled = Compiled::new(&engine::compiler().unwrap(), EMPTY).unwrap();
        let engine = Linked::new(Allocation::OnDemand).unwrap().engine;
        let path = cache.path(&digest, &engine);
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
