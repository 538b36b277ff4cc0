//! Compiled code on disk, so that a second process does not compile again.
//!
//! Loading compiled code runs whatever is in the file. So the directory belongs to the user alone (0700), files
//! are written under a temporary name, synced and renamed, are named by the digest of the component and by the
//! engine's settings, and are never overwritten: one that is mapped keeps its bytes.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use wasmtime::Engine;
use wasmtime::component::Component;

use crate::hook::Digest;

/// What the engines of a name's hash do not say: what the compiler was told beside their settings
/// ([`engine::compiler`](super::engine::compiler)). Counted up when that changes.
const COMPILED: u32 = 1;

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

    /// Whether there is compiled code of this component.
    pub(super) fn has(&self, digest: &Digest, engine: &Engine) -> bool {
        self.path(digest, engine).exists()
    }

    /// The compiled component.
    ///
    /// # Errors
    ///
    /// Where the file is not there, is damaged, or was made for another processor or another version.
    pub(super) fn load(&self, digest: &Digest, engine: &Engine) -> wasmtime::Result<Component> {
        let path = self.path(digest, engine);
        #[allow(unsafe_code, reason = "deserialising compiled code is unsafe by nature; see SAFETY")]
        // SAFETY: `deserialize_file` requires that the file was made by `Component::serialize` or
        // `Engine::precompile_component` and is not changed while it is mapped. Only `store` writes here, what the
        // compiler's engine made, under a temporary name that is renamed when it is whole; no file is written to again.
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
        let _ = std::fs::remove_file(path);
    }

    /// Keeps compiled code. A cache that cannot be written is no failure: the next process compiles again.
    pub(super) fn store(&self, digest: &Digest, engine: &Engine, code: &[u8]) {
        let path = self.path(digest, engine);
        if let Err(error) = self.write(&path, code) {
            tracing::warn!(path = %path.display(), %error, "cannot keep compiled code");
        }
    }

    fn write(&self, path: &Path, code: &[u8]) -> io::Result<()> {
        std::fs::create_dir_all(&self.dir)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.dir)?;
        file.write_all(code)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }
}

/// The component of code that was compiled in this process.
pub(super) fn load_compiled(engine: &Engine, code: &Compiled) -> wasmtime::Result<Component> {
    #[allow(unsafe_code, reason = "deserialising compiled code is unsafe by nature; see SAFETY")]
    // SAFETY: `deserialize` requires bytes that `Engine::precompile_component` made; a `Compiled` is made of nothing else.
    unsafe {
        Component::deserialize(engine, &code.0)
    }
}

/// Code that was compiled in this process.
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

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(std::fs::read_dir(temp.path().join("code")).unwrap().count(), 1);
    }
}
