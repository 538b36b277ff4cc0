//! The response envelope, as one hook prints it.

use serde_json::{Map, Value};

use crate::dialect::fields::Fields;
use crate::dialect::reply::{Reply, malformed};
use crate::event::EventName;
use crate::hook::HookError;
use crate::outcome::{Action, Outcome};

/// The action of an answer, before its other fields are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    PassThrough,
    InjectContext,
    Block,
    Modify,
}

/// Reads the response envelope.
///
/// `additionalContext` (an array of strings, or one string) and `warnings` count beside any action. `modify`
/// needs `modifiedInput` before a tool call and for a message (a string), `modifiedOutput` after a tool call
/// and for an error. `priority` is accepted and has no effect: order comes from the registration.
///
/// # Errors
///
/// `malformed_output` for an unknown action, a wrong type, or a `modify` without its value. `block` blocks
/// also beside a wrong type.
pub fn outcome(event: &EventName, object: Map<String, Value>) -> Result<Outcome, HookError> {
    let kind = match object.get("action").and_then(Value::as_str) {
        Some("passThrough") => Kind::PassThrough,
        Some("injectContext") => Kind::InjectContext,
        Some("block") => Kind::Block,
        Some("modify") => Kind::Modify,
        _ => {
            let found = crate::dialect::fields::describe(object.get("action").unwrap_or(&Value::Null));
            return Err(malformed(format!(
                "answered wrongly: \"action\" must be passThrough, injectContext, block or modify, found {found}"
            )));
        }
    };
    let mut reply = Reply::new(event, object, kind == Kind::Block);
    reply.any("action");
    let mut outcome = Outcome {
        context: reply.read(context)?.unwrap_or_default(),
        warnings: reply.read(|fields| fields.texts("warnings"))?.unwrap_or_default(),
        metadata: reply.read(|fields| fields.object("metadata"))?.unwrap_or_default(),
        ..Outcome::default()
    };
    reply.read(|fields| fields.number("priority"))?;
    let reason = reply.text("reason")?;
    match kind {
        Kind::Block => {
            // Some hooks call it so.
            let message = if reason.is_none() { reply.text("message")? } else { None };
            outcome.action = Action::Block(reason.or(message).unwrap_or_default());
        }
        Kind::Modify => outcome.action = Action::Modify(modified(&mut reply)?),
        Kind::PassThrough | Kind::InjectContext => {}
    }
    for name in ["modifiedInput", "modifiedOutput"] {
        if reply.any(name).is_some() {
            let why = match kind {
                Kind::Modify => format!("at {event}"),
                // A blocked event is not changed.
                Kind::Block => "beside a block".to_owned(),
                Kind::PassThrough | Kind::InjectContext => "without modify".to_owned(),
            };
            reply.warn(format!("\"{name}\" has no effect {why}"));
        }
    }
    Ok(reply.finish(outcome, ""))
}

fn context(fields: &mut Fields) -> Result<Option<Vec<String>>, crate::dialect::PayloadError> {
    let one = fields.read("additionalContext", "an array of strings", |value| match value {
        Value::String(text) => Ok(Value::Array(vec![text.into()])),
        Value::Array(_) => Ok(value),
        other => Err(other),
    })?;
    let Some(texts) = one else { return Ok(None) };
    Fields::new(Map::from_iter([("additionalContext".to_owned(), texts)])).texts("additionalContext")
}

/// Reads the new value of a `modify`.
fn modified(reply: &mut Reply) -> Result<Value, HookError> {
    let name = match reply.event {
        EventName::BeforeToolCall | EventName::UserMessageSend => "modifiedInput",
        EventName::AfterToolCall | EventName::OnError => "modifiedOutput",
        // Nothing can be modified here, which the chain reports; so either field will do.
        _ => {
            let (input, output) = (reply.any("modifiedInput"), reply.any("modifiedOutput"));
            return input.or(output).ok_or_else(|| malformed("answered modify without a modifiedInput"));
        }
    };
    let value = if reply.event == EventName::UserMessageSend {
        reply.text(name)?.map(Value::String)
    } else {
        reply.any(name)
    };
    value.ok_or_else(|| malformed(format!("answered modify without \"{name}\", which {} needs", reply.event)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    use crate::hook::Cause;

    fn read(event: EventName, answer: Value) -> Result<Outcome, HookError> {
        outcome(&event, answer.as_object().unwrap().clone())
    }

    fn noticing(mut outcome: Outcome, notes: &[&str]) -> Outcome {
        outcome.noticed = notes.iter().map(|note| (*note).to_owned()).collect();
        outcome
    }

    #[test]
    fn each_action_of_the_specification_is_read() {
        use EventName::{AfterToolCall, BeforeToolCall, OnError, SessionStart, UserMessageSend};
        for (event, answer, want) in [
            (
                SessionStart,
                json!({"action": "passThrough", "priority": 50, "additionalContext": [], "warnings": []}),
                Outcome::pass(),
            ),
            (BeforeToolCall, json!({"action": "block", "message": "no"}), Outcome::block("no")),
            (
                SessionStart,
                json!({"action": "injectContext", "additionalContext": ["a"]}),
                Outcome::inject("a"),
            ),
            (
                SessionStart,
                json!({"action": "injectContext", "additionalContext": "a"}),
                Outcome::inject("a"),
            ),
            (
                BeforeToolCall,
                json!({"action": "block", "reason": "no", "modifiedInput": 5}),
                noticing(Outcome::block("no"), &["\"modifiedInput\" has no effect beside a block"]),
            ),
            (
                BeforeToolCall,
                json!({"action": "modify", "modifiedInput": {"a": 1}}),
                Outcome::modify(json!({"a": 1})),
            ),
            (AfterToolCall, json!({"action": "modify", "modifiedOutput": [1]}), Outcome::modify(json!([1]))),
            (OnError, json!({"action": "modify", "modifiedOutput": "e"}), Outcome::modify("e")),
            (UserMessageSend, json!({"action": "modify", "modifiedInput": "m"}), Outcome::modify("m")),
            (
                AfterToolCall,
                json!({"action": "block", "reason": 5, "warnings": ["w"]}),
                noticing(Outcome::block("").warn("w"), &["\"reason\" must be a string, found 5: not used"]),
            ),
            (
                AfterToolCall,
                json!({"action": "passThrough", "Reason": "x", "modifiedOutput": 1}),
                noticing(
                    Outcome::pass(),
                    &["\"modifiedOutput\" has no effect without modify", "unknown key \"Reason\""],
                ),
            ),
        ] {
            assert_eq!(read(event, answer.clone()), Ok(want), "{answer}");
        }
        let beside = json!({"action": "block", "additionalContext": ["c"], "metadata": {"hookId": "x"}});
        let found = read(BeforeToolCall, beside).unwrap();
        assert_eq!((found.context.len(), found.metadata.len()), (1, 1));
    }

    #[test]
    fn what_is_no_answer_of_the_specification_is_malformed() {
        for answer in [
            json!({"action": null}),
            json!({"action": "Block"}),
            json!({"action": 5}),
            json!({"action": "modify"}),
            json!({"action": "modify", "modifiedInput": null}),
            json!({"action": "modify", "modifiedOutput": {}}),
            json!({"action": "passThrough", "warnings": "w"}),
            json!({"action": "injectContext", "additionalContext": [1]}),
            json!({"action": "passThrough", "metadata": []}),
            json!({"action": "passThrough", "priority": "high"}),
        ] {
            let error = read(EventName::BeforeToolCall, answer.clone()).unwrap_err();
            assert_eq!(error.cause, Cause::MalformedOutput, "{answer}");
        }
    }
}
