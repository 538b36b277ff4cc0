//! The cause of a failure.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The cause of a hook's failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// Its file is gone.
    NotFound,
    /// The hook could not be started.
    Spawn,
    /// The process ended with a status other than 0, or the component answered with an error.
    Exit,
    /// A signal ended it.
    Signal,
    /// The hook took longer than its wall-clock limit, or the chain's.
    Timeout,
    /// The component used up its fuel.
    Fuel,
    /// The component needed more memory than its limit.
    Memory,
    /// The component trapped.
    Trap,
    /// The hook wrote or returned more than its limit.
    OutputLimit,
    /// Its answer could not be read.
    MalformedOutput,
    /// The hook did or answered something that it has no right to.
    Denied,
    /// The hook belongs to a repository, and the user does not trust it.
    Untrusted,
    /// The component needs another version of the interface, or is not a hook.
    Incompatible,
    /// The component is being compiled, which goes on after this event.
    Compiling,
    /// The host failed.
    Internal,
}

impl Cause {
    /// Returns the name, such as `output_limit`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Spawn => "spawn",
            Self::Exit => "exit",
            Self::Signal => "signal",
            Self::Timeout => "timeout",
            Self::Fuel => "fuel",
            Self::Memory => "memory",
            Self::Trap => "trap",
            Self::OutputLimit => "output_limit",
            Self::MalformedOutput => "malformed_output",
            Self::Denied => "denied",
            Self::Untrusted => "untrusted",
            Self::Incompatible => "incompatible",
            Self::Compiling => "compiling",
            Self::Internal => "internal",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
