//! Hooks from code: a closure as a hook.

use std::pin::Pin;

use async_trait::async_trait;

use crate::event::{Event, EventName};
use crate::hook::{Budget, Descriptor, Hook, HookError, Kind};
use crate::outcome::Outcome;

type Answer = Pin<Box<dyn Future<Output = Result<Outcome, HookError>> + Send>>;

/// A closure as a hook.
///
/// ```
/// use hookbox::{EventName, FunctionHook, Hook, Outcome};
///
/// let hook = FunctionHook::new("remind", EventName::SessionStart, |_event| async {
///     Ok(Outcome::inject("Run the tests with `just test`."))
/// });
/// assert_eq!(hook.descriptor().name, "remind");
/// ```
pub struct FunctionHook {
    descriptor: Descriptor,
    run: Box<dyn Fn(Event) -> Answer + Send + Sync>,
}

impl FunctionHook {
    /// Creates a hook of this name that answers this event by `run`. The event is a copy that shares its
    /// documents. See [`Hook::run`] for the rules that `run` obeys.
    pub fn new<F, A>(name: impl Into<String>, event: EventName, run: F) -> Self
    where
        F: Fn(Event) -> A + Send + Sync + 'static,
        A: Future<Output = Result<Outcome, HookError>> + Send + 'static,
    {
        Self::with(Descriptor::new(name, Kind::Code).on(event), run)
    }

    /// Creates a hook with this descriptor: several events, a priority, a failure policy.
    pub fn with<F, A>(descriptor: Descriptor, run: F) -> Self
    where
        F: Fn(Event) -> A + Send + Sync + 'static,
        A: Future<Output = Result<Outcome, HookError>> + Send + 'static,
    {
        Self { descriptor, run: Box::new(move |event| Box::pin(run(event))) }
    }
}

debug_by!(FunctionHook, descriptor.name);

#[async_trait]
impl Hook for FunctionHook {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    async fn run(&self, event: &Event, _: &Budget) -> Result<Outcome, HookError> {
        (self.run)(event.clone()).await
    }
}
