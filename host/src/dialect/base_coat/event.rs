//! Events as envelopes: written for hooks, and as `hookbox run` reads them.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::dialect::Decoded;
use crate::dialect::fields::{Fields, PayloadError, Written};
use crate::event::{
    AbsentTokens, AfterTurn, AgentStop, Context, ErrorEvent, ErrorSource, Event, EventData, EventName,
    TokenBudget, ToolCall, ToolResult, Usage, rfc3339,
};

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
        EventData::BeforeToolCall(call) => envelope.put("tool", Some(written_call(call).0)),
        EventData::AfterToolCall(result) => envelope.put("tool", Some(written_result(result))),
        EventData::OnError(error) => {
            match &error.source {
                ErrorSource::Tool(call) => {
                    envelope.put("source", Some("tool"));
                    envelope.put("tool", Some(written_call(call).0));
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
        // The specification has no name for the others.
        _ => {}
    }
    Some(Value::Object(envelope.0))
}

fn written_call(call: &ToolCall) -> Written {
    let mut tool = Written::default();
    tool.put("name", Some(call.name.as_str()).filter(|name| !name.is_empty()));
    tool.put("input", Some(call.input.value().clone()));
    tool
}

fn written_result(result: &ToolResult) -> Map<String, Value> {
    let mut tool = written_call(&result.call);
    tool.put("output", Some(result.output.value().clone()));
    tool.put("success", result.success);
    tool.put("durationMs", result.duration_ms);
    tool.put("exitStatus", result.exit_status);
    tool.put("costTokens", result.cost_tokens);
    tool.0
}

/// Reads the event envelope of the event `name`: the fields that [`encode`] writes. `null`
/// counts as absent; absent context comes from `defaults`.
///
/// The specification has no fields for usage and turns. The usage of an event has its window from `budget`, and
/// nothing else.
///
/// # Errors
///
/// A [`PayloadError`] for the first field with a wrong type, or if `hook` names another event.
pub fn decode(
    name: &EventName,
    envelope: Map<String, Value>,
    defaults: &Context,
) -> Result<Decoded, PayloadError> {
    let mut fields = Fields::new(envelope);
    if let Some(hook) = fields.text("hook")?
        && hook.parse::<EventName>().as_ref() != Ok(name)
    {
        let expected = format!("\"{}\"", name.base_coat().unwrap_or(name.as_str()));
        return Err(fields.error("hook", &expected, &Value::String(hook)));
    }
    let id = fields.text("sessionId")?.unwrap_or_else(|| defaults.conversation_id.clone());
    let context = Context { conversation_id: id, ..fields.context(defaults)? };
    let usage = context.budget.map(usage);
    let mut unknown = Vec::new();
    let data = match name {
        EventName::SessionStart => EventData::SessionStart { source: fields.text("source")? },
        EventName::SessionEnd => EventData::SessionEnd { reason: fields.text("reason")? },
        EventName::UserMessageSend => EventData::UserMessageSend { message: fields.text("message")? },
        EventName::BeforeToolCall => EventData::BeforeToolCall(tool(&mut fields, &mut unknown)?.call),
        EventName::AfterToolCall => EventData::AfterToolCall(tool(&mut fields, &mut unknown)?),
        EventName::OnError => EventData::OnError(error(&mut fields, &mut unknown)?),
        EventName::AfterTurn => EventData::AfterTurn(AfterTurn { usage, ..AfterTurn::default() }),
        EventName::TurnEnd => EventData::TurnEnd { response: fields.text("response")?, turn_number: None },
        EventName::AgentStop => EventData::AgentStop(AgentStop { usage, ..AgentStop::default() }),
        EventName::PreCompact => {
            let messages = fields.messages("messages")?;
            EventData::PreCompact { trigger: fields.text("trigger")?, usage, messages }
        }
        EventName::PostCompact => EventData::PostCompact {
            trigger: fields.text("trigger")?,
            summary: fields.text("summary")?,
            usage,
        },
        EventName::OnBudgetExceeded => {
            EventData::OnBudgetExceeded { usage, threshold: fields.share("threshold")? }
        }
        EventName::Other(name) => {
            let data = EventData::Other { name: name.clone(), data: fields.rest() };
            return Ok(Decoded { event: Event { context: Arc::new(context), data }, unknown });
        }
    };
    unknown.extend(fields.names());
    Ok(Decoded { event: Event { context: Arc::new(context), data }, unknown })
}

/// Returns the usage that a budget shows: the window, but not the tokens that were sent and produced.
fn usage(budget: TokenBudget) -> Usage {
    Usage {
        current_context_window: budget.used_tokens,
        max_context_window: budget.effective_limit,
        absent: AbsentTokens { input_tokens: true, output_tokens: true, ..AbsentTokens::default() },
        ..Usage::default()
    }
}

/// Reads `tool`, with its result after the call.
fn tool(fields: &mut Fields, unknown: &mut Vec<String>) -> Result<ToolResult, PayloadError> {
    let Some(mut tool) = fields.nested("tool")? else {
        return Ok(ToolResult::new(ToolCall::new("", Value::Null), Value::Null));
    };
    let name = tool.text("name")?.unwrap_or_default();
    let call = ToolCall::new(name, tool.any("input").unwrap_or_default());
    let mut result = ToolResult::new(call, tool.any("output").unwrap_or_default());
    result.success = tool.flag("success")?.or(result.success);
    result.duration_ms = tool.whole("durationMs")?;
    result.exit_status = tool.whole("exitStatus")?;
    result.cost_tokens = tool.whole("costTokens")?;
    unknown.extend(tool.names());
    Ok(result)
}

fn error(fields: &mut Fields, unknown: &mut Vec<String>) -> Result<ErrorEvent, PayloadError> {
    let call = tool(fields, unknown)?.call;
    let source = fields.error_source(call, None, None)?;
    let mut event = ErrorEvent { source, message: String::new(), kind: None, attempt: None };
    if let Some(mut error) = fields.nested("error")? {
        event.message = error.text("message")?.unwrap_or_default();
        event.kind = error.text("kind")?;
        event.attempt = error.attempt()?;
        unknown.extend(error.names());
    }
    Ok(event)
}

#[cfg(test)]
mod tests {
    use super::*;

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

    fn read(envelope: Value) -> Result<Decoded, PayloadError> {
        let name = envelope["hook"].as_str().unwrap_or("PreToolUse").parse().unwrap();
        decode(&name, envelope.as_object().unwrap().clone(), &Context::new("auto", "/here"))
    }

    /// The event envelope of the specification, section 4, unchanged.
    const SPECIFIED: &str = r#"{
  "hook": "PostToolUse",
  "timestamp": "2025-04-27T18:42:31Z",
  "sessionId": "sess_01J...",
  "agent": "backend-dev",
  "repository": "IBuySpy-Shared/basecoat",
  "branch": "feat/145-hooks-framework",
  "budget": {
    "usedTokens": 78124,
    "effectiveLimit": 160000
  },
  "tool": {
    "name": "powershell",
    "success": false,
    "durationMs": 6422
  }
}"#;

    #[test]
    fn the_envelope_of_the_specification_is_read_and_written_as_it_stands() {
        let envelope: Value = serde_json::from_str(SPECIFIED).unwrap();
        let decoded = read(envelope).unwrap();
        assert_eq!(decoded.unknown, Vec::<String>::new());
        let context = &decoded.event.context;
        assert_eq!((context.conversation_id.as_str(), context.cwd.as_str()), ("sess_01J...", "/here"));
        let EventData::AfterToolCall(result) = &decoded.event.data else { panic!("{decoded:?}") };
        assert_eq!(
            (result.call.name.as_str(), result.success, result.duration_ms),
            ("powershell", Some(false), Some(6422))
        );
        let written = encode(&decoded.event).unwrap();
        assert_eq!(serde_json::to_string_pretty(&written).unwrap(), SPECIFIED);
    }

    #[test]
    fn every_envelope_is_written_as_it_was_read() {
        let base = |rest: &str| {
            format!(r#"{{"hook":{rest},"#).replacen(
                ',',
                r#","timestamp":"2025-04-27T18:42:31Z","sessionId":"s","mode":"plan","budget":{"usedTokens":1,"effectiveLimit":2},"#,
                1,
            )
        };
        for (name, rest) in [
            ("SessionStart", r#""source":"resume"}"#),
            ("SessionEnd", r#""reason":"rotate"}"#),
            ("PreToolUse", r#""tool":{"name":"bash","input":{"command":"ls"}}}"#),
            ("PreToolUse", r#""tool":{}}"#),
            (
                "PostToolUse",
                r#""tool":{"name":"bash","input":{},"output":{"a":1},"success":true,"durationMs":5,"exitStatus":-1,"costTokens":7}}"#,
            ),
            (
                "OnError",
                r#""source":"tool","tool":{"name":"bash","input":"x"},"error":{"message":"m","kind":"k","attempt":2}}"#,
            ),
            ("OnError", r#""source":"turn","error":{"message":"m"}}"#),
            ("OnError", r#""source":"hook","error":{"message":"m"}}"#),
            ("PreCompact", r#""trigger":"auto"}"#),
            ("PreCompact", r#""trigger":"auto","messages":[{"role":"user","content":"q"}]}"#),
            ("PostCompact", r#""trigger":"auto","summary":"s"}"#),
            ("OnBudgetExceeded", r#""threshold":0.8}"#),
        ] {
            let text = format!("{}{rest}", base(&format!("\"{name}\"")));
            let decoded = read(serde_json::from_str(&text).unwrap()).unwrap();
            assert_eq!(decoded.unknown, Vec::<String>::new());
            let written = encode(&decoded.event).unwrap();
            assert_eq!(written.to_string(), text);
            assert_eq!(read(written).unwrap().event, decoded.event);
        }
    }

    #[test]
    fn the_budget_is_the_usage_of_the_events_that_have_one() {
        let window = Usage { current_context_window: 131, max_context_window: 160, ..Usage::default() };
        let absent = AbsentTokens { input_tokens: true, output_tokens: true, ..AbsentTokens::default() };
        let known = Some(Usage { absent, ..window });
        let budget = json!({"usedTokens": 131, "effectiveLimit": 160});
        for (name, want) in [
            ("PreCompact", known),
            ("PostCompact", known),
            ("OnBudgetExceeded", known),
            ("after_turn", known),
            ("agent_stop", known),
            ("turn_end", None),
            ("SessionStart", None),
        ] {
            for (budget, want) in
                [(budget.clone(), want), (Value::Null, None), (json!({"usedTokens": 1}), None)]
            {
                let found = read(json!({"hook": name, "budget": budget})).unwrap();
                assert_eq!(found.event.usage(), want, "{name} {budget}");
                assert_eq!(found.unknown, Vec::<String>::new());
            }
        }
    }

    #[test]
    fn the_response_of_a_turn_can_be_given() {
        let found = read(json!({"hook": "turn_end", "response": "done"})).unwrap();
        assert_eq!(found.event.data, EventData::TurnEnd { response: Some("done".into()), turn_number: None });
        assert!(found.unknown.is_empty());
    }

    #[test]
    fn a_wrong_type_names_the_field_and_an_unknown_one_is_named() {
        for (envelope, field) in [
            (json!({"hook": "PreToolUse", "tool": 5}), "tool"),
            (json!({"hook": "PreToolUse", "tool": {"name": 5}}), "tool.name"),
            (json!({"hook": "PostToolUse", "tool": {"durationMs": -1}}), "tool.durationMs"),
            (json!({"hook": "PreToolUse", "timestamp": "now"}), "timestamp"),
            (json!({"hook": "PreToolUse", "sessionId": 5}), "sessionId"),
            (json!({"hook": "OnError", "error": "text"}), "error"),
            (json!({"hook": "OnError", "source": "x"}), "source"),
            (json!({"hook": "OnError", "error": {"attempt": 0}}), "error.attempt"),
            (json!({"hook": "PreCompact", "messages": ["x"]}), "messages[0]"),
            (
                json!({"hook": "PreCompact", "messages": [{"role": "wizard", "content": "x"}]}),
                "messages[0].role",
            ),
            (json!({"hook": "OnBudgetExceeded", "threshold": "0.8"}), "threshold"),
            (json!({"hook": "OnBudgetExceeded", "threshold": 1.5}), "threshold"),
            (json!({"hook": "turn_end", "response": 5}), "response"),
        ] {
            assert_eq!(read(envelope.clone()).unwrap_err().field, field, "{envelope}");
        }
        let wrong = json!({"hook": "SessionEnd"}).as_object().unwrap().clone();
        let error = decode(&EventName::BeforeToolCall, wrong, &Context::new("", "")).unwrap_err();
        assert_eq!(error.to_string(), "\"hook\" must be \"PreToolUse\", found \"SessionEnd\"");
        let found = read(json!({"hook": "PreToolUse", "tool": {"x": 1}, "tool_name": "b"})).unwrap();
        assert_eq!(found.unknown, ["tool.x", "tool_name"]);
    }
}
