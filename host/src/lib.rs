//! Run the hooks of coding agents behind one trait: native executables over stdin/stdout, unchanged, and
//! WebAssembly components in a sandbox.
//!
//! An agent builds a [`Manager`](manager::Manager) once, opens a [`Session`](session::Session) per
//! conversation, and sends it every event of its life; each typed method returns a typed verdict, to be
//! obeyed on the next lines.
//!
//! # Building
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use hookbox::manager::Manager;
//! use hookbox::trust::TrustPolicy;
//! use hookbox::{EventName, Limits, Outcome};
//!
//! # async fn build() {
//! let manager = Manager::builder()
//!     .roots([".my-agent", ".hookbox"]) // directory names, in the repository and in the home directory
//!     .directory("/usr/share/my-agent/hooks") // one more, trusted like the user's own
//!     .trust(TrustPolicy::Recorded) // a repository's hooks run only if the user trusts them
//!     .limits(Limits { timeout: Some(Duration::from_secs(2)), ..Limits::default() })
//!     .on("greet", EventName::SessionStart, |_| async { Ok(Outcome::inject("Be brief.")) })
//!     .build()
//!     .await;
//!
//! for problem in manager.problems().iter() {
//!     eprintln!("{problem}");
//! }
//! if let Some(hook) = manager.hook("org/repo/audit") {
//!     println!("{:?}", hook.descriptor().subscriptions);
//! }
//! # }
//! ```
//!
//! # A session
//!
//! ```
//! use hookbox::manager::Manager;
//! use hookbox::session::ToolDecision;
//! use hookbox::{ToolCall, ToolResult};
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let manager = Manager::empty(); // no hooks: every verdict lets everything pass
//! let session = manager.session("conversation-1").cwd("/srv/project").agent("backend-dev").recipe("review");
//!
//! // The model's text. If it is not JSON, a guard sees it as a string.
//! let call = ToolCall::from_text("bash", r#"{"command": "make test"}"#).with_id("call-1");
//! let verdict = session.before_tool_call(call.clone()).await;
//! let result = match verdict.decision {
//!     ToolDecision::Run(call) => {
//!         let output = json!({"toolName": "bash", "success": true}); // run the tool with `call.input`
//!         call.finished(output)
//!     }
//!     // Nobody is here to ask.
//!     ToolDecision::Ask { ruling, .. } | ToolDecision::Block(ruling) => {
//!         ToolResult::blocked(call, &ruling.for_model())
//!     }
//! };
//! let after = session.after_tool_call(result).await;
//! assert!(after.report.hooks.is_empty(), "nothing ran, and the report says so");
//!
//! let helper = session.subagent("conversation-2"); // the same hooks, invoked by a subagent
//! helper.turn_end("Done.", 1).await;
//! # }
//! ```
//!
//! The reference agent in this repository (`examples/agent/src/run.rs`) is a whole agent loop with every
//! event.
//!
//! # Hooks from code
//!
//! A closure: [`Builder::on`](manager::Builder::on) or [`FunctionHook`]. Anything
//! else: implement [`Hook`] and register it with [`Builder::hook`](manager::Builder::hook).
//!
//! # Modules
//!
//! [`manager`] finds hooks, [`session`] sends events and has the verdicts, [`event`] has the events, [`hook`]
//! the trait, [`outcome`] the answers of hooks, [`report`] the reports, [`capability`] the rights of
//! components, [`trust`] the user's decisions, [`journal`] the receiver of every event. [`dialect`], [`rules`] and
//! [`lockfile`] are the formats, [`native`] and [`builtin`] kinds of hooks, [`discovery`] finds hooks without a session, and [`redact`]
//! takes secrets out of text. A feature only adds names. The hidden module `internal` is for
//! hookbox's own crates: any version may change it.
//!
//! # Features
//!
//! * `component` (default): component hooks and the engine that runs them. Without it only native hooks and
//!   hooks from code run, and a `.wasm` file is a problem that says so.
//! * `http` (default): components may send requests to the origins that were granted to them, and a hook may be an HTTP
//!   service.
//! * `mcp`: hooks that are tools of MCP servers, over stdio and streamable HTTP.
//! * `otel`: spans and metrics of events and hooks, sent to an OpenTelemetry collector.
//! * `store`: components may keep state in an embedded database, if that was granted.
//! * `watch`: `Manager::watch` follows changes of hooks and settings on disk.

#[macro_use]
mod macros;

mod book;
pub mod builtin;
pub mod capability;
mod chain;
mod clock;
pub mod dialect;
pub mod discovery;
pub mod event;
mod facts;
mod function;
pub mod hook;
mod inputs;
#[doc(hidden)]
pub mod internal;
pub mod journal;
mod journal_settings;
mod live;
pub mod lockfile;
pub mod manager;
#[cfg(feature = "mcp")]
pub mod mcp;
#[cfg(not(feature = "mcp"))]
#[path = "mcp/config.rs"]
#[allow(dead_code, unreachable_pub, reason = "no server is started")]
mod mcp;
pub mod native;
#[cfg(feature = "http")]
mod network;
pub mod outcome;
mod pattern;
pub mod redact;
pub mod report;
pub mod rules;
#[cfg(feature = "http")]
mod service;
pub mod session;
#[cfg(feature = "store")]
pub mod store;
#[cfg(feature = "otel")]
pub mod telemetry;
mod thresholds;
pub mod trust;
#[cfg(feature = "component")]
mod wasm;
#[cfg(not(feature = "component"))]
#[path = "wasm/absent.rs"]
mod wasm;
#[cfg(feature = "component")]
mod work_tree;

pub use async_trait::async_trait;

pub use crate::event::{
    Context, Document, Event, EventData, EventName, InvokedBy, Message, Role, ToolCall, ToolResult, Usage,
};
pub use crate::function::FunctionHook;
pub use crate::hook::{
    Budget, Cause, Descriptor, Digest, Hook, HookError, Kind, Limits, Manifest, Mode, OnFailure, Settings,
    Subscription, Tier,
};
#[cfg(feature = "http")]
pub use crate::network::{Network, NetworkError};
pub use crate::outcome::{Action, Answers, Callback, Outcome, Verdict};
pub use crate::report::{HookReport, Report, Status};
pub use crate::wasm::{Access, Component, ComponentHook, MAX_COMPONENT, Places, Runtime};
#[cfg(feature = "component")]
pub use crate::wasm::{Allocation, CachedCode, Compiler, Known, RemovedCode, WIT_VERSIONS, compile_here};
pub use hookbox_system::Hint;
pub use hookbox_system::text::{escape, escape_lines, prefix, shown_path};
