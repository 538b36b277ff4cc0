//! The hooks of Claude Code.

use serde_json::Value;

use crate::agent_hooks::payload;
use crate::dialect::claude::{self, Session};
use crate::event::{Event, EventData};

/// Encodes an event, with the output of another agent's shell tool as `stdout`.
pub(super) fn encode(_name: &str, event: &Event, session: &Session) -> Option<Value> {
    let mut input = claude::encode(event, session)?;
    let EventData::AfterToolCall(result) = &event.data else { return Some(input) };
    let output = result.output.value();
    let is_shell = claude::tool_name(&result.call.name) == "Bash";
    if is_shell && output.is_object() && output.get("stdout").is_none() {
        *input.get_mut("tool_response")? = claude::shell_response(&payload::text_of(output));
    }
    Some(input)
}
