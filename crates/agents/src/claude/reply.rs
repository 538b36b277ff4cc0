//! The answers to Claude Code. A changed output needs the shape of the tool's own; a block after a tool call
//! is beside the output.

use serde_json::{Map, Value, json};

use crate::agent::event::{AgentEvent, EventKind};
use crate::agent::json::{allowed, context, decision, denied, optional, permission, specific, stop};
use crate::agent::output::{ChangedOutput, text};
use crate::agent::plan::{Decision, Plan};

pub(super) fn write(event: &AgentEvent, plan: &Plan) -> Map<String, Value> {
    let is_before = event.event == EventKind::BeforeToolCall;
    let key = if is_before { "updatedInput" } else { "updatedToolOutput" };
    let changed = optional(key, plan.changed.clone());
    match &plan.decision {
        Decision::Stop(reason) => stop(reason),
        Decision::Block(reason) if is_before => specific(event, permission("deny", reason)),
        Decision::Block(reason) if event.event == EventKind::PermissionRequest => denied(event, reason),
        Decision::Block(reason) => {
            let mut answer = decision("block", reason);
            answer.extend(specific(event, changed));
            answer
        }
        Decision::Ask(reason) => {
            let mut fields = permission("ask", reason);
            fields.extend(changed);
            fields.extend(context(plan));
            specific(event, fields)
        }
        Decision::Pass => {
            let mut fields = allowed(plan);
            fields.extend(changed);
            fields.extend(context(plan));
            specific(event, fields)
        }
    }
}

/// Returns the new output in the shape of the old one, which is the only one that Claude Code takes.
pub(super) fn changed_output(_tool: &str, was: &Value, new: &Value) -> ChangedOutput {
    shaped(was, new).map_or(ChangedOutput::Stops, ChangedOutput::Whole)
}

/// Returns the new output in the shape of the old one; `None` if it is not clear which part of it the new one
/// is.
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
}
