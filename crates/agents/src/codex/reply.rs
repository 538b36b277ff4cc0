//! Codex. It runs the tool where an answer has a field too many or a reason too few, and has no question: so a block is
//! `deny` with a reason, a change `allow` with the input, and nothing else.

use serde_json::{Map, Value};

use crate::agent::AgentEvent;
use crate::agent::event::Fate::{Blocks, Honoured, LeftOut};
use crate::agent::reply::{context, decision, permission, specific, stop};
use crate::agent::translation::{Plan, Ruled};
use crate::claude::reply::{allowed, before};

/// Codex' events.
pub(crate) const EVENTS: [AgentEvent; 10] = [
    AgentEvent::new("SessionStart", "session_start").inject(Honoured),
    AgentEvent::new("SessionEnd", "session_end"),
    AgentEvent::new("UserPromptSubmit", "user_message_send").block(Honoured).modify(Blocks).inject(Honoured),
    before(Blocks, Honoured, Honoured),
    AgentEvent::new("PostToolUse", "after_tool_call").block(Honoured).modify(Blocks).inject(Honoured),
    AgentEvent::new("Stop", "agent_stop").follow_up(Honoured),
    AgentEvent::new("SubagentStop", "agent_stop").follow_up(Honoured),
    AgentEvent::new("PreCompact", "pre_compact").block(Honoured).inject(LeftOut),
    AgentEvent::new("PostCompact", "post_compact").inject(LeftOut),
    AgentEvent::new("PermissionRequest", "permission_request").block(LeftOut),
];

pub(crate) fn write(event: &AgentEvent, plan: &Plan) -> Map<String, Value> {
    if let Some(message) = &plan.follow_up {
        return decision("block", message);
    }
    match &plan.ruled {
        Ruled::Block(reason) | Ruled::Ask(reason) | Ruled::Stop(reason) => match event.event {
            "before_tool_call" => specific(event, permission("deny", reason)),
            "pre_compact" => stop(reason),
            _ => decision("block", reason),
        },
        Ruled::Pass => {
            let mut fields = plan.changed.as_ref().map(allowed).unwrap_or_default();
            fields.extend(context(plan));
            specific(event, fields)
        }
    }
}
