//! Hooks that are tools of MCP servers (Base Coat's pattern A): an event is a `tools/call`, its result an
//! answer.
//!
//! The first call starts a [`Server`], or connects to it. A server that has ended is started again by the
//! next event that needs it, and once more during an event, never twice. It is killed with its process group
//! when the last handle is dropped, when its runtime ends, and by [`Servers::end`]. If the host is killed,
//! the server's standard input closes and the server has to end by itself.
//!
//! The arguments of a call are the event: Base Coat's envelope, or kodelet's fields for an event that Base
//! Coat does not have. `structuredContent`, or else the text of the result, is read as the answer of a native
//! hook.
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use hookbox::mcp::{ServerConfig, Servers, ToolHook, Transport};
//! use hookbox::hook::Kind;
//! use hookbox::{Descriptor, EventName};
//!
//! let servers = Servers::new(vec![ServerConfig {
//!     name: "memory".to_owned(),
//!     transport: Transport::Stdio {
//!         command: "memory-server".to_owned(),
//!         args: vec!["--stdio".to_owned()],
//!         env: BTreeMap::new(),
//!         directory: ".".into(),
//!     },
//! }]);
//! let server = servers.get("memory").expect("it is listed above");
//! let descriptor = Descriptor::new("memory.load", Kind::Tool).on(EventName::SessionStart);
//! let hook = ToolHook::new(descriptor, server, "load".to_owned());
//! # drop(hook);
//! ```

mod byte_limit;
mod client;
mod config;
mod connection;
mod hook;
mod http;
mod pipes;
mod process;
mod server;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use self::config::{ServerConfig, Transport};
pub use self::hook::ToolHook;
pub use self::server::Server;

/// The servers of one manager, by name. Cheap to clone; clones share the servers.
#[derive(Clone, Debug, Default)]
pub struct Servers {
    by_name: Arc<BTreeMap<String, Arc<Server>>>,
}

impl Servers {
    /// Makes servers of these configurations; of two with one name the first counts. Starts nothing.
    pub fn new(configs: Vec<ServerConfig>) -> Self {
        let mut by_name = BTreeMap::new();
        for config in configs {
            by_name.entry(config.name.clone()).or_insert_with(|| Arc::new(Server::new(config)));
        }
        Self { by_name: Arc::new(by_name) }
    }

    /// Returns the server of this name.
    pub fn get(&self, name: &str) -> Option<Arc<Server>> {
        self.by_name.get(name).cloned()
    }

    /// Returns the names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// Ends all servers now, with their process groups. Calls that wait for an answer fail; later calls start
    /// a server again. Dropping the last handle does the same: this is for a host that ends with
    /// `std::process::exit`, which drops nothing.
    pub fn end(&self) {
        for server in self.by_name.values() {
            server.end();
        }
    }
}
