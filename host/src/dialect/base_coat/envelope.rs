//! Events as envelopes.

use serde_json::{Map, Value, json};

use crate::dialect::fields::Written;
use crate::event::{ErrorSource, Event, EventData, ToolCall, ToolResult, rfc3339};

/// The event as the envelope of the specification; `None` for an event that it has no name for. What is not
/// known is absent.
pub fn encode(event: &Event) -> Option<Value> {
    let context = &event.context;
    let mut envelope = Written::default();
    envelope.put("hook", Some(event.name().base_coat()?));
    envelope.put("timestamp", Some(rfc3339(context.timestamp_ms)));
    envelope.put("sessionId", Some(context.conversation_id.as_str()).filter(|id| !id.is_empty()));
    envelope.put("agent", context.agent.as_deref());
    envelope.put("repository", context.repository.as_deref());
    envelope.put("branch", context.branch.as_deref());
    envelope.put("mode", context.mode.as_deref());
    envelope.put(
        "budget",
        event.budget().map(
            |budget| json!({"usedTokens": budget.used_tokens, "effectiveLimit": budget.effective_limit}),
        ),
    );
    match &event.data {
        EventData::SessionStart { source } => envelope.put("source", source.as_deref()),
        EventData::SessionEnd { reason } => envelope.put("reason", reason.as_deref()),
        EventData::UserMessageSend { message } => envelope.put("message", message.as_deref()),
        EventData::BeforeToolCall(call) => envelope.put("tool", Some(tool(call).0)),
        EventData::AfterToolCall(result) => envelope.put("tool", Some(tool_after(result))),
        EventData::OnError(error) => {
            match &error.source {
                ErrorSource::Tool(call) => {
                    envelope.put("source", Some("tool"));
                    envelope.put("tool", Some(tool(call).0));
                }
                ErrorSource::Turn(_) => envelope.put("source", Some("turn")),
                ErrorSource::Hook(_) => envelope.put("source", Some("hook")),
            }
            let mut inner = Written::default();
            inner.put("message", Some(error.message.as_str()));
            inner.put("kind", error.kind.as_deref());
            inner.put("attempt", error.attempt);
            envelope.put("error", Some(inner.0));
        }
        EventData::PreCompact { trigger, messages, .. } => {
            envelope.put("trigger", trigger.as_deref());
            envelope.put("messages", Some(messages.value().clone()));
        }
        EventData::PostCompact { trigger, summary, .. } => {
            envelope.put("trigger", trigger.as_deref());
            envelope.put("summary", summary.as_deref());
        }
        EventData::OnBudgetExceeded { threshold, .. } => envelope.put("threshold", *threshold),
        EventData::AfterTurn(_)
        | EventData::TurnEnd { .. }
        | EventData::AgentStop(_)
        | EventData::Other { .. } => {}
    }
    Some(Value::Object(envelope.0))
}

fn tool(call: &ToolCall) -> Written {
    let mut tool = Written::default();
    tool.put("name", Some(call.name.as_str()).filter(|name| !name.is_empty()));
    tool.put("input", Some(call.input.value().clone()));
    tool
}

fn tool_after(result: &ToolResult) -> Map<String, Value> {
    let mut tool = tool(&result.call);
    tool.put("output", Some(result.output.value().clone()));
    tool.put("success", result.success);
    tool.put("durationMs", result.duration_ms);
    tool.put("exitStatus", result.exit_status);
    tool.put("costTokens", result.cost_tokens);
    tool.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::event::{Context, ErrorEvent, TokenBudget, Usage};

    fn event(data: EventData) -> Event {
        let mut context = Context::new("sess_1", "/w");
        context.timestamp_ms = 1_745_779_351_000;
        Event { context: Arc::new(context), data }
    }

    #[test]
    fn a_tool_result_becomes_the_envelope_of_the_specification() {
        let mut result = ToolResult::new(ToolCall::new("powershell", json!({"command": "x"})), json!("out"));
        result.success = Some(false);
        result.duration_ms = Some(6422);
        let mut event = event(EventData::AfterToolCall(result));
        let context = Arc::make_mut(&mut event.context);
        context.agent = Some("backend-dev".to_owned());
        context.repository = Some("org/repo".to_owned());
        context.branch = Some("main".to_owned());
        context.budget = Some(TokenBudget { used_tokens: 78124, effective_limit: 160_000 });
        assert_eq!(
            encode(&event).unwrap().to_string(),
            r#"{"hook":"PostToolUse","timestamp":"2025-04-27T18:42:31Z","sessionId":"sess_1","agent":"backend-dev","repository":"org/repo","branch":"main","budget":{"usedTokens":78124,"effectiveLimit":160000},"tool":{"name":"powershell","input":{"command":"x"},"output":"out","success":false,"durationMs":6422}}"#
        );
    }

    #[test]
    fn the_data_of_an_event_stands_at_the_top_and_what_is_unknown_is_absent() {
        let usage = Some(Usage { current_context_window: 8, max_context_window: 10, ..Usage::default() });
        for (data, want) in [
            (
                EventData::SessionStart { source: Some("resume".into()) },
                json!({"hook": "SessionStart", "source": "resume"}),
            ),
            (EventData::SessionEnd { reason: None }, json!({"hook": "SessionEnd"})),
            (
                EventData::BeforeToolCall(ToolCall::new("", Value::Null)),
                json!({"hook": "PreToolUse", "tool": {}}),
            ),
            (
                EventData::OnError(ErrorEvent {
                    source: ErrorSource::Turn(None),
                    message: "m".into(),
                    kind: None,
                    attempt: Some(2),
                }),
                json!({"hook": "OnError", "source": "turn", "error": {"message": "m", "attempt": 2}}),
            ),
            (
                EventData::OnBudgetExceeded { usage, threshold: Some(0.8) },
                json!({"hook": "OnBudgetExceeded", "budget": {"usedTokens": 8, "effectiveLimit": 10}, "threshold": 0.8}),
            ),
        ] {
            let mut found = encode(&event(data)).unwrap();
            let object = found.as_object_mut().unwrap();
            assert!(object.remove("timestamp").is_some() && object.remove("sessionId").is_some());
            assert_eq!(found, want);
        }
        assert_eq!(encode(&event(EventData::UserMessageSend { message: None })), None);
    }
}
