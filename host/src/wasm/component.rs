//! A compiled component, and the component as a hook.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::OnceCell;
use wasmtime::component::Component as Code;

use super::access::Access;
use super::cache::Description;
use super::call::{Prepared, internal};
use super::convert::{self, Lower};
use super::engine::Linked;
use super::inspect::{self, InterfaceName};
use super::naming::Conditions;
use super::state::Clock;
use super::{Reader, Runtime, Wait};
use crate::capability::{Capability, Rights};
use crate::event::Event;
use crate::hook::{
    Budget, Cause, Descriptor, Digest, Hook, HookError, Kind, Manifest, Settings, SettingsSchema,
};
use crate::inputs::{Input, Taping};
use crate::outcome::Outcome;
use hookbox_system::text;

/// A component that is linked but not yet described.
pub(super) struct Ready {
    wit_version: String,
    imports: Vec<InterfaceName>,
    prepared: Prepared,
}

/// A component that is linked and described.
pub(super) struct Loaded {
    pub(super) description: Description,
    prepared: Prepared,
}

impl Ready {
    /// Checks that a component is a hook, and links it.
    pub(super) fn new(linked: &Linked, component: &Code) -> Result<Self, HookError> {
        let imports = inspect::imports(&linked.engine, component);
        let wit_version = inspect::check_exports(&linked.engine, component)?;
        let prepared =
            linked.prepare(component, &imports).map_err(|error| inspect::explain_link(&error, &imports))?;
        Ok(Self { wit_version, imports, prepared })
    }

    /// Asks the component for its manifest. The schema of its settings is not a part of the answer.
    pub(super) async fn describe(self, settings: Option<SettingsSchema>) -> Result<Loaded, HookError> {
        let Self { wit_version, imports, prepared } = self;
        // A component describes itself in a few thousand instructions; an interpreter needs some millions.
        let budget = Budget { fuel: 200_000_000, ..Budget::for_kind(Kind::Component) };
        let (manifest, spent) = prepared
            .call(&budget, Arc::default(), Arc::default(), Clock::Frozen, async |instance, store| {
                prepared.describe(store, instance).await
            })
            .await
            .map_err(|mut error| {
                error.message = format!("failed in describe: {}", error.message);
                error
            })?;
        let manifest = convert::manifest(manifest).map_err(|error| error.spent(spent))?;
        let manifest = Manifest { settings, ..manifest };
        Ok(Loaded { description: Description { manifest, wit_version, imports }, prepared })
    }
}

/// A component that was described. Cheap to clone.
#[derive(Clone)]
pub struct Component {
    inner: Arc<ComponentInner>,
}

struct ComponentInner {
    digest: Digest,
    size: usize,
    description: Description,
    loaded: OnceCell<Arc<Loaded>>,
    later: Option<Later>,
}

/// The way to load a component that an event needs.
pub(super) struct Later {
    pub(super) runtime: Runtime,
    pub(super) wait: Wait,
    pub(super) read: Reader,
}

impl Later {
    async fn load(&self, digest: &Digest, description: &Description) -> Result<Loaded, HookError> {
        if let Some(Ready { prepared, .. }) = self.runtime.cached(digest, self.wait.here).await? {
            return Ok(Loaded { description: description.clone(), prepared });
        }
        tracing::debug!(%digest, "the code of a component is gone");
        let read = Arc::clone(&self.read);
        let bytes = blocking(self.wait.here, move || read()).await?.map_err(internal)?;
        if Digest::of(&bytes) != *digest {
            return Err(internal("its file has changed since it was found"));
        }
        self.runtime.load_new(digest, bytes, self.wait).await
    }
}

debug_by!(Component, inner.digest);

impl Component {
    pub(super) fn new(digest: Digest, size: usize, loaded: Arc<Loaded>) -> Self {
        let (description, loaded) = (loaded.description.clone(), OnceCell::new_with(Some(loaded)));
        Self { inner: Arc::new(ComponentInner { digest, size, description, loaded, later: None }) }
    }

    /// A component whose code is loaded by the first call.
    pub(super) fn later(digest: Digest, size: usize, description: Description, later: Later) -> Self {
        let (loaded, later) = (OnceCell::new(), Some(later));
        Self { inner: Arc::new(ComponentInner { digest, size, description, loaded, later }) }
    }

    /// Returns the component, ready for calls. A failure is tried again by the next call.
    async fn loaded(&self) -> Result<&Loaded, HookError> {
        let ComponentInner { digest, description, loaded, later, .. } = &*self.inner;
        let load = async || {
            let later = later.as_ref().ok_or_else(|| internal("it was never loaded"))?;
            later.runtime.load_once(digest, later.load(digest, description)).await
        };
        loaded.get_or_try_init(load).await.map(|loaded| &**loaded)
    }

