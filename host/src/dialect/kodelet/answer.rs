//! One hook's outcome as a native hook prints it.

use serde_json::{Map, Value, json};

use crate::dialect::kodelet::result::knows_blocked;
use crate::event::EventName;
use crate::outcome::{Action, Outcome};

/// Encodes one hook's outcome in kodelet's JSON, for `hookbox exec FILE run`: so a component serves hosts
/// that only run executables.
///
/// * kodelet has no questions: an `ask` becomes a block, which is the safe side.
/// * kodelet has no word for `allow`: it is written in those of Claude Code, which hookbox accepts from native hooks, and
///   kodelet passes over them.
/// * kodelet's JSON has no fields for injected context, warnings, a block after a tool call, and a changed
///   message. They are written as a Base Coat envelope, which hookbox accepts from native hooks. kodelet's
///   own fields are added, so that kodelet acts on them.
/// * Neither has fields for context or warnings beside follow-ups, mutate or callback: they are left out.
pub fn answer(event: &EventName, outcome: &Outcome) -> Value {
    let mut out = Map::new();
    // The action of the envelope, if one is needed, and the field that belongs to it.
    let mut envelope: (&str, Option<(&str, Value)>) =
        (if outcome.context.is_empty() { "passThrough" } else { "injectContext" }, None);
    let mut spoken = true;
    match &outcome.action {
        Action::Pass => {}
        Action::Ask(_) if !event.allows().ask => {}
        Action::Allow(_) if !event.allows().allow => {}
        Action::Block(reason) | Action::Ask(reason) => {
            spoken = knows_blocked(event);
            if spoken {
                out.insert("blocked".to_owned(), Value::Bool(true));
            }
            out.insert("reason".to_owned(), json!(reason));
            envelope = ("block", None);
        }
        Action::Allow(reason) => {
            out.insert("blocked".to_owned(), Value::Bool(false));
            out.insert(
                "hookSpecificOutput".to_owned(),
                json!({
                    "hookEventName": "PreToolUse",
                    "permissionDecision": "allow",
                    "permissionDecisionReason": reason,
                }),
            );
        }
        Action::Modify(value) => {
            let (kodelet, field) = match event {
                EventName::BeforeToolCall => (Some("input"), "modifiedInput"),
                EventName::AfterToolCall => (Some("output"), "modifiedOutput"),
                EventName::OnError if value.is_string() => (Some("error"), "modifiedOutput"),
                EventName::OnError => (None, "modifiedOutput"),
                _ => (None, "modifiedInput"),
            };
            spoken = kodelet.is_some();
            if let Some(name) = kodelet {
                out.insert(name.to_owned(), value.clone());
            }
            envelope = ("modify", Some((field, value.clone())));
        }
        Action::Mutate(messages) => {
            out.insert("result".to_owned(), json!("mutate"));
            out.insert("messages".to_owned(), json!(messages));
        }
        Action::Callback(_) => {}
    }
    let callback = match &outcome.action {
        Action::Callback(callback) => Some(callback),
        _ => outcome.callback.as_ref(),
    };
    if let Some(callback) = callback {
        out.insert("result".to_owned(), json!("callback"));
        out.insert("callback".to_owned(), json!(callback.name));
        if !callback.args.is_empty() {
            out.insert("callback_args".to_owned(), args(&callback.args));
        }
    }
    if !outcome.follow_ups.is_empty() {
        out.insert("follow_up_messages".to_owned(), json!(outcome.follow_ups));
    }
    let turns = out.contains_key("result") || out.contains_key("follow_up_messages");
    if !turns && (!spoken || !outcome.context.is_empty() || !outcome.warnings.is_empty()) {
        out.insert("action".to_owned(), json!(envelope.0));
        if let Some((name, value)) = envelope.1 {
            out.insert(name.to_owned(), value);
        }
        for (name, texts) in [("additionalContext", &outcome.context), ("warnings", &outcome.warnings)] {
            if !texts.is_empty() {
                out.insert(name.to_owned(), json!(texts));
            }
        }
    } else if out.is_empty() && matches!(event, EventName::BeforeToolCall | EventName::UserMessageSend) {
        out.insert("blocked".to_owned(), Value::Bool(false));
    }
    Value::Object(out)
}

pub(super) fn args(args: &[(String, String)]) -> Value {
    args.iter().map(|(name, value)| (name.clone(), json!(value))).collect::<Map<_, _>>().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::kodelet;
    use crate::event::Message;
    use crate::outcome::Callback;
    use EventName::*;

    #[test]
    fn an_outcome_is_written_in_kodelets_words() {
        let callback = Callback { name: "compact".into(), args: vec![("a".into(), "b".into())] };
        for (event, outcome, want) in [
            (BeforeToolCall, Outcome::pass(), r#"{"blocked":false}"#),
            (AfterToolCall, Outcome::pass(), "{}"),
            (BeforeToolCall, Outcome::block("r"), r#"{"blocked":true,"reason":"r"}"#),
            (BeforeToolCall, Outcome::ask("r"), r#"{"blocked":true,"reason":"r"}"#),
            (AfterToolCall, Outcome::ask("r"), "{}"),
            (BeforeToolCall, Outcome::modify(json!({"a": 1})), r#"{"input":{"a":1}}"#),
            (AfterToolCall, Outcome::modify(json!("x")), r#"{"output":"x"}"#),
            (AgentStop, Outcome::follow_up("m"), r#"{"follow_up_messages":["m"]}"#),
            (
                AfterTurn,
                Action::Mutate(vec![Message::user("s")]).into(),
                r#"{"result":"mutate","messages":[{"role":"user","content":"s"}]}"#,
            ),
            (
                AfterTurn,
                Action::Callback(callback).into(),
                r#"{"result":"callback","callback":"compact","callback_args":{"a":"b"}}"#,
            ),
            (AfterToolCall, Outcome::block("r"), r#"{"reason":"r","action":"block"}"#),
            (UserMessageSend, Outcome::modify("m"), r#"{"action":"modify","modifiedInput":"m"}"#),
            (
                SessionStart,
                Outcome::inject("c").warn("w"),
                r#"{"action":"injectContext","additionalContext":["c"],"warnings":["w"]}"#,
            ),
        ] {
            assert_eq!(answer(&event, &outcome).to_string(), want);
        }
    }

    #[test]
    fn an_answer_is_read_back_as_the_outcome_that_it_was() {
        let rotate = Callback { name: "rotate".into(), args: vec![("a".into(), "b".into())] };
        for (event, outcome) in [
            (BeforeToolCall, Outcome::block("r").warn("w")),
            (BeforeToolCall, Outcome::allow("it only reads")),
            (BeforeToolCall, Outcome { context: vec!["c".into()], ..Outcome::allow("r").warn("w") }),
            (BeforeToolCall, Outcome { context: vec!["c".into()], ..Outcome::modify(json!({"a": 1})) }),
            (AfterToolCall, Outcome::modify(json!([1])).warn("w")),
            (AfterToolCall, Outcome::block("r")),
            (OnError, Outcome::modify("e").warn("w")),
            (OnError, Outcome::modify(json!({"e": 1}))),
            (PreCompact, Outcome::block("").warn("w")),
            (OnBudgetExceeded, Outcome::block("r").and_callback(rotate)),
            (UserMessageSend, Outcome::pass().warn("w")),
            (SessionStart, Outcome::inject("c")),
        ] {
            let printed = answer(&event, &outcome).to_string();
            assert_eq!(kodelet::outcome(&event, printed.as_bytes()), Ok(outcome), "{printed}");
        }
    }
}
