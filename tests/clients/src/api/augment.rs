//! Augment's service, which Auggie speaks to: its models, with the flag that lets Auggie run hooks, and a conversation in
//! lines of JSON.

use serde_json::{Value, json};

use super::{Answer, Asked, Turn, Wish, list, whole};

pub(super) fn models() -> Answer {
    let model = json!({
        "name": "mock-model", "internal_name": "mock-model", "suggested_prefix_char_count": 1000,
        "suggested_suffix_char_count": 1000,
    });
    whole(&json!({
        "default_model": "mock-model", "models": [model], "languages": [], "feature_flags": {"enable_hooks": true},
        "user_tier": "ENTERPRISE_TIER", "user": {"id": "u", "email": "u@example.com"},
    }))
}

pub(super) fn answer(body: &Value, wish: &Wish) -> Answer {
    let schemas: Vec<(&str, Value)> = list(body, "tool_definitions")
        .filter_map(|it| {
            let schema = it.get("input_schema_json")?.as_str()?;
            Some((it.get("name")?.as_str()?, serde_json::from_str(schema).ok()?))
        })
        .collect();
    let past = list(body, "chat_history").flat_map(|it| list(it, "request_nodes"));
    let asked = Asked {
        tools: schemas.iter().map(|(name, schema)| (*name, schema)).collect(),
        results: past.chain(list(body, "nodes")).filter(|it| it.get("tool_result_node").is_some()).count(),
    };
    let (node, reason) = match asked.turn(wish) {
        Turn::Call { name, input } => {
            let call = json!({
                "tool_use_id": format!("toolu_{}", asked.results), "tool_name": name, "input_json": input.to_string(),
            });
            (json!({"id": 1, "type": 5, "content": "", "tool_use": call}), 3)
        }
        Turn::Say(text) => (json!({"id": 1, "type": 0, "content": text}), 1),
    };
    let text = node.get("content").cloned().unwrap_or_default();
    let mut answer = whole(&json!({"text": text, "nodes": [node], "stop_reason": reason}));
    // A line of the stream ends.
    answer.text.push('\n');
    answer
}
