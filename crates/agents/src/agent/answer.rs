//! The part of a verdict that an agent gets, and the objects that the answers of several agents share.

use serde_json::{Map, Value, json};

use super::event::{AgentEvent, EventKind};

/// The decision about the event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Decision {
    /// It may happen.
    #[default]
    Pass,
    /// It must not happen. The reason is never blank.
    Block(String),
    /// The user decides.
    Ask(String),
    /// The agent has to stop altogether: otherwise it would go on with text that a hook took out.
    Stop(String),
}

/// The answer to an agent. The agent honours each part of it at this event.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Plan {
    pub(crate) decision: Decision,
    /// The reason why the agent need not ask its user about a tool call that passes.
    pub(crate) allowed: Option<String>,
    /// The new input or output.
    pub(crate) changed: Option<Value>,
    /// Text for the model.
    pub(crate) context: Option<String>,
    /// The message with which the agent goes on.
    pub(crate) follow_up: Option<String>,
    pub(crate) warnings: Vec<String>,
    /// Those of the trusted hook that blocks or asks.
    pub(crate) said: Vec<String>,
    /// The code with which the user can allow a blocked tool call.
    pub(crate) code: Option<String>,
}

/// Returns an object of these fields.
pub(crate) fn object<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Returns an object of one field, or an empty one without a value.
pub(crate) fn optional(name: &str, value: Option<impl Into<Value>>) -> Map<String, Value> {
    value.into_iter().map(|value| (name.to_owned(), value.into())).collect()
}

/// Returns `decision` (`block`, or Gemini CLI's `deny`) with its reason.
pub(crate) fn decision(word: &str, reason: &str) -> Map<String, Value> {
    object([("decision", json!(word)), ("reason", json!(reason))])
}

/// Returns `continue: false` with its reason.
pub(crate) fn stop(reason: &str) -> Map<String, Value> {
    object([("continue", json!(false)), ("stopReason", json!(reason))])
}

/// Returns `hookSpecificOutput` with these fields, or an empty object without any.
pub(crate) fn specific(event: &AgentEvent, fields: Map<String, Value>) -> Map<String, Value> {
    if fields.is_empty() {
        return fields;
    }
    let mut specific = object([("hookEventName", json!(event.name))]);
    specific.extend(fields);
    object([("hookSpecificOutput", Value::Object(specific))])
}

/// Returns `permissionDecision` with its reason.
pub(crate) fn permission(word: &str, reason: &str) -> Map<String, Value> {
    object([("permissionDecision", json!(word)), ("permissionDecisionReason", json!(reason))])
}

/// Returns `permissionDecision: allow` with its reason, if a hook allows the call.
pub(crate) fn allowed(plan: &Plan) -> Map<String, Value> {
    plan.allowed.as_deref().map(|reason| permission("allow", reason)).unwrap_or_default()
}

/// Returns `additionalContext`, if there is text for the model.
pub(crate) fn context(plan: &Plan) -> Map<String, Value> {
    optional("additionalContext", plan.context.as_deref())
}

/// Returns the answer to an event that passes: the permission, the new value under this key, and text for the model.
pub(crate) fn passed(event: &AgentEvent, plan: &Plan, key: &str) -> Map<String, Value> {
    let mut fields = allowed(plan);
    fields.extend(optional(key, plan.changed.clone()));
    fields.extend(context(plan));
    specific(event, fields)
}

/// Returns the answer to a plugin of ours.
pub(crate) fn to_plugin(event: &AgentEvent, plan: &Plan) -> Map<String, Value> {
    let key = match event.event {
        EventKind::BeforeToolCall => "input",
        EventKind::UserMessageSend => "message",
        _ => "output",
    };
    match &plan.decision {
        Decision::Ask(reason) => decision("ask", reason),
        Decision::Block(reason) | Decision::Stop(reason) => decision("deny", reason),
        Decision::Pass => {
            let mut answer = optional(key, plan.changed.clone());
            answer.extend(optional("context", plan.context.as_deref()));
            answer
        }
    }
}

/// Returns the text of a field; empty if it has none.
pub(crate) fn text_of<'a>(fields: &'a Map<String, Value>, name: &str) -> &'a str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the denial of a permission that the agent would ask its user for.
pub(crate) fn denial(reason: &str) -> Map<String, Value> {
    object([("behavior", json!("deny")), ("message", json!(reason))])
}

/// Returns the denial of a permission as the decision for an event.
pub(crate) fn denied(event: &AgentEvent, reason: &str) -> Map<String, Value> {
    specific(event, object([("decision", denial(reason).into())]))
}
