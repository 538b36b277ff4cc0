//! Other coding agents for [hookbox]: the one place that knows them.
//!
//! * [`Agent`] names an agent, reads the events that it writes to its hook command, and writes the answers
//!   that it honours.
//! * [`bridge`] serves as that hook command, writes it into the agent's configuration, and proves that it
//!   fires.
//! * [`AgentHooks`] finds the hooks that are configured for an agent, so that hookbox runs them.
//! * [`protection`] names the files that decide about the agents' hooks.
//!
//! ```
//! use hookbox::manager::Manager;
//! use hookbox_agents::{Agent, AgentHooks, protection};
//!
//! let builder = Manager::builder().source(AgentHooks::new().agent(Agent::Claude)).protect(protection());
//! ```

pub mod agent;
pub mod agent_hooks;
mod amp;
mod antigravity;
mod auggie;
mod book;
pub mod bridge;
mod claude;
mod cline;
mod codex;
pub mod config;
mod copilot;
mod crush;
mod cursor;
mod devin;
mod droid;
mod finding;
mod gemini;
mod gemini_family;
mod goose;
mod grok;
mod kilo;
mod kimi;
mod kiro;
mod opencode;
mod openhands;
mod pi;
mod protection;
mod qoder;
mod qwen;
#[cfg(test)]
mod session_files_tests;
mod source;
mod spec;
mod vibe;

use hookbox::builtin;
use hookbox::{dialect, event, hook, manager, native, outcome, session};
use hookbox_system::{files, json, text};

pub use crate::agent::Agent;
pub use crate::protection::protection;
pub use crate::source::AgentHooks;
