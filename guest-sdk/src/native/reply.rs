//! Writes an answer: in kodelet's fields where kodelet has them, else in the Base Coat envelope.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{Action, Answer, Callback, Event};

/// The output of a native hook.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Reply {
    /// For standard output: a JSON object, or nothing.
    pub(super) output: String,
    /// The parts that no dialect has a field for, for standard error.
    pub(super) notes: Vec<String>,
}

/// The answer of a hook to this event.
pub(super) fn write(event: &Event, answer: Answer) -> Reply {
    let Answer { action, context, warnings, metadata } = answer;
    let plain = context.is_empty() && warnings.is_empty();
    // The action of the envelope, or none for kodelet's fields; and the fields.
    let (envelope, fields) = match (action, event) {
        (Action::Block(reason) | Action::Ask(reason), Event::BeforeToolCall | Event::UserMessageSend)
            if plain =>
        {
            (None, json!({"blocked": true, "reason": reason}))
        }
        (Action::Block(reason) | Action::Ask(reason), _) => (Some("block"), json!({"reason": reason})),
        // Neither dialect has a word for it. hookbox accepts those of Claude Code, and kodelet passes over them.
        (Action::Allow(reason), Event::BeforeToolCall) => {
            let yes = json!({
                "hookEventName": "PreToolUse",
                "permissionDecision": "allow",
                "permissionDecisionReason": reason,
            });
            ((!plain).then_some("passThrough"), json!({"hookSpecificOutput": yes}))
        }
        (Action::Modify(value), Event::BeforeToolCall) if plain => (None, json!({"input": value})),
        (Action::Modify(value), Event::AfterToolCall) if plain => (None, json!({"output": value})),
        (Action::Modify(value), Event::AfterToolCall | Event::OnError) => {
            (Some("modify"), json!({"modifiedOutput": value}))
        }
        (Action::Modify(value), _) => (Some("modify"), json!({"modifiedInput": value})),
        (Action::FollowUp(messages), _) => (None, json!({"follow_up_messages": messages})),
        (Action::Mutate(messages), _) => (None, json!({"result": "mutate", "messages": messages})),
        (Action::Callback(Callback { name, args }), _) if args.is_empty() => {
            (None, json!({"result": "callback", "callback": name}))
        }
        (Action::Callback(Callback { name, args }), _) => {
            let args: BTreeMap<String, String> = args.into_iter().collect();
            (None, json!({"result": "callback", "callback": name, "callback_args": args}))
        }
        (Action::Pass | Action::Allow(_), _) if plain => return Reply::default(),
        (Action::Pass | Action::Allow(_), _) => {
            (Some(if context.is_empty() { "passThrough" } else { "injectContext" }), json!({}))
        }
    };
    let Some(action) = envelope else {
        let lost =
            context.into_iter().map(|text| format!("context that this answer has no room for: {text}"));
        return Reply { output: fields.to_string(), notes: warnings.into_iter().chain(lost).collect() };
    };
    let mut object = json!({"action": action});
    if let (Value::Object(object), Value::Object(fields)) = (&mut object, fields) {
        object.extend(fields);
        for (name, texts) in [("additionalContext", context), ("warnings", warnings)] {
            if !texts.is_empty() {
                object.insert(name.to_owned(), texts.into());
            }
        }
        if !metadata.is_empty() {
            object.insert("metadata".to_owned(), Value::Object(metadata.into_iter().collect()));
        }
    }
    Reply { output: object.to_string(), notes: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Message;

    #[test]
    fn an_answer_means_the_same_in_the_dialect_that_can_say_it() {
        use Event::{
            AfterToolCall, AfterTurn, AgentStop, BeforeToolCall, OnError, PreCompact, UserMessageSend,
        };

        for (event, answer, expected) in [
            (BeforeToolCall, Answer::pass(), Value::Null),
            (BeforeToolCall, Answer::block("no"), json!({"blocked": true, "reason": "no"})),
            (UserMessageSend, Answer::block(""), json!({"blocked": true, "reason": ""})),
            (BeforeToolCall, Answer::ask("sure?"), json!({"blocked": true, "reason": "sure?"})),
            (
                BeforeToolCall,
                Answer::allow("reads"),
                json!({"hookSpecificOutput": {
                    "hookEventName": "PreToolUse",
                    "permissionDecision": "allow",
                    "permissionDecisionReason": "reads",
                }}),
            ),
            (
                BeforeToolCall,
                Answer::allow("reads").warn("w"),
                json!({
                    "action": "passThrough",
                    "hookSpecificOutput": {
                        "hookEventName": "PreToolUse",
                        "permissionDecision": "allow",
                        "permissionDecisionReason": "reads",
                    },
                    "warnings": ["w"],
                }),
            ),
            (AfterToolCall, Answer::allow("reads"), Value::Null),
            (
                BeforeToolCall,
                Answer::block("no").warn("w"),
                json!({"action": "block", "reason": "no", "warnings": ["w"]}),
            ),
            (AfterToolCall, Answer::block("loop"), json!({"action": "block", "reason": "loop"})),
            (PreCompact, Answer::block("later"), json!({"action": "block", "reason": "later"})),
            (BeforeToolCall, Answer::modify(json!({"a": 1})), json!({"input": {"a": 1}})),
            (AfterToolCall, Answer::modify(json!({"a": 1})), json!({"output": {"a": 1}})),
            (UserMessageSend, Answer::modify("m"), json!({"action": "modify", "modifiedInput": "m"})),
            (OnError, Answer::modify("e"), json!({"action": "modify", "modifiedOutput": "e"})),
            (
                AfterToolCall,
                Answer::modify(json!([])).inject("c"),
                json!({"action": "modify", "modifiedOutput": [], "additionalContext": ["c"]}),
            ),
            (
                BeforeToolCall,
                Answer::pass().inject("c").warn("w").metadata("k", 1),
                json!({"action": "injectContext", "additionalContext": ["c"], "warnings": ["w"], "metadata": {"k": 1}}),
            ),
            (AfterTurn, Answer::pass().warn("w"), json!({"action": "passThrough", "warnings": ["w"]})),
            (AgentStop, Answer::follow_up(["a", "b"]), json!({"follow_up_messages": ["a", "b"]})),
            (AgentStop, Answer::follow_up([""; 0]), Value::Null),
            (
                AfterTurn,
                Answer::mutate([Message::user("s")]),
                json!({"result": "mutate", "messages": [{"role": "user", "content": "s"}]}),
            ),
            (AfterTurn, Answer::callback("compact"), json!({"result": "callback", "callback": "compact"})),
            (
                AgentStop,
                Answer::callback("compact").arg("goal", "g"),
                json!({"result": "callback", "callback": "compact", "callback_args": {"goal": "g"}}),
            ),
        ] {
            let reply = write(&event, answer.clone());
            let written = serde_json::from_str(&reply.output).unwrap_or_default();
            assert_eq!((written, reply.notes), (expected, vec![]), "{event}: {answer:?}");
        }
    }

    #[test]
    fn what_no_dialect_can_say_is_not_lost() {
        let reply = write(&Event::AgentStop, Answer::follow_up(["a"]).warn("w"));
        assert_eq!(
            (reply.output.as_str(), reply.notes),
            (r#"{"follow_up_messages":["a"]}"#, vec!["w".to_owned()])
        );
    }
}
