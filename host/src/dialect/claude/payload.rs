//! An event as a command hook of Claude Code reads it.

use serde_json::Value;

use super::{Session, name, tool};
use crate::dialect::fields::Written;
use crate::event::{AgentStop, Document, ErrorSource, Event, EventData, ToolCall};

/// The modes that Claude Code has.
const MODES: [&str; 6] = ["default", "plan", "acceptEdits", "auto", "dontAsk", "bypassPermissions"];

/// The reason why a session starts, in Claude Code's words; others of an agent are passed on.
const FRESH: &str = "clear";

/// The reason why a session ends, in Claude Code's words; everything else is `other`.
const REASONS: [&str; 6] =
    ["clear", "resume", "logout", "prompt_input_exit", "bypass_permissions_disabled", "other"];

/// Encodes an event for a hook of Claude Code (2.1); `None` for an event that Claude Code does not have.
///
/// * `session_id` is the conversation; `transcript_path` is empty if it is not known.
/// * A tool's name and input are in Claude Code's words (see the module's `tool.rs`); its output is the
///   agent's own, but for the text of a shell tool, which is Claude Code's `stdout`.
/// * A rotation is Claude Code's `/clear`: a session ends with the reason `clear`, and another one starts
///   with this source.
/// * A field that the agent did not give is absent. `prompt_id`, `background_tasks` and `session_crons` are
///   always absent.
pub fn encode(event: &Event, session: &Session) -> Option<Value> {
    let name = name(event)?;
    let context = &event.context;
    let mut payload = Written::default();
    payload.put("session_id", Some(context.conversation_id.as_str()));
    payload.put("transcript_path", Some(session.transcript_path.as_deref().unwrap_or_default()));
    payload.put("cwd", Some(context.cwd.as_str()));
    if !matches!(name, "SessionStart" | "SessionEnd" | "PreCompact" | "PostCompact" | "Notification") {
        let mode = context.mode.as_deref().filter(|mode| MODES.contains(mode));
        payload.put("permission_mode", session.permission_mode.as_deref().or(mode).or(Some("default")));
    }
    payload.put("hook_event_name", Some(name));
    match &event.data {
        EventData::SessionStart { source } => payload.put("source", Some(self::source(source.as_deref()))),
        EventData::SessionEnd { reason } => payload.put("reason", Some(self::reason(reason.as_deref()))),
        EventData::UserMessageSend { message } => payload.put("prompt", message.as_deref()),
        EventData::BeforeToolCall(call) => put_call(&mut payload, call, &context.cwd),
        EventData::AfterToolCall(result) => {
            put_call(&mut payload, &result.call, &context.cwd);
            let id = payload.0.shift_remove("tool_use_id");
            payload.put("tool_response", Some(tool::response(result)));
            payload.put("tool_use_id", id);
            payload.put("duration_ms", result.duration_ms);
        }
        EventData::OnError(error) => match &error.source {
            ErrorSource::Tool(call) => {
                put_call(&mut payload, call, &context.cwd);
                payload.put("error", Some(error.message.as_str()));
                payload.put("is_interrupt", Some(error.kind.as_deref() == Some("interrupt")));
            }
            ErrorSource::Turn(_) | ErrorSource::Hook(_) => {
                payload.put("error", Some(error.kind.as_deref().unwrap_or("unknown")));
                payload.put("error_details", Some(error.message.as_str()));
            }
        },
        EventData::AgentStop(AgentStop { messages, follow_ups, .. }) => {
            payload.put("stop_hook_active", Some(*follow_ups > 0));
            payload.put("last_assistant_message", last_said(messages));
        }
        EventData::PreCompact { trigger, .. } => {
            payload.put("trigger", trigger.as_deref());
            payload.put("custom_instructions", Some(""));
        }
        EventData::PostCompact { trigger, summary, .. } => {
            payload.put("trigger", trigger.as_deref());
            payload.put("compact_summary", summary.as_deref());
        }
        EventData::Other { data, .. } => {
            for (field, value) in data {
                payload.0.entry(field.clone()).or_insert_with(|| value.clone());
            }
        }
        EventData::AfterTurn(_) | EventData::TurnEnd { .. } | EventData::OnBudgetExceeded { .. } => {
            return None;
        }
    }
    Some(Value::Object(payload.0))
}

