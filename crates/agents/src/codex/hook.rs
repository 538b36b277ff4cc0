//! The hooks of Codex, in Claude Code's shape. A changed input counts only beside `permissionDecision:
//! allow`.

use serde_json::Value;

use super::SPEC;
use crate::agent_hooks::payload::{self, Payload};
use crate::dialect::claude::{self, Session, Style, Text};
use crate::event::{Event, EventData, ToolResult};
use crate::hook::HookError;
use crate::outcome::Outcome;
use crate::spec::Ended;

const STYLE: Style = Style { input_needs_allow: true, allows: false, text: Text::Context, ..claude::CLAUDE };

const MODES: [&str; 5] = ["default", "plan", "acceptEdits", "dontAsk", "bypassPermissions"];

pub(super) fn encode(name: &str, event: &Event, session: &Session) -> Option<Value> {
    let context = &event.context;
    let mut it = Payload::new();
    it.put("session_id", context.conversation_id.as_str());
    if !matches!(name, "SessionStart" | "SessionEnd") {
        it.put("turn_id", "");
    }
    it.put("transcript_path", session.transcript_path.clone());
    it.put("cwd", context.cwd.as_str());
    it.put("hook_event_name", name);
    if name != "SessionEnd" {
        it.put("model", "");
        it.put("permission_mode", payload::mode(event, session, &MODES));
    }
    it.event(&SPEC, name, event, payload::TOOL);
    it.known("tool_use_id", event.tool_call().and_then(|call| call.id.as_deref()));
    match &event.data {
        EventData::AfterToolCall(result) => {
            it.known("tool_response", Some(output(result)).filter(|output| !output.is_null()));
        }
        EventData::AgentStop(stop) => it.put("last_assistant_message", payload::last_messages(stop).0),
        _ => {}
    }
    it.done()
}

/// Returns the output of the shell tool as text, and that of other tools unchanged.
fn output(result: &ToolResult) -> Value {
    let output = result.output.value();
    if claude::tool_name(&result.call.name) == "Bash" && output.is_object() {
        return payload::text_of(output).into();
    }
    output.clone()
}

pub(super) fn outcome(event: &Event, ended: Ended<'_>) -> Result<Outcome, HookError> {
    let event = &event.name();
    claude::by_exit_code(event, ended.exit_code, ended.stderr, || claude::read(event, ended.stdout, &STYLE))
}
