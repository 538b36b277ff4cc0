//! OpenAI's chat completions, which Qwen Code, Copilot CLI, OpenCode, Kimi Code, Cline, Pi and the later ones speak.

use serde_json::{Value, json};

use super::{Answer, Asked, Turn, Wish, list, stream, whole};

fn tool(it: &Value) -> Option<(&str, &Value)> {
    let function = it.get("function")?;
    Some((function.get("name")?.as_str()?, function.get("parameters")?))
}

pub(super) fn answer(body: &Value, wish: &Wish, streams: bool) -> Answer {
    let asked = Asked {
        tools: list(body, "tools").filter_map(tool).collect(),
        results: list(body, "messages")
            .filter(|it| it.get("role").is_some_and(|role| role == "tool"))
            .count(),
    };
    let (message, reason) = match asked.turn(wish) {
        Turn::Call { name, input } => {
            let function = json!({"name": name, "arguments": input.to_string()});
            let call = json!({"index": 0, "id": format!("call_{}", asked.results), "type": "function", "function": function});
            (json!({"role": "assistant", "content": null, "tool_calls": [call]}), "tool_calls")
        }
        Turn::Say(text) => (json!({"role": "assistant", "content": text}), "stop"),
    };
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15});
    let part = |kind: &str, choices: Value| json!({"id": "c0", "object": kind, "created": 1, "model": "mock-model", "choices": choices, "usage": usage});
    if !streams {
        let choices = json!([{"index": 0, "message": message, "finish_reason": reason}]);
        return whole(&part("chat.completion", choices));
    }
    let kind = "chat.completion.chunk";
    let events = [
        part(kind, json!([{"index": 0, "delta": message, "finish_reason": null}])),
        part(kind, json!([{"index": 0, "delta": {}, "finish_reason": reason}])),
    ];
    stream(&events, false, "data: [DONE]\n\n")
}
