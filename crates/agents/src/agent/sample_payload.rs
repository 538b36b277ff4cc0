//! A payload like the agent's own, to try its hook command.

use serde_json::{Value, json};

use super::event::AgentEvent;

/// The time in the payloads.
pub(crate) const TIME: &str = "2026-01-01T00:00:00.000Z";

/// A call of the shell tool, with made-up ids.
#[derive(Debug)]
pub(crate) struct SampleCall<'a> {
    pub(crate) event: &'a AgentEvent,
    /// The agent's name of its shell tool at this event.
    pub(crate) tool: &'a str,
    pub(crate) line: &'a str,
    pub(crate) cwd: &'a str,
    pub(crate) session: &'a str,
}

impl SampleCall<'_> {
    /// Returns the fields that the agents with Claude Code's names write, and these over them.
    pub(crate) fn with(&self, more: Value) -> Value {
        let mut payload = json!({
            "session_id": self.session,
            "transcript_path": format!("/nonexistent/{}.jsonl", self.session),
            "cwd": self.cwd,
            "hook_event_name": self.event.name,
            "tool_name": self.tool,
            "tool_input": self.input(),
        });
        if let (Value::Object(payload), Value::Object(more)) = (&mut payload, more) {
            payload.extend(more);
        }
        payload
    }

    /// Returns the input of the shell tool in most agents.
    pub(crate) fn input(&self) -> Value {
        json!({"command": self.line, "description": "run a command"})
    }
}
