//! Compiling a component once, also if several tasks and processes need it at the same time, and compiling that an event
//! does not wait for.
//!
//! Such an event starts a process that compiles into the cache and outlives it, or joins one that another event started.
//! It waits a short time for the code, because a small component is compiled in less than a second.

use std::num::NonZero;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::cache::{Cache, PAUSE};
use super::call::internal;
use super::compiler::{self, Compiled, Compiler};
use super::component::{Ready, blocking};
use super::{Runtime, RuntimeInner, Wait, inspect, invalid};
use crate::hook::{COMPILE, Cause, Digest, GRACE, HookError};

/// The longest wait for other processes that compile: they end by themselves.
const TURN: Duration = Duration::from_secs(600);

/// The longest look of an event at a lock.
const LOOK: Duration = Duration::from_millis(200);

impl RuntimeInner {
    /// Returns the cache, and the compiler that goes on after an event that does not wait for it.
    fn later(&self) -> Option<(&Cache, &Compiler)> {
        self.cache.as_ref().zip(self.process.as_ref().filter(|it| it.keeps()))
    }

    /// Checks a component that was compiled, and keeps its code.
    fn accept(&self, digest: &Digest, compiled: &Compiled) -> Result<Ready, HookError> {
        let (linked, component) = self
            .place(|engine| compiler::load_compiled(engine, compiled))?
            .map_err(|error| invalid(&error))?;
        let ready = Ready::new(&linked, &component)?;
        // Only hooks are kept in the cache.
        if let Some(cache) = &self.cache {
            cache.store(digest, &linked.engine, compiled.bytes());
        }
        Ok(ready)
    }
}

impl Runtime {
    /// Compiles a component into the cache, unless another process does that now or did it before. This is the work of a
    /// process that outlives the event that started it ([`Compiler::keeping`]).
    ///
    /// # Errors
    ///
    /// As for [`Runtime::load`].
    pub async fn keep(&self, bytes: Vec<u8>) -> Result<(), HookError> {
        let settings = inspect::check(&bytes)?;
        let digest = Digest::of(&bytes);
        let Some(cache) = &self.inner.cache else { return Ok(()) };
        // An event that looks who compiles has the lock for a moment.
        let Some(_turn) = cache.turn(&digest, LOOK).await else { return Ok(()) };
        let ready = self.compile_into(cache, &digest, bytes).await?;
        self.describe(&digest, ready, settings).await.map(drop)
    }

    /// Takes a component from the cache, or compiles it, in a thread or process of its own and bounded time.
    pub(super) async fn compile(
        &self,
        digest: &Digest,
        bytes: Vec<u8>,
        wait: Wait,
    ) -> Result<Ready, HookError> {
        if let Some(ready) = self.cached(digest, wait.here).await? {
            return Ok(ready);
        }
        if let (Some(until), Some((cache, compiler))) = (wait.until, self.inner.later()) {
            self.wait_for_code(digest, &bytes, until, (cache, compiler)).await?;
            if let Some(ready) = self.cached(digest, wait.here).await? {
                return Ok(ready);
            }
        }
        let permits = self.inner.compiling.get_or_init(|| Semaphore::new(processors()));
        let _permit = permits.acquire().await.map_err(internal)?;
        let Some(cache) = &self.inner.cache else { return self.compile_new(digest, bytes).await };
        let _turn = cache.turn(digest, TURN).await;
        Box::pin(self.compile_into(cache, digest, bytes)).await
    }

    /// Compiles into the cache, unless the code is there. The caller has the turn.
    async fn compile_into(&self, cache: &Cache, digest: &Digest, bytes: Vec<u8>) -> Result<Ready, HookError> {
        if let Some(ready) = self.cached(digest, false).await? {
            return Ok(ready);
        }
        let _place = cache.place(processors(), TURN).await;
        let compiled = self.compile_new(digest, bytes).await;
        if let (Err(error), Ok(settings)) = (&compiled, self.inner.settings()) {
            cache.fail(digest, settings, error);
        }
        compiled
    }

    /// Compiles, and keeps the code.
    async fn compile_new(&self, digest: &Digest, bytes: Vec<u8>) -> Result<Ready, HookError> {
        tracing::debug!(%digest, bytes = bytes.len(), "compiling a component");
        let inner = Arc::clone(&self.inner);
        let compiled = match &self.inner.process {
            Some(process) => process.compile(bytes, COMPILE).await?,
            None => {
                let here = Arc::clone(&inner);
                let compile = tokio::task::spawn_blocking(move || here.compile(&bytes));
                let compiled =
                    tokio::time::timeout(COMPILE, compile).await.map_err(|_| compiler::took_too_long())?;
                compiled.map_err(internal)??
            }
        };
        let digest = digest.clone();
        blocking(false, move || inner.accept(&digest, &compiled)).await?
    }

    /// Waits until the code is in the cache, or returns at once if it cannot be kept there. If no process compiles it,
    /// one is started.
    ///
    /// # Errors
    ///
    /// [`Cause::Compiling`] if it is not compiled by then; the failure of the process otherwise.
    async fn wait_for_code(
        &self,
        digest: &Digest,
        bytes: &[u8],
        mut until: Instant,
        (cache, compiler): (&Cache, &Compiler),
    ) -> Result<(), HookError> {
        let settings = self.inner.settings()?;
        let failed = || cache.failure(digest, settings).map_or(Ok(()), Err);
        match cache.compiling_since(digest) {
            // An event has waited for it already, and this one need not.
            Some(since) if since > GRACE => until = until.min(Instant::now()),
            Some(_) => {}
            None => {
                failed()?;
                let Some(root) = cache.root_with_room(digest, bytes.len()) else {
                    tracing::debug!(%digest, "a component is compiled for this event alone");
                    return Ok(());
                };
                tracing::debug!(%digest, "a process compiles a component");
                compiler.launch(bytes.to_vec(), root).await?;
            }
        }
        while !cache.has(digest, settings) {
            failed()?;
            if Instant::now() >= until {
                return Err(HookError::new(Cause::Compiling, "is being compiled for the first time"));
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }
}

/// Returns the number of components that are compiled at the same time.
fn processors() -> usize {
    available_parallelism().map_or(1, NonZero::get)
}
