//! Parts of this crate for the other crates of hookbox: the plugins, the bridge to other agents, the program, the tests.
//!
//! Any version may change them: an embedder uses the public modules.

pub mod builtin {
    //! The names of built-in hooks.

    pub use crate::builtin::{ALL, BUDGET, COMPACT_TRIGGER, SELF_PROTECTION};
}

pub mod chain {
    //! One event through a chain.

    pub use crate::chain::{ChainOptions, Fired, run, work_out_facts};
}

pub mod clock {
    //! The clock of a test.

    pub use crate::clock::TestClock;
}

pub mod discovery {
    //! Sources of hooks, and what is found of them.

    pub use crate::discovery::{
        Discovery, FoundComponent, MANIFEST, MARKETPLACE, Options, PluginFile, components, examine_plugin,
        forget, git_host, names, remembered, repository,
    };
}

pub mod facts {
    //! Facts about a tool call.

    pub use crate::facts::of;
}

pub mod lockfile {
    //! The lock file of plugins.

    pub use crate::lockfile::*;
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

pub mod wasm {
    //! Components.

    pub use crate::inputs::Taping;
    pub use crate::wasm::{Access, Component, ComponentHook, MAX_COMPONENT, Places};
    #[cfg(feature = "component")]
    pub use crate::wasm::{Known, WIT_VERSIONS};
}
