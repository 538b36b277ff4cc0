//! A payload like the agent's own to try its hook command, and the effect of the output before a tool call, as the real
//! agents were seen to read it. An output that nobody has tried counts as a call that runs.

use serde_json::{Map, Value, json};

use super::answer::text_of;
use super::event::AgentEvent;

/// The output of a hook command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Printed<'a> {
    /// The exit code; `None` after a signal or a timeout.
    pub exit_code: Option<i32>,
    /// Standard output.
    pub stdout: &'a str,
    /// Standard error.
    pub stderr: &'a str,
}

/// The effect on a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It does not run. The model gets this reason, if there is one.
    Blocked(String),
    /// The agent asks its user.
    Asked(String),
    /// It runs, perhaps changed: the reason why the answer is not a block.
    Runs(String),
}

impl Effect {
    /// Returns true if the call does not run, whatever its user answers.
    pub fn is_blocked(&self) -> bool {
        matches!(self, Self::Blocked(_))
    }

    pub(crate) fn runs(why: impl Into<String>) -> Self {
        Self::Runs(why.into())
    }
}

/// Returns the effect of `permissionDecision`, if it has one.
pub(crate) fn permission(fields: Option<&Map<String, Value>>) -> Option<Effect> {
    let fields = fields?;
    let reason = || text_of(fields, "permissionDecisionReason").to_owned();
    match text_of(fields, "permissionDecision") {
        "deny" => Some(Effect::Blocked(reason())),
        "ask" => Some(Effect::Asked(reason())),
        _ => None,
    }
}

/// Returns the effect of `decision`, if it is one of these words, which block, or `ask`.
pub(crate) fn decision(answer: &Map<String, Value>, words: &[&str]) -> Option<Effect> {
    let reason = || text_of(answer, "reason").to_owned();
    match text_of(answer, "decision") {
        "ask" => Some(Effect::Asked(reason())),
        word if words.contains(&word) => Some(Effect::Blocked(reason())),
        _ => None,
    }
}

/// Returns the effect of `continue: false`.
pub(crate) fn stop(answer: &Map<String, Value>) -> Option<Effect> {
    let stops = answer.get("continue") == Some(&Value::Bool(false));
    stops.then(|| Effect::Blocked(text_of(answer, "stopReason").to_owned()))
}

/// The time in the payloads.
pub(crate) const TIME: &str = "2026-01-01T00:00:00.000Z";

/// A call of the shell tool, with made-up ids.
#[derive(Debug)]
pub(crate) struct SampleCall<'a> {
    pub(crate) event: &'a AgentEvent,
    /// The agent's name of its shell tool at this event.
    pub(crate) tool: &'a str,
    pub(crate) line: &'a str,
    pub(crate) cwd: &'a str,
    pub(crate) session: &'a str,
}

