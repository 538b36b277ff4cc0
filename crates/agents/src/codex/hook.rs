//! Hooks of Codex: Claude Code's shape. A changed input counts only beside `permissionDecision: allow`.

use serde_json::{Map, Value};

use crate::agent::Agent;
use crate::agent_hooks::payload::{self, Payload};
use crate::dialect::claude::{self, Session, Style, Text};
use crate::event::{Event, EventData, EventName, ToolResult};
use crate::hook::HookError;
use crate::outcome::Outcome;

const STYLE: Style = Style { input_needs_allow: true, text: Text::Context, ..claude::CLAUDE };

const MODES: [&str; 5] = ["default", "plan", "acceptEdits", "dontAsk", "bypassPermissions"];

pub(crate) fn encode(name: &str, event: &Event, session: &Session) -> Map<String, Value> {
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
    match &event.data {
        EventData::SessionStart { source } => it.put("source", payload::source(source.as_deref())),
        EventData::SessionEnd { reason } => it.put("reason", payload::reason(reason.as_deref())),
        EventData::UserMessageSend { message } => it.known("prompt", message.as_deref()),
        EventData::BeforeToolCall(call) => {
            it.call(Agent::Codex, name, event, call, ["tool_name", "tool_input"]);
            it.known("tool_use_id", call.id.as_deref());
        }
        EventData::AfterToolCall(result) => {
            it.call(Agent::Codex, name, event, &result.call, ["tool_name", "tool_input"]);
            it.known("tool_response", Some(output(result)).filter(|output| !output.is_null()));
            it.known("tool_use_id", result.call.id.as_deref());
        }
        EventData::AgentStop(stop) => {
            it.put("stop_hook_active", stop.follow_ups > 0);
            it.put("last_assistant_message", payload::last_words(stop).0);
        }
        EventData::PreCompact { trigger, .. } | EventData::PostCompact { trigger, .. } => {
            it.known("trigger", trigger.as_deref());
        }
        EventData::Other { data, .. } => it.rest(data),
        _ => {}
    }
    it.0
}

/// What its shell tool printed is a text there; of other tools the output is what it is.
fn output(result: &ToolResult) -> Value {
    let output = result.output.value();
    if claude::tool_name(&result.call.name) == "Bash" && output.is_object() {
        return payload::text_of(output).into();
    }
    output.clone()
}

pub(crate) fn outcome(
    event: &EventName,
    exit_code: i32,
    stdout: &[u8],
    stderr: &str,
) -> Result<Outcome, HookError> {
    claude::by_exit_code(event, exit_code, stderr, || claude::read(event, stdout, &STYLE))
}