    /// Returns the digest of its bytes.
    pub fn digest(&self) -> &Digest {
        &self.inner.digest
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> usize {
        self.inner.size
    }

    /// Returns the version of `hookbox:hook` that it was built for.
    pub fn wit_version(&self) -> &str {
        &self.inner.description.wit_version
    }

    /// Returns the interfaces that it imports.
    pub fn imports(&self) -> &[InterfaceName] {
        &self.inner.description.imports
    }

    /// Returns the manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.inner.description.manifest
    }
}

/// Does work that blocks: in this thread, or in one of its own, so that other tasks go on.
pub(super) async fn blocking<T: Send + 'static>(
    here: bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, HookError> {
    if here { Ok(work()) } else { tokio::task::spawn_blocking(work).await.map_err(internal) }
}

/// A component as a hook.
#[derive(Clone, Debug)]
pub struct ComponentHook {
    component: Component,
    descriptor: Descriptor,
    settings: Arc<Settings>,
    access: Arc<Access>,
    conditions: Arc<Conditions>,
}

impl ComponentHook {
    /// Makes a hook of this component, with these settings and without grants.
    pub fn new(component: Component, descriptor: Descriptor, settings: Settings) -> Self {
        let access = Access::nothing(component.manifest(), &descriptor.name);
        let conditions = Arc::new(Conditions::of(&descriptor.subscriptions));
        Self { component, descriptor, settings: Arc::new(settings), access: Arc::new(access), conditions }
    }

    /// Makes a hook that runs a recorded call again: with its settings, rights and inputs, and without the world outside.
    pub fn played(
        component: Component,
        mut descriptor: Descriptor,
        settings: Settings,
        rights: &[Capability],
        inputs: Vec<Input>,
    ) -> Self {
        let manifest = component.manifest();
        let mut access = Access::nothing(manifest, &descriptor.name);
        access.rights = Rights::of(&manifest.capabilities, rights);
        access.taping = Taping::play(inputs);
        descriptor.answers.allow &= access.rights.has(&Capability::Allow);
        if manifest.answers.allow && !descriptor.answers.allow {
            descriptor.to_allow = Some(access.denial_of_granted(&Capability::Allow).fix);
        }
        Self::new(component, descriptor, settings).with_access(access)
    }

    /// Sets the access to the world outside.
    #[must_use]
    pub fn with_access(mut self, access: Access) -> Self {
        self.access = Arc::new(access);
        self
    }
}

#[async_trait]
impl Hook for ComponentHook {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    fn tried_with(&self, settings: &Settings) -> Option<Arc<dyn Hook>> {
        // Settings with a fault would keep a guard from its work.
        if self.component.manifest().settings.as_ref().is_some_and(|it| !it.faults(settings).is_empty()) {
            return None;
        }
        Some(Arc::new(Self { settings: Arc::new(settings.clone()), ..self.clone() }))
    }

    fn passes_over(&self, event: &Event) -> Option<&'static str> {
        self.conditions.pass_over(&self.descriptor.subscriptions, event, &self.settings)
    }

    async fn run(&self, event: &Event, budget: &Budget) -> Result<Outcome, HookError> {
        let Loaded { prepared, .. } =
            self.component.loaded().await.map_err(|error| match &self.descriptor.path {
                Some(path) => error.until_compiled(path),
                None => error,
            })?;
        let settings = Arc::clone(&self.settings);
        let clock = self.access.clock.as_ref().map_or(Clock::Running, |clock| Clock::At(clock.time()));
        let answer = prepared
            .call(budget, settings, Arc::clone(&self.access), clock, async |instance, store| {
                let played = store.data().tape.paths(event)?;
                let event = played.as_ref().unwrap_or(event);
                let context = convert::context(event);
                store.data_mut().begin(event);
                let conversation = self.access.rights.has(&Capability::Conversation);
                let mut lower = Lower { table: &mut store.data_mut().table, conversation, withheld: false };
                let event = lower.event(event)?;
                if lower.withheld && self.access.rights.asked().contains(&Capability::Conversation) {
                    store.data_mut().deny(&Capability::Conversation);
                }
                prepared.run(store, instance, (&context, &event)).await
            })
            .await;
        match answer? {
            (Ok(response), spent) => match convert::outcome(response) {
                Ok(outcome) => Ok(Outcome { spent, ..outcome }),
                Err(error) => Err(error.spent(spent)),
            },
            (Err(message), spent) => {
                Err(HookError::new(Cause::Exit, text::escape(&message, 500)).spent(spent))
            }
        }
    }
}
