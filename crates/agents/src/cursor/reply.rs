//! Cursor, by its documentation. `permission: "allow"` would spare the user a question, so it is never written; an
//! answer is always one object, since an empty one counts as a hook that failed.

use serde_json::{Map, Value, json};

use crate::agent::AgentEvent;
use crate::agent::event::Fate::{Blocks, Honoured, LeftOut, Told};
use crate::agent::reply::object;
use crate::agent::translation::{Plan, Ruled};

/// Cursor's events.
pub(crate) const EVENTS: [AgentEvent; 10] = [
    AgentEvent::new("sessionStart", "session_start").inject(Honoured),
    AgentEvent::new("sessionEnd", "session_end"),
    AgentEvent::new("beforeSubmitPrompt", "user_message_send").block(Honoured).modify(Blocks).inject(LeftOut),
    AgentEvent::new("preToolUse", "before_tool_call")
        .block(Honoured)
        .ask(Blocks)
        .modify(Honoured)
        .inject(LeftOut),
    AgentEvent::new("postToolUse", "after_tool_call").block(Told).modify(Told).inject(Honoured),
    AgentEvent::new("postToolUseFailure", "on_error").modify(LeftOut).inject(LeftOut),
    AgentEvent::new("afterAgentResponse", "after_turn").inject(LeftOut),
    AgentEvent::new("stop", "agent_stop").follow_up(Honoured),
    AgentEvent::new("subagentStop", "agent_stop").follow_up(Honoured),
    AgentEvent::new("preCompact", "pre_compact").block(LeftOut).inject(LeftOut),
];

pub(crate) fn write(event: &AgentEvent, plan: &Plan) -> Map<String, Value> {
    if let Some(message) = &plan.follow_up {
        return object([("followup_message", json!(message))]);
    }
    match (&plan.ruled, event.event) {
        (Ruled::Pass, event) => {
            let name = if event == "before_tool_call" { "updated_input" } else { "updated_mcp_tool_output" };
            let changed = plan.changed.iter().map(|value| (name.to_owned(), value.clone()));
            let context = plan.context.iter().map(|text| ("additional_context".to_owned(), json!(text)));
            changed.chain(context).collect()
        }
        (Ruled::Block(reason) | Ruled::Ask(reason) | Ruled::Stop(reason), "user_message_send") => {
            object([("continue", json!(false)), ("user_message", json!(reason))])
        }
        (Ruled::Block(reason) | Ruled::Ask(reason) | Ruled::Stop(reason), _) => object([
            ("permission", json!("deny")),
            ("user_message", json!(reason)),
            ("agent_message", json!(reason)),
        ]),
    }
}
