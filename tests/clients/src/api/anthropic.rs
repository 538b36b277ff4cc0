//! Anthropic's messages, which Claude Code speaks.

use serde_json::{Value, json};

use super::{Answer, Asked, Turn, Wish, list, stream, whole};

fn tool(it: &Value) -> Option<(&str, &Value)> {
    Some((it.get("name")?.as_str()?, it.get("input_schema")?))
}

pub(super) fn answer(body: &Value, wish: &Wish, streams: bool) -> Answer {
    let is_result = |part: &Value| part.get("type").is_some_and(|kind| kind == "tool_result");
    let asked = Asked {
        tools: list(body, "tools").filter_map(tool).collect(),
        results: list(body, "messages").flat_map(|it| list(it, "content")).filter(|it| is_result(it)).count(),
    };
    let id = format!("toolu_{}", asked.results);
    let (block, empty, delta, reason) = match asked.turn(wish) {
        Turn::Call { name, input } => (
            json!({"type": "tool_use", "id": id, "name": name, "input": input}),
            json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
            json!({"type": "input_json_delta", "partial_json": input.to_string()}),
            "tool_use",
        ),
        Turn::Say(text) => (
            json!({"type": "text", "text": text}),
            json!({"type": "text", "text": ""}),
            json!({"type": "text_delta", "text": text}),
            "end_turn",
        ),
    };
    let message = |content: Value, reason: Value| {
        json!({
            "id": "msg_0", "type": "message", "role": "assistant", "model": "mock-model", "content": content,
            "stop_reason": reason, "stop_sequence": null, "usage": {"input_tokens": 10, "output_tokens": 5},
        })
    };
    if !streams {
        return whole(&message(json!([block]), json!(reason)));
    }
    let events = [
        json!({"type": "message_start", "message": message(json!([]), Value::Null)}),
        json!({"type": "content_block_start", "index": 0, "content_block": empty}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({
            "type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
            "usage": {"output_tokens": 5},
        }),
        json!({"type": "message_stop"}),
    ];
    stream(&events, true, "")
}
