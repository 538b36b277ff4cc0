//! The answers to Codex. It runs the tool if an answer has one field too many or no reason, and it does not
//! ask its user. So a block is `deny` with a reason, a change is `allow` with the input, and nothing else is
//! beside them.

use serde_json::{Map, Value, json};

use crate::agent::effect::{self, Effect};
use crate::agent::event::{AgentEvent, EventKind};
use crate::agent::json::{context, decision, denied, object, permission, specific, stop};
use crate::agent::plan::{Decision, Plan};
use crate::text;

pub(super) fn write(event: &AgentEvent, plan: &Plan) -> Map<String, Value> {
    match &plan.decision {
        Decision::Block(reason) | Decision::Ask(reason) | Decision::Stop(reason) => match event.event {
            EventKind::BeforeToolCall => specific(event, permission("deny", reason)),
            EventKind::PermissionRequest => denied(event, reason),
            EventKind::PreCompact => stop(reason),
            _ => decision("block", reason),
        },
        Decision::Pass => {
            let mut fields = plan.changed.as_ref().map(allowed).unwrap_or_default();
            fields.extend(context(plan));
            specific(event, fields)
        }
    }
}

/// Returns the fields of a changed input, which counts only beside `allow`.
fn allowed(input: &Value) -> Map<String, Value> {
    object([("permissionDecision", json!("allow")), ("updatedInput", input.clone())])
}

/// Returns true if the shell tool gets its line: Codex asks it for one.
pub(super) fn takes_input(was: &Map<String, Value>, new: &Map<String, Value>) -> bool {
    !was.contains_key("command") || new.get("command").is_some_and(Value::is_string)
}

/// Returns the effect of an answer: `deny` with a reason and nothing beside it, or `decision: block` in the
/// same way.
pub(super) fn effect(answer: &Map<String, Value>, specific: Option<&Map<String, Value>>) -> Effect {
    const KNOWN: [&str; 4] = ["decision", "reason", "hookSpecificOutput", "systemMessage"];
    const SPECIFIC: [&str; 3] = ["hookEventName", "permissionDecision", "permissionDecisionReason"];
    let Some(block) = effect::permission(specific).or_else(|| effect::decision(answer, &["block"])) else {
        return Effect::runs("no deny with a reason for this event in what the command printed");
    };
    let Effect::Blocked(reason) = &block else {
        return Effect::runs("Codex asks nobody: it runs what a hook asks about");
    };
    let stray = |fields: &Map<String, Value>, known: &[&str]| {
        fields.keys().find(|name| !known.contains(&name.as_str())).map(|name| text::escape(name, 64))
    };
    let stray = stray(answer, &KNOWN).or_else(|| specific.and_then(|it| stray(it, &SPECIFIC)));
    match stray {
        Some(name) => Effect::runs(format!("Codex throws away a block that has a field {name:?}")),
        None if reason.trim().is_empty() => Effect::runs("Codex throws away a block without a reason"),
        None => block,
    }
}
