//! Component hooks. This directory is the only place that names wasmtime.
//!
//! There are three phases. An engine is made and the host's side is linked once ([`Runtime`]). A component is
//! checked, compiled (or taken from the cache) and described once per digest ([`Component`]); one that was described
//! before is loaded by its first call. Every call gets a fresh instance with limits of its own ([`ComponentHook`]).

mod access;
mod bindings;
mod bucket;
mod cache;
mod call;
mod clock;
mod compile;
mod compiler;
mod component;
mod convert;
mod engine;
mod imports;
mod inspect;
mod naming;
mod output;
mod state;
mod tape;

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use tokio::sync::{OnceCell, Semaphore};
use tokio::time::Instant;

use wasmtime::Engine;
use wasmtime::component::Component as Code;

pub(crate) use self::access::Backends;
pub use self::access::{Access, Places};
pub use self::cache::{CachedCode, Known, RemovedCode};
pub use self::compiler::{Compiler, compile_here};
pub use self::component::{Component, ComponentHook};
pub use self::engine::Allocation;
pub use self::inspect::WIT_VERSIONS;
pub use crate::hook::MAX_COMPONENT;

use self::cache::Cache;
use self::call::{internal, is_of_system};
use self::compiler::Compiled;
use self::component::{Later, Loaded, Ready, blocking};
use self::engine::Linked;
use crate::clock::TestClock;
use crate::hook::{Cause, Digest, GRACE, HookError, SettingsSchema};
use hookbox_system::mutex;
use hookbox_system::text;

/// The number of components that failed to load and are remembered.
const MAX_FAILED: usize = 256;

/// True if this build runs components.
pub(crate) const RUNS_COMPONENTS: bool = true;

/// Compiles and runs components. Cheap to clone and free until the first component is loaded; clones share
/// the engine and the compiled code.
#[derive(Clone, Default)]
pub struct Runtime {
    inner: Arc<RuntimeInner>,
    #[cfg(feature = "http")]
    network: crate::network::Network,
    /// The clock of components, instead of the system's.
    clock: Option<TestClock>,
}

/// The options of an engine that is yet to be made.
#[derive(Clone, Debug, Default)]
pub(crate) struct EngineOptions {
    pub(crate) allocation: Allocation,
    pub(crate) compiler: Option<Compiler>,
    #[cfg(feature = "http")]
    pub(crate) network: Option<crate::network::Network>,
}

impl EngineOptions {
    /// Makes the engine, or takes the one that is given; a network of these options replaces its own.
    pub(crate) fn runtime(
        &self,
        given: Option<Runtime>,
        cache: Option<&Path>,
        second: Option<&Path>,
    ) -> Runtime {
        let make = || Runtime::within(self.allocation, cache, second, self.compiler.clone());
        let runtime = given.unwrap_or_else(make);
        #[cfg(feature = "http")]
        let runtime = match &self.network {
            Some(network) => Runtime { network: network.clone(), ..runtime },
            None => runtime,
        };
        runtime
    }
}

#[derive(Default)]
struct RuntimeInner {
    allocation: Allocation,
    cache: Option<Cache>,
    /// The compiler; this process if absent.
    process: Option<Compiler>,
    /// Made when there is something to compile.
    compiler: OnceLock<Result<Engine, String>>,
    /// One permit for each component that is compiled at the same time, as many as processors.
    compiling: OnceLock<Semaphore>,
    main: OnceLock<Result<Linked, String>>,
    /// For components that do not fit the pool.
    large: OnceLock<Result<Linked, String>>,
    /// The loaded components, or their failures: each digest is loaded once, also if several callers ask at
    /// the same time.
    loaded: Mutex<Components>,
}

type Components = HashMap<Digest, Arc<OnceCell<Result<Arc<Loaded>, HookError>>>>;

/// The wait of a caller for a component.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wait {
    /// True if code that is compiled already is loaded in this thread: nothing else waits for it.
    pub(crate) here: bool,
    /// The end of the wait for a new compilation, which goes on afterwards if the compiler and the cache can do that.
    pub(crate) until: Option<Instant>,
}

