//! The Base Coat hook specification: the event envelope and the response envelope (seed: Base Coat, section 4).
//!
//! Where the specification is silent on where an event's data stands, design section 11 says it.

use serde_json::{Map, Value, json};

use crate::dialect::fields::Fields;
use crate::dialect::reply::{Reply, malformed};
use crate::event::{ErrorSource, Event, EventData, EventName, ToolCall, ToolResult, rfc3339};
use crate::hook::HookError;
use crate::outcome::{Action, Outcome};

/// The event as the envelope of the specification; `None` for an event that it has no name for. What is not
/// known is absent.
pub fn encode(event: &Event) -> Option<Value> {
    let context = &event.context;
    let mut envelope = Envelope::default();
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
            let mut inner = Envelope::default();
            inner.put("message", Some(error.message.as_str()));
            inner.put("kind", error.kind.as_deref());
            inner.put("attempt", error.attempt);
            envelope.put("error", Some(inner.0));
        }
        EventData::PreCompact { trigger, .. } => envelope.put("trigger", trigger.as_deref()),
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

/// An object of which only the known parts are written.
#[derive(Default)]
struct Envelope(Map<String, Value>);

impl Envelope {
    fn put(&mut self, name: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.0.insert(name.to_owned(), value.into());
        }
    }
}

fn tool(call: &ToolCall) -> Envelope {
    let mut tool = Envelope::default();
    tool.put("name", Some(call.name.as_str()).filter(|name| !name.is_empty()));
    tool.put("input", Some(call.input.value().clone()).filter(|input| !input.is_null()));
    tool
}

fn tool_after(result: &ToolResult) -> Map<String, Value> {
    let mut tool = tool(&result.call);
    tool.put("output", Some(result.output.value().clone()).filter(|output| !output.is_null()));
    tool.put("success", result.success);
    tool.put("durationMs", result.duration_ms);
    tool.put("exitStatus", result.exit_status);
    tool.put("costTokens", result.cost_tokens);
    tool.0
}

/// The action of an answer, before its other fields are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    PassThrough,
    InjectContext,
    Block,
    Modify,
}

/// Reads the response envelope.
///
/// `additionalContext` (an array of strings, or one string) and `warnings` count beside any action. `modify` needs
/// `modifiedInput` before a tool call and for a message (a string), `modifiedOutput` after a tool call and for an
/// error. `priority` is accepted and has no effect: order comes from the registration.
///
/// # Errors
///
/// `malformed_output` for an unknown action, a wrong type, or a `modify` without its value. `block` blocks also
/// beside a wrong type.
pub fn outcome(event: &EventName, object: Map<String, Value>) -> Result<Outcome, HookError> {
    let kind = match object.get("action").and_then(Value::as_str) {
        Some("passThrough") => Kind::PassThrough,
        Some("injectContext") => Kind::InjectContext,
        Some("block") => Kind::Block,
        Some("modify") => Kind::Modify,
        _ => {
            let found = crate::dialect::fields::describe(object.get("action").unwrap_or(&Value::Null));
            return Err(malformed(format!(
                "answered wrongly: \"action\" must be passThrough, injectContext, block or modify, found {found}"
            )));
        }
    };
    let mut reply = Reply::new(event, object, kind == Kind::Block);
    reply.any("action");
    let mut outcome = Outcome {
        context: reply.read(context)?.unwrap_or_default(),
        warnings: reply.read(|fields| fields.texts("warnings"))?.unwrap_or_default(),
        metadata: reply.read(|fields| fields.object("metadata"))?.unwrap_or_default(),
        ..Outcome::default()
    };
    reply.read(|fields| fields.number("priority"))?;
    let reason = reply.text("reason")?.unwrap_or_default();
    match kind {
        Kind::Block => {
            outcome.action = Action::Block(reason);
            // What is blocked is not changed.
            reply.any("modifiedInput");
            reply.any("modifiedOutput");
        }
        Kind::Modify => outcome.action = Action::Modify(modified(&mut reply)?),
        Kind::PassThrough | Kind::InjectContext => {}
    }
    for name in ["modifiedInput", "modifiedOutput"] {
        if reply.any(name).is_some() {
            let why = if kind == Kind::Modify { format!("at {event}") } else { "without modify".to_owned() };
            reply.warn(format!("\"{name}\" has no effect {why}"));
        }
    }
    Ok(reply.finish(outcome, &[]))
}

fn context(fields: &mut Fields) -> Result<Option<Vec<String>>, crate::dialect::PayloadError> {
    let one = fields.read("additionalContext", "an array of strings", |value| match value {
        Value::String(text) => Ok(Value::Array(vec![text.into()])),
        Value::Array(_) => Ok(value),
        other => Err(other),
    })?;
    let Some(texts) = one else { return Ok(None) };
    Fields::new(Map::from_iter([("additionalContext".to_owned(), texts)])).texts("additionalContext")
}

