//! Writes an answer: in kodelet's fields where kodelet has them, else in the Base Coat envelope.

use serde_json::{Map, Value, json};

use crate::{Action, Answer, Event};

/// The output of a native hook.
#[derive(Debug, PartialEq)]
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
    let spoken = match action {
        Action::Block(reason) | Action::Ask(reason) => {
            if plain && matches!(event, Event::BeforeToolCall | Event::UserMessageSend) {
                Spoken::Kodelet(json!({"blocked": true, "reason": reason}))
            } else {
                Spoken::Envelope("block", json!({"reason": reason}))
            }
        }
        // Neither dialect has a word for it. hookbox accepts those of Claude Code, and kodelet passes over them.
        Action::Allow(reason) => match event {
            Event::BeforeToolCall => {
                let yes = json!({
                    "hookEventName": "PreToolUse",
                    "permissionDecision": "allow",
                    "permissionDecisionReason": reason,
                });
                match plain {
                    true => Spoken::Kodelet(json!({"hookSpecificOutput": yes})),
                    false => Spoken::Envelope("passThrough", json!({"hookSpecificOutput": yes})),
                }
            }
            _ => return write(event, Answer { action: Action::Pass, context, warnings, metadata }),
        },
        Action::Modify(value) => match event {
            Event::BeforeToolCall if plain => Spoken::Kodelet(json!({"input": value})),
            Event::AfterToolCall if plain => Spoken::Kodelet(json!({"output": value})),
            Event::AfterToolCall | Event::OnError => {
                Spoken::Envelope("modify", json!({"modifiedOutput": value}))
            }
            _ => Spoken::Envelope("modify", json!({"modifiedInput": value})),
        },
        Action::FollowUp(messages) => Spoken::Kodelet(json!({"follow_up_messages": messages})),
        Action::Mutate(messages) => Spoken::Kodelet(json!({"result": "mutate", "messages": messages})),
        Action::Callback(callback) => {
            let mut object = json!({"result": "callback", "callback": callback.name});
            if !callback.args.is_empty() {
                let args: Map<String, Value> =
                    callback.args.into_iter().map(|(key, value)| (key, Value::from(value))).collect();
                if let Some(object) = object.as_object_mut() {
                    object.insert("callback_args".to_owned(), args.into());
                }
            }
            Spoken::Kodelet(object)
        }
        Action::Pass if plain => return Reply { output: String::new(), notes: Vec::new() },
        Action::Pass if context.is_empty() => Spoken::Envelope("passThrough", json!({})),
        Action::Pass => Spoken::Envelope("injectContext", json!({})),
    };
    match spoken {
        Spoken::Kodelet(object) => Reply {
            output: object.to_string(),
            notes: warnings
                .into_iter()
                .chain(
                    context
                        .into_iter()
                        .map(|text| format!("context that this answer has no room for: {text}")),
                )
                .collect(),
        },
        Spoken::Envelope(action, fields) => {
            let mut object = Map::new();
            object.insert("action".to_owned(), action.into());
            if let Value::Object(fields) = fields {
                object.extend(fields);
            }
            for (name, texts) in [("additionalContext", context), ("warnings", warnings)] {
                if !texts.is_empty() {
                    object.insert(name.to_owned(), texts.into());
                }
            }
            if !metadata.is_empty() {
                object.insert("metadata".to_owned(), Value::Object(metadata.into_iter().collect()));
            }
            Reply { output: Value::Object(object).to_string(), notes: Vec::new() }
        }
    }
}

/// An answer in one of the dialects.
enum Spoken {
    /// Kodelet's fields.
    Kodelet(Value),
    /// The Base Coat envelope: its action, and the fields that go with it.
    Envelope(&'static str, Value),
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
