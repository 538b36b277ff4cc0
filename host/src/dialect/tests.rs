use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::event::{
    AfterTurn, AgentStop, Document, ErrorEvent, ErrorSource, EventData, InvokedBy, TokenBudget, ToolCall,
    ToolResult, Usage,
};

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

#[test]
fn an_object_with_a_hook_is_an_envelope_unless_it_names_the_hook_that_failed() {
    use EventName::{BeforeToolCall, OnError};
    for (name, payload, want) in [
        (BeforeToolCall, json!({}), Dialect::Kodelet),
        (BeforeToolCall, json!({"hook": null, "tool_name": "bash"}), Dialect::Kodelet),
        (BeforeToolCall, json!({"hook": "PreToolUse"}), Dialect::BaseCoat),
        (BeforeToolCall, json!({"hook": "SessionEnd"}), Dialect::BaseCoat),
        (BeforeToolCall, json!({"hook": 5}), Dialect::BaseCoat),
        (OnError, json!({"hook": "OnError", "error": {"message": "m"}}), Dialect::BaseCoat),
        (OnError, json!({"hook": "guard", "error": "m"}), Dialect::Kodelet),
        (OnError, json!({"event": "on_error", "hook": "on_error"}), Dialect::Kodelet),
    ] {
        assert_eq!(Dialect::of(&name, &object(payload.clone())), want, "{name} {payload}");
    }
}

fn usage() -> Usage {
    Usage { input_tokens: 1, current_context_window: 8, max_context_window: 10, ..Usage::default() }
}

/// Every event with all of its data.
fn full() -> Vec<EventData> {
    let text = |text: &str| Some(text.to_owned());
    let call = || ToolCall::new("bash", json!({"command": "ls"})).with_id("t");
    let result = ToolResult {
        success: Some(true),
        duration_ms: Some(5),
        exit_status: Some(0),
        cost_tokens: Some(7),
        ..ToolResult::new(call(), json!("out"))
    };
    let messages: Document = json!([{"role": "user", "content": "q"}]).into();
    vec![
        EventData::SessionStart { source: text("resume") },
        EventData::SessionEnd { reason: text("exit") },
        EventData::UserMessageSend { message: text("hi") },
        EventData::BeforeToolCall(call()),
        EventData::AfterToolCall(result),
        EventData::OnError(ErrorEvent {
            source: ErrorSource::Tool(call()),
            message: "m".to_owned(),
            kind: text("k"),
            attempt: Some(2),
        }),
        EventData::AfterTurn(AfterTurn {
            turn_number: Some(3),
            tools_used: Some(true),
            usage: Some(usage()),
            auto_compact_enabled: Some(true),
            auto_compact_threshold: Some(0.8),
            messages: messages.clone(),
        }),
        EventData::TurnEnd { response: text("done"), turn_number: Some(3) },
        EventData::AgentStop(AgentStop {
            messages: messages.clone(),
            usage: Some(usage()),
            invoked_recipe: text("r"),
            auto_compact_enabled: Some(true),
            auto_compact_threshold: Some(0.8),
            follow_ups: 1,
        }),
        EventData::PreCompact { trigger: text("auto"), usage: Some(usage()), messages },
        EventData::PostCompact { trigger: text("auto"), summary: text("s"), usage: Some(usage()) },
        EventData::OnBudgetExceeded { usage: Some(usage()), threshold: Some(0.8) },
    ]
}

/// Every event without any data.
fn empty() -> Vec<EventData> {
    let call = || ToolCall::new("", Value::Null);
    let error =
        ErrorEvent { source: ErrorSource::Turn(None), message: String::new(), kind: None, attempt: None };
    vec![
        EventData::SessionStart { source: None },
        EventData::SessionEnd { reason: None },
        EventData::UserMessageSend { message: None },
        EventData::BeforeToolCall(call()),
        EventData::AfterToolCall(ToolResult::new(call(), Value::Null)),
        EventData::OnError(error),
        EventData::AfterTurn(AfterTurn::default()),
        EventData::TurnEnd { response: None, turn_number: None },
        EventData::AgentStop(AgentStop::default()),
        EventData::PreCompact { trigger: None, usage: None, messages: Document::absent() },
        EventData::PostCompact { trigger: None, summary: None, usage: None },
        EventData::OnBudgetExceeded { usage: None, threshold: None },
    ]
}

