//! Claude Code. A changed output needs the shape of the tool's own; a block after a tool call stands beside the output.

use serde_json::{Map, Value, json};

use crate::agent::event::Fate::{Blocks, Honoured, LeftOut, Told};
use crate::agent::reply::{context, decision, object, permission, specific, stop};
use crate::agent::translation::{Plan, Ruled};
use crate::agent::{AgentEvent, Fate};

/// Claude Code's events.
pub(crate) const EVENTS: [AgentEvent; 14] = [
    AgentEvent::new("SessionStart", "session_start").inject(Honoured),
    AgentEvent::new("SessionEnd", "session_end"),
    AgentEvent::new("UserPromptSubmit", "user_message_send").block(Honoured).modify(Blocks).inject(Honoured),
    before(Honoured, Honoured, Honoured),
    AgentEvent::new("PostToolUse", "after_tool_call").block(Honoured).modify(Honoured).inject(Honoured),
    AgentEvent::new("PostToolUseFailure", "on_error").modify(Told).inject(Honoured),
    AgentEvent::new("StopFailure", "on_error").modify(LeftOut).inject(LeftOut),
    AgentEvent::new("PostToolBatch", "after_turn").inject(Honoured),
    AgentEvent::new("Stop", "agent_stop").follow_up(Honoured),
    AgentEvent::new("SubagentStop", "agent_stop").follow_up(Honoured),
    AgentEvent::new("PreCompact", "pre_compact").block(Honoured).inject(LeftOut),
    AgentEvent::new("PostCompact", "post_compact").inject(LeftOut),
    AgentEvent::new("PermissionRequest", "permission_request").block(Honoured),
    AgentEvent::new("Notification", "notification"),
];

/// `PreToolUse`, which every agent of this kind can block.
pub(crate) const fn before(ask: Fate, modify: Fate, inject: Fate) -> AgentEvent {
    AgentEvent::new("PreToolUse", "before_tool_call").block(Honoured).ask(ask).modify(modify).inject(inject)
}

pub(crate) fn write(event: &AgentEvent, plan: &Plan) -> Map<String, Value> {
    if let Some(message) = &plan.follow_up {
        return decision("block", message);
    }
    let is_before = event.event == "before_tool_call";
    let changed = |name: &str| plan.changed.iter().map(|value| (name.to_owned(), value.clone())).collect();
    let changed: Map<String, Value> = changed(if is_before { "updatedInput" } else { "updatedToolOutput" });
    match &plan.ruled {
        Ruled::Stop(reason) => stop(reason),
        Ruled::Block(reason) if is_before => specific(event, permission("deny", reason)),
        Ruled::Block(reason) if event.event == "permission_request" => {
            let decision = json!({"behavior": "deny", "message": reason});
            specific(event, object([("decision", decision)]))
        }
        Ruled::Block(reason) => {
            let mut answer = decision("block", reason);
            answer.extend(specific(event, changed));
            answer
        }
        Ruled::Ask(reason) => {
            let mut fields = permission("ask", reason);
            fields.extend(changed);
            fields.extend(context(plan));
            specific(event, fields)
        }
        Ruled::Pass => {
            let mut fields = changed;
            fields.extend(context(plan));
            specific(event, fields)
        }
    }
}

/// An input that replaces the agent's own only together with `allow`.
pub(crate) fn allowed(input: &Value) -> Map<String, Value> {
    object([("permissionDecision", json!("allow")), ("updatedInput", input.clone())])
}
