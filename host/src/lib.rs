//! Run the hooks of coding agents: native executables over stdin/stdout, unchanged, and sandboxed WebAssembly
//! components, behind one trait.

pub mod capability;
pub mod chain;
pub mod dialect;
pub mod discovery;
pub mod event;
pub mod facts;
pub mod function;
pub mod hook;
pub mod json;
pub mod manager;
pub mod native;
pub mod outcome;
pub mod private;
pub mod report;
pub mod session;
pub mod text;
pub mod trust;
#[cfg(feature = "component")]
pub mod wasm;

pub use async_trait::async_trait;

pub use crate::event::{
    Context, Document, Event, EventData, EventName, InvokedBy, Message, ToolCall, ToolResult, Usage,
};
pub use crate::hook::{
    Budget, Descriptor, Digest, Hook, HookError, Limits, Manifest, OnFailure, Settings, Subscription, Tier,
};
pub use crate::outcome::{Action, Answers, Callback, Outcome, Verdict};
pub use crate::report::{Cause, HookReport, Kind, Report, Status};