/// Reads the bytes of a component again.
pub(crate) type Reader = Arc<dyn Fn() -> io::Result<Vec<u8>> + Send + Sync>;

debug_by!(Runtime, inner.allocation);

impl Runtime {
    /// Makes a runtime that takes memory from `allocation` and keeps compiled code in `cache`, a directory
    /// that belongs to the user alone; `None` compiles in every process.
    pub fn new(allocation: Allocation, cache: Option<&Path>) -> Self {
        Self::compiled_by(allocation, cache, None)
    }

    /// Makes a runtime like [`Runtime::new`], in which this program compiles components. Without it they are
    /// compiled in this process, without limits of memory and time.
    pub fn compiled_by(allocation: Allocation, cache: Option<&Path>, compiler: Option<Compiler>) -> Self {
        Self::within(allocation, cache, None, compiler)
    }

    /// Makes a runtime with a second private directory for code, in which it is kept if the first one has no room.
    fn within(
        allocation: Allocation,
        cache: Option<&Path>,
        second: Option<&Path>,
        compiler: Option<Compiler>,
    ) -> Self {
        let cache = cache.map(|first| Cache::new(first, second.filter(|second| *second != first)));
        let inner = RuntimeInner { allocation, cache, process: compiler, ..RuntimeInner::default() };
        Self {
            inner: Arc::new(inner),
            #[cfg(feature = "http")]
            network: crate::network::Network::default(),
            clock: None,
        }
    }

    /// Gives components this clock, in tests.
    #[doc(hidden)]
    #[must_use]
    pub fn with_clock(self, clock: Option<TestClock>) -> Self {
        Self { clock, ..self }
    }

    pub(crate) fn clock(&self) -> Option<TestClock> {
        self.clock.clone()
    }

    /// The network that sends the requests of components.
    #[cfg(feature = "http")]
    pub(crate) fn network(&self) -> &crate::network::Network {
        &self.network
    }

    /// Checks, compiles (or takes from the cache) and describes a component. Loading bytes of the same digest
    /// again only costs the digest.
    ///
    /// # Errors
    ///
    /// [`Cause::Incompatible`] if the bytes are not a hook component, with a description of the bytes; else
    /// the failure of the compiler or of `describe`.
    pub async fn load(&self, bytes: Vec<u8>) -> Result<Component, HookError> {
        let (digest, bytes) = blocking(false, move || (Digest::of(&bytes), bytes)).await?;
        self.load_as(digest, bytes, Wait::default()).await
    }

    /// Like [`Runtime::load`], for one event: it waits up to 3 s for a new compilation, which goes on afterwards if the
    /// compiler and the cache can do that.
    ///
    /// # Errors
    ///
    /// [`Cause::Compiling`] if the component is not compiled by then; as for [`Runtime::load`] otherwise.
    #[doc(hidden)]
    pub async fn load_for_event(&self, bytes: Vec<u8>) -> Result<Component, HookError> {
        let wait = Wait { here: true, until: Some(Instant::now() + GRACE) };
        self.load_as(Digest::of(&bytes), bytes, wait).await
    }

    /// Like [`Runtime::load`], for bytes with a known digest.
    ///
    /// # Errors
    ///
    /// [`Cause::Compiling`] if the component is not compiled in the time for that; as for [`Runtime::load`] otherwise.
    pub(crate) async fn load_as(
        &self,
        digest: Digest,
        bytes: Vec<u8>,
        wait: Wait,
    ) -> Result<Component, HookError> {
        let size = bytes.len();
        let loaded = self.load_once(&digest, self.load_new(&digest, bytes, wait)).await?;
        Ok(Component::new(digest, size, loaded))
    }

    /// Returns a component that was described before and whose code is kept. The code is loaded by the first call; if it
    /// is gone or damaged by then, the bytes are read and compiled again.
    pub(crate) fn load_later(
        &self,
        digest: &Digest,
        size: usize,
        wait: Wait,
        read: Reader,
    ) -> Option<Component> {
        let loaded = self.inner.loaded().get(digest).and_then(|cell| cell.get()?.clone().ok());
        if let Some(loaded) = loaded {
            return Some(Component::new(digest.clone(), size, loaded));
        }
        let description = self.inner.cache.as_ref()?.described(digest)?;
        let later = Later { runtime: self.clone(), wait, read };
        Some(Component::later(digest.clone(), size, description, later))
    }

