//! Events as `hookbox run` reads them.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::dialect::Decoded;
use crate::dialect::fields::{Fields, PayloadError};
use crate::event::{
    AfterTurn, AgentStop, Context, ErrorEvent, Event, EventData, EventName, InvokedBy, ToolCall, ToolResult,
};

/// Reads the data of the event `name`: kodelet's fields, and the further fields of an event in hookbox.
///
/// `null` counts as absent. `conv_id`, `cwd`, `invoked_by` and the rest of the context come from `defaults`
/// if they are absent. These fields are read beside kodelet's:
///
/// * every event: `agent`, `repository`, `branch`, `mode`, `timestamp` (milliseconds since 1970, or RFC
///   3339), `budget` (`used_tokens` and `effective_limit`, or Base Coat's spelling);
/// * after_tool_call: `duration_ms`, `exit_status`, `cost_tokens`, `success`, `error`;
/// * agent_stop: `follow_ups`; after_turn: `messages`;
/// * on_error: `source` (`tool`, `turn`, `hook`; if absent, the other fields decide), and `error` as text or
///   as `{message, kind, attempt}`.
///
/// # Errors
///
/// A [`PayloadError`] for the first field with a wrong type, or if `event` names another event.
pub fn decode(
    name: &EventName,
    payload: Map<String, Value>,
    defaults: &Context,
) -> Result<Decoded, PayloadError> {
    let mut fields = Fields::new(payload);
    if let Some(given) = fields.text("event")?
        && given != name.as_str()
        && given.parse::<EventName>().as_ref() != Ok(name)
    {
        return Err(fields.error("event", &format!("\"{name}\""), &Value::String(given)));
    }
    let mut context = context(&mut fields, defaults)?;
    let (data, unknown) = data(name, fields, &mut context)?;
    Ok(Decoded { event: Event { context: Arc::new(context), data }, unknown })
}

fn context(fields: &mut Fields, defaults: &Context) -> Result<Context, PayloadError> {
    let invoked_by = fields.read("invoked_by", "\"main\" or \"subagent\"", |value| match value.as_str() {
        Some("main") => Ok(InvokedBy::Main),
        Some("subagent") => Ok(InvokedBy::Subagent),
        _ => Err(value),
    })?;
    let given = |text: Option<String>, default: &str| text.unwrap_or_else(|| default.to_owned());
    let recipe = |text: Option<String>| text.or_else(|| defaults.recipe_name.clone());
    Ok(Context {
        conversation_id: given(fields.text("conv_id")?, &defaults.conversation_id),
        cwd: given(fields.text("cwd")?, &defaults.cwd),
        invoked_by: invoked_by.unwrap_or(defaults.invoked_by),
        recipe_name: recipe(fields.text("recipe_name")?).filter(|name| !name.is_empty()),
        ..fields.context(defaults)?
    })
}

fn data(
    name: &EventName,
    mut fields: Fields,
    context: &mut Context,
) -> Result<(EventData, Vec<String>), PayloadError> {
    let f = &mut fields;
    let data = match name {
        EventName::SessionStart => EventData::SessionStart { source: f.text("source")? },
        EventName::SessionEnd => EventData::SessionEnd { reason: f.text("reason")? },
        EventName::UserMessageSend => EventData::UserMessageSend { message: f.text("message")? },
        EventName::BeforeToolCall => EventData::BeforeToolCall(call(f)?),
        EventName::AfterToolCall => EventData::AfterToolCall(result(f)?),
        EventName::OnError => EventData::OnError(error(f)?),
        EventName::AfterTurn => EventData::AfterTurn(AfterTurn {
            turn_number: f.whole("turn_number")?,
            tools_used: f.flag("tools_used")?,
            usage: f.usage("usage")?,
            auto_compact_enabled: f.flag("auto_compact_enabled")?,
            auto_compact_threshold: f.number("auto_compact_threshold")?,
            messages: f.messages("messages")?,
        }),
        EventName::TurnEnd => {
            EventData::TurnEnd { response: f.text("response")?, turn_number: f.whole("turn_number")? }
        }
        EventName::AgentStop => {
            let invoked_recipe = f.text("invoked_recipe")?;
            // kodelet has one value under two names.
            if context.recipe_name.is_none() {
                context.recipe_name = invoked_recipe.clone().filter(|name| !name.is_empty());
            }
            EventData::AgentStop(AgentStop {
                messages: f.messages("messages")?,
                usage: f.usage("usage")?,
                invoked_recipe: invoked_recipe.or_else(|| context.recipe_name.clone()),
                auto_compact_enabled: f.flag("auto_compact_enabled")?,
                auto_compact_threshold: f.number("auto_compact_threshold")?,
                follow_ups: f.whole("follow_ups")?.unwrap_or_default(),
            })
        }
        EventName::PreCompact => EventData::PreCompact {
            trigger: f.text("trigger")?,
            usage: f.usage("usage")?,
            messages: f.messages("messages")?,
        },
        EventName::PostCompact => EventData::PostCompact {
            trigger: f.text("trigger")?,
            summary: f.text("summary")?,
            usage: f.usage("usage")?,
        },
        EventName::OnBudgetExceeded => {
            EventData::OnBudgetExceeded { usage: f.usage("usage")?, threshold: f.share("threshold")? }
        }
        EventName::Other(name) => {
            return Ok((EventData::Other { name: name.clone(), data: fields.rest() }, Vec::new()));
        }
    };
    Ok((data, fields.names()))
}

