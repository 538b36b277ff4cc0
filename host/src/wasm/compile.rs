//! Compiling a component once, also if several tasks and processes need it at the same time.

use std::num::NonZero;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::cache::CodeCache;
use super::call::internal;
use super::component::Ready;
use super::{Runtime, compile_cost};
use crate::hook::{COMPILE, Cause, Digest, HookError, LimitKind};

/// The longest wait for other processes that compile: they end by themselves.
const TURN: Duration = Duration::from_secs(600);

impl Runtime {
    /// Compiles, or takes from the cache, in a thread or process of its own and bounded time.
    pub(super) async fn compile(&self, digest: Digest, bytes: Vec<u8>) -> Result<Ready, HookError> {
        let (inner, of) = (Arc::clone(&self.inner), digest.clone());
        let look = move || {
            let kept = inner.cached(&of)?;
            if kept.is_none() {
                compile_cost::check(&bytes)?;
            }
            Ok((kept, bytes))
        };
        let (kept, bytes) = tokio::task::spawn_blocking(look).await.map_err(internal)??;
        if let Some(ready) = kept {
            return Ok(ready);
        }
        let permits = self.inner.compiling.get_or_init(|| Semaphore::new(processors()));
        let _permit = permits.acquire().await.map_err(internal)?;
        Box::pin(self.compile_in_turn(digest, bytes)).await
    }

    /// Compiles, unless another process does that now.
    async fn compile_in_turn(&self, digest: Digest, bytes: Vec<u8>) -> Result<Ready, HookError> {
        let Some(cache) = &self.inner.cache else { return self.compile_new(digest, bytes).await };
        let _turn = cache.turn(&digest, TURN).await;
        self.compile_into(cache, digest, bytes).await
    }

    /// Compiles into the cache, unless the code is there. The caller has the turn.
    pub(super) async fn compile_into(
        &self,
        cache: &CodeCache,
        digest: Digest,
        bytes: Vec<u8>,
    ) -> Result<Ready, HookError> {
        let (inner, of) = (Arc::clone(&self.inner), digest.clone());
        let kept = tokio::task::spawn_blocking(move || inner.cached(&of));
        if let Some(ready) = kept.await.map_err(internal)?? {
            return Ok(ready);
        }
        let _place = cache.place(processors(), TURN).await;
        let compiled = self.compile_new(digest.clone(), bytes).await;
        if let (Err(error), Some(known), Ok(settings)) = (&compiled, &self.inner.known, self.inner.settings())
        {
            known.fail(&digest, settings, error);
        }
        compiled
    }

    /// Compiles, and keeps the code.
    async fn compile_new(&self, digest: Digest, bytes: Vec<u8>) -> Result<Ready, HookError> {
        tracing::debug!(%digest, bytes = bytes.len(), "compiling a component");
        let inner = Arc::clone(&self.inner);
        let compiled = match &self.inner.process {
            Some(process) => process.compile(bytes, COMPILE).await?,
            None => {
                let here = Arc::clone(&inner);
                let compile = tokio::task::spawn_blocking(move || here.compile(&bytes));
                let compiled = tokio::time::timeout(COMPILE, compile).await.map_err(|_| took_too_long())?;
                compiled.map_err(internal)??
            }
        };
        tokio::task::spawn_blocking(move || inner.accept(&digest, &compiled)).await.map_err(internal)?
    }
}

/// Returns the number of components that are compiled at the same time.
fn processors() -> usize {
    available_parallelism().map_or(1, NonZero::get)
}

/// The failure of a component that took too long to compile.
pub(super) fn took_too_long() -> HookError {
    let limit = u64::try_from(COMPILE.as_millis()).unwrap_or(u64::MAX);
    let what = format!("took longer than {COMPILE:?} to compile");
    HookError::exceeded(Cause::Timeout, LimitKind::Compile, limit, Some(limit), what)
}