    /// Loads a component, unless that was done before: each digest is loaded once, also if several callers ask at the
    /// same time.
    async fn load_once(
        &self,
        digest: &Digest,
        load: impl Future<Output = Result<Loaded, HookError>>,
    ) -> Result<Arc<Loaded>, HookError> {
        let cell = Arc::clone(self.inner.loaded().entry(digest.clone()).or_default());
        let loaded = cell.get_or_init(async || load.await.map(Arc::new)).await.clone();
        let by_chance =
            |error: &HookError| matches!(error.cause, Cause::Timeout | Cause::Internal | Cause::Compiling);
        if loaded.as_ref().is_err_and(by_chance) {
            // Not the component's fault alone: the next one to ask tries again.
            self.inner.loaded().remove(digest);
        }
        loaded
    }

    async fn load_new(&self, digest: &Digest, bytes: Vec<u8>, wait: Wait) -> Result<Loaded, HookError> {
        let settings = inspect::check(&bytes)?;
        let ready = Box::pin(self.compile(digest, bytes, wait)).await?;
        self.describe(digest, ready, settings).await
    }

    /// Asks a component for its description, and keeps it.
    async fn describe(
        &self,
        digest: &Digest,
        ready: Ready,
        settings: Option<SettingsSchema>,
    ) -> Result<Loaded, HookError> {
        let loaded = ready.describe(settings).await?;
        if let Some(cache) = &self.inner.cache {
            cache.describe(digest, self.inner.settings()?, &loaded.description);
        }
        Ok(loaded)
    }

    /// Returns a component, if its code is kept and loads.
    async fn cached(&self, digest: &Digest, here: bool) -> Result<Option<Ready>, HookError> {
        let (inner, digest) = (Arc::clone(&self.inner), digest.clone());
        blocking(here, move || inner.cached(&digest)).await?
    }

    /// Returns the facts about a component that count before it is compiled.
    #[doc(hidden)]
    pub fn known(&self, digest: &Digest) -> Known {
        self.inner.cache.as_ref().map(|cache| cache.known(digest)).unwrap_or_default()
    }

    /// Keeps the engines until the end of the process. To unmap and free them takes longer than a call, and the end of
    /// the process does both at once.
    pub(crate) fn leak(&self) {
        std::mem::forget(self.clone());
    }

    /// Forgets components that are not used any more: a host that finds hooks again and again must not grow.
    pub(crate) fn forget_unused(&self) {
        let mut loaded = self.inner.loaded();
        let failed = loaded.values().filter(|cell| matches!(cell.get(), Some(Err(_)))).count();
        loaded.retain(|_, cell| match cell.get() {
            None => true,
            Some(Ok(loaded)) => Arc::strong_count(loaded) > 1,
            // The failure is remembered, because the next discovery meets the same bytes.
            Some(Err(_)) => failed <= MAX_FAILED,
        });
    }

    /// Returns whether the cache has the compiled code of this component.
    pub(crate) fn has_code(&self, digest: &Digest) -> bool {
        let settings = self.inner.settings().ok();
        self.inner.cache.as_ref().zip(settings).is_some_and(|(cache, settings)| cache.has(digest, settings))
    }

    /// Lists the compiled code in the cache, the most recently used first.
    ///
    /// # Errors
    ///
    /// If the directory cannot be read. A directory that does not exist has no code.
    pub fn cached_code(&self) -> io::Result<Vec<CachedCode>> {
        self.in_cache(Cache::list)
    }

    /// Removes code from the cache that was not used for 30 days (that of other versions: 7 days), and the least
    /// recently used code beyond 2 GiB. A process that compiles does this by itself.
    ///
    /// # Errors
    ///
    /// If a file cannot be removed.
    pub fn prune_cache(&self) -> io::Result<RemovedCode> {
        self.in_cache(Cache::prune)
    }

