//! Copilot CLI, in both styles: a camelCase name of the event in its configuration asks for flat fields, a PascalCase one
//! for Claude Code's where a tool call is decided. Text for the model and a changed output are flat in both.

use serde_json::{Map, Value, json};

use crate::agent::event::Fate::{Blocks, Honoured, LeftOut};
use crate::agent::reply::{context, decision, object, permission, specific};
use crate::agent::translation::{Plan, Ruled};
use crate::agent::{AgentEvent, Fate, is_pascal};

/// Copilot CLI's events, each in both styles.
pub(crate) const EVENTS: [AgentEvent; 24] = [
    AgentEvent::new("sessionStart", "session_start").inject(Honoured),
    AgentEvent::new("SessionStart", "session_start").inject(Honoured),
    AgentEvent::new("sessionEnd", "session_end"),
    AgentEvent::new("SessionEnd", "session_end"),
    prompt("userPromptSubmitted"),
    prompt("UserPromptSubmit"),
    before("preToolUse"),
    before("PreToolUse"),
    after("postToolUse"),
    after("PostToolUse"),
    error("postToolUseFailure"),
    error("PostToolUseFailure"),
    error("errorOccurred"),
    error("ErrorOccurred"),
    AgentEvent::new("agentStop", "agent_stop").follow_up(Honoured),
    AgentEvent::new("Stop", "agent_stop").follow_up(Honoured),
    AgentEvent::new("subagentStop", "agent_stop").follow_up(Honoured),
    AgentEvent::new("SubagentStop", "agent_stop").follow_up(Honoured),
    AgentEvent::new("preCompact", "pre_compact").block(LeftOut).inject(LeftOut),
    AgentEvent::new("PreCompact", "pre_compact").block(LeftOut).inject(LeftOut),
    AgentEvent::new("permissionRequest", "permission_request").block(LeftOut),
    AgentEvent::new("PermissionRequest", "permission_request").block(LeftOut),
    AgentEvent::new("notification", "notification"),
    AgentEvent::new("Notification", "notification"),
];

const fn prompt(name: &'static str) -> AgentEvent {
    AgentEvent::new(name, "user_message_send").block(Honoured).modify(Blocks).inject(Honoured)
}

const fn before(name: &'static str) -> AgentEvent {
    let all = Fate::Honoured;
    AgentEvent::new(name, "before_tool_call").block(all).ask(all).modify(all).inject(all)
}

const fn after(name: &'static str) -> AgentEvent {
    AgentEvent::new(name, "after_tool_call").block(Honoured).modify(Honoured).inject(Honoured)
}

const fn error(name: &'static str) -> AgentEvent {
    AgentEvent::new(name, "on_error").modify(LeftOut).inject(LeftOut)
}

pub(crate) fn write(event: &AgentEvent, plan: &Plan) -> Map<String, Value> {
    if let Some(message) = &plan.follow_up {
        return decision("block", message);
    }
    let is_pascal = is_pascal(event.name);
    let decided = |fields| if is_pascal { specific(event, fields) } else { fields };
    let mut answer = match (&plan.ruled, event.event) {
        (Ruled::Block(reason) | Ruled::Stop(reason), "before_tool_call") => {
            return decided(permission("deny", reason));
        }
        // The reason stands in the output's place: it knows no block there.
        (Ruled::Block(reason) | Ruled::Stop(reason), "after_tool_call") => {
            return result(&json!({"resultType": "success", "textResultForLlm": reason}));
        }
        (Ruled::Block(reason) | Ruled::Stop(reason), _) => return decision("block", reason),
        (Ruled::Ask(reason), _) => decided(permission("ask", reason)),
        (Ruled::Pass, "before_tool_call") => {
            let name = if is_pascal { "updatedInput" } else { "modifiedArgs" };
            let changed = plan.changed.iter().map(|input| (name.to_owned(), input.clone()));
            decided(changed.collect())
        }
        (Ruled::Pass, _) => plan.changed.as_ref().map(result).unwrap_or_default(),
    };
    answer.extend(context(plan));
    answer
}

fn result(output: &Value) -> Map<String, Value> {
    object([("modifiedResult", output.clone())])
}
