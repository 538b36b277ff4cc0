//! Parts of this crate for the other crates of hookbox: the plugins, the bridge to other agents, the program, the tests.
//!
//! Any version may change them: an embedder uses the public modules.

pub mod chain {
    //! One event through a chain.

    pub use crate::chain::{ChainOptions, run, work_out_facts};
}

pub mod clock {
    //! The clock of a test.

    pub use crate::clock::TestClock;
}

pub mod facts {
    //! Facts about a tool call.

    pub use crate::facts::of;
}

#[cfg(feature = "http")]
pub mod network {
    //! Requests of components.

    pub use crate::network::{Rules, Timeouts, http};
}

pub mod tree {
    //! The digest of a directory.

    pub use crate::trust::tree_digest::{MAX_FILES, of_plugin};
}

/// Creates the result of a call that another agent made.
pub fn tool_result(call: crate::ToolCall, output: impl Into<crate::Document>) -> crate::ToolResult {
    crate::ToolResult::new(call, output)
}
