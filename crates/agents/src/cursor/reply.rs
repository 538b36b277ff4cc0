//! The answers to Cursor, by its documentation. `permission: "allow"` spares the user a question, so it is written
//! only if a hook allows the call. An answer is always one object, because Cursor takes an empty one for a hook that
//! failed.

use serde_json::{Map, Value, json};

use crate::agent::effect::Effect;
use crate::agent::event::{AgentEvent, EventKind};
use crate::agent::json::{object, optional, text_of};
use crate::agent::output::{ChangedOutput, filled, text};
use crate::agent::plan::{Decision, Plan};

pub(super) fn write(event: &AgentEvent, plan: &Plan) -> Map<String, Value> {
    match (&plan.decision, event.event) {
        (Decision::Pass, event) => {
            let is_before = event == EventKind::BeforeToolCall;
            let key = if is_before { "updated_input" } else { "updated_mcp_tool_output" };
            let mut answer = optional("permission", plan.allowed.as_ref().map(|_| "allow"));
            answer.extend(optional(key, plan.changed.clone()));
            answer.extend(optional("additional_context", plan.context.as_deref()));
            answer
        }
        (
            Decision::Block(reason) | Decision::Ask(reason) | Decision::Stop(reason),
            EventKind::UserMessageSend,
        ) => object([("continue", json!(false)), ("user_message", json!(reason))]),
        (Decision::Block(reason) | Decision::Ask(reason) | Decision::Stop(reason), _) => object([
            ("permission", json!("deny")),
            ("user_message", json!(reason)),
            ("agent_message", json!(reason)),
        ]),
    }
}

/// Returns a changed output. Cursor replaces only that of MCP tools.
pub(super) fn changed_output(tool: &str, _was: &Value, new: &Value) -> ChangedOutput {
    if !tool.starts_with("MCP:") {
        return ChangedOutput::Told(filled(new));
    }
    let is_result = new.get("content").is_some_and(Value::is_array);
    ChangedOutput::Whole(if is_result { new.clone() } else { text(new).into() })
}

pub(super) fn effect(answer: &Map<String, Value>) -> Option<Effect> {
    match text_of(answer, "permission") {
        "deny" => Some(Effect::Blocked(text_of(answer, "agent_message").to_owned())),
        "ask" => Some(Effect::Asked(text_of(answer, "user_message").to_owned())),
        _ => None,
    }
}
