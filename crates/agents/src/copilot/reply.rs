//! The answers to Copilot CLI in two styles. A camelCase name of the event in its configuration asks for flat
//! fields, a PascalCase one for Claude Code's in the decision about a tool call. Text for the model and a
//! changed output are flat in both.

use serde_json::{Map, Value, json};

use crate::agent::event::{AgentEvent, EventKind, is_pascal};
use crate::agent::json::{allowed, context, decision, denial, optional, permission, specific};
use crate::agent::plan::{Decision, Plan};

pub(super) fn write(event: &AgentEvent, plan: &Plan) -> Map<String, Value> {
    let is_pascal = is_pascal(event.name);
    let decided = |fields| if is_pascal { specific(event, fields) } else { fields };
    let result = |output| optional("modifiedResult", Some(output));
    let mut answer = match (&plan.decision, event.event) {
        (Decision::Block(reason) | Decision::Stop(reason), EventKind::BeforeToolCall) => {
            return decided(permission("deny", reason));
        }
        // It knows no block there: the reason replaces the output.
        (Decision::Block(reason) | Decision::Stop(reason), EventKind::AfterToolCall) => {
            return result(json!({"resultType": "success", "textResultForLlm": reason}));
        }
        // Its answer is flat in both styles.
        (Decision::Block(reason) | Decision::Stop(reason), EventKind::PermissionRequest) => {
            return denial(reason);
        }
        (Decision::Block(reason) | Decision::Stop(reason), _) => return decision("block", reason),
        (Decision::Ask(reason), _) => decided(permission("ask", reason)),
        (Decision::Pass, EventKind::BeforeToolCall) => {
            let key = if is_pascal { "updatedInput" } else { "modifiedArgs" };
            let mut fields = allowed(plan);
            fields.extend(optional(key, plan.changed.clone()));
            decided(fields)
        }
        (Decision::Pass, _) => plan.changed.clone().map(result).unwrap_or_default(),
    };
    answer.extend(context(plan));
    answer
}
