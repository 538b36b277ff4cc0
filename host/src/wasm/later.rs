//! Compiling that an event does not wait for.
//!
//! The event starts a process that compiles into the cache and outlives it, or joins one that another event started. It
//! waits a short time for the code, because a small component is compiled in less than a second.

use std::time::Duration;

use tokio::time::Instant;

use super::cache::CodeCache;
use super::call::internal;
use super::compiler::Compiler;
use super::known::{Known, KnownComponents};
use super::{Component, Runtime, RuntimeInner, compile_cost, inspect};
use crate::hook::{Cause, Digest, GRACE, HookError};

/// The time between two looks for the code.
const PAUSE: Duration = Duration::from_millis(5);

/// The longest look of an event at a lock.
const LOOK: Duration = Duration::from_millis(200);

/// The parts of a runtime that compile later.
struct Later<'a> {
    cache: &'a CodeCache,
    known: &'a KnownComponents,
    compiler: &'a Compiler,
}

impl RuntimeInner {
    fn later(&self) -> Option<Later<'_>> {
        let compiler = self.process.as_ref().filter(|it| it.keeps())?;
        Some(Later { cache: self.cache.as_ref()?, known: self.known.as_ref()?, compiler })
    }
}

impl Runtime {
    /// Returns true if compiling goes on after an event that does not wait for it.
    pub(crate) fn compiles_later(&self) -> bool {
        self.inner.later().is_some()
    }

    /// Returns the facts about a component that count before it is compiled.
    #[doc(hidden)]
    pub fn known(&self, digest: &Digest) -> Known {
        self.inner.known.as_ref().map(|known| known.get(digest)).unwrap_or_default()
    }

    /// Compiles a component into the cache, unless another process does that now or did it before. This is the work of a
    /// process that outlives the event that started it ([`Compiler::keeping`]).
    ///
    /// # Errors
    ///
    /// As for [`Runtime::load`].
    pub async fn keep(&self, bytes: Vec<u8>) -> Result<(), HookError> {
        inspect::check_header(&bytes)?;
        compile_cost::check(&bytes)?;
        let digest = Digest::of(&bytes);
        let (Some(cache), Some(known)) = (&self.inner.cache, &self.inner.known) else { return Ok(()) };
        // An event that looks who compiles has the lock for a moment.
        let Some(_turn) = cache.turn(&digest, LOOK).await else { return Ok(()) };
        let manifest = self.compile_into(cache, digest.clone(), bytes).await?.describe().await?;
        known.describe(&digest, &manifest);
        Ok(())
    }

    /// Like [`Runtime::load`], for one event: it waits up to 3 s for a new compilation, which goes on afterwards if the
    /// compiler and the cache can do that.
    ///
    /// # Errors
    ///
    /// [`Cause::Compiling`] if the component is not compiled by then; as for [`Runtime::load`] otherwise.
    #[doc(hidden)]
    pub async fn load_for_event(&self, bytes: Vec<u8>) -> Result<Component, HookError> {
        self.load_until(Digest::of(&bytes), bytes, true, Instant::now() + GRACE).await
    }

    /// Like [`Runtime::load_as`], but waits for a new compilation only until then.
    ///
    /// # Errors
    ///
    /// [`Cause::Compiling`] if the component is not compiled by then; as for [`Runtime::load`] otherwise.
    pub(crate) async fn load_until(
        &self,
        digest: Digest,
        bytes: Vec<u8>,
        here: bool,
        until: Instant,
    ) -> Result<Component, HookError> {
        inspect::check_header(&bytes)?;
        if self.compiles_later() && !self.has_code(&digest) {
            let check = move || compile_cost::check(&bytes).map(|()| bytes);
            let bytes = tokio::task::spawn_blocking(check).await.map_err(internal)??;
            self.wait_for_code(&digest, &bytes, until).await?;
            return self.load_as(digest, bytes, here).await;
        }
        self.load_as(digest, bytes, here).await
    }

    /// Waits until the code is in the cache. If no process compiles it, one is started.
    async fn wait_for_code(
        &self,
        digest: &Digest,
        bytes: &[u8],
        mut until: Instant,
    ) -> Result<(), HookError> {
        let Some(Later { cache, known, compiler }) = self.inner.later() else { return Ok(()) };
        let settings = self.inner.settings()?;
        match cache.compiling_since(digest) {
            // An event has waited for it already, and this one need not.
            Some(since) if since > GRACE => until = until.min(Instant::now()),
            Some(_) => {}
            None => {
                if let Some(failure) = known.failure(digest, settings) {
                    return Err(failure);
                }
                let Some(root) = cache.root_with_room(digest, bytes.len()) else {
                    tracing::debug!(%digest, "a component is compiled for this event alone");
                    return Ok(());
                };
                tracing::debug!(%digest, "a process compiles a component");
                if let Some(failure) = KnownComponents::new(root).failure(digest, settings) {
                    return Err(failure);
                }
                compiler.launch(bytes.to_vec(), root).await?;
            }
        }
        while !self.has_code(digest) {
            if let Some(failure) = known.failure(digest, settings) {
                return Err(failure);
            }
            if Instant::now() >= until {
                return Err(HookError::new(Cause::Compiling, "is being compiled for the first time"));
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }
}