    /// Removes all code from the cache, also that of other versions, and the descriptions of components. Hooks that are
    /// loaded go on running.
    ///
    /// # Errors
    ///
    /// If a file cannot be removed.
    pub fn clear_cache(&self) -> io::Result<RemovedCode> {
        self.inner.cache.as_ref().map_or(Ok(RemovedCode::default()), Cache::clear)
    }

    /// Works in the cache, for the settings of the engine; does nothing without a cache.
    fn in_cache<T: Default>(&self, work: impl FnOnce(&Cache, u64) -> io::Result<T>) -> io::Result<T> {
        let Some(cache) = &self.inner.cache else { return Ok(T::default()) };
        work(cache, self.inner.settings().map_err(io::Error::other)?)
    }
}

impl RuntimeInner {
    fn loaded(&self) -> MutexGuard<'_, Components> {
        mutex::lock(&self.loaded)
    }

    fn linked(
        &self,
        slot: &OnceLock<Result<Linked, String>>,
        allocation: Allocation,
    ) -> Result<Linked, HookError> {
        slot.get_or_init(|| Linked::new(allocation).map_err(|error| format!("{error:#}")))
            .clone()
            .map_err(|error| no_engine(&error))
    }

    /// Compiles a component in this process.
    fn compile(&self, bytes: &[u8]) -> Result<Compiled, HookError> {
        let compiler = self.compiler.get_or_init(|| engine::compiler().map_err(|error| format!("{error:#}")));
        let compiler = compiler.as_ref().map_err(|error| no_engine(error))?;
        Compiled::new(compiler, bytes).map_err(|error| invalid(&error))
    }

    /// Returns the settings that compiled code has to fit.
    fn settings(&self) -> Result<u64, HookError> {
        let main = self.linked(&self.main, self.allocation)?;
        Ok(cache::settings_of(&main.engine))
    }

    /// The component, as far as its code is kept.
    fn cached(&self, digest: &Digest) -> Result<Option<Ready>, HookError> {
        let Some(cache) = &self.cache else { return Ok(None) };
        let main = self.linked(&self.main, self.allocation)?;
        if !cache.has(digest, cache::settings_of(&main.engine)) {
            return Ok(None);
        }
        match self.place(|engine| cache.load(digest, engine))? {
            Ok((linked, component)) => Ready::new(&linked, &component).map(Some),
            Err(error) => {
                tracing::warn!(%digest, %error, "a cached component does not load; compiling it again");
                // If the system refuses memory or a file now, the code may be good.
                if !is_of_system(&error) {
                    cache.remove(digest, &main.engine);
                }
                Ok(None)
            }
        }
    }

    /// Loads compiled code into the engine that it fits.
    fn place(
        &self,
        load: impl Fn(&Engine) -> wasmtime::Result<Code>,
    ) -> Result<wasmtime::Result<(Linked, Code)>, HookError> {
        let main = self.linked(&self.main, self.allocation)?;
        let loaded = load(&main.engine);
        let fits = loaded.as_ref().is_ok_and(|component| main.fits(component));
        if fits || !main.is_pooled() {
            return Ok(loaded.map(|component| (main, component)));
        }
        // It is too large for the pool, which may have been its only fault. A loaded component belongs to its
        // engine.
        let large = self.linked(&self.large, Allocation::OnDemand)?;
        Ok(load(&large.engine).map(|component| (large, component)))
    }
}

fn no_engine(error: &str) -> HookError {
    HookError::new(Cause::Internal, format!("cannot start the engine: {error}"))
}

fn invalid(error: &wasmtime::Error) -> HookError {
    if is_of_system(error) {
        return internal(format!("cannot be loaded now: {}", error.root_cause()));
    }
    let what = text::escape(&error.root_cause().to_string(), 200);
    let what = if what.contains("requires the component model async feature") {
        format!("was built for asynchronous calls; build it without them (`componentize-qjs --sync`): {what}")
    } else {
        format!("is damaged or no valid component: {what}")
    };
    HookError::new(Cause::Incompatible, what)
}