/// The value that a `modify` puts in the place of what the event is about.
fn modified(reply: &mut Reply) -> Result<Value, HookError> {
    let name = match reply.event {
        EventName::BeforeToolCall | EventName::UserMessageSend => "modifiedInput",
        EventName::AfterToolCall | EventName::OnError => "modifiedOutput",
        // Nothing can be modified here, which the chain reports; so either field will do.
        _ => {
            let (input, output) = (reply.any("modifiedInput"), reply.any("modifiedOutput"));
            return input.or(output).ok_or_else(|| malformed("answered modify without a modifiedInput"));
        }
    };
    let value = if reply.event == EventName::UserMessageSend {
        reply.text(name)?.map(Value::String)
    } else {
        reply.any(name)
    };
    value.ok_or_else(|| malformed(format!("answered modify without \"{name}\", which {} needs", reply.event)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::event::{Context, ErrorEvent, TokenBudget, Usage};
    use crate::report::Cause;

    fn event(data: EventData) -> Event {
        let mut context = Context::new("sess_1", "/w");
        context.timestamp_ms = 1_745_779_351_000;
        Event { context: Arc::new(context), data }
    }

    fn read(event: EventName, answer: Value) -> Result<Outcome, HookError> {
        outcome(&event, answer.as_object().unwrap().clone())
    }

    fn noticing(mut outcome: Outcome, notes: &[&str]) -> Outcome {
        outcome.noticed = notes.iter().map(|note| (*note).to_owned()).collect();
        outcome
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

    #[test]
    fn each_action_of_the_specification_is_read() {
        use EventName::{AfterToolCall, BeforeToolCall, OnError, SessionStart, UserMessageSend};
        for (event, answer, want) in [
            (
                SessionStart,
                json!({"action": "passThrough", "priority": 50, "additionalContext": [], "warnings": []}),
                Outcome::pass(),
            ),
            (
                SessionStart,
                json!({"action": "injectContext", "additionalContext": ["a"]}),
                Outcome::inject("a"),
            ),
            (
                SessionStart,
                json!({"action": "injectContext", "additionalContext": "a"}),
                Outcome::inject("a"),
            ),
            (
                BeforeToolCall,
                json!({"action": "block", "reason": "no", "modifiedInput": 5}),
                Outcome::block("no"),
            ),
            (
                BeforeToolCall,
                json!({"action": "modify", "modifiedInput": {"a": 1}}),
                Outcome::modify(json!({"a": 1})),
            ),
            (AfterToolCall, json!({"action": "modify", "modifiedOutput": [1]}), Outcome::modify(json!([1]))),
            (OnError, json!({"action": "modify", "modifiedOutput": "e"}), Outcome::modify("e")),
            (UserMessageSend, json!({"action": "modify", "modifiedInput": "m"}), Outcome::modify("m")),
            (
                AfterToolCall,
                json!({"action": "block", "reason": 5, "warnings": ["w"]}),
                noticing(Outcome::block("").warn("w"), &["\"reason\" must be a string, found 5: not used"]),
            ),
            (
                AfterToolCall,
                json!({"action": "passThrough", "Reason": "x", "modifiedOutput": 1}),
                noticing(
                    Outcome::pass(),
                    &["\"modifiedOutput\" has no effect without modify", "unknown key \"Reason\""],
                ),
            ),
        ] {
            assert_eq!(read(event, answer.clone()), Ok(want), "{answer}");
        }
        let beside = json!({"action": "block", "additionalContext": ["c"], "metadata": {"hookId": "x"}});
        let found = read(BeforeToolCall, beside).unwrap();
        assert_eq!((found.context.len(), found.metadata.len()), (1, 1));
    }

    #[test]
    fn what_is_no_answer_of_the_specification_is_malformed() {
        for answer in [
            json!({"action": null}),
            json!({"action": "Block"}),
            json!({"action": 5}),
            json!({"action": "modify"}),
            json!({"action": "modify", "modifiedInput": null}),
            json!({"action": "modify", "modifiedOutput": {}}),
            json!({"action": "passThrough", "warnings": "w"}),
            json!({"action": "injectContext", "additionalContext": [1]}),
            json!({"action": "passThrough", "metadata": []}),
            json!({"action": "passThrough", "priority": "high"}),
        ] {
            let error = read(EventName::BeforeToolCall, answer.clone()).unwrap_err();
            assert_eq!(error.cause, Cause::MalformedOutput, "{answer}");
        }
    }
}
