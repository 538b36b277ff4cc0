//! Reads a decision in another agent's words.
//!
//! A script that was written for one agent must not let a call pass here because its word for a block is a
//! different one. A no and a question count in each agent's words. A yes counts in exactly Claude Code's
//! `hookSpecificOutput`, which is how a script gives the answer `allow`; any other yes is ignored.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::event::EventName;
use crate::outcome::{Action, Outcome};
use hookbox_shell::is_in;
use hookbox_system::json;

/// The fields in which an agent reads a decision.
const DECISIONS: &str = "decision permission permissionDecision behavior";

/// The fields in which an agent reads the reason of a decision, the most special first.
const REASONS: &str = "permissionDecisionReason errorMessage stopReason agent_message agentMessage user_message userMessage \
    message reason";

/// The effect of a word; of several in one answer the strictest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Effect {
    Allows,
    Asks,
    Blocks,
}

/// A decision in another agent's words.
#[derive(Debug)]
pub struct Borrowed {
    effect: Effect,
    /// The form, such as `"continue": false`.
    form: String,
    reason: String,
}

/// Returns true if this field alone is a block in another agent's words.
pub fn blocks(name: &str, raw: &RawValue) -> bool {
    is_read(name) && find(name, &json::value(raw)).is_some_and(|found| found.effect == Effect::Blocks)
}

/// Returns true if a decision is a no, in exactly the words of an agent.
pub fn is_no(decision: &Value) -> bool {
    let word = decision.get("behavior").unwrap_or(decision);
    matches!(word.as_str(), Some("block" | "deny"))
}

/// Takes a decision in another agent's words out of an answer. `is_other` is true for a field that
/// the reader of the answer does not have.
pub fn take(object: &mut Map<String, Value>, is_other: impl Fn(&str) -> bool) -> Option<Borrowed> {
    let found = |name: &str, value: &Value| if is_other(name) { find(name, value) } else { None };
    let all = object.iter().filter_map(|(name, value)| found(name, value));
    let mut strictest = all.max_by_key(|it| it.effect)?;
    if strictest.reason.is_empty() {
        strictest.reason = reason(object);
    }
    // Every reader has `reason`.
    let is_reason = |name: &str| name != "reason" && is_other(name) && is_in(REASONS, name);
    object.retain(|name, value| !is_reason(name) && found(name, value).is_none());
    Some(strictest)
}

/// Returns true if an agent reads a decision in this field.
fn is_read(name: &str) -> bool {
    is_in(DECISIONS, name)
        || matches!(name, "continue" | "hookSpecificOutput" | "blocked" | "action" | "cancel")
}

/// Returns the decision in this field.
fn find(name: &str, value: &Value) -> Option<Borrowed> {
    let effect = match value {
        Value::Object(inner) if name == "hookSpecificOutput" && is_yes(inner) => Effect::Allows,
        Value::Object(inner) if matches!(name, "decision" | "hookSpecificOutput") => {
            let found = inner.iter().filter_map(|(name, value)| find(name, value));
            let Borrowed { effect, form, reason: said } = found.max_by_key(|it| it.effect)?;
            let reason = if said.is_empty() { reason(inner) } else { said };
            return Some(Borrowed {
                effect,
                form: format!("\"{name}.{}", form.trim_start_matches('"')),
                reason,
            });
        }
        Value::String(word) if is_in(DECISIONS, name) => match word.trim().to_ascii_lowercase().as_str() {
            "block" | "deny" | "reject" => Effect::Blocks,
            "ask" | "defer" => Effect::Asks,
            _ => return None,
        },
        Value::String(word) if name == "action" && word == "block" => Effect::Blocks,
        Value::String(word) if name == "continue" && word.eq_ignore_ascii_case("false") => Effect::Blocks,
        Value::Bool(false) if name == "continue" => Effect::Blocks,
        Value::Bool(true) if matches!(name, "blocked" | "cancel") => Effect::Blocks,
        _ => return None,
    };
    let (form, reason) = match value {
        Value::Object(inner) => (format!("\"{name}.permissionDecision\": \"allow\""), reason(inner)),
        _ => (format!("\"{name}\": {value}"), String::new()),
    };
    Some(Borrowed { effect, form, reason })
}

