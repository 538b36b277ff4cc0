//! MCP servers in a build without the feature `mcp`: none is started. [`Server`] has no values, so that the
//! code that calls one compiles and is never reached.

#[path = "config.rs"]
#[allow(unreachable_pub, reason = "public with the feature")]
mod config;

use std::sync::Arc;

use async_trait::async_trait;

pub(crate) use self::config::{ServerConfig, Transport};
use crate::event::Event;
use crate::hook::{Budget, Cause, Descriptor, Hook, HookError};
use crate::native::Verify;
use crate::outcome::Outcome;

/// A server. There are none in this build.
#[derive(Debug)]
pub(crate) enum Server {}

impl Server {
    pub(crate) fn shared(_config: ServerConfig) -> Result<Arc<Self>, HookError> {
        let what = "is a tool of an MCP server, and this build has no MCP (feature `mcp`)";
        Err(HookError::new(Cause::Incompatible, what))
    }

    /// Returns the configuration of the server.
    pub(crate) fn config(&self) -> &ServerConfig {
        match *self {}
    }
}

/// A tool of an MCP server as a hook.
#[derive(Debug)]
pub(crate) struct ToolHook(Arc<Server>);

impl ToolHook {
    /// Makes the hook of a tool of this server.
    pub(crate) fn new(_descriptor: Descriptor, server: Arc<Server>, _tool: String) -> Self {
        match *server {}
    }

    /// Adds a check before each call.
    #[must_use]
    pub(crate) fn with_verify(self, _verify: Option<Verify>) -> Self {
        match *self.0 {}
    }
}

#[async_trait]
impl Hook for ToolHook {
    fn descriptor(&self) -> &Descriptor {
        match *self.0 {}
    }

    async fn run(&self, _event: &Event, _budget: &Budget) -> Result<Outcome, HookError> {
        match *self.0 {}
    }
}
