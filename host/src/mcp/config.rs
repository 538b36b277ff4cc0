//! The configuration of servers.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// An MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfig {
    /// The name: the part before the dot in `memory.load`.
    pub name: String,
    /// The connection to it.
    pub transport: Transport,
}

/// The connection to a server.
#[derive(Clone, PartialEq, Eq)]
pub enum Transport {
    /// A process that speaks JSON-RPC over its standard input and output, a message a line.
    Stdio {
        /// The program: a name on `PATH`, or a path; a relative path is below `directory`.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables on top of this process's own environment.
        env: BTreeMap<String, String>,
        /// The working directory.
        directory: PathBuf,
    },
    /// A server that speaks streamable HTTP.
    Http {
        /// The address of its endpoint, `http` or `https`.
        url: String,
        /// Header fields of every request.
        headers: BTreeMap<String, String>,
    },
}

impl fmt::Debug for Transport {
    /// Leaves out the values of variables and headers, and the query of an address: they may contain keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { command, args, env, directory } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("args", args)
                .field("env", &env.keys().collect::<Vec<_>>())
                .field("directory", directory)
                .finish(),
            Self::Http { url, headers } => f
                .debug_struct("Http")
                .field("url", &url.split(['?', '#']).next().unwrap_or_default())
                .field("headers", &headers.keys().collect::<Vec<_>>())
                .finish(),
        }
    }
}
