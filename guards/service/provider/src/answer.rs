//! Writes an answer as the response envelope of Base Coat.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::bindings::exports::hookbox::hook::types::{Action, Response};

/// Writes the answer to a call, or to the result of one if it is over.
///
/// # Errors
///
/// A changed value that is not JSON, or an answer that a tool call does not allow.
pub(crate) fn write(is_over: bool, response: Response) -> Result<String, String> {
    let Response { action, context, warnings, metadata } = response;
    let mut answer = Map::new();
    let mut put = |name: &str, value: Value| answer.insert(name.to_owned(), value);
    let mut changed = None;
    let word = match action {
        Action::Pass if context.is_empty() => "passThrough",
        Action::Pass => "injectContext",
        Action::Block(reason) => {
            put("reason", reason.into());
            "block"
        }
        Action::Ask(reason) if !is_over => {
            // The envelope has no word for it. hookbox accepts those of Claude Code.
            let question = json!({
                "hookEventName": "PreToolUse",
                "permissionDecision": "ask",
                "permissionDecisionReason": reason,
            });
            put("hookSpecificOutput", question);
            "passThrough"
        }
        Action::Modify(text) => {
            changed = Some(exact("modify", text)?);
            "modify"
        }
        Action::Ask(_) | Action::FollowUp(_) | Action::Mutate(_) | Action::Callback(_) | Action::Allow(_) => {
            return Err("the hook gave an answer that this event does not have".to_owned());
        }
    };
    put("action", word.into());
    for (name, texts) in [("additionalContext", context), ("warnings", warnings)] {
        if !texts.is_empty() {
            put(name, texts.into());
        }
    }
    let metadata = metadata.into_iter().map(|(key, text)| Ok((key, parsed("metadata", &text)?)));
    let metadata = metadata.collect::<Result<Map<_, _>, String>>()?;
    if !metadata.is_empty() {
        put("metadata", metadata.into());
    }
    let mut text = Value::Object(answer).to_string();
    if let Some(value) = changed {
        // Every digit of its numbers counts.
        let name = if is_over { "modifiedOutput" } else { "modifiedInput" };
        text.pop();
        text += &format!(",\"{name}\":{}}}", value.get());
    }
    Ok(text)
}

fn exact(what: &str, text: String) -> Result<Box<RawValue>, String> {
    RawValue::from_string(text).map_err(|error| format!("the hook's {what} is not JSON: {error}"))
}

fn parsed(what: &str, text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("the hook's {what} is not JSON: {error}"))
}
