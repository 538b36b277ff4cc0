//! Component hooks. This directory is the only place that names wasmtime.
//!
//! There are three phases. An engine is made and the host's side is linked once ([`Runtime`]). A component is
//! checked, compiled (or taken from the cache) and described once per digest ([`Component`]). Every call gets
//! a fresh instance with limits of its own ([`ComponentHook`]).

mod access;
mod bindings;
mod bucket;
mod cache;
mod call;
mod clock;
mod compile;
mod compile_cost;
mod compiler;
mod component;
mod convert;
mod denials;
mod engine;
#[cfg(feature = "http")]
mod http;
mod imports;
mod inspect;
mod kept_code;
#[cfg(feature = "store")]
mod keyvalue;
#[cfg(not(feature = "store"))]
#[path = "keyvalue_denied.rs"]
mod keyvalue;
mod known;
mod later;
mod link;
mod naming;
mod output;
mod reading;
mod settings_section;
mod state;
mod tape;
mod taped_files;
mod taped_types;
mod taped_wasi;
mod wasi_overrides;

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use tokio::sync::{OnceCell, Semaphore};

use wasmtime::Engine;
use wasmtime::component::Component as Loaded;

pub(crate) use self::access::Backends;
pub use self::access::{Access, Places};
pub use self::compiler::{Compiler, compile_here};
pub use self::component::{Component, ComponentHook};
pub use self::engine::Allocation;
pub use self::inspect::WIT_VERSIONS;
pub use self::kept_code::{CachedCode, RemovedCode};
pub use self::known::Known;
pub use crate::hook::MAX_COMPONENT;

use self::cache::{CodeCache, Compiled};
use self::call::{internal, is_of_system};
use self::component::Ready;
use self::engine::Linked;
use self::known::KnownComponents;
use crate::clock::TestClock;
use crate::hook::{Cause, Digest, HookError, Manifest};
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
    cache: Option<CodeCache>,
    known: Option<KnownComponents>,
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

type Components = HashMap<Digest, Arc<OnceCell<Result<Component, HookError>>>>;

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime").field("allocation", &self.inner.allocation).finish_non_exhaustive()
    }
}

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
        let known = cache.map(KnownComponents::new);
        let cache = cache.map(|first| CodeCache::new(first, second.filter(|second| *second != first)));
        let inner = RuntimeInner { allocation, cache, known, process: compiler, ..RuntimeInner::default() };
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
        let hash = tokio::task::spawn_blocking(move || (Digest::of(&bytes), bytes));
        let (digest, bytes) = hash.await.map_err(internal)?;
        self.load_as(digest, bytes, false).await
    }

    /// Like [`Runtime::load`], for bytes with a known digest. With `here`, a component that is compiled
    /// already is loaded in this thread.
    pub(crate) async fn load_as(
        &self,
        digest: Digest,
        bytes: Vec<u8>,
        here: bool,
    ) -> Result<Component, HookError> {
        inspect::check_header(&bytes)?;
        let cell = Arc::clone(self.inner.loaded().entry(digest.clone()).or_default());
        let loaded = cell.get_or_init(|| self.load_new(digest.clone(), bytes, here)).await.clone();
        if loaded.as_ref().is_err_and(|error| matches!(error.cause, Cause::Timeout | Cause::Internal)) {
            // Not the component's fault alone: the next one to ask tries again.
            self.inner.loaded().remove(&digest);
        }
        loaded
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
            Some(Ok(component)) => component.is_shared(),
            // The failure is remembered, because the next discovery meets the same bytes.
            Some(Err(_)) => failed <= MAX_FAILED,
        });
    }

    /// Returns whether the cache has the compiled code of this component.
    pub(crate) fn has_code(&self, digest: &Digest) -> bool {
        let main = self.inner.linked(&self.inner.main, self.inner.allocation);
        self.inner.cache.as_ref().zip(main.ok()).is_some_and(|(cache, main)| cache.has(digest, &main.engine))
    }

    /// Loads a component from the cache, if everything but its code is known; `None` if the code is gone or
    /// does not load. Blocks while the code is mapped.
    pub(crate) fn load_known(&self, digest: &Digest, size: usize, manifest: Manifest) -> Option<Component> {
        let cell = Arc::clone(self.inner.loaded().entry(digest.clone()).or_default());
        if let Some(loaded) = cell.get() {
            return loaded.clone().ok();
        }
        let ready = self.inner.cached(digest).ok()??;
        let component = Component::new(digest.clone(), size, ready, manifest);
        // If another task was faster, it loaded the same component.
        let _ = cell.set(Ok(component.clone()));
        Some(component)
    }

    async fn load_new(&self, digest: Digest, bytes: Vec<u8>, here: bool) -> Result<Component, HookError> {
        let size = bytes.len();
        let settings = settings_section::read(&bytes)?;
        let kept = if here { self.inner.cached(&digest)? } else { None };
        let ready = match kept {
            Some(ready) => ready,
            None => self.compile(digest.clone(), bytes).await?,
        };
        let manifest = Manifest { settings, ..ready.describe().await? };
        if let Some(known) = &self.inner.known {
            known.describe(&digest, &manifest);
        }
        Ok(Component::new(digest, size, ready, manifest))
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

    /// Checks a component that was compiled, and keeps its code.
    fn accept(&self, digest: &Digest, compiled: &Compiled) -> Result<Ready, HookError> {
        let (linked, component) =
            self.place(|engine| cache::load_compiled(engine, compiled))?.map_err(|error| invalid(&error))?;
        let ready = Ready::new(&linked, &component)?;
        // Only hooks are kept in the cache.
        if let Some(cache) = &self.cache {
            cache.store(digest, &linked.engine, compiled.bytes());
        }
        Ok(ready)
    }

    /// The component, as far as its code is kept.
    fn cached(&self, digest: &Digest) -> Result<Option<Ready>, HookError> {
        let Some(cache) = &self.cache else { return Ok(None) };
        let main = self.linked(&self.main, self.allocation)?;
        if !cache.has(digest, &main.engine) {
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
        load: impl Fn(&Engine) -> wasmtime::Result<Loaded>,
    ) -> Result<wasmtime::Result<(Linked, Loaded)>, HookError> {
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
