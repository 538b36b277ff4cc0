//! The answers to Kimi Code, which reads `permissionDecision: "deny"` at each event that it waits for, and
//! `message` at `UserPromptSubmit`. There it gives its model any other output as well.

use serde_json::{Map, Value};

use crate::agent::event::{AgentEvent, EventKind};
use crate::agent::json::{optional, permission, specific};
use crate::agent::plan::{Decision, Plan};

pub(super) fn write(event: &AgentEvent, plan: &Plan) -> Map<String, Value> {
    match &plan.decision {
        Decision::Block(reason) | Decision::Ask(reason) | Decision::Stop(reason) => deny(event, reason),
        Decision::Pass if event.event == EventKind::UserMessageSend => {
            optional("message", plan.context.as_deref())
        }
        Decision::Pass => Map::new(),
    }
}

/// Returns a block. At `Stop` the agent goes on with its reason.
pub(super) fn deny(event: &AgentEvent, reason: &str) -> Map<String, Value> {
    specific(event, permission("deny", reason))
}