fn call(fields: &mut Fields) -> Result<ToolCall, PayloadError> {
    let name = fields.text("tool_name")?.unwrap_or_default();
    let mut call = ToolCall::new(name, fields.any("tool_input").unwrap_or_default());
    call.id = fields.text("tool_user_id")?;
    Ok(call)
}

fn result(fields: &mut Fields) -> Result<ToolResult, PayloadError> {
    let call = call(fields)?;
    let mut result = ToolResult::new(call, fields.any("tool_output").unwrap_or_default());
    result.success = fields.flag("success")?.or(result.success);
    result.error = fields.text("error")?.or(result.error);
    result.duration_ms = fields.whole("duration_ms")?;
    result.exit_status = fields.whole("exit_status")?;
    result.cost_tokens = fields.whole("cost_tokens")?;
    Ok(result)
}

fn error(fields: &mut Fields) -> Result<ErrorEvent, PayloadError> {
    let hook = fields.text("hook")?;
    let call = call(fields)?;
    let turn_number = fields.whole("turn_number")?;
    let source = fields.error_source(call, turn_number, hook)?;
    let mut event =
        ErrorEvent { source, message: String::new(), kind: fields.text("kind")?, attempt: fields.attempt()? };
    let given = fields.read("error", "a string or an object", |value| match value {
        Value::String(_) | Value::Object(_) => Ok(value),
        other => Err(other),
    })?;
    match given {
        Some(Value::String(text)) => event.message = text,
        Some(object) => {
            let mut outer = Fields::new(Map::from_iter([("error".to_owned(), object)]));
            if let Some(mut error) = outer.nested("error")? {
                event.message = error.text("message")?.unwrap_or_default();
                event.kind = error.text("kind")?.or(event.kind);
                event.attempt = error.attempt()?.or(event.attempt);
            }
        }
        None => {}
    }
    Ok(event)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{ErrorSource, TokenBudget};
    use serde_json::json;

    fn read(event: &str, payload: Value) -> Result<Decoded, PayloadError> {
        let mut defaults = Context::new("auto", "/here");
        defaults.timestamp_ms = 7;
        decode(&event.parse().unwrap(), payload.as_object().unwrap().clone(), &defaults)
    }

    #[test]
    fn missing_fields_come_from_the_defaults_and_null_is_missing() {
        let found = read("before_tool_call", json!({"conv_id": null, "tool_input": null})).unwrap();
        let context = &found.event.context;
        assert_eq!(
            (context.conversation_id.as_str(), context.cwd.as_str(), context.timestamp_ms),
            ("auto", "/here", 7)
        );
        let call = found.event.tool_call().unwrap();
        assert!(call.name.is_empty() && call.input.is_absent() && call.id.is_none());
    }

    #[test]
    fn the_context_is_read_in_either_spelling() {
        for budget in
            [json!({"used_tokens": 5, "effective_limit": 10}), json!({"usedTokens": 5, "effectiveLimit": 10})]
        {
            for timestamp in [json!(1_745_779_351_000_u64), json!("2025-04-27T18:42:31Z")] {
                let payload = json!({
                    "event": "PreToolUse", "agent": "a", "repository": "o/r", "branch": "b", "mode": "plan",
                    "timestamp": timestamp, "budget": budget, "invoked_by": "subagent", "recipe_name": "",
                });
                let context = read("before_tool_call", payload).unwrap().event.context;
                assert_eq!(context.timestamp_ms, 1_745_779_351_000);
                assert_eq!(context.budget, Some(TokenBudget { used_tokens: 5, effective_limit: 10 }));
                assert_eq!((context.invoked_by, &context.recipe_name), (InvokedBy::Subagent, &None));
                assert_eq!(context.mode.as_deref(), Some("plan"));
            }
        }
    }

    #[test]
    fn a_wrong_type_is_an_error_that_names_the_field() {
        for (event, payload, field) in [
            ("before_tool_call", json!({"tool_name": 5}), "tool_name"),
            ("before_tool_call", json!({"event": "agent_stop"}), "event"),
            ("before_tool_call", json!({"event": 5}), "event"),
            ("before_tool_call", json!({"invoked_by": "me"}), "invoked_by"),
            ("before_tool_call", json!({"timestamp": "yesterday"}), "timestamp"),
            ("before_tool_call", json!({"timestamp": -5}), "timestamp"),
            ("before_tool_call", json!({"budget": 5}), "budget"),
            ("before_tool_call", json!({"budget": {"used_tokens": "5"}}), "budget.used_tokens"),
            ("after_tool_call", json!({"duration_ms": -1}), "duration_ms"),
            ("after_turn", json!({"usage": {"input_tokens": "x"}}), "usage.input_tokens"),
            ("agent_stop", json!({"messages": "x"}), "messages"),
            ("agent_stop", json!({"messages": ["x"]}), "messages[0]"),
            (
                "pre_compact",
                json!({"messages": [{"role": "user", "content": "q"}, {"role": "wizard", "content": "a"}]}),
                "messages[1].role",
            ),
            ("after_turn", json!({"messages": [{"role": "tool", "content": "q"}]}), "messages[0].role"),
            ("agent_stop", json!({"messages": [{"content": "q"}]}), "messages[0].role"),
            ("agent_stop", json!({"messages": [{"role": "user", "content": ["q"]}]}), "messages[0].content"),
            ("on_error", json!({"source": "x"}), "source"),
            ("on_error", json!({"error": {"attempt": "x"}}), "error.attempt"),
            ("on_error", json!({"error": 5}), "error"),
            ("on_error", json!({"error": {"attempt": 0}}), "error.attempt"),
            ("on_error", json!({"error": "m", "attempt": 0}), "attempt"),
            ("on_budget_exceeded", json!({"threshold": 80}), "threshold"),
        ] {
            assert_eq!(read(event, payload.clone()).unwrap_err().field, field, "{payload}");
        }
    }

    #[test]
    fn unknown_fields_are_named_and_no_error() {
        let found =
            read("user_message_send", json!({"b": 1, "message": "m", "a": {}, "tool_name": "x"})).unwrap();
        assert_eq!(found.unknown, ["b", "a", "tool_name"]);
        let other = read("notification", json!({"cwd": "/w", "text": "t"})).unwrap();
        assert_eq!(other.unknown, Vec::<String>::new());
        let EventData::Other { data, .. } = other.event.data else { panic!("{other:?}") };
        assert_eq!(Value::Object(data), json!({"text": "t"}));
    }

    #[test]
    fn the_source_of_an_error_is_read_or_told_from_its_data() {
        for (payload, want) in [
            (json!({"tool_name": "bash"}), ErrorSource::Tool(ToolCall::new("bash", Value::Null))),
            (json!({"turn_number": 3}), ErrorSource::Turn(Some(3))),
            (json!({"hook": "h"}), ErrorSource::Hook("h".into())),
            (json!({"source": "turn", "tool_name": "bash"}), ErrorSource::Turn(None)),
        ] {
            for error in [json!("m"), json!({"message": "m", "kind": "k", "attempt": 2})] {
                let mut payload = payload.clone();
                payload["error"] = error.clone();
                let EventData::OnError(found) = read("on_error", payload).unwrap().event.data else {
                    panic!()
                };
                assert_eq!((&found.source, found.message.as_str()), (&want, "m"));
                assert_eq!(found.attempt, error.is_object().then_some(2));
            }
        }
    }

    #[test]
    fn what_is_said_of_a_result_goes_before_what_its_output_says() {
        let payload =
            json!({"tool_output": {"success": true, "error": "a"}, "success": false, "exit_status": 2});
        let EventData::AfterToolCall(found) = read("after_tool_call", payload).unwrap().event.data else {
            panic!()
        };
        assert_eq!(
            (found.success, found.error.as_deref(), found.exit_status),
            (Some(false), Some("a"), Some(2))
        );
    }
}
