//! The cause of a failure.

use std::fmt;

use serde::{Deserialize, Serialize};

named! {
    /// The cause of a hook's failure.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[non_exhaustive]
    pub enum Cause {
        /// Its file is gone.
        NotFound = "not_found",
        /// The hook could not be started.
        Spawn = "spawn",
        /// The process ended with a status other than 0, or the component answered with an error.
        Exit = "exit",
        /// A signal ended it.
        Signal = "signal",
        /// The hook took longer than its wall-clock limit, or the chain's.
        Timeout = "timeout",
        /// The component used up its fuel.
        Fuel = "fuel",
        /// The component needed more memory than its limit.
        Memory = "memory",
        /// The component trapped.
        Trap = "trap",
        /// The hook wrote or returned more than its limit.
        OutputLimit = "output_limit",
        /// Its answer could not be read.
        MalformedOutput = "malformed_output",
        /// The hook did or answered something that it has no right to.
        Denied = "denied",
        /// The hook belongs to a repository, and the user does not trust it.
        Untrusted = "untrusted",
        /// The component needs another version of the interface, or is not a hook.
        Incompatible = "incompatible",
        /// The component is being compiled, which goes on after this event.
        Compiling = "compiling",
        /// The host failed.
        Internal = "internal",
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
