//! The failure of a hook, its cause, and the limit that it exceeded.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::outcome::{Cause, Spent};
use hookbox_system::text;

/// A limit that was exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Limit {
    /// The resource.
    pub of: LimitKind,
    /// The limit.
    pub limit: u64,
    /// The amount that was used or requested, if known.
    pub used: Option<u64>,
}

/// The resource of a limit, and its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LimitKind {
    /// Fuel, about one per wasm instruction.
    Fuel,
    /// Wall-clock time in milliseconds.
    Wall,
    /// Memory in bytes, over all memories.
    Memory,
    /// Elements, over all tables.
    Tables,
    /// Handles that are open at once.
    Handles,
    /// Bytes that host calls and the answer copy out of the guest.
    Copies,
    /// Bytes of the stack.
    Stack,
    /// Bytes of standard output.
    Output,
    /// Bytes of a component's file.
    Component,
    /// Bytes of one function's code. It bounds the memory that compiling takes.
    Function,
    /// Time to compile, in milliseconds.
    Compile,
}

/// A failure of a hook, with the cost of the call so far.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{cause}: {message}")]
#[non_exhaustive]
pub struct HookError {
    /// The cause.
    pub cause: Cause,
    /// The message. It reads after the hook's name, and text of the hook in it is escaped.
    pub message: String,
    /// The limit that was exceeded.
    pub limit: Option<Limit>,
    /// The signal that ended its process.
    pub signal: Option<i32>,
    /// The cost of the call.
    pub spent: Box<Spent>,
}

impl HookError {
    /// Creates a failure of this cause.
    pub fn new(cause: Cause, message: impl Into<String>) -> Self {
        Self { cause, message: message.into(), limit: None, signal: None, spent: Box::default() }
    }

    /// Creates the failure of a hook that exceeded a limit.
    pub fn exceeded(
        cause: Cause,
        of: LimitKind,
        limit: u64,
        used: Option<u64>,
        message: impl Into<String>,
    ) -> Self {
        Self { limit: Some(Limit { of, limit, used }), ..Self::new(cause, message) }
    }

    /// Creates the failure of a hook that was still running at its wall-clock limit.
    pub fn timeout(wall: Duration) -> Self {
        let limit = u64::try_from(wall.as_millis()).unwrap_or(u64::MAX);
        let message = format!("did not answer within {wall:?}");
        Self::exceeded(Cause::Timeout, LimitKind::Wall, limit, Some(limit), message)
    }

    /// Creates the failure of a hook that printed more than `limit` bytes, and `used` until it was stopped.
    pub fn output_limit(limit: usize, used: usize) -> Self {
        let message = format!("printed more than {limit} bytes");
        let (limit, used) = (limit as u64, used as u64);
        Self::exceeded(Cause::OutputLimit, LimitKind::Output, limit, Some(used), message)
    }

    /// Adds the cost of the call.
    #[must_use]
    pub fn spent(mut self, spent: Spent) -> Self {
        self.spent = Box::new(spent);
        self
    }

    /// Adds the command that waits for the component in this file, if the failure is that it is being compiled.
    #[doc(hidden)]
    #[must_use]
    pub fn until_compiled(mut self, path: &Path) -> Self {
        if self.cause == Cause::Compiling {
            let path = text::escape(&text::shell_word(&path.to_string_lossy()), 4096);
            self.message.push_str(&format!("; `hookbox cache warm {path}` waits until it is ready"));
        }
        self
    }
}
