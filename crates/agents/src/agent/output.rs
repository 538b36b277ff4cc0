//! What a hook changed, in the form that an agent takes.

use serde_json::{Map, Value, json};

use super::Agent;

/// Stands where a hook took out everything: an agent ignores a block without a reason.
const TAKEN_OUT: &str = "(a hook took the output out)";

/// How a changed output reaches the model.
pub(super) enum Fit {
    /// As the new output.
    Whole(Value),
    /// As the reason of a block, which stands in the output's place.
    Reason(String),
    /// Not at all, and the agent must not go on with the old one.
    Stops,
    /// Beside the old one.
    Told(String),
}

/// Whether the agent runs the tool with this input, and not with another.
pub(super) fn takes_input(agent: Agent, was: &Value, new: &Value) -> bool {
    let Value::Object(new) = new else { return false };
    let none = Map::new();
    let was = was.as_object().unwrap_or(&none);
    match agent {
        // It puts the new fields over the old ones, so that none can be taken away.
        Agent::Gemini => was.keys().all(|field| new.contains_key(field)),
        // It asks its shell tool for the line.
        Agent::Codex => !was.contains_key("command") || new.get("command").is_some_and(Value::is_string),
        _ => true,
    }
}

/// The changed output of the tool as the agent takes it.
pub(super) fn fit(agent: Agent, tool: &str, was: &Value, new: &Value) -> Fit {
    match agent {
        Agent::Claude => shaped(was, new).map_or(Fit::Stops, Fit::Whole),
        Agent::Codex | Agent::Gemini | Agent::Qwen => Fit::Reason(filled(new)),
        Agent::Copilot => Fit::Whole(json!({"resultType": "success", "textResultForLlm": text(new)})),
        Agent::Cursor if tool.starts_with("MCP:") => {
            let is_result = new.get("content").is_some_and(Value::is_array);
            Fit::Whole(if is_result { new.clone() } else { text(new).into() })
        }
        Agent::Cursor => Fit::Told(filled(new)),
        Agent::OpenCode => Fit::Whole(text(new).into()),
    }
}

/// The new output in the shape of the old one, which is the only one that Claude Code takes; `None` where nobody can say
/// which part of it the new one is.
fn shaped(was: &Value, new: &Value) -> Option<Value> {
    if same_shape(was, new) {
        return Some(new.clone());
    }
    match was {
        Value::Null | Value::String(_) => Some(text(new).into()),
        Value::Array(_) => Some(json!([{"type": "text", "text": text(new)}])),
        Value::Object(was) if was.get("stdout").is_some_and(Value::is_string) => {
            let mut shaped = was.clone();
            shaped.insert("stdout".to_owned(), text(new).into());
            if let Some(stderr) = shaped.get_mut("stderr") {
                *stderr = json!("");
            }
            Some(Value::Object(shaped))
        }
        _ => None,
    }
}

fn same_shape(was: &Value, new: &Value) -> bool {
    match (was, new) {
        (Value::Object(was), Value::Object(new)) => {
            was.len() == new.len()
                && was.iter().all(|(field, was)| {
                    new.get(field).is_some_and(|new| was.is_null() || same_type(was, new))
                })
        }
        (Value::Array(_), Value::Array(new)) => {
            new.iter().all(|part| part.get("type").is_some_and(Value::is_string))
        }
        (Value::String(_), Value::String(_)) => true,
        _ => false,
    }
}

fn same_type(was: &Value, new: &Value) -> bool {
    std::mem::discriminant(was) == std::mem::discriminant(new)
}

fn filled(new: &Value) -> String {
    Some(text(new)).filter(|text| !text.trim().is_empty()).unwrap_or_else(|| TAKEN_OUT.to_owned())
}

/// An output as text: what the agents give their models of it, else the JSON.
fn text(output: &Value) -> String {
    let inner = match output {
        Value::String(text) => return text.clone(),
        Value::Null => return String::new(),
        Value::Array(parts) => return texts(parts).unwrap_or_else(|| output.to_string()),
        Value::Object(object) => ["llmContent", "textResultForLlm", "text_result_for_llm", "content"]
            .iter()
            .find_map(|field| object.get(*field)),
        _ => None,
    };
    match inner {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => texts(parts).unwrap_or_else(|| output.to_string()),
        _ => output.to_string(),
    }
}

/// The texts of the parts, if each of them is one.
fn texts(parts: &[Value]) -> Option<String> {
    let texts: Option<Vec<&str>> =
        parts.iter().map(|part| part.as_str().or_else(|| part.get("text")?.as_str())).collect();
    texts.map(|texts| texts.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claude_code_gets_an_output_in_the_shape_of_the_tool_or_stops() {
        let bash = json!({"stdout": "secret", "stderr": "x", "interrupted": false});
        let clean = json!({"stdout": "clean", "stderr": "", "interrupted": false});
        let write = json!({"type": "create", "filePath": "a", "originalFile": null});
        let written = json!({"type": "create", "filePath": "b", "originalFile": "old"});
        let part = json!([{"type": "text", "text": "clean"}]);
        for (was, new, want) in [
            (&bash, clean.clone(), Some(clean.clone())),
            (&bash, json!("clean"), Some(clean)),
            (
                &bash,
                json!({"a": 1}),
                Some(json!({"stdout": "{\"a\":1}", "stderr": "", "interrupted": false})),
            ),
            (&write, written.clone(), Some(written)),
            (&write, json!("clean"), None),
            (&write, json!({"type": 5, "filePath": "b", "originalFile": null}), None),
            (&part, json!("clean"), Some(part.clone())),
            (&part, part.clone(), Some(part.clone())),
            (&json!("x"), json!({"text": 1}), Some(json!("{\"text\":1}"))),
            (&Value::Null, json!("clean"), Some(json!("clean"))),
        ] {
            assert_eq!(shaped(was, &new), want, "{was} {new}");
        }
    }

    #[test]
    fn an_output_is_told_as_the_text_that_a_model_reads_and_never_as_nothing() {
        for (output, want) in [
            (json!("a"), "a"),
            (json!({"llmContent": "a", "returnDisplay": "b"}), "a"),
            (json!({"llmContent": [{"text": "a"}, {"text": "b"}]}), "a\nb"),
            (json!({"resultType": "success", "textResultForLlm": "a"}), "a"),
            (json!({"content": [{"type": "text", "text": "a"}], "isError": false}), "a"),
            (json!([{"type": "image"}]), "[{\"type\":\"image\"}]"),
            (json!({"summary": 1}), "{\"summary\":1}"),
            (json!(" "), TAKEN_OUT),
            (Value::Null, TAKEN_OUT),
        ] {
            assert_eq!(filled(&output), want, "{output}");
        }
    }

    #[test]
    fn an_input_that_the_agent_would_take_for_another_is_not_taken() {
        let was = json!({"command": "ls", "timeout": 5});
        let less = json!({"command": "pwd"});
        for (agent, new, want) in [
            (Agent::Gemini, &less, false),
            (Agent::Gemini, &json!({"command": "pwd", "timeout": 5, "x": 1}), true),
            (Agent::Codex, &less, true),
            (Agent::Codex, &json!({"cmd": "pwd"}), false),
            (Agent::Claude, &less, true),
            (Agent::Claude, &json!("pwd"), false),
            (Agent::Cursor, &Value::Null, false),
        ] {
            assert_eq!(takes_input(agent, &was, new), want, "{agent} {new}");
        }
    }
}