#[test]
fn every_event_is_written_with_all_of_its_data_in_both_dialects() {
    let mut context = Context::new("c", "/w");
    context.recipe_name = Some("r".to_owned());
    context.invoked_by = InvokedBy::Subagent;
    context.agent = Some("a".to_owned());
    context.repository = Some("o/r".to_owned());
    context.branch = Some("b".to_owned());
    context.mode = Some("plan".to_owned());
    context.timestamp_ms = 1_745_779_351_000;
    context.budget = Some(TokenBudget { used_tokens: 8, effective_limit: 10 });
    let context = Arc::new(context);
    let kodelet = [
        r#""source":"resume""#,
        r#""reason":"exit""#,
        r#""message":"hi""#,
        r#""tool_name":"bash","tool_input":{"command":"ls"},"tool_user_id":"t""#,
        r#""tool_name":"bash","tool_input":{"command":"ls"},"tool_output":"out","tool_user_id":"t""#,
        r#""source":"tool","tool_name":"bash","tool_input":{"command":"ls"},"tool_user_id":"t","error":"m","kind":"k","attempt":2"#,
        r#""turn_number":3,"tools_used":true,"usage":USAGE,"auto_compact_enabled":true,"auto_compact_threshold":0.8"#,
        r#""response":"done","turn_number":3"#,
        r#""messages":[{"role":"user","content":"q"}],"usage":USAGE,"invoked_recipe":"r","auto_compact_enabled":true,"auto_compact_threshold":0.8"#,
        r#""trigger":"auto","usage":USAGE,"messages":[{"role":"user","content":"q"}]"#,
        r#""trigger":"auto","summary":"s","usage":USAGE"#,
        r#""usage":USAGE,"threshold":0.8"#,
    ];
    let base_coat = [
        Some(r#""source":"resume""#),
        Some(r#""reason":"exit""#),
        None,
        Some(r#""tool":{"name":"bash","input":{"command":"ls"}}"#),
        Some(
            r#""tool":{"name":"bash","input":{"command":"ls"},"output":"out","success":true,"durationMs":5,"exitStatus":0,"costTokens":7}"#,
        ),
        Some(
            r#""source":"tool","tool":{"name":"bash","input":{"command":"ls"}},"error":{"message":"m","kind":"k","attempt":2}"#,
        ),
        None,
        None,
        None,
        Some(r#""trigger":"auto","messages":[{"role":"user","content":"q"}]"#),
        Some(r#""trigger":"auto","summary":"s""#),
        Some(r#""threshold":0.8"#),
    ];
    let tokens = r#"{"input_tokens":1,"output_tokens":0,"current_context_window":8,"max_context_window":10}"#;
    for ((data, want), envelope) in full().into_iter().zip(kodelet).zip(base_coat) {
        let event = Event { context: Arc::clone(&context), data };
        let name = event.name();
        let want = want.replace("USAGE", tokens);
        assert_eq!(
            kodelet::encode(&event).to_string(),
            format!(
                r#"{{"event":"{name}","conv_id":"c","cwd":"/w","invoked_by":"subagent","recipe_name":"r",{want}}}"#
            )
        );
        let want = envelope.map(|rest| {
            let hook = name.base_coat().unwrap();
            format!(
                r#"{{"hook":"{hook}","timestamp":"2025-04-27T18:42:31Z","sessionId":"c","agent":"a","repository":"o/r","branch":"b","mode":"plan","budget":{{"usedTokens":8,"effectiveLimit":10}},{rest}}}"#
            )
        });
        assert_eq!(base_coat::encode(&event).map(|found| found.to_string()), want);
    }
}

#[test]
fn what_an_event_was_not_given_stays_absent_in_both_dialects() {
    let mut context = Context::new("", "/w");
    context.timestamp_ms = 1_745_779_351_000;
    let context = Arc::new(context);
    for data in empty() {
        let event = Event { context: Arc::clone(&context), data };
        let name = event.name();
        // A failed turn is recognised even if its number is absent.
        let rest = if name == EventName::OnError { r#","source":"turn""# } else { "" };
        let kodelet = kodelet::encode(&event).to_string();
        let want = format!(r#"{{"event":"{name}","conv_id":"","cwd":"/w","invoked_by":"main"{rest}"#);
        assert!(kodelet.starts_with(&want) && kodelet.len() < want.len() + 15, "{kodelet}");
        let Some(envelope) = base_coat::encode(&event) else {
            assert_eq!(name.base_coat(), None);
            continue;
        };
        let rest = match name {
            EventName::BeforeToolCall | EventName::AfterToolCall => r#","tool":{}"#,
            EventName::OnError => r#","source":"turn","error":{"message":""}"#,
            _ => "",
        };
        let hook = name.base_coat().unwrap();
        assert_eq!(
            envelope.to_string(),
            format!(r#"{{"hook":"{hook}","timestamp":"2025-04-27T18:42:31Z"{rest}}}"#)
        );
    }
}