/// Returns true for `permissionDecision: allow` with nothing beside it but its reason and the event. A yes to
/// another input is not one to this call.
fn is_yes(specific: &Map<String, Value>) -> bool {
    const KNOWN: [&str; 3] = ["hookEventName", "permissionDecision", "permissionDecisionReason"];
    specific.get("permissionDecision").is_some_and(|it| it == "allow")
        && specific.keys().all(|name| KNOWN.contains(&name.as_str()))
}

fn reason(object: &Map<String, Value>) -> String {
    let texts = REASONS.split(' ').filter_map(|name| object.get(name)?.as_str());
    texts.map(str::trim).find(|text| !text.is_empty()).unwrap_or_default().to_owned()
}

impl Borrowed {
    /// Returns true if it is a block, and the event can be blocked.
    pub fn blocks(&self, event: &EventName) -> bool {
        self.effect == Effect::Blocks && event.allows().block
    }

    /// Applies it to the outcome of the rest of the answer, with a note.
    pub fn apply(self, event: &EventName, outcome: &mut Outcome) {
        let Self { effect, form, reason } = self;
        let allows = event.allows();
        let note = match effect {
            Effect::Allows if allows.allow && outcome.action == Action::Pass => {
                outcome.action = Action::Allow(reason);
                return;
            }
            Effect::Blocks if allows.block => {
                let own = match std::mem::take(&mut outcome.action) {
                    Action::Block(own) => Some(own).filter(|own| !own.trim().is_empty()),
                    _ => None,
                };
                outcome.action = Action::Block(own.unwrap_or(reason));
                format!("{form} is how another agent's hook blocks: taken for a block")
            }
            Effect::Asks if allows.ask && matches!(outcome.action, Action::Block(_)) => return,
            Effect::Asks if allows.ask => {
                let changes = matches!(outcome.action, Action::Modify(_));
                let beside = if changes { "; a change is not applied beside it" } else { "" };
                outcome.action = Action::Ask(reason);
                format!("{form} is how another agent's hook asks: taken for a question{beside}")
            }
            Effect::Allows if allows.allow => format!("{form} has no effect beside a change: not applied"),
            _ => format!("{form} has no effect at {event}: not applied"),
        };
        outcome.noticed.push(note);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::dialect::{claude, kodelet};
    use EventName::*;

    fn read(event: &EventName, answer: &Value) -> Outcome {
        kodelet::outcome(event, answer.to_string().as_bytes())
            .unwrap_or_else(|error| panic!("{answer}: {error}"))
    }

    /// The forms in which the agents' hooks block, each with the reason that it gives.
    fn forms() -> [(Value, &'static str); 17] {
        [
            (json!({"decision": "block", "reason": "r"}), "r"),
            (json!({"decision": "deny", "reason": "r"}), "r"),
            (json!({"decision": "block", "systemMessage": "shown"}), ""),
            (json!({"decision": {"behavior": "deny", "message": "r"}}), "r"),
            (json!({"behavior": "deny", "message": "r"}), "r"),
            (json!({"permission": "deny"}), ""),
            (json!({"permission": "deny", "agent_message": "r", "user_message": "u"}), "r"),
            (json!({"permission": "deny", "userMessage": "r"}), "r"),
            (json!({"permissionDecision": "deny", "permissionDecisionReason": "r"}), "r"),
            (
                json!({"hookSpecificOutput": {
                    "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "r",
                }}),
                "r",
            ),
            (json!({"hookSpecificOutput": {"permissionDecision": "deny"}, "reason": "r"}), "r"),
            (json!({"hookSpecificOutput": {"decision": {"behavior": "deny", "message": "r"}}}), "r"),
            (json!({"continue": false, "stopReason": "r", "reason": "less"}), "r"),
            (json!({"continue": false, "user_message": "r"}), "r"),
            (json!({"cancel": true, "errorMessage": "r"}), "r"),
            (json!({"decision": "approve", "permission": "deny", "reason": "r"}), "r"),
            (json!({"permissionDecision": "ask", "decision": "deny", "reason": "r"}), "r"),
        ]
    }

    /// The forms of a no that no agent has, and that can mean nothing else. In a dialect that has the field
    /// they are malformed.
    fn near_misses() -> [(Value, &'static str); 4] {
        [
            (json!({"decision": "BLOCK", "reason": "r"}), "r"),
            (json!({"decision": " deny ", "reason": "r"}), "r"),
            (json!({"permission": "reject", "user_message": "r"}), "r"),
            (json!({"continue": "False", "stopReason": "r"}), "r"),
        ]
    }

    #[test]
    fn a_block_in_another_agents_words_is_a_block_where_there_is_one() {
        for (answer, reason) in forms().into_iter().chain(near_misses()) {
            for event in EventName::ALL.iter().filter(|event| event.allows().block) {
                let found = read(event, &answer);
                // The reason in a field of this reader goes first.
                let own = answer.get("reason").and_then(Value::as_str).unwrap_or(reason);
                assert_eq!(found.action, Action::Block(own.to_owned()), "{event} {answer}");
                let notes = found.noticed.iter().filter(|note| note.ends_with("taken for a block"));
                assert_eq!(notes.count(), 1, "{event} {answer}: {:?}", found.noticed);
            }
            for event in EventName::ALL.iter().filter(|event| !event.allows().block && **event != TurnEnd) {
                let found = read(event, &answer);
                assert_eq!((found.action, found.follow_ups.len()), (Action::Pass, 0), "{event} {answer}");
                let want = format!("has no effect at {event}: not applied");
                assert!(
                    found.noticed.iter().any(|note| note.ends_with(&want)),
                    "{event}: {:?}",
                    found.noticed
                );
            }
        }
        let found = read(&BeforeToolCall, &json!({"hookSpecificOutput": {"decision": {"behavior": "deny"}}}));
        let want = "\"hookSpecificOutput.decision.behavior\": \"deny\" is how another agent's hook blocks: taken for a block";
        assert_eq!(found.noticed, [want]);
    }

    #[test]
    fn a_block_in_another_agents_words_holds_beside_what_is_wrong_or_says_yes() {
        for answer in [
            r#"{"decision":"block","reason":5}"#,
            r#"{"permission":"deny","n":1e999}"#,
            r#"{"permission":"deny","permission":"allow"}"#,
            r#"{"continue":false,"continue":true}"#,
            r#"{"blocked":false,"decision":"deny"}"#,
            r#"{"blocked":"no","decision":"deny"}"#,
            r#"{"action":"passThrough","decision":"block"}"#,
            r#"{"action":5,"decision":"block"}"#,
            r#"{"input":{"a":1},"permission":"deny"}"#,
            r#"{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"\ud83d","n":1e999}}"#,
        ] {
            let found = kodelet::outcome(&BeforeToolCall, answer.as_bytes()).map(|found| found.action);
            assert!(matches!(found, Ok(Action::Block(_))), "{answer}: {found:?}");
        }
    }

    #[test]
    fn a_question_in_another_agents_words_is_one_where_one_can_ask() {
        for (answer, want) in [
            (json!({"permissionDecision": "ask", "permissionDecisionReason": "r"}), Action::Ask("r".into())),
            (json!({"hookSpecificOutput": {"permissionDecision": "ask"}}), Action::Ask(String::new())),
            (json!({"permission": "ask", "user_message": "r"}), Action::Ask("r".into())),
            (json!({"decision": "ask", "reason": "r"}), Action::Ask("r".into())),
            (json!({"decision": "ask", "input": {"a": 1}}), Action::Ask(String::new())),
            (json!({"decision": "ask", "blocked": true, "reason": "r"}), Action::Block("r".into())),
            (json!({"decision": "ask", "action": "block"}), Action::Block(String::new())),
        ] {
            assert_eq!(read(&BeforeToolCall, &answer).action, want, "{answer}");
        }
        let found = read(&UserMessageSend, &json!({"permission": "ask"}));
        let want = "\"permission\": \"ask\" has no effect at user_message_send: not applied";
        assert_eq!((found.action, found.noticed), (Action::Pass, vec![want.to_owned()]));
    }

    #[test]
    fn a_yes_in_another_agents_words_says_nothing() {
        for answer in [
            json!({"decision": "approve"}),
            json!({"permission": "allow"}),
            json!({"permissionDecision": "allow"}),
            json!({"continue": true}),
            json!({"hookSpecificOutput": {"permissionDecision": "Allow"}}),
            json!({"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"command": "id"}}}),
        ] {
            let found = read(&BeforeToolCall, &answer);
            let name = answer.as_object().unwrap().keys().next().unwrap();
            let want = format!("unknown key \"{name}\"");
            assert_eq!((found.action, found.noticed), (Action::Pass, vec![want]), "{answer}");
        }
        // An answer in its own words and another's is in its own words.
        let both = read(&BeforeToolCall, &json!({"blocked": true, "reason": "r", "permission": "deny"}));
        assert_eq!(both.action, Action::Block("r".into()));
    }

    #[test]
    fn a_script_allows_in_the_words_of_claude_code() {
        let yes = json!({
            "hookEventName": "PreToolUse", "permissionDecision": "allow", "permissionDecisionReason": "r",
        });
        for (answer, want) in [
            (json!({"hookSpecificOutput": yes}), Action::Allow("r".into())),
            (json!({"blocked": false, "hookSpecificOutput": {"permissionDecision": "allow"}}), {
                Action::Allow(String::new())
            }),
            (json!({"blocked": true, "reason": "no", "hookSpecificOutput": yes}), Action::Block("no".into())),
            (json!({"hookSpecificOutput": yes, "permission": "deny"}), Action::Block(String::new())),
            (json!({"hookSpecificOutput": yes, "decision": "ask", "reason": "?"}), Action::Ask("?".into())),
            (json!({"hookSpecificOutput": yes, "input": {"a": 1}}), Action::Modify(json!({"a": 1}))),
        ] {
            assert_eq!(read(&BeforeToolCall, &answer).action, want, "{answer}");
        }
        assert!(read(&BeforeToolCall, &json!({"hookSpecificOutput": yes})).noticed.is_empty());
        let found = read(&UserMessageSend, &json!({"hookSpecificOutput": yes}));
        let want = "\"hookSpecificOutput.permissionDecision\": \"allow\" has no effect at user_message_send: not applied";
        assert_eq!((found.action, found.noticed), (Action::Pass, vec![want.to_owned()]));
    }

    #[test]
    fn a_hook_of_claude_code_blocks_and_asks_in_the_words_of_every_other_agent() {
        let own = [json!({"blocked": true, "reason": "r"}), json!({"action": "block"})];
        for answer in forms().into_iter().map(|(answer, _)| answer).chain(own) {
            let found = claude::outcome(&BeforeToolCall, 0, answer.to_string().as_bytes(), "");
            let found = found.map(|found| found.action);
            assert!(matches!(found, Ok(Action::Block(_))), "{answer}: {found:?}");
        }
        let found =
            claude::outcome(&BeforeToolCall, 0, br#"{"permission":"ask","user_message":"r"}"#, "").unwrap();
        assert_eq!(found.action, Action::Ask("r".into()));
    }
}
