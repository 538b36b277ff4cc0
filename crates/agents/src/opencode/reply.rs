//! OpenCode. It runs no commands at its events, but plugins in JavaScript: `assets/opencode/hookbox.js` is one, which
//! writes and reads the JSON here. The form is our own, so that there is one object in any case, and no field for what
//! OpenCode cannot do.

use serde_json::{Map, Value, json};

use crate::agent::AgentEvent;
use crate::agent::event::Fate::{Blocks, Honoured, LeftOut};
use crate::agent::reply::{decision, object};
use crate::agent::translation::{Plan, Ruled};

/// OpenCode's events: names of hooks of a plugin, and of what its event bus carries.
pub(crate) const EVENTS: [AgentEvent; 11] = [
    AgentEvent::new("session.created", "session_start").inject(Honoured),
    AgentEvent::new("session.deleted", "session_end"),
    AgentEvent::new("dispose", "session_end"),
    AgentEvent::new("chat.message", "user_message_send").block(Honoured).modify(Honoured).inject(Honoured),
    AgentEvent::new("tool.execute.before", "before_tool_call")
        .block(Honoured)
        .ask(Blocks)
        .modify(Honoured)
        .inject(Honoured),
    AgentEvent::new("tool.execute.after", "after_tool_call")
        .block(Honoured)
        .modify(Honoured)
        .inject(Honoured),
    AgentEvent::new("session.error", "on_error").modify(LeftOut).inject(Honoured),
    AgentEvent::new("message.updated", "after_turn").inject(Honoured),
    AgentEvent::new("session.idle", "agent_stop").follow_up(Honoured),
    AgentEvent::new("experimental.session.compacting", "pre_compact").block(LeftOut).inject(Honoured),
    AgentEvent::new("session.compacted", "post_compact").inject(Honoured),
];

pub(crate) fn write(event: &AgentEvent, plan: &Plan) -> Map<String, Value> {
    if let Some(message) = &plan.follow_up {
        return object([("follow_up", json!(message))]);
    }
    let changed = match event.event {
        "before_tool_call" => "input",
        "user_message_send" => "message",
        _ => "output",
    };
    match &plan.ruled {
        Ruled::Block(reason) | Ruled::Ask(reason) | Ruled::Stop(reason) => decision("deny", reason),
        Ruled::Pass => {
            let changed = plan.changed.iter().map(|value| (changed.to_owned(), value.clone()));
            let context = plan.context.iter().map(|text| ("context".to_owned(), json!(text)));
            changed.chain(context).collect()
        }
    }
}
