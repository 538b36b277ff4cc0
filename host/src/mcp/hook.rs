//! A tool as a hook.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::dialect::{base_coat, kodelet};
use crate::event::Event;
use crate::hook::{Budget, Descriptor, Hook, HookError};
use crate::mcp::answer;
use crate::mcp::server::Server;
use crate::native::{Verify, verified};
use crate::outcome::Outcome;

/// A tool of an MCP server as a hook.
pub struct ToolHook {
    descriptor: Descriptor,
    server: Arc<Server>,
    tool: String,
    verify: Option<Verify>,
}

impl fmt::Debug for ToolHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolHook")
            .field("server", &self.server)
            .field("tool", &self.tool)
            .finish_non_exhaustive()
    }
}

impl ToolHook {
    /// Makes a hook of the tool `tool` of this server. Starts nothing.
    pub fn new(descriptor: Descriptor, server: Arc<Server>, tool: String) -> Self {
        Self { descriptor, server, tool, verify: None }
    }

    /// Checks the hook before each call, also if the server runs already: its files may have changed since it
    /// was trusted.
    #[must_use]
    pub(crate) fn with_verify(mut self, verify: Option<Verify>) -> Self {
        self.verify = verify;
        self
    }
}

#[async_trait]
impl Hook for ToolHook {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// Calls the tool with the event, within `budget.wall` (the start of the server included),
    /// `budget.output` and `budget.log`.
    async fn run(&self, event: &Event, budget: &Budget) -> Result<Outcome, HookError> {
        let deadline = Instant::now() + budget.wall;
        if let Some(verify) = &self.verify {
            verified(verify, budget.wall).await?;
        }
        let answered = self.server.call(event, &self.tool, arguments(event), budget, deadline).await?;
        let outcome = answer::outcome(&event.name(), answered.result, budget.output);
        match outcome {
            Ok(mut outcome) => {
                outcome.spent.log = answered.log;
                Ok(outcome)
            }
            Err(mut error) => {
                error.spent.log = answered.log;
                Err(error)
            }
        }
    }
}

/// Encodes the event as the arguments of a call.
fn arguments(event: &Event) -> Map<String, Value> {
    match base_coat::encode(event).unwrap_or_else(|| kodelet::encode(event)) {
        Value::Object(object) => object,
        other => Map::from_iter([("event".to_owned(), other)]),
    }
}
