//! Events as kodelet writes them.

use serde_json::{Value, json};

use crate::dialect::fields::Written;
use crate::event::{Document, ErrorSource, Event, EventData, ToolCall, Usage};

/// Encodes an event for a native hook: exactly kodelet's fields; an absent value stays absent. Events that
/// kodelet does not have carry the same base fields, and their data under the names of `docs/src/events.md`.
pub fn encode(event: &Event) -> Value {
    let context = &event.context;
    let mut out = Written::default();
    out.put("event", Some(event.name().as_str()));
    out.put("conv_id", Some(context.conversation_id.as_str()));
    out.put("cwd", Some(context.cwd.as_str()));
    out.put("invoked_by", Some(context.invoked_by.as_str()));
    let mut recipe = filled(context.recipe_name.as_deref());
    if let EventData::AgentStop(stop) = &event.data {
        // kodelet has one value under two names.
        recipe = filled(stop.invoked_recipe.as_deref()).or(recipe);
    }
    out.put("recipe_name", recipe);
    match &event.data {
        EventData::SessionStart { source } => out.put("source", source.as_deref()),
        EventData::SessionEnd { reason } => out.put("reason", reason.as_deref()),
        EventData::UserMessageSend { message } => out.put("message", message.as_deref()),
        EventData::BeforeToolCall(call) => put_call(&mut out, call, None),
        EventData::AfterToolCall(result) => put_call(&mut out, &result.call, Some(&result.output)),
        EventData::OnError(error) => {
            match &error.source {
                ErrorSource::Tool(call) => {
                    out.put("source", Some("tool"));
                    put_call(&mut out, call, None);
                }
                ErrorSource::Turn(number) => {
                    out.put("source", Some("turn"));
                    out.put("turn_number", *number);
                }
                ErrorSource::Hook(name) => {
                    out.put("source", Some("hook"));
                    out.put("hook", Some(name.as_str()));
                }
            }
            out.put("error", Some(error.message.as_str()));
            out.put("kind", error.kind.as_deref());
            out.put("attempt", error.attempt);
        }
        EventData::AfterTurn(turn) => {
            out.put("turn_number", turn.turn_number);
            out.put("tools_used", turn.tools_used);
            put_usage(&mut out, turn.usage);
            out.put("auto_compact_enabled", turn.auto_compact_enabled);
            out.put("auto_compact_threshold", turn.auto_compact_threshold);
        }
        EventData::TurnEnd { response, turn_number } => {
            out.put("response", response.as_deref());
            out.put("turn_number", *turn_number);
        }
        EventData::AgentStop(stop) => {
            out.put("messages", Some(stop.messages.value().clone()));
            put_usage(&mut out, stop.usage);
            // An empty name that was given stays: HOOKS.md shows it in its example.
            out.put("invoked_recipe", recipe.or(stop.invoked_recipe.as_deref()));
            out.put("auto_compact_enabled", stop.auto_compact_enabled);
            out.put("auto_compact_threshold", stop.auto_compact_threshold);
        }
        EventData::PreCompact { trigger, usage, messages } => {
            out.put("trigger", trigger.as_deref());
            put_usage(&mut out, *usage);
            out.put("messages", Some(messages.value().clone()));
        }
        EventData::PostCompact { trigger, summary, usage } => {
            out.put("trigger", trigger.as_deref());
            out.put("summary", summary.as_deref());
            put_usage(&mut out, *usage);
        }
        EventData::OnBudgetExceeded { usage, threshold } => {
            put_usage(&mut out, *usage);
            out.put("threshold", *threshold);
        }
        EventData::Other { data, .. } => {
            for (name, value) in data {
                // The data of an event cannot pass itself off as its context.
                out.0.entry(name.as_str()).or_insert_with(|| value.clone());
            }
        }
    }
    Value::Object(out.0)
}

/// Encodes an event with every value that `decode` reads, also those that kodelet does not have: for a reader that sends
/// the event again. The payload of another agent ([`Context::payload`](crate::Context::payload)) is left out.
pub fn encode_whole(event: &Event) -> Value {
    let Value::Object(fields) = encode(event) else { return Value::Null };
    let mut out = Written(fields);
    let context = &event.context;
    out.put("agent", context.agent.as_deref());
    out.put("repository", context.repository.as_deref());
    out.put("branch", context.branch.as_deref());
    out.put("mode", context.mode.as_deref());
    out.put("timestamp", Some(context.timestamp_ms));
    out.put(
        "budget",
        context
            .budget
            .map(|it| json!({ "used_tokens": it.used_tokens, "effective_limit": it.effective_limit })),
    );
    match &event.data {
        EventData::AfterToolCall(result) => {
            out.put("success", result.success);
            out.put("error", result.error.as_deref());
            out.put("duration_ms", result.duration_ms);
            out.put("exit_status", result.exit_status);
            out.put("cost_tokens", result.cost_tokens);
        }
        EventData::AfterTurn(turn) => out.put("messages", Some(turn.messages.value().clone())),
        EventData::AgentStop(stop) => out.put("follow_ups", Some(stop.follow_ups)),
        _ => {}
    }
    Value::Object(out.0)
}

