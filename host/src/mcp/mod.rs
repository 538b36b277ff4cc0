//! Hooks that are tools of MCP servers (Base Coat's pattern A): an event is a `tools/call`, its result an answer.
//!
//! A [`Server`] is started, or connected to, at its first use, and kept. One that has ended is started again by the
//! next event that needs it, and once more in the course of one event, never twice. It is ended with its process
//! group when the last handle to it is dropped, when the runtime that it was started on ends, and by
//! [`Servers::end`]. A host that is killed closes the server's standard input, at which a server has to end by itself.
//!
//! A tool is called with the event as its arguments: Base Coat's envelope, or kodelet's fields for an event that Base
//! Coat has not. `structuredContent`, or else the text of the result, is read as the answer of a native hook is.
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use hookbox::mcp::{ServerConfig, Servers, ToolHook, Transport};
//! use hookbox::report::Kind;
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

mod answer;
mod client;
mod config;
mod connection;
mod hook;
mod http;
mod life;
mod meter;
mod pipes;
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
    /// The servers of these configurations; of two with one name the first counts. Nothing is started.
    pub fn new(configs: Vec<ServerConfig>) -> Self {
        let mut by_name = BTreeMap::new();
        for config in configs {
            by_name.entry(config.name.clone()).or_insert_with(|| Arc::new(Server::new(config)));
        }
        Self { by_name: Arc::new(by_name) }
    }

    /// The server of this name.
    pub fn get(&self, name: &str) -> Option<Arc<Server>> {
        self.by_name.get(name).cloned()
    }

    /// Their names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// Ends all of them now, with their process groups; calls that wait for an answer fail. One that is used
    /// afterwards is started anew. Dropping the last handle does the same: this is for a host that leaves by
    /// `std::process::exit`, where nothing is dropped.
    pub fn end(&self) {
        for server in self.by_name.values() {
            server.end();
        }
    }
}
