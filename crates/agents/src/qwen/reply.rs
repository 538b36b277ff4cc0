//! Qwen Code: Claude Code's names of the events and Gemini's of the tools. It changes no input. After a tool call it
//! knows `continue: false` only, whose reason stands in the output's place.

use serde_json::{Map, Value};

use crate::agent::AgentEvent;
use crate::agent::event::Fate::{Blocks, Honoured, LeftOut, Told};
use crate::agent::reply::{context, decision, permission, specific, stop};
use crate::agent::translation::{Plan, Ruled};
use crate::claude::reply::before;

/// Qwen Code's events.
pub(crate) const EVENTS: [AgentEvent; 13] = [
    AgentEvent::new("SessionStart", "session_start").inject(Honoured),
    AgentEvent::new("SessionEnd", "session_end"),
    AgentEvent::new("UserPromptSubmit", "user_message_send").block(Honoured).modify(Blocks).inject(Honoured),
    before(Honoured, Blocks, LeftOut),
    AgentEvent::new("PostToolUse", "after_tool_call").block(Honoured).modify(Blocks).inject(Honoured),
    AgentEvent::new("PostToolUseFailure", "on_error").modify(Told).inject(Honoured),
    AgentEvent::new("PostToolBatch", "after_turn").inject(Honoured),
    AgentEvent::new("Stop", "agent_stop").follow_up(Honoured),
    AgentEvent::new("SubagentStop", "agent_stop").follow_up(Honoured),
    AgentEvent::new("PreCompact", "pre_compact").block(LeftOut).inject(LeftOut),
    AgentEvent::new("PostCompact", "post_compact").inject(LeftOut),
    AgentEvent::new("PermissionRequest", "permission_request").block(LeftOut),
    AgentEvent::new("Notification", "notification"),
];

pub(crate) fn write(event: &AgentEvent, plan: &Plan) -> Map<String, Value> {
    if let Some(message) = &plan.follow_up {
        return decision("block", message);
    }
    match &plan.ruled {
        Ruled::Ask(reason) => specific(event, permission("ask", reason)),
        Ruled::Block(reason) | Ruled::Stop(reason) => match event.event {
            "before_tool_call" => specific(event, permission("deny", reason)),
            "after_tool_call" => stop(reason),
            _ => decision("block", reason),
        },
        Ruled::Pass => specific(event, context(plan)),
    }
}