pub(super) fn source(source: Option<&str>) -> &str {
    match source {
        Some("rotate") => FRESH,
        Some(source) => source,
        None => "startup",
    }
}

pub(super) fn reason(reason: Option<&str>) -> &str {
    match reason {
        Some("rotate") => FRESH,
        Some(reason) if REASONS.contains(&reason) => reason,
        _ => "other",
    }
}

/// Writes a call in Claude Code's words.
fn put_call(payload: &mut Written, call: &ToolCall, cwd: &str) {
    let (name, input) = tool::call(call, cwd);
    payload.put("tool_name", Some(name).filter(|name| !name.is_empty()));
    payload.put("tool_input", Some(input));
    payload.put("tool_use_id", call.id.as_deref());
}

/// The last text of the assistant in a conversation: its content as a string, or the texts of its parts.
pub fn last_said(messages: &Document) -> Option<String> {
    let said = |message: &&Value| message.get("role").and_then(Value::as_str) == Some("assistant");
    match messages.value().as_array()?.iter().rev().find(said)?.get("content")? {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
            (!texts.is_empty()).then(|| texts.join("\n"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::event::{Context, ErrorEvent, InvokedBy, ToolResult};

    fn encoded(data: EventData) -> Option<Value> {
        let mut event = Event { context: Arc::new(Context::new("s", "/home/dev/project")), data };
        let session = Session { transcript_path: Some("/t.jsonl".to_owned()), ..Session::default() };
        let first = encode(&event, &session);
        // Without data of its own the mode is the agent's.
        Arc::make_mut(&mut event.context).mode = Some("plan".to_owned());
        if let Some(mode) = encode(&event, &session).and_then(|it| it.get("permission_mode").cloned()) {
            assert_eq!(mode, "plan");
        }
        first
    }

    fn base(rest: Value, mode: bool) -> Value {
        let mut all = json!({"session_id": "s", "transcript_path": "/t.jsonl", "cwd": "/home/dev/project"});
        if mode {
            all["permission_mode"] = json!("default");
        }
        for (name, value) in rest.as_object().unwrap() {
            all[name] = value.clone();
        }
        all
    }

    #[test]
    fn a_payload_is_claude_codes_field_by_field_and_in_its_order() {
        let bash = || {
            ToolCall::new("bash", json!({"command": "echo hi", "description": "run a command"})).with_id("t")
        };
        let mut result = ToolResult::new(bash(), json!({"stdout": "hi", "stderr": ""}));
        result.duration_ms = Some(62);
        let of_text = ToolResult::new(bash(), json!("hi\n"));
        let error = |source, kind: Option<&str>| {
            EventData::OnError(ErrorEvent {
                source,
                message: "m".into(),
                kind: kind.map(Into::into),
                attempt: Some(1),
            })
        };
        let said = json!([{"role": "assistant", "content": [{"type": "text", "text": "all done"}]}, {"role": "user"}]);
        let stop = AgentStop { messages: said.into(), follow_ups: 1, ..AgentStop::default() };
        for (data, mode, want) in [
            (
                EventData::SessionStart { source: Some("startup".into()) },
                false,
                json!({"hook_event_name": "SessionStart", "source": "startup"}),
            ),
            (
                EventData::SessionStart { source: Some("rotate".into()) },
                false,
                json!({"hook_event_name": "SessionStart", "source": "clear"}),
            ),
            (
                EventData::SessionEnd { reason: Some("exit".into()) },
                false,
                json!({"hook_event_name": "SessionEnd", "reason": "other"}),
            ),
            (
                EventData::UserMessageSend { message: Some("please".into()) },
                true,
                json!({"hook_event_name": "UserPromptSubmit", "prompt": "please"}),
            ),
            (
                EventData::BeforeToolCall(bash()),
                true,
                json!({
                    "hook_event_name": "PreToolUse", "tool_name": "Bash",
                    "tool_input": {"command": "echo hi", "description": "run a command"}, "tool_use_id": "t",
                }),
            ),
            (
                EventData::AfterToolCall(result),
                true,
                json!({
                    "hook_event_name": "PostToolUse", "tool_name": "Bash",
                    "tool_input": {"command": "echo hi", "description": "run a command"},
                    "tool_response": {"stdout": "hi", "stderr": ""}, "tool_use_id": "t", "duration_ms": 62,
                }),
            ),
            (
                EventData::AfterToolCall(of_text),
                true,
                json!({
                    "hook_event_name": "PostToolUse", "tool_name": "Bash",
                    "tool_input": {"command": "echo hi", "description": "run a command"},
                    "tool_response": {
                        "stdout": "hi\n", "stderr": "", "interrupted": false, "isImage": false,
                        "noOutputExpected": false,
                    },
                    "tool_use_id": "t",
                }),
            ),
            (
                error(ErrorSource::Tool(bash()), None),
                true,
                json!({
                    "hook_event_name": "PostToolUseFailure", "tool_name": "Bash",
                    "tool_input": {"command": "echo hi", "description": "run a command"}, "tool_use_id": "t",
                    "error": "m", "is_interrupt": false,
                }),
            ),
            (
                error(ErrorSource::Turn(Some(1)), Some("rate_limit")),
                true,
                json!({"hook_event_name": "StopFailure", "error": "rate_limit", "error_details": "m"}),
            ),
            (
                EventData::AgentStop(stop),
                true,
                json!({"hook_event_name": "Stop", "stop_hook_active": true, "last_assistant_message": "all done"}),
            ),
            (
                EventData::PreCompact {
                    trigger: Some("auto".into()),
                    usage: None,
                    messages: Document::absent(),
                },
                false,
                json!({"hook_event_name": "PreCompact", "trigger": "auto", "custom_instructions": ""}),
            ),
            (
                EventData::PostCompact { trigger: None, summary: Some("s".into()), usage: None },
                false,
                json!({"hook_event_name": "PostCompact", "compact_summary": "s"}),
            ),
            (
                EventData::Other {
                    name: "notification".into(),
                    data: json!({"message": "m", "cwd": "/sly"}).as_object().unwrap().clone(),
                },
                false,
                json!({"hook_event_name": "Notification", "message": "m"}),
            ),
        ] {
            assert_eq!(encoded(data).unwrap().to_string(), base(want, mode).to_string());
        }
    }

    #[test]
    fn what_claude_code_does_not_have_is_not_sent() {
        let call = ToolCall::new("bash", Value::Null);
        for data in [
            EventData::AfterToolCall(ToolResult::blocked(call, "no")),
            EventData::AfterTurn(crate::event::AfterTurn::default()),
            EventData::TurnEnd { response: None, turn_number: None },
            EventData::OnBudgetExceeded { usage: None, threshold: None },
            EventData::OnError(ErrorEvent {
                source: ErrorSource::Hook("h".into()),
                message: String::new(),
                kind: None,
                attempt: None,
            }),
        ] {
            assert_eq!(encoded(data), None);
        }
    }

    #[test]
    fn what_is_not_known_is_absent_and_a_transcript_is_empty() {
        let event = |data| Event { context: Arc::new(Context::new("s", "/w")), data };
        let call = event(EventData::BeforeToolCall(ToolCall::new("", Value::Null)));
        assert_eq!(
            encode(&call, &Session::default()).unwrap().to_string(),
            r#"{"session_id":"s","transcript_path":"","cwd":"/w","permission_mode":"default","hook_event_name":"PreToolUse"}"#
        );
        let mut stop = event(EventData::AgentStop(AgentStop::default()));
        Arc::make_mut(&mut stop.context).invoked_by = InvokedBy::Subagent;
        assert_eq!(encode(&stop, &Session::default()).unwrap()["hook_event_name"], "SubagentStop");
    }
}
