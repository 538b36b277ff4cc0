//! The answers to Qwen Code. It changes no input. After a tool call, and after a batch with a failed call, it
//! knows only `continue: false`, whose reason replaces the output.

use serde_json::{Map, Value};

use crate::agent::event::{AgentEvent, EventKind};
use crate::agent::json::{context, decision, denied, permission, specific, stop};
use crate::agent::plan::{Decision, Plan};

pub(super) fn write(event: &AgentEvent, plan: &Plan) -> Map<String, Value> {
    match &plan.decision {
        Decision::Ask(reason) => specific(event, permission("ask", reason)),
        Decision::Block(reason) | Decision::Stop(reason) => match event.event {
            EventKind::BeforeToolCall => specific(event, permission("deny", reason)),
            EventKind::PermissionRequest => denied(event, reason),
            EventKind::AfterToolCall | EventKind::AfterTurn => stop(reason),
            _ => decision("block", reason),
        },
        Decision::Pass => specific(event, context(plan)),
    }
}
