//! The form in which a command hook is spoken to, where that is not hookbox's own.

use std::fmt;

use serde_json::Value;

use crate::dialect::claude::Split;
use crate::event::Event;
use crate::hook::HookError;
use crate::outcome::Outcome;

/// The wire of a command hook: which events it is for, the payload that it reads, and the answer that it prints.
///
/// A wire does no I/O. The host starts the command once for each event of [`Wire::split`], writes [`Wire::encode`] to
/// its standard input, and gives its exit code and output to [`Wire::outcome`].
pub trait Wire: fmt::Debug + Send + Sync {
    /// Returns true if the hook is for this event. For any other event the command is not started, and the hook passes.
    fn is_for(&self, event: &Event) -> bool;

    /// Returns the events that replace this one: a call of several files may be shown as several calls of one file.
    fn split(&self, event: &Event) -> Split;

    /// Returns the JSON for standard input; `None` for an event that the wire does not have.
    fn encode(&self, event: &Event) -> Option<Value>;

    /// Returns the variables of the environment that differ from event to event (default: none).
    fn variables(&self, _event: &Event) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Reads the exit code and the output.
    ///
    /// # Errors
    ///
    /// `exit` for an exit code that decides nothing, `malformed_output` for an answer that cannot be read and does not
    /// block.
    fn outcome(
        &self,
        event: &Event,
        exit_code: i32,
        stdout: &[u8],
        stderr: &str,
    ) -> Result<Outcome, HookError>;
}
