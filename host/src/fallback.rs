//! A service with a component that answers if the service does not.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;

use crate::event::Event;
use crate::hook::{Budget, Descriptor, Hook, HookError, Kind, Settings};
use crate::outcome::Outcome;

/// A hook that answers in place of another one that fails.
pub(crate) struct WithFallback {
    descriptor: Descriptor,
    service: Arc<dyn Hook>,
    local: Arc<dyn Hook>,
}

impl WithFallback {
    pub(crate) fn new(service: Arc<dyn Hook>, local: Arc<dyn Hook>) -> Self {
        // A replay cannot repeat what a service decides.
        let descriptor = Descriptor { kind: Kind::Http, ..local.descriptor().clone() };
        Self { descriptor, service, local }
    }
}

#[async_trait]
impl Hook for WithFallback {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    fn passes_over(&self, event: &Event) -> Option<&'static str> {
        self.local.passes_over(event)
    }

    fn tried_with(&self, settings: &Settings) -> Option<Arc<dyn Hook>> {
        self.local.tried_with(settings)
    }

    /// Asks the service within half of the time, so that the other half is left for the component.
    async fn run(&self, event: &Event, budget: &Budget) -> Result<Outcome, HookError> {
        let begin = Instant::now();
        let half = Budget { wall: budget.wall / 2, ..*budget };
        let error = match self.service.run(event, &half).await {
            Ok(outcome) => return Ok(outcome),
            Err(error) => error,
        };
        let left = Budget { wall: budget.wall.saturating_sub(begin.elapsed()), ..*budget };
        let mut answer = self.local.run(event, &left).await;
        let why = format!("{}; its fallback answered", error.message);
        match &mut answer {
            Ok(outcome) => outcome.noticed.push(why),
            Err(failed) => failed.message = format!("{}; {}", error.message, failed.message),
        }
        answer
    }
}
