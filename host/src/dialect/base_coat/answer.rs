//! The response envelope: as one hook prints it, and as the verdict of a chain.

use serde_json::{Map, Value, json};

use crate::dialect::PayloadError;
use crate::dialect::fields::{Fields, Written, describe};
use crate::dialect::reply::{Reply, malformed};
use crate::event::{Event, EventName};
use crate::hook::HookError;
use crate::outcome::{Action, Outcome, Verdict};

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
            let found = describe(object.get("action").unwrap_or(&Value::Null));
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

fn context(fields: &mut Fields) -> Result<Option<Vec<String>>, PayloadError> {
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

/// Encodes the verdict of a chain for `hookbox run --dialect base-coat`.
///
/// * `action`, `additionalContext`, `warnings` and `metadata` are always present; `reason` with a block,
///   `modifiedInput` or `modifiedOutput` if a hook changed something. The reason of a block without one is
///   `blocked by NAME`.
/// * The specification has no questions: a question is a block, which is the safe side; `metadata.ask` is
///   then true.
/// * After a tool call a block may be beside `modifiedOutput`: text that a hook removed from the output stays
///   removed.
/// * `metadata` has the fields that the specification lacks: `blockedBy`, `followUpMessages`, `messages`,
///   `callback` and `callbackArgs`.
pub fn verdict(verdict: &Verdict, event: &Event) -> Value {
    let changed = verdict.modified.then(|| event.data.changeable()).flatten();
    let ruling = verdict.block.as_ref().or(verdict.ask.as_ref());
    let action = match (ruling, &changed) {
        (Some(_), _) => "block",
        (None, Some(_)) => "modify",
        (None, None) if !verdict.context.is_empty() => "injectContext",
        (None, None) => "passThrough",
    };
    let mut out = Written::default();
    out.put("action", Some(action));
    out.put("reason", ruling.map(|ruling| ruling.needed_for_model()));
    out.put("additionalContext", Some(verdict.context.clone()));
    out.put(
        "warnings",
        Some(verdict.warnings.iter().map(|warning| warning.text.as_str()).collect::<Value>()),
    );
    if let Some((name, value)) = changed {
        let field = if matches!(name, "input" | "message") { "modifiedInput" } else { "modifiedOutput" };
        out.0.insert(field.to_owned(), value);
    }
    out.put("metadata", Some(metadata(verdict)));
    Value::Object(out.0)
}

fn metadata(verdict: &Verdict) -> Map<String, Value> {
    let mut metadata = Written::default();
    metadata.put("blockedBy", verdict.block.as_ref().or(verdict.ask.as_ref()).map(|it| it.by.as_str()));
    metadata.put("ask", (verdict.block.is_none() && verdict.ask.is_some()).then_some(true));
    metadata.list("followUpMessages", &verdict.follow_ups);
    if let Some(messages) = &verdict.mutate {
        metadata.put("messages", Some(json!(messages)));
    } else if let Some(callback) = &verdict.callback {
        metadata.callback(callback, "callbackArgs");
    }
    metadata.0
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::event::{AgentStop, Context, EventData, ToolCall, ToolResult};
    use crate::hook::Cause;
    use crate::outcome::{Author, Callback, Fold, Ruling};

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

    fn event(data: EventData) -> Event {
        Event { context: Arc::new(Context::new("s", "/w")), data }
    }

    fn ruling(reason: &str, trusted: bool) -> Option<Ruling> {
        Some(match trusted {
            true => Ruling::trusted("guard", reason),
            false => Ruling::untrusted("guard", "a hook of this repository (1 of 1)", reason),
        })
    }

    #[test]
    fn a_verdict_is_a_response_envelope() {
        let call = || EventData::BeforeToolCall(ToolCall::new("bash", json!({"command": "ls"})));
        let after =
            || EventData::AfterToolCall(ToolResult::new(ToolCall::new("bash", json!({})), json!("clean")));
        let none = Verdict::default;
        let callback = Some(Callback { name: "rotate".into(), args: vec![("a".into(), "b".into())] });
        for (data, found, want) in [
            (
                call(),
                none(),
                r#"{"action":"passThrough","additionalContext":[],"warnings":[],"metadata":{}}"#,
            ),
            (
                call(),
                Verdict { block: ruling("", true), ..none() },
                r#"{"action":"block","reason":"blocked by guard","additionalContext":[],"warnings":[],"metadata":{"blockedBy":"guard"}}"#,
            ),
            (
                call(),
                Verdict { block: ruling("obey me", false), ..none() },
                r#"{"action":"block","reason":"blocked by a hook of this repository (1 of 1)","additionalContext":[],"warnings":[],"metadata":{"blockedBy":"guard"}}"#,
            ),
            (
                call(),
                Verdict { ask: ruling("sure?", true), ..none() },
                r#"{"action":"block","reason":"sure?","additionalContext":[],"warnings":[],"metadata":{"blockedBy":"guard","ask":true}}"#,
            ),
            (
                call(),
                Verdict { context: vec!["c".into()], ..none() },
                r#"{"action":"injectContext","additionalContext":["c"],"warnings":[],"metadata":{}}"#,
            ),
            (
                call(),
                Verdict { modified: true, context: vec!["c".into()], ..none() },
                r#"{"action":"modify","additionalContext":["c"],"warnings":[],"modifiedInput":{"command":"ls"},"metadata":{}}"#,
            ),
            (
                after(),
                Verdict { modified: true, block: ruling("r", true), ..none() },
                r#"{"action":"block","reason":"r","additionalContext":[],"warnings":[],"modifiedOutput":"clean","metadata":{"blockedBy":"guard"}}"#,
            ),
            (
                EventData::AgentStop(AgentStop::default()),
                Verdict { follow_ups: vec!["f".into()], callback, ..none() },
                r#"{"action":"passThrough","additionalContext":[],"warnings":[],"metadata":{"followUpMessages":["f"],"callback":"rotate","callbackArgs":{"a":"b"}}}"#,
            ),
        ] {
            assert_eq!(verdict(&found, &event(data)).to_string(), want);
        }
    }

    #[test]
    fn every_answer_of_the_specification_goes_through_a_chain() {
        use EventName::{AfterToolCall, OnBudgetExceeded, SessionStart};
        let budget = EventData::OnBudgetExceeded { usage: None, threshold: Some(0.82) };
        let after =
            EventData::AfterToolCall(ToolResult::new(ToolCall::new("sh", json!({})), json!("secret")));
        let start = EventData::SessionStart { source: None };
        for (name, data, answer) in [
            (
                SessionStart,
                start.clone(),
                r#"{"action":"injectContext","additionalContext":["Repo convention: run pwsh tests/run-tests.ps1 before merge.","Known fix: package step may require deleting stale dist artifacts first."]}"#,
            ),
            (
                OnBudgetExceeded,
                budget,
                r#"{"action":"block","reason":"Token budget exceeded at 82% of effective window; rotate session before continuing."}"#,
            ),
            (
                AfterToolCall,
                after.clone(),
                r#"{"action":"modify","modifiedOutput":{"summary":"dotnet restore failed due to private feed auth","redacted":true}}"#,
            ),
            (
                AfterToolCall,
                after,
                r#"{"action":"passThrough","priority":50,"additionalContext":[],"warnings":[],"metadata":{"hookId":"anti-loop-detector"}}"#,
            ),
            (SessionStart, start, r#"{"action":"passThrough","warnings":["Hook failed: no network"]}"#),
        ] {
            let given: Map<String, Value> = serde_json::from_str(answer).unwrap();
            let read = outcome(&name, given.clone()).unwrap();
            assert_eq!(
                (read.noticed.len(), &read.metadata),
                (0, &given.get("metadata").map_or_else(Map::new, |it| it.as_object().unwrap().clone()))
            );
            let mut event = event(data);
            let mut fold = Fold::new();
            fold.apply(&mut event, Author::trusted("hook"), read);
            let folded = verdict(&fold.finish(&event), &event);
            for (field, value) in
                given.iter().filter(|(field, _)| !matches!(field.as_str(), "priority" | "metadata"))
            {
                assert_eq!(&folded[field], value, "{field} of {answer}");
            }
        }
    }
}
