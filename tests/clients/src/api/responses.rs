//! OpenAI's Responses, which Codex speaks.

use serde_json::{Value, json};

use super::{Answer, Asked, Turn, Wish, list, stream, whole};

pub(super) fn answer(body: &Value, wish: &Wish, streams: bool) -> Answer {
    let all: Vec<&Value> = list(body, "tools")
        .flat_map(|tool| match tool.get("type").and_then(Value::as_str) {
            Some("namespace") => list(tool, "tools").collect(),
            _ => vec![tool],
        })
        .collect();
    let is_result = |item: &Value| {
        item.get("type").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("call_output"))
    };
    let asked = Asked {
        tools: all
            .iter()
            .filter_map(|tool| Some((tool.get("name")?.as_str()?, tool.get("parameters")?)))
            .collect(),
        results: list(body, "input").filter(|it| is_result(it)).count(),
    };
    let id = format!("call_{}", asked.results);
    let runs_javascript = all.iter().any(|tool| tool["type"] == "custom" && tool["name"] == "exec");
    let javascript = wish.lines.get(asked.results).filter(|_| runs_javascript);
    let item = match (javascript, asked.turn(wish)) {
        (Some(line), _) => json!({
            "type": "custom_tool_call", "id": "ctc_0", "call_id": id, "name": "exec",
            "input": format!("text(await tools.exec_command({}));", json!({"cmd": line})),
        }),
        (None, Turn::Call { name, input }) => json!({
            "type": "function_call", "id": format!("fc_{}", asked.results), "call_id": id, "name": name,
            "arguments": input.to_string(),
        }),
        (None, Turn::Say(text)) => json!({
            "type": "message", "id": "msg_0", "role": "assistant", "content": [{"type": "output_text", "text": text}],
        }),
    };
    let usage = json!({
        "input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15,
    });
    let response = json!({
        "id": "resp_0", "object": "response", "status": "completed", "output": [item], "usage": usage,
    });
    if !streams {
        return whole(&response);
    }
    let events = [
        json!({"type": "response.created", "response": {"id": "resp_0"}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": response}),
    ];
    stream(&events, true, "")
}