fn filled(name: Option<&str>) -> Option<&str> {
    name.filter(|name| !name.is_empty())
}

fn put_usage(out: &mut Written, usage: Option<Usage>) {
    let Some(usage) = usage else { return };
    let absent = usage.absent;
    let mut inner = Written::default();
    for (name, tokens, is_absent) in [
        ("input_tokens", usage.input_tokens, absent.input_tokens),
        ("output_tokens", usage.output_tokens, absent.output_tokens),
        ("current_context_window", usage.current_context_window, absent.current_context_window),
        ("max_context_window", usage.max_context_window, absent.max_context_window),
    ] {
        inner.put(name, (!is_absent).then_some(tokens));
    }
    out.put("usage", Some(inner.0));
}

fn put_call(out: &mut Written, call: &ToolCall, output: Option<&Document>) {
    out.put("tool_name", filled(Some(&call.name)));
    out.put("tool_input", Some(call.input.value().clone()));
    out.put("tool_output", output.map(|output| output.value().clone()));
    out.put("tool_user_id", call.id.as_deref());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::kodelet::decode;
    use crate::event::{AfterTurn, AgentStop, Context, ErrorEvent, EventName, ToolResult};
    use serde_json::Map;
    use std::sync::Arc;

    /// The payloads that HOOKS.md shows (and ADR 029, for turn_end).
    const SEEDS: [&str; 6] = [
        r#"{"event":"before_tool_call","conv_id":"c","cwd":"/w","invoked_by":"main","tool_name":"bash","tool_input":{"command":"ls -la"},"tool_user_id":"t"}"#,
        r#"{"event":"after_tool_call","conv_id":"c","cwd":"/w","invoked_by":"main","tool_name":"bash","tool_input":{"command":"ls -la"},"tool_output":{"toolName":"bash","success":true,"timestamp":"2024-01-15T10:30:00Z"},"tool_user_id":"t"}"#,
        r#"{"event":"user_message_send","conv_id":"c","cwd":"/w","invoked_by":"subagent","recipe_name":"r","message":"hi"}"#,
        r#"{"event":"after_turn","conv_id":"c","cwd":"/w","invoked_by":"main","turn_number":5,"tools_used":true,"usage":{"input_tokens":80000,"output_tokens":8000,"current_context_window":88000,"max_context_window":128000},"auto_compact_enabled":true,"auto_compact_threshold":0.8}"#,
        r#"{"event":"agent_stop","conv_id":"c","cwd":"/w","invoked_by":"main","messages":[{"role":"user","content":"q"}],"usage":{"input_tokens":50000,"output_tokens":5000,"current_context_window":55000,"max_context_window":128000},"invoked_recipe":"","auto_compact_enabled":true,"auto_compact_threshold":0.8}"#,
        r#"{"event":"turn_end","conv_id":"c","cwd":"/w","invoked_by":"main","response":"done","turn_number":3}"#,
    ];

    #[test]
    fn every_payload_of_the_seeds_is_written_as_it_was_read() {
        for seed in SEEDS {
            let payload: Map<String, Value> = serde_json::from_str(seed).unwrap();
            let name: EventName = payload["event"].as_str().unwrap().parse().unwrap();
            let decoded = decode(&name, payload, &Context::new("-", "-")).unwrap();
            assert_eq!(decoded.unknown, Vec::<String>::new());
            assert_eq!(encode(&decoded.event).to_string(), seed);
        }
    }

    #[test]
    fn a_usage_that_was_given_in_part_is_written_as_it_was_read() {
        for usage in [
            json!({}),
            json!({"output_tokens": 0}),
            json!({"current_context_window": 5, "max_context_window": 10}),
            json!({"input_tokens": u64::MAX}),
        ] {
            let payload = json!({"event": "after_turn", "usage": usage}).as_object().unwrap().clone();
            let decoded = decode(&EventName::AfterTurn, payload, &Context::new("c", "/w")).unwrap();
            assert_eq!(encode(&decoded.event)["usage"], usage);
            assert_eq!(
                decoded.event.budget().is_some(),
                usage.get("max_context_window").is_some(),
                "{usage}"
            );
        }
    }

    #[test]
    fn what_was_not_given_and_what_kodelet_does_not_have_stays_absent() {
        let mut context = Context::new("c", "/w");
        context.recipe_name = Some(String::new());
        context.agent = Some("a".to_owned());
        context.branch = Some("b".to_owned());
        let context = Arc::new(context);
        let mut result = ToolResult::new(ToolCall::new("", Value::Null), Value::Null);
        result.duration_ms = Some(5);
        for data in [
            EventData::UserMessageSend { message: None },
            EventData::BeforeToolCall(ToolCall::new("", Value::Null)),
            EventData::AfterToolCall(result),
            EventData::AfterTurn(AfterTurn { messages: json!([]).into(), ..AfterTurn::default() }),
            EventData::AgentStop(AgentStop { follow_ups: 3, ..AgentStop::default() }),
            EventData::OnBudgetExceeded { usage: None, threshold: Some(f64::NAN) },
        ] {
            let payload = encode(&Event { context: Arc::clone(&context), data });
            let names: Vec<_> = payload.as_object().unwrap().keys().collect();
            assert_eq!(names, ["event", "conv_id", "cwd", "invoked_by"]);
        }
    }

    #[test]
    fn a_whole_event_is_read_as_it_was_written() {
        let mut context = Context::new("c", "/w");
        context.invoked_by = crate::event::InvokedBy::Subagent;
        context.recipe_name = Some("r".to_owned());
        context.agent = Some("a".to_owned());
        context.repository = Some("o/r".to_owned());
        context.branch = Some("b".to_owned());
        context.mode = Some("plan".to_owned());
        context.timestamp_ms = 1_745_779_351_123;
        context.budget = Some(crate::event::TokenBudget { used_tokens: 5, effective_limit: 10 });
        let context = Arc::new(context);
        let messages = json!([{"role": "user", "content": "q"}]);
        let mut result = ToolResult::new(ToolCall::new("bash", json!({"command": "ls"})), json!("out"));
        result.success = Some(false);
        result.error = Some("e".to_owned());
        (result.duration_ms, result.exit_status, result.cost_tokens) = (Some(5), Some(-1), Some(7));
        for data in [
            EventData::SessionStart { source: Some("startup".into()) },
            EventData::BeforeToolCall(ToolCall::new("bash", json!({"command": "ls"})).with_id("t")),
            EventData::AfterToolCall(result),
            EventData::AfterTurn(AfterTurn { messages: messages.clone().into(), ..AfterTurn::default() }),
            EventData::AgentStop(AgentStop {
                messages: messages.into(),
                follow_ups: 3,
                invoked_recipe: Some("r".to_owned()),
                ..AgentStop::default()
            }),
            EventData::OnBudgetExceeded { usage: None, threshold: Some(0.7) },
            EventData::Other { name: "notification".into(), data: Map::from_iter([("n".into(), json!(1))]) },
        ] {
            let event = Event { context: Arc::clone(&context), data };
            let Value::Object(written) = encode_whole(&event) else { panic!("no object") };
            assert_eq!(decode(&event.name(), written, &Context::new("-", "-")).unwrap().event, event);
        }
    }

    #[test]
    fn invoked_recipe_and_recipe_name_are_one_value() {
        for (recipe, invoked) in
            [(Some("r"), None), (None, Some("r")), (Some("r"), Some("")), (Some("x"), Some("r"))]
        {
            let mut context = Context::new("c", "/w");
            context.recipe_name = recipe.map(str::to_owned);
            let stop = AgentStop { invoked_recipe: invoked.map(str::to_owned), ..AgentStop::default() };
            let payload = encode(&Event { context: Arc::new(context), data: EventData::AgentStop(stop) });
            assert_eq!((&payload["recipe_name"], &payload["invoked_recipe"]), (&json!("r"), &json!("r")));
        }
    }

    #[test]
    fn an_event_that_kodelet_does_not_have_carries_its_data_under_plain_names() {
        let context = Arc::new(Context::new("c", "/w"));
        let error = |source| {
            EventData::OnError(ErrorEvent { source, message: "m".into(), kind: None, attempt: Some(1) })
        };
        let sly = json!({"event": "x", "conv_id": "x", "n": 1}).as_object().unwrap().clone();
        for (data, want) in [
            (
                error(ErrorSource::Tool(ToolCall::new("bash", json!("x")))),
                r#""source":"tool","tool_name":"bash","tool_input":"x","error":"m","attempt":1}"#,
            ),
            (
                error(ErrorSource::Turn(Some(2))),
                r#""source":"turn","turn_number":2,"error":"m","attempt":1}"#,
            ),
            (error(ErrorSource::Hook("h".into())), r#""source":"hook","hook":"h","error":"m","attempt":1}"#),
            (
                EventData::PostCompact {
                    trigger: Some("auto".into()),
                    summary: Some("s".into()),
                    usage: None,
                },
                r#""trigger":"auto","summary":"s"}"#,
            ),
            (
                EventData::Other { name: "notification".into(), data: sly },
                r#""event":"notification","conv_id":"c","cwd":"/w","invoked_by":"main","n":1}"#,
            ),
        ] {
            let text = encode(&Event { context: Arc::clone(&context), data }).to_string();
            assert!(text.ends_with(want), "{text}");
        }
    }
}
