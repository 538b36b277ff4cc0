//! Gemini CLI. It does not know `permissionDecision`: a block is a `decision`. It puts a changed input over its own.

use serde_json::{Map, Value};

use crate::agent::AgentEvent;
use crate::agent::event::Fate::{Blocks, Honoured, LeftOut};
use crate::agent::reply::{context, decision, specific};
use crate::agent::translation::{Plan, Ruled};

/// Gemini CLI's events.
pub(crate) const EVENTS: [AgentEvent; 9] = [
    AgentEvent::new("SessionStart", "session_start").inject(Honoured),
    AgentEvent::new("SessionEnd", "session_end"),
    AgentEvent::new("BeforeAgent", "user_message_send").block(Honoured).modify(Blocks).inject(Honoured),
    AgentEvent::new("BeforeTool", "before_tool_call")
        .block(Honoured)
        .ask(Honoured)
        .modify(Honoured)
        .inject(LeftOut),
    AgentEvent::new("AfterTool", "after_tool_call").block(Honoured).modify(Blocks).inject(Honoured),
    AgentEvent::new("AfterModel", "after_turn").inject(LeftOut),
    AgentEvent::new("AfterAgent", "agent_stop").follow_up(Honoured),
    AgentEvent::new("PreCompress", "pre_compact").block(LeftOut).inject(LeftOut),
    AgentEvent::new("Notification", "notification"),
];

pub(crate) fn write(event: &AgentEvent, plan: &Plan) -> Map<String, Value> {
    if let Some(message) = &plan.follow_up {
        return decision("block", message);
    }
    match &plan.ruled {
        Ruled::Ask(reason) => decision("ask", reason),
        Ruled::Block(reason) | Ruled::Stop(reason) => match event.event {
            "before_tool_call" | "user_message_send" => decision("deny", reason),
            _ => decision("block", reason),
        },
        Ruled::Pass => {
            let mut fields: Map<String, Value> =
                plan.changed.iter().map(|input| ("tool_input".to_owned(), input.clone())).collect();
            fields.extend(context(plan));
            specific(event, fields)
        }
    }
}
