//! Verdicts of AGENT-HOOKS 0.1, so that a policy that was written as an interceptor runs as a native hook.
//!
//! The contract and its schema: <https://github.com/responsibleai/agent-hooks>.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::dialect::reply::malformed;
use crate::event::{Event, EventData};
use crate::hook::HookError;
use crate::outcome::{Action, Outcome};
use hookbox_system::{json, limits, text};

/// The key of the metadata with what only AGENT-HOOKS knows. The interceptor of the client in Python reads it again.
const METADATA: &str = "agent_hooks";

/// The key of the metadata with the rule that decided.
const RULE: &str = "rule";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Verdict {
    decision: Decision,
    reason: Option<String>,
    message: Option<String>,
    warnings: Option<Vec<Warning>>,
    approval: Option<Map<String, Value>>,
    transform: Option<Transform>,
    evidence: Option<Value>,
    result_labels: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Decision {
    Allow,
    Deny,
    Transform,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Warning {
    reason: Option<String>,
    message: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Transform {
    path: String,
    value: Value,
}

/// Reads a verdict that a native hook printed. `None` for another answer, and for a bare `deny` with its reason, which are
/// the words of several agents.
///
/// `message` is the reason of a block, and `reason` the name of its rule. An `approval` beside `deny` is a question. `$target`
/// is the input before a tool call, the output after one, and `{"content": …}` of a message.
///
/// # Errors
///
/// `malformed_output` for a `transform` that has no value for its place, or that this event does not have.
pub fn outcome(event: &Event, stdout: &[u8]) -> Option<Result<Outcome, HookError>> {
    let Ok(verdict) = serde_json::from_slice::<Verdict>(stdout) else {
        let members = json::object(stdout).ok()?;
        let changes = members.iter().any(|(name, raw)| name == "decision" && raw.get() == "\"transform\"");
        return changes.then(|| Err(malformed("answered a transform that AGENT-HOOKS does not have")));
    };
    if let Verdict {
        decision: Decision::Deny,
        message: None,
        warnings: None,
        approval: None,
        transform: None,
        evidence: None,
        result_labels: None,
        ..
    } = verdict
    {
        return None;
    }
    let Verdict { decision, reason, message, warnings, approval, transform, evidence, result_labels } =
        verdict;
    let action = match (decision, transform) {
        (Decision::Allow, None) => Action::Pass,
        (Decision::Deny, _) => {
            let said = message.or_else(|| reason.clone()).unwrap_or_default();
            let asks = approval.is_some() && event.name().allows().ask;
            if asks { Action::Ask(said) } else { Action::Block(said) }
        }
        (Decision::Transform, Some(it)) => match changed(event, &it.path, it.value) {
            Some(value) => Action::Modify(value),
            None => {
                let path = text::escape(&it.path, limits::WORD);
                return Some(Err(malformed(format!(
                    "answered a transform of {path}, which this event does not have"
                ))));
            }
        },
        _ => {
            return Some(Err(malformed(
                "answered \"transform\" beside another decision, or without its value",
            )));
        }
    };
    let mut outcome = Outcome::from(action);
    let warnings = warnings.into_iter().flatten().filter_map(|it| it.message.or(it.reason));
    outcome.warnings.extend(warnings);
    let own = [("evidence", evidence), ("result_labels", result_labels.map(|it| json!(it)))];
    let own: Map<_, _> =
        own.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    let fields =
        [(METADATA, (!own.is_empty()).then_some(Value::Object(own))), (RULE, reason.map(Value::from))];
    outcome.metadata.extend(fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    Some(Ok(outcome))
}

/// Returns the changed target of an event; `None` if it has no such place.
fn changed(event: &Event, path: &str, value: Value) -> Option<Value> {
    let place = pointer(path)?;
    let mut target = match &event.data {
        EventData::BeforeToolCall(call) => call.input.value().clone(),
        EventData::AfterToolCall(result) => result.output.value().clone(),
        EventData::UserMessageSend { message } => json!({ "content": message }),
        _ => return None,
    };
    *target.pointer_mut(&place)? = value;
    match event.data {
        EventData::UserMessageSend { .. } => {
            target.get_mut("content").map(Value::take).filter(Value::is_string)
        }
        _ => Some(target),
    }
}

/// Returns a path of AGENT-HOOKS, such as `$target.files[0].name`, as a JSON Pointer.
fn pointer(path: &str) -> Option<String> {
    let (mut rest, mut pointer) = (path.strip_prefix("$target")?, String::new());
    while !rest.is_empty() {
        let (name, after) = match rest.strip_prefix('.') {
            Some(rest) => rest.split_at_checked(rest.find(['.', '[']).unwrap_or(rest.len()))?,
            None => rest.strip_prefix('[')?.split_once(']')?,
        };
        let name = name.strip_prefix('"').and_then(|it| it.strip_suffix('"')).unwrap_or(name);
        if name.is_empty() || !name.bytes().all(|it| it.is_ascii_alphanumeric() || b"_-".contains(&it)) {
            return None;
        }
        pointer.extend(["/", name]);
        rest = after;
    }
    Some(pointer)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::event::{Context, ToolCall};
    use crate::hook::Cause;

    fn event(data: EventData) -> Event {
        Event { context: Arc::new(Context::new("c", "/w")), data }
    }

    fn before() -> Event {
        event(EventData::BeforeToolCall(ToolCall::new(
            "bash",
            json!({"command": "ls", "files": [{"name": "a"}]}),
        )))
    }

    fn message() -> Event {
        event(EventData::UserMessageSend { message: Some("hi".to_owned()) })
    }

    fn read(event: &Event, answer: &Value) -> Option<Result<Outcome, HookError>> {
        outcome(event, answer.to_string().as_bytes())
    }

    #[test]
    fn a_verdict_is_the_outcome_that_it_says() {
        for (event, answer, want) in [
            (before(), json!({"decision": "allow"}), Action::Pass),
            (
                before(),
                json!({"decision": "deny", "reason": "no-shell", "message": "No."}),
                Action::Block("No.".into()),
            ),
            (before(), json!({"decision": "deny", "reason": "r", "approval": {}}), Action::Ask("r".into())),
            (
                message(),
                json!({"decision": "deny", "reason": "r", "approval": {}}),
                Action::Block("r".into()),
            ),
            (
                before(),
                json!({"decision": "transform", "transform": {"path": "$target.files[0].name", "value": "b"}}),
                Action::Modify(json!({"command": "ls", "files": [{"name": "b"}]})),
            ),
            (
                before(),
                json!({"decision": "transform", "transform": {"path": "$target[\"command\"]", "value": "id"}}),
                Action::Modify(json!({"command": "id", "files": [{"name": "a"}]})),
            ),
            (
                before(),
                json!({"decision": "transform", "transform": {"path": "$target", "value": {}}}),
                Action::Modify(json!({})),
            ),
            (
                message(),
                json!({"decision": "transform", "transform": {"path": "$target.content", "value": "m"}}),
                Action::Modify(json!("m")),
            ),
        ] {
            let found = read(&event, &answer).unwrap().unwrap();
            assert_eq!(found.action, want, "{answer}");
        }
        let noted = json!({
            "decision": "deny", "reason": "egress", "message": "No.", "evidence": {"artefact": 1},
            "result_labels": ["pii"], "warnings": [{"message": "w"}, {"reason": "r"}, {}],
        });
        let found = read(&before(), &noted).unwrap().unwrap();
        let own = json!({"evidence": {"artefact": 1}, "result_labels": ["pii"]});
        assert_eq!(json!(found.metadata), json!({"agent_hooks": own, "rule": "egress"}));
        assert_eq!(found.warnings, ["w", "r"]);
    }

    #[test]
    fn a_change_that_cannot_be_made_is_no_pass() {
        for (event, answer) in [
            (before(), json!({"decision": "transform"})),
            (before(), json!({"decision": "transform", "transform": {"path": "$target.none", "value": 1}})),
            (
                before(),
                json!({"decision": "transform", "transform": {"path": "$target.files[9]", "value": 1}}),
            ),
            (before(), json!({"decision": "transform", "transform": {"path": "command", "value": 1}})),
            (before(), json!({"decision": "transform", "transform": {"path": "$target..a", "value": 1}})),
            (
                before(),
                json!({"decision": "transform", "transform": {"path": "$target", "value": 1}, "more": 1}),
            ),
            (before(), json!({"decision": "allow", "transform": {"path": "$target", "value": 1}})),
            (
                message(),
                json!({"decision": "transform", "transform": {"path": "$target.content", "value": 1}}),
            ),
            (event(EventData::SessionEnd { reason: None }), {
                json!({"decision": "transform", "transform": {"path": "$target", "value": 1}})
            }),
        ] {
            let found = read(&event, &answer).unwrap().unwrap_err();
            assert_eq!(found.cause, Cause::MalformedOutput, "{answer}");
        }
    }

    #[test]
    fn answers_in_other_words_are_left_to_their_reader() {
        for answer in [
            "",
            "{",
            "[]",
            r#"{"blocked":true}"#,
            r#"{"decision":"deny","reason":"r"}"#,
            r#"{"decision":"block","message":"r"}"#,
            r#"{"decision":"allow","decision":"deny"}"#,
            r#"{"decision":"deny","systemMessage":"r"}"#,
        ] {
            assert!(outcome(&before(), answer.as_bytes()).is_none(), "{answer}");
        }
    }
}