impl SampleCall<'_> {
    /// Returns the fields that the agents with Claude Code's names write, and these over them.
    pub(crate) fn with(&self, more: Value) -> Value {
        let mut payload = json!({
            "session_id": self.session,
            "transcript_path": format!("/nonexistent/{}.jsonl", self.session),
            "cwd": self.cwd,
            "hook_event_name": self.event.name,
            "tool_name": self.tool,
            "tool_input": self.input(),
        });
        if let (Value::Object(payload), Value::Object(more)) = (&mut payload, more) {
            payload.extend(more);
        }
        payload
    }

    /// Returns the payload that a plugin of ours writes, with this input.
    pub(crate) fn to_plugin(&self, input: Value) -> Value {
        json!({
            "hook_event_name": self.event.name, "session_id": self.session, "cwd": self.cwd,
            "tool_name": self.tool, "tool_input": input, "tool_use_id": "call_0",
        })
    }

    /// Returns the input of the shell tool in most agents.
    pub(crate) fn input(&self) -> Value {
        json!({"command": self.line, "description": "run a command"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Agent;
    use crate::hook::OnFailure;
    use serde_json::json;

    fn effect(agent: Agent, event: &str, exit_code: i32, stdout: &str, stderr: &str) -> Effect {
        let printed = Printed { exit_code: Some(exit_code), stdout, stderr };
        agent.effect(agent.event(event).unwrap(), printed)
    }

    /// The columns of the observed table; of Copilot CLI in both styles.
    const COLUMNS: [(Agent, &str); 7] = [
        (Agent::Codex, "PreToolUse"),
        (Agent::Claude, "PreToolUse"),
        (Agent::Gemini, "BeforeTool"),
        (Agent::Qwen, "PreToolUse"),
        (Agent::Copilot, "preToolUse"),
        (Agent::Copilot, "PreToolUse"),
        (Agent::Cursor, "preToolUse"),
    ];

    #[test]
    fn an_answer_has_the_effect_that_was_seen_in_the_real_agents() {
        // b: blocked, a: asked, r: runs, a space: nobody has seen it.
        let specific = |event: &str, more: Value| {
            let mut fields = json!({"hookEventName": event, "permissionDecision": "deny"});
            fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"hookSpecificOutput": fields})
        };
        let why = json!({"permissionDecisionReason": "no"});
        let beside = |mut answer: Value, name: &str, value: Value| {
            answer[name] = value;
            answer
        };
        type Answer<'a> = Box<dyn Fn(&str) -> String + 'a>;
        let fixed = |answer: Value| -> Answer<'_> { Box::new(move |_| answer.to_string()) };
        let rows: Vec<(&str, i32, Answer<'_>, &str, &str)> = vec![
            ("deny", 0, Box::new(|event| specific(event, why.clone()).to_string()), "", "bbrbrbr"),
            (
                "deny without a reason",
                0,
                Box::new(|event| specific(event, json!({})).to_string()),
                "",
                "r      ",
            ),
            (
                "deny with another field",
                0,
                Box::new(|event| {
                    specific(event, json!({"permissionDecisionReason": "no", "x": 1})).to_string()
                }),
                "",
                "r      ",
            ),
            (
                "deny beside suppressOutput",
                0,
                Box::new(|event| {
                    beside(specific(event, why.clone()), "suppressOutput", json!(true)).to_string()
                }),
                "",
                "r      ",
            ),
            (
                "an unknown field beside a block",
                0,
                Box::new(|event| beside(specific(event, why.clone()), "x", json!(1)).to_string()),
                "",
                "rb     ",
            ),
            ("deny of another event", 0, fixed(specific("Stop", why.clone())), "", "rrrr   "),
            (
                "deny and exit code 1",
                1,
                Box::new(|event| specific(event, why.clone()).to_string()),
                "",
                "rrrrbbr",
            ),
            ("decision", 0, fixed(json!({"decision": "block", "reason": "no"})), "", "bbbbrrr"),
            ("decision deny", 0, fixed(json!({"decision": "deny", "reason": "no"})), "", "  b  r "),
            (
                "flat",
                0,
                fixed(json!({"permissionDecision": "deny", "permissionDecisionReason": "no"})),
                "",
                "rrrrbbr",
            ),
            ("exit code 2", 2, fixed(json!({})), "no", "bbbbbbb"),
            ("exit code 2 and no words", 2, fixed(json!({})), " ", "r      "),
            ("exit code 1", 1, fixed(json!({})), "no", "rrrrbbr"),
            ("stop", 0, fixed(json!({"continue": false, "stopReason": "no"})), "", "rrbb   "),
            ("change", 0, fixed(json!({"modifiedArgs": {}})), "", "rrrrrrr"),
            ("words", 0, Box::new(|_| "no!".to_owned()), "", "rrrrrrr"),
            ("half", 0, Box::new(|_| "{\"decision\": \"block\"".to_owned()), "", "rrrrrrr"),
            (
                "garbage before a block",
                0,
                Box::new(|event| format!("hello\n{}", specific(event, why.clone()))),
                "",
                "rrrrrrr",
            ),
            (
                "two answers",
                0,
                Box::new(|event| specific(event, why.clone()).to_string().repeat(2)),
                "",
                "rrrrrrr",
            ),
            ("nothing", 0, Box::new(|_| String::new()), "", "rrrrrrr"),
            ("cursor's own", 0, fixed(json!({"permission": "deny", "agent_message": "no"})), "", "rrrrrrb"),
        ];
        for (name, code, answer, stderr, wants) in rows {
            for ((agent, event), want) in COLUMNS.into_iter().zip(wants.chars()) {
                let effect = effect(agent, event, code, &answer(event), stderr);
                let is = match effect {
                    Effect::Blocked(_) => 'b',
                    Effect::Asked(_) => 'a',
                    Effect::Runs(_) => 'r',
                };
                assert!(want == ' ' || is == want, "{name} in {agent} ({event}): {effect:?}");
            }
        }
    }

    #[test]
    fn a_question_and_what_did_not_end_are_no_blocks() {
        for (agent, event) in COLUMNS {
            let asks = json!({"hookSpecificOutput": {
                "hookEventName": event, "permissionDecision": "ask", "permissionDecisionReason": "sure?"
            }, "permissionDecision": "ask", "decision": "ask", "permission": "ask"});
            let asked = effect(agent, event, 0, &asks.to_string(), "");
            assert_eq!(matches!(asked, Effect::Asked(_)), agent != Agent::Codex, "{agent}: {asked:?}");
            let hung = Printed { exit_code: None, stdout: &asks.to_string(), stderr: "no" };
            assert!(matches!(agent.effect(agent.event(event).unwrap(), hung), Effect::Runs(_)), "{agent}");
        }
    }

    #[test]
    fn what_hookbox_writes_to_block_is_a_block() {
        for (agent, event) in COLUMNS {
            for known in [Some(event), None] {
                let reply = agent.failed(known, OnFailure::Block, "it \"fell\"");
                let effect = effect(agent, event, reply.exit_code.into(), &reply.stdout, &reply.stderr);
                assert_eq!(effect, Effect::Blocked("it \"fell\"".to_owned()), "{agent} {known:?}: {reply:?}");
                assert_eq!(reply.held.as_deref(), Some("it \"fell\""));
                let passes = agent.failed(known, OnFailure::Pass, "it fell");
                let said = Printed { exit_code: Some(0), stdout: &passes.stdout, stderr: &passes.stderr };
                assert!(!agent.effect(agent.event(event).unwrap(), said).is_blocked(), "{agent} {passes:?}");
                assert_eq!(passes.held, None);
            }
        }
    }
}
