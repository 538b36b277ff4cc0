//! The answers to Gemini CLI. It does not know `permissionDecision`: a block is a `decision`. It puts a
//! changed input over its own.

use serde_json::{Map, Value};

use crate::agent::event::{AgentEvent, EventKind};
use crate::agent::json::{context, decision, optional, specific};
use crate::agent::plan::{Decision, Plan};

pub(super) fn write(event: &AgentEvent, plan: &Plan) -> Map<String, Value> {
    match &plan.decision {
        Decision::Ask(reason) => {
            // It shows this text with its question, and not the reason.
            let mut answer = decision("ask", reason);
            answer.insert("systemMessage".to_owned(), reason.as_str().into());
            answer
        }
        Decision::Block(reason) | Decision::Stop(reason) => match event.event {
            EventKind::BeforeToolCall | EventKind::UserMessageSend => decision("deny", reason),
            _ => decision("block", reason),
        },
        Decision::Pass => {
            let mut fields = optional("tool_input", plan.changed.clone());
            fields.extend(context(plan));
            specific(event, fields)
        }
    }
}
