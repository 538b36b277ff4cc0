//! Capabilities: what a component may ask for. Pure rules; granting and enforcing stand elsewhere.

use std::fmt;

use serde::{Serialize, Serializer};

/// A right that a component asks for in `describe` (design, section 8).
///
/// Nothing is granted yet: the grants come with the trust file, and until then every component runs with no
/// capability beside its log, its settings, clocks and randomness.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Capability {
    /// Read below a directory.
    Read(String),
    /// Read and write below a directory.
    ReadWrite(String),
    /// Read one environment variable.
    Env(String),
    /// Send HTTP requests to one origin.
    Http(String),
    /// Keep state in the key-value store.
    Store,
    /// See the messages of the conversation.
    Conversation,
}

impl Capability {
    /// What it means, for people.
    pub fn explain(&self) -> String {
        match self {
            Self::Read(path) => format!("read files below {path}"),
            Self::ReadWrite(path) => format!("read and write files below {path}"),
            Self::Env(name) => format!("read the environment variable {name}"),
            Self::Http(origin) => format!("send HTTP requests to {origin}"),
            Self::Store => "keep its own state between calls".to_owned(),
            Self::Conversation => "read the messages of the conversation".to_owned(),
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(path) => write!(f, "read:{path}"),
            Self::ReadWrite(path) => write!(f, "read-write:{path}"),
            Self::Env(name) => write!(f, "env:{name}"),
            Self::Http(origin) => write!(f, "http:{origin}"),
            Self::Store => f.write_str("store"),
            Self::Conversation => f.write_str("conversation"),
        }
    }
}

impl Serialize for Capability {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
