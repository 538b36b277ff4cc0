//! Compiled code on disk, so that a second process does not compile again.
//!
//! Loading compiled code runs whatever is in the file. So the directory belongs to the user alone (0700), files
//! are written under a temporary name, synced and renamed, are named by the digest of the component and by the
//! engine's settings, and are never overwritten: one that is mapped keeps its bytes.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};

use wasmtime::Engine;
use wasmtime::component::Component;

use crate::hook::Digest;

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
        engine.precompile_compatibility_hash().hash(&mut hasher);
        self.dir.join(format!("{}-{:016x}.cwasm", digest.hex(), hasher.finish()))
    }

    /// The compiled component, if it is here. A file that does not load is removed and compiled again.
    pub(super) fn load(&self, digest: &Digest, engine: &Engine) -> Option<Component> {
        let path = self.path(digest, engine);
        if !path.exists() {
            return None;
        }
        #[allow(unsafe_code, reason = "deserialising compiled code is unsafe by nature; see SAFETY")]
        // SAFETY: `deserialize_file` requires that the file was made by `Component::serialize` and is not changed
        // while it is mapped. Only `store` writes here, after an engine of the same settings (they are part of
        // the name) compiled the component, under a temporary name that is renamed when it is whole; no file is
        // written to again. The directory was checked to be the user's own with mode 0700, so nobody else, and
        // no repository, can put a file there.
        let loaded = unsafe { Component::deserialize_file(engine, &path) };
        loaded
            .inspect_err(|error| {
                tracing::warn!(path = %path.display(), %error, "a cached component does not load; compiling it again");
                let _ = std::fs::remove_file(&path);
            })
            .ok()
    }

    /// Keeps a compiled component. A cache that cannot be written is no failure: the next process compiles again.
    pub(super) fn store(&self, digest: &Digest, component: &Component) {
        let path = self.path(digest, component.engine());
        if let Err(error) = self.write(&path, component) {
            tracing::warn!(path = %path.display(), %error, "cannot keep compiled code");
        }
    }

    fn write(&self, path: &Path, component: &Component) -> wasmtime::Result<()> {
        std::fs::create_dir_all(&self.dir)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.dir)?;
        file.write_all(&component.serialize()?)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }
}
