//! Write an agent hook once, in Rust. The same source builds as a component, which hookbox runs in a sandbox,
//! and as a native executable, which every agent that speaks kodelet's hook protocol can start.
//!
//! ```
//! use hookbox_sdk::prelude::*;
//!
//! /// Asks before anything is published.
//! struct AskBeforePublish;
//!
//! impl Hook for AskBeforePublish {
//!     fn manifest() -> Manifest {
//!         Manifest::new("ask-before-publish", env!("CARGO_PKG_VERSION"), "Asks before anything is published.")
//!             .on_tools(Event::BeforeToolCall, ["kind:shell"])
//!             .priority(20)
//!     }
//!
//!     fn before_tool_call(_cx: &Context, call: &ToolCall) -> Result<Answer, Error> {
//!         Ok(match call.command.as_deref() {
//!             Some(line) if line.starts_with("cargo publish") => Answer::ask("This publishes a crate."),
//!             _ => Answer::pass(),
//!         })
//!     }
//! }
//!
//! hookbox_sdk::export_hook!(AskBeforePublish);
//!
//! let call = ToolCall::new("bash", json!({"command": "cargo publish"}));
//! let answer = AskBeforePublish::before_tool_call(&Context::default(), &call)?;
//! assert_eq!(answer, Answer::ask("This publishes a crate."));
//! # Ok::<(), Error>(())
//! ```
//!
//! # As a component
//!
//! Make the crate a `cdylib`, put [`export_hook!`] into `src/lib.rs`, and run `cargo build --release --lib
//! --target wasm32-wasip2`. The component imports only what the code uses.
//!
//! # As a native hook
//!
//! Add `rlib` to the crate's types and a `src/main.rs` of three lines; see [`native`].
//!
//! ```no_run
//! # struct MyHook;
//! # impl hookbox_sdk::Hook for MyHook {
//! #     fn manifest() -> hookbox_sdk::Manifest { hookbox_sdk::Manifest::new("my-hook", "0.1.0", "Does nothing.") }
//! # }
//! fn main() -> std::process::ExitCode {
//!     hookbox_sdk::native::main::<MyHook>()
//! }
//! ```
//!
//! # Events
//!
//! One method of [`Hook`] per event, with typed data. A tool's input and output are a [`Document`]: in a
//! component it stays in the host, and a hook that reads one field pays for that field only. [`settings()`]
//! reads the hook's own table of `hookbox.toml`; [`debug!`], [`info!`], [`warn!`] and [`error!`] write to the
//! report and the host's log.
//!
//! # Rights
//!
//! A hook has no rights until its manifest asks for a [`Capability`] and the user grants it. Then [`state`]
//! keeps values from one call to the next, [`http`] sends requests, [`directory()`] returns the path of a
//! directory for [`std::fs`], and [`std::env::var`] reads a variable. The first three need hookbox: in a
//! [native] hook they return an error.
//!
//! # Facts
//!
//! [`Context::read_line`] reads a shell line as the commands that it would really run. [`work_tree`] returns the state of
//! files in git, with a right.
//!
//! # Text of others
//!
//! Commands, errors and conversations are written by others, and may contain secrets: [`text`] makes them fit
//! to be stored or shown to a model.

mod answer;
mod book;
#[cfg(target_arch = "wasm32")]
mod component;
mod directory;
mod document;
mod error;
mod event;
mod hook;
pub mod http;
mod log;
mod manifest;
pub mod native;
mod settings;
pub mod shell;
pub mod state;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
pub mod text;
mod tool;
pub mod work_tree;

pub use answer::{Action, Answer, Callback};
pub use directory::{append_line, directory};
pub use document::Document;
pub use error::Error;
pub use event::{
    AfterTurn, AgentStop, BudgetExceeded, Context, ErrorEvent, ErrorSource, Event, InvokedBy, Message,
    PostCompact, PreCompact, SessionEnd, SessionStart, TokenBudget, TurnEnd, Usage, UserMessage,
};
pub use hook::Hook;
pub use log::Level;
pub use manifest::{Capability, Give, Manifest, OnFailure, Subscription};
pub use serde_json::{Value, json};
pub use settings::{settings, settings_from};
pub use tool::{CallFacts, File, FileUse, ResolvedPath, ToolCall, ToolKind, ToolResult};

/// The names that most hooks need.
pub mod prelude {
    pub use crate::{
        AfterTurn, AgentStop, Answer, BudgetExceeded, Capability, Context, Document, Error, ErrorEvent,
        ErrorSource, Event, Give, Hook, InvokedBy, Manifest, Message, PostCompact, PreCompact, SessionEnd,
        SessionStart, ToolCall, ToolKind, ToolResult, TurnEnd, Usage, UserMessage, Value, json, settings,
    };
}

/// The code that [`export_hook!`] and the log macros expand to. Not part of the interface.
#[doc(hidden)]
pub mod __private {
    #[cfg(target_arch = "wasm32")]
    pub use crate::component::{Component, bindings, export_component};
    pub use crate::log::log;
}

/// Exports a [`Hook`] as this component. On other targets than wasm32 it only checks the type.
///
/// A crate calls it once. With `settings`, a constant text that is a JSON Schema, hookbox reports settings that do not fit
/// it, and `hookbox inspect` shows the others with their defaults:
///
/// ```
/// # use hookbox_sdk::prelude::*;
/// # struct Limits;
/// # impl Hook for Limits { fn manifest() -> Manifest { Manifest::new("limits", "0.1.0", "Limits.") } }
/// hookbox_sdk::export_hook!(Limits, settings: r#"{
///     "type": "object", "additionalProperties": false,
///     "properties": {"threshold": {"type": "number", "default": 0.7, "description": "The limit."}}
/// }"#);
/// ```
#[macro_export]
macro_rules! export_hook {
    ($hook:ty, settings: $schema:expr) => {
        $crate::export_hook!($hook);
        #[cfg(target_arch = "wasm32")]
        #[allow(unsafe_code, reason = "the section has a fixed name")]
        const _: () = {
            const __HOOKBOX_SCHEMA: &[u8] = $schema.as_bytes();
            #[used]
            #[unsafe(link_section = "hookbox:settings")]
            static __HOOKBOX_SECTION: [u8; __HOOKBOX_SCHEMA.len()] = match __HOOKBOX_SCHEMA.first_chunk() {
                Some(schema) => *schema,
                None => [0; __HOOKBOX_SCHEMA.len()],
            };
        };
        #[cfg(not(target_arch = "wasm32"))]
        const _: &str = $schema;
    };
    ($hook:ty) => {
        const _: () = {
            const fn is_a_hook<H: $crate::Hook>() {}
            is_a_hook::<$hook>();
        };
        #[cfg(target_arch = "wasm32")]
        #[allow(unsafe_code, reason = "a component's exports are functions with fixed names")]
        const _: () = {
            type Exported = $crate::__private::Component<$hook>;
    $crate::__private::export_component!(Exported with_types_in $crate::__private::bindings);
        };
    };
}
