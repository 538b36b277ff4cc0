//! The hooks of Kimi Code: Claude Code's names of the fields, and few answers.

use serde_json::{Value, json};

use super::SPEC;
use crate::agent_hooks::payload::{self, Payload};
use crate::dialect::claude::{self, Session, Style, Text};
use crate::event::{ErrorSource, Event, EventData};
use crate::hook::HookError;
use crate::outcome::Outcome;
use crate::spec::Ended;

/// The client that its payloads name.
pub(super) const CLIENT: &str = "kimi_code_cli";

/// The longest output in a payload, in characters.
const MAX_OUTPUT: usize = 2000;

const STYLE: Style = Style { allows: false, text: Text::Context, ..claude::CLAUDE };

pub(super) fn encode(name: &str, event: &Event, _: &Session) -> Option<Value> {
    let mut it = Payload::new();
    it.put("hook_event_name", name);
    it.put("session_id", event.context.conversation_id.as_str());
    it.put("cwd", event.context.cwd.as_str());
    it.put("client_type", CLIENT);
    it.event(&SPEC, name, event, payload::TOOL);
    it.known("tool_call_id", event.tool_call().and_then(|call| call.id.as_deref()));
    match &event.data {
        EventData::SessionStart { .. } => {
            it.put("model", "");
            it.put("profile", "agent");
        }
        EventData::UserMessageSend { message } => {
            it.put("prompt", json!([{"type": "text", "text": message.as_deref().unwrap_or_default()}]));
            it.put("is_steer", false);
        }
        EventData::AfterToolCall(result) => {
            let output = payload::text_of(result.output.value());
            it.put("tool_output", output.chars().take(MAX_OUTPUT).collect::<String>());
        }
        EventData::OnError(error) => match &error.source {
            ErrorSource::Tool(_) => {
                let code = error.kind.as_deref().unwrap_or("internal");
                it.put("error", json!({"code": code, "message": error.message.as_str(), "retryable": false}));
            }
            _ => {
                it.put("error_type", error.kind.as_deref().unwrap_or("Error"));
                it.put("error_message", error.message.as_str());
            }
        },
        EventData::AgentStop(stop) if name == "SubagentStop" => {
            it.0.shift_remove("stop_hook_active");
            it.known("response", payload::last_messages(stop).0);
        }
        _ => {}
    }
    it.done()
}

pub(super) fn outcome(event: &Event, ended: Ended<'_>) -> Result<Outcome, HookError> {
    let event = &event.name();
    claude::by_exit_code(event, ended.exit_code, ended.stderr, || claude::read(event, ended.stdout, &STYLE))
}
