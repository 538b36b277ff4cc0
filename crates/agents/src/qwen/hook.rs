//! The hooks of Qwen Code, with Claude Code's names of the events, and Gemini CLI's names of the tools and
//! words for a decision.

use serde_json::{Value, json};

use super::SPEC;
use crate::agent_hooks::payload::{self, Payload};
use crate::dialect::claude::{self, Session};
use crate::event::{ErrorSource, Event, EventData};
use crate::gemini_family::{STYLE, answer_in, printed};
use crate::hook::HookError;
use crate::outcome::Outcome;
use crate::spec::Ended;

const MODES: [&str; 5] = ["default", "plan", "auto-edit", "auto", "yolo"];

pub(super) fn encode(name: &str, event: &Event, session: &Session) -> Option<Value> {
    let mut it = Payload::begun(name, event, session);
    it.put("permission_mode", payload::mode(event, session, &MODES));
    if !matches!(name, "SessionStart" | "SessionEnd" | "Notification") {
        it.put("prompt_id", "");
    }
    it.event(&SPEC, name, event, payload::TOOL);
    let id = event.tool_call().and_then(|call| call.id.as_deref());
    it.known("tool_use_id", id);
    it.known("tool_call_id", id);
    match &event.data {
        EventData::SessionStart { .. } => it.put("model", ""),
        EventData::UserMessageSend { message } => it.known("submitted_prompt", message.as_deref()),
        EventData::AfterToolCall(result) => {
            it.put("tool_response", payload::with_display(result.output.value()));
            it.known("duration_ms", result.duration_ms);
        }
        EventData::OnError(error) => {
            if let ErrorSource::Tool(_) = &error.source {
                it.put("is_interrupt", error.kind.as_deref() == Some("interrupt"));
            }
            it.put("error", error.message.as_str());
        }
        EventData::AgentStop(stop) => {
            it.put("last_assistant_message", payload::last_messages(stop).0.unwrap_or_default());
            it.put("background_tasks", json!([]));
            it.put("crons", json!([]));
            if let Some(usage) = stop.usage {
                it.known("context_usage", usage.share());
                it.put("context_limit", usage.max_context_window);
                it.put("input_tokens", usage.current_context_window);
            }
        }
        EventData::PreCompact { .. } => it.put("custom_instructions", ""),
        EventData::PostCompact { summary, .. } => it.known("compact_summary", summary.as_deref()),
        _ => {}
    }
    it.done()
}

pub(super) fn outcome(event: &Event, ended: Ended<'_>) -> Result<Outcome, HookError> {
    let event = &event.name();
    // It reads an answer on standard error as well.
    if ended.exit_code == 2
        && let Some(answer) = answer_in(ended.stderr.as_bytes(), event, &STYLE)
    {
        return Ok(answer);
    }
    claude::by_answer(event, ended.exit_code, ended.stdout, ended.stderr, || printed(event, ended, &STYLE))
}
