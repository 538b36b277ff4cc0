//! Hooks that only fail.

use async_trait::async_trait;

use crate::event::{Event, EventName};
use crate::hook::{Budget, DEFAULT_PRIORITY, Descriptor, Hook, HookError, Subscription};
use crate::outcome::Outcome;

/// A hook that does not run and fails in every event: an untrusted one, or a guard that is missing or broken.
/// If its events are not known it subscribes to all.
pub(super) struct FailingHook {
    descriptor: Descriptor,
    error: HookError,
}

impl FailingHook {
    /// Makes a hook that fails with `error` in its known events, else in all of them, at this priority.
    pub(super) fn new(mut descriptor: Descriptor, priority: Option<i32>, error: HookError) -> Self {
        let priority = priority.unwrap_or(DEFAULT_PRIORITY);
        if descriptor.subscriptions.is_empty() {
            descriptor.subscriptions = EventName::subscribable().map(Subscription::to).collect();
        }
        for subscription in &mut descriptor.subscriptions {
            subscription.priority = priority;
        }
        Self { descriptor, error }
    }
}

#[async_trait]
impl Hook for FailingHook {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    async fn run(&self, _event: &Event, _budget: &Budget) -> Result<Outcome, HookError> {
        Err(self.error.clone())
    }
}
