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

pub mod dialect {
    //! Forms of JSON, and the parts that their readers and writers share.

    pub use crate::dialect::{
        Condition, Dialect, Wire, base_coat, borrowed, claude, exact, fields, hook_output, kodelet, reply,
        schema,
    };
}

pub mod discovery {
    //! Sources of hooks, and what is found of them.

    pub use crate::discovery::source::{Area, Finder, HookSource, MAX_FILES, MAX_HOOKS};
    pub use crate::discovery::source_file::{ReadFile, SourceFile};
    pub use crate::discovery::{
        Approvable, Declared, Discovery, FoundComponent, Handler, MANIFEST, MARKETPLACE, Options, PluginFile,
        UnitError, WiredCommand, components, document, examine_plugin, forget, git_host, group, names,
        parse_duration, parse_size, reader, remembered, repository, show_duration,
    };
}

pub mod facts {
    //! Facts about a tool call.

    pub use hookbox_calls::{claude_names, kind_of};

    pub use crate::facts::{is_same_mcp_tool, kind_of_pattern, mcp_names, of};
}

pub mod files {
    //! Reading and writing files.

    pub use crate::files::*;
}

pub mod json {
    //! Reading JSON that is odd in places.

    pub use crate::json::{from_model, object, size, value};
}

pub mod lockfile {
    //! The lock file of plugins.

    pub use crate::lockfile::*;
}

pub mod native {
    //! Hooks that are executables, and running a command.

    pub use crate::native::command::{self, CommandLine};
    pub use crate::native::process::{self, signal_name};
    pub use crate::native::{DEPTH_VARIABLE, NativeHook, depth, query};
}

#[cfg(feature = "http")]
pub mod network {
    //! Requests of components.

    pub use crate::network::{Rules, Timeouts, http};
}

pub mod redact {
    //! Secrets out of text.

    pub use crate::redact::{line, text, value, whole_value};
}

pub mod rules {
    //! Rules files.

    pub use crate::rules::{ENDING, Exception, MAX_FILE, Rules, RulesError, RulesHook, exception};
}

#[cfg(feature = "store")]
pub mod store {
    //! The state of components.

    pub use crate::store::{Bucket, Store};
}

pub mod text {
    //! Text for people.

    pub use crate::text::{
        distance, escape, escape_json, escape_lines, escape_toml, nearest, plain_name, prefix, shell_word,
    };
}

#[cfg(any(feature = "http", feature = "mcp", feature = "otel"))]
pub mod tls {
    //! Certificates.

    pub use crate::tls::{config, system_roots};
}

pub mod toml {
    //! TOML as JSON, and back.

    pub use crate::toml_value::{inline, json};
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

pub use crate::files::private_dir;

/// Creates the result of a call that another agent made.
pub fn tool_result(call: crate::ToolCall, output: impl Into<crate::Document>) -> crate::ToolResult {
    crate::ToolResult::new(call, output)
}
