//! Parts of this crate for the other crates of hookbox: the plugins, the bridge to other agents, the program, the tests.
//!
//! They follow no version: an embedder uses the public modules.

pub mod dialect {
    //! The parts that readers and writers of JSON share.

    pub use crate::dialect::{Wire, borrowed, claude, fields, hook_output, reply};
}

pub mod discovery {
    //! Sources of hooks, and what is found of them.

    pub use crate::discovery::source::{
        Area, Finder, HookSource, MAX_FILES, MAX_HOOKS, ReadFile, SourceCommand, SourceFile, SourceHook,
    };
    pub use crate::discovery::{
        Approvable, Discovery, Entry, EntryStatus, Problem, document, look_into_plugin, parse_duration,
        reader, show_duration,
    };
}

pub mod native {
    //! Running a command.

    pub use crate::native::command::{self, CommandLine};
    pub use crate::native::process;
    pub use crate::native::{DEPTH_VARIABLE, depth};
}

pub mod files {
    //! Reading and writing files.

    pub use crate::files::*;
}

#[cfg(any(feature = "http", feature = "mcp", feature = "otel"))]
pub mod tls {
    //! The certificates that count.

    pub use crate::tls::*;
}

pub mod tree {
    //! The digest of a directory.

    pub use crate::trust::tree_digest::*;
}

pub use crate::builtin::{self, Protection};
pub use crate::native::process::signal_name;
pub use crate::{facts, json, lockfile, redact, text};
