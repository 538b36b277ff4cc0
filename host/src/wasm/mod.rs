//! Component hooks: the only place that names wasmtime.

use std::sync::Arc;

use async_trait::async_trait;

use crate::event::Event;
use crate::hook::{Budget, Descriptor, Digest, Hook, HookError, Manifest, Settings};
use crate::outcome::Outcome;
use crate::report::Cause;

/// Compiles and runs components. Cheap to clone; the engine is made when the first component is loaded.
#[derive(Clone, Debug, Default)]
pub struct Runtime {}

impl Runtime {
    /// Checks, compiles (or takes from the cache) and describes a component.
    ///
    /// # Errors
    ///
    /// Where the bytes are no hook component: [`Cause::Incompatible`], or how `describe` failed.
    pub async fn load(&self, bytes: Vec<u8>) -> Result<Component, HookError> {
        let _ = bytes;
        Err(HookError::new(Cause::Internal, "not yet"))
    }
}

/// A component that is ready to run.
#[derive(Clone, Debug)]
pub struct Component {
    digest: Digest,
    manifest: Arc<Manifest>,
}

impl Component {
    /// The digest of its bytes.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// What it says of itself.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }
}

/// A component as a hook.
pub struct ComponentHook {
    descriptor: Descriptor,
}

impl ComponentHook {
    /// A hook of this component, with these settings.
    pub fn new(component: Component, descriptor: Descriptor, settings: Settings) -> Self {
        let _ = (component, settings);
        Self { descriptor }
    }
}

#[async_trait]
impl Hook for ComponentHook {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    async fn run(&self, _event: &Event, _budget: &Budget) -> Result<Outcome, HookError> {
        Err(HookError::new(Cause::Internal, "not yet"))
    }
}
