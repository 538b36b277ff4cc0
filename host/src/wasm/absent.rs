//! Component hooks in a build without the feature `component`: no component loads. [`Component`] has no
//! values, so that the code that runs one compiles and is never reached.

#[path = "access.rs"]
#[allow(dead_code, reason = "no component is denied anything")]
mod access;

use std::path::Path;

use async_trait::async_trait;

pub(crate) use self::access::Backends;
pub use self::access::{Access, Places};

use crate::capability::Capability;
use crate::clock::TestClock;
use crate::event::Event;
use crate::hook::{
    Budget, Cause, Descriptor, Digest, Hook, HookError, Manifest, OnFailure, Settings, Subscription,
};
use crate::inputs::Input;
use crate::outcome::Outcome;

pub use crate::hook::MAX_COMPONENT;

/// True if this build runs components.
pub(crate) const RUNS_COMPONENTS: bool = false;

/// The engine of a build without components.
#[derive(Clone, Debug, Default)]
pub struct Runtime(());

/// The options of an engine: none.
#[derive(Clone, Debug, Default)]
pub(crate) struct EngineOptions(());

impl EngineOptions {
    /// Makes the engine, or takes the one that is given.
    pub(crate) fn runtime(
        &self,
        given: Option<Runtime>,
        _cache: Option<&Path>,
        _second: Option<&Path>,
    ) -> Runtime {
        given.unwrap_or_default()
    }
}

/// The facts about a component before it is compiled: none.
#[derive(Default)]
pub(crate) struct Known {
    pub(crate) on_failure: Option<OnFailure>,
}

impl Known {
    pub(crate) fn subscriptions(self) -> Vec<Subscription> {
        Vec::new()
    }
}

/// The wait of a caller for a component.
#[derive(Clone, Copy, Default)]
#[allow(dead_code, reason = "no component is waited for")]
pub(crate) struct Wait {
    pub(crate) here: bool,
    pub(crate) until: Option<tokio::time::Instant>,
}

pub(crate) type Reader = std::sync::Arc<dyn Fn() -> std::io::Result<Vec<u8>> + Send + Sync>;

impl Runtime {
    pub(crate) fn known(&self, _digest: &Digest) -> Known {
        Known::default()
    }

    pub(crate) async fn load_as(
        &self,
        _digest: Digest,
        _bytes: Vec<u8>,
        _wait: Wait,
    ) -> Result<Component, HookError> {
        std::future::ready(()).await;
        Err(HookError::new(Cause::Incompatible, "is a component, and this build runs no components"))
    }

    pub(crate) fn clock(&self) -> Option<TestClock> {
        None
    }

    pub(crate) fn leak(&self) {}

    pub(crate) fn forget_unused(&self) {}

    pub(crate) fn has_code(&self, _digest: &Digest) -> bool {
        false
    }

    pub(crate) fn load_later(
        &self,
        _digest: &Digest,
        _size: usize,
        _wait: Wait,
        _read: Reader,
    ) -> Option<Component> {
        None
    }
}

/// A component. There are none in this build; the field is private so that its users count as reachable code.
#[derive(Clone, Debug)]
pub struct Component(Never);

#[derive(Clone, Debug)]
enum Never {}

impl Component {
    /// The digest of its bytes.
    pub fn digest(&self) -> &Digest {
        match self.0 {}
    }

    /// Its size in bytes.
    pub fn size(&self) -> usize {
        match self.0 {}
    }

    /// Its description of itself.
    pub fn manifest(&self) -> &Manifest {
        match self.0 {}
    }
}

/// A component as a hook.
#[derive(Debug)]
pub struct ComponentHook(Never);

impl ComponentHook {
    /// A hook of this component.
    pub fn new(component: Component, _descriptor: Descriptor, _settings: Settings) -> Self {
        match component.0 {}
    }

    /// A hook that runs a recorded call again.
    pub fn played(
        component: Component,
        _descriptor: Descriptor,
        _settings: Settings,
        _rights: &[Capability],
        _inputs: Vec<Input>,
    ) -> Self {
        match component.0 {}
    }

    /// Returns the hook with this access to files, network and state.
    #[must_use]
    pub fn with_access(self, _access: Access) -> Self {
        match self.0 {}
    }
}

#[async_trait]
impl Hook for ComponentHook {
    fn descriptor(&self) -> &Descriptor {
        match self.0 {}
    }

    async fn run(&self, _event: &Event, _budget: &Budget) -> Result<Outcome, HookError> {
        match self.0 {}
    }
}
