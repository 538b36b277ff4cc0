//! The verdict of a chain as a response envelope.

use serde_json::{Map, Value, json};

use crate::event::Event;
use crate::outcome::Verdict;

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
    let mut out = Map::new();
    out.insert("action".to_owned(), json!(action));
    if let Some(ruling) = ruling {
        out.insert("reason".to_owned(), json!(ruling.needed_for_model()));
    }
    out.insert("additionalContext".to_owned(), json!(verdict.context));
    out.insert("warnings".to_owned(), verdict.warnings.iter().map(|warning| json!(warning.text)).collect());
    if let Some((name, value)) = changed {
        let field = if matches!(name, "input" | "message") { "modifiedInput" } else { "modifiedOutput" };
        out.insert(field.to_owned(), value);
    }
    out.insert("metadata".to_owned(), Value::Object(metadata(verdict)));
    Value::Object(out)
}

fn metadata(verdict: &Verdict) -> Map<String, Value> {
    let mut metadata = Map::new();
    let mut put = |name: &str, value: Value| metadata.insert(name.to_owned(), value);
    if let Some(ruling) = verdict.block.as_ref().or(verdict.ask.as_ref()) {
        put("blockedBy", json!(ruling.by));
    }
    if verdict.block.is_none() && verdict.ask.is_some() {
        put("ask", json!(true));
    }
    if !verdict.follow_ups.is_empty() {
        put("followUpMessages", json!(verdict.follow_ups));
    }
    if let Some(messages) = &verdict.mutate {
        put("messages", json!(messages));
    } else if let Some(callback) = &verdict.callback {
        put("callback", json!(callback.name));
        let args = callback.args.iter().map(|(name, value)| (name.clone(), json!(value)));
        let args: Map<String, Value> = args.collect();
        if !args.is_empty() {
            put("callbackArgs", Value::Object(args));
        }
    }
    metadata
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::dialect::base_coat::outcome;
    use crate::event::{AgentStop, Context, EventData, EventName, ToolCall, ToolResult};
    use crate::outcome::{Author, Callback, Fold, Ruling};

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
