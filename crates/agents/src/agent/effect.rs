//! What an agent makes of what its hook command did before a tool call: the strict reading of what the real clients were
//! seen to do. What nobody has seen counts as a call that runs.

use serde_json::{Map, Value};

use super::{Agent, AgentEvent, is_pascal};
use crate::text;

/// What a hook command did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Printed<'a> {
    /// How it ended; `None` by a signal, or not in time.
    pub exit_code: Option<i32>,
    /// What it wrote to standard output.
    pub stdout: &'a str,
    /// What it wrote to standard error.
    pub stderr: &'a str,
}

/// What becomes of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It does not run; the model is told this, if anything.
    Blocked(String),
    /// The user is asked.
    Asked(String),
    /// It runs, perhaps changed; why the answer is no block.
    Runs(String),
}

impl Effect {
    /// Whether the call does not run, whatever anybody says.
    pub fn is_blocked(&self) -> bool {
        matches!(self, Self::Blocked(_))
    }

    fn runs(why: impl Into<String>) -> Self {
        Self::Runs(why.into())
    }
}

impl Agent {
    /// What this agent does with the tool call of `event`, one of its names of `before_tool_call`, after its hook command
    /// did this.
    ///
    /// Claude Code, Codex, Gemini CLI, Qwen Code and Copilot CLI were seen to do so without a terminal, Cursor is by its
    /// documentation; there an entry with `failClosed` blocks more than this says.
    pub fn effect(self, event: &AgentEvent, printed: Printed<'_>) -> Effect {
        match printed.exit_code {
            Some(0) => self.effect_of_answer(event, printed.stdout),
            // Codex wants a reason.
            Some(2) if self == Self::Codex && printed.stderr.trim().is_empty() => {
                Effect::runs("exit code 2 with nothing on standard error")
            }
            Some(2) => Effect::Blocked(printed.stderr.trim().to_owned()),
            Some(_) if self == Self::Copilot => Effect::Blocked(String::new()),
            Some(code) => Effect::runs(format!("exit code {code} counts as a hook that failed")),
            None => Effect::runs("the command did not end by itself in time"),
        }
    }

    fn effect_of_answer(self, event: &AgentEvent, stdout: &str) -> Effect {
        let stdout = stdout.trim();
        if stdout.is_empty() {
            return Effect::runs("the command printed nothing");
        }
        let answer: Map<String, Value> = match serde_json::from_str(stdout) {
            Ok(Value::Object(answer)) => answer,
            _ => {
                let shown = text::escape(text::prefix(stdout, 100), 200);
                return Effect::runs(format!(
                    "the command printed something else than one JSON object: {shown:?}"
                ));
            }
        };
        let specific = answer.get("hookSpecificOutput").and_then(Value::as_object);
        let specific =
            specific.filter(|it| it.get("hookEventName").and_then(Value::as_str) == Some(event.name));
        let decided = match self {
            Self::Codex => return codex(&answer, specific),
            Self::Claude => permission(specific).or_else(|| decision(&answer, &["block"])),
            Self::Qwen => {
                let stops = || stop(&answer);
                permission(specific).or_else(|| decision(&answer, &["block", "deny"])).or_else(stops)
            }
            Self::Gemini => decision(&answer, &["block", "deny"]).or_else(|| stop(&answer)),
            Self::Copilot => {
                permission(Some(&answer)).or_else(|| permission(specific.filter(|_| is_pascal(event.name))))
            }
            Self::Cursor => match text_of(&answer, "permission") {
                "deny" => Some(Effect::Blocked(text_of(&answer, "agent_message").to_owned())),
                "ask" => Some(Effect::Asked(text_of(&answer, "user_message").to_owned())),
                _ => None,
            },
            // The plugin takes nothing beside the two fields; whatever else it finds is a failure, which may pass.
            Self::OpenCode => decision(&answer, &["deny"]).filter(|_| answer.len() == 2),
        };
        decided.unwrap_or_else(|| no_block(self, event, &answer))
    }
}

/// Codex takes `deny` with a reason and nothing beside it, or `decision: block` in the same way.
fn codex(answer: &Map<String, Value>, specific: Option<&Map<String, Value>>) -> Effect {
    const KNOWN: [&str; 4] = ["decision", "reason", "hookSpecificOutput", "systemMessage"];
    const SPECIFIC: [&str; 3] = ["hookEventName", "permissionDecision", "permissionDecisionReason"];
    let Some(block) = permission(specific).or_else(|| decision(answer, &["block"])) else {
        return Effect::runs("no deny with a reason for this event in what the command printed");
    };
    let Effect::Blocked(reason) = &block else {
        return Effect::runs("Codex asks nobody: it runs what a hook asks about");
    };
    let stray = |fields: &Map<String, Value>, known: &[&str]| {
        fields.keys().find(|name| !known.contains(&name.as_str())).map(|name| text::escape(name, 64))
    };
    let odd = stray(answer, &KNOWN).or_else(|| specific.and_then(|it| stray(it, &SPECIFIC)));
    match odd {
        Some(name) => Effect::runs(format!("Codex throws away a block that has a field {name:?}")),
        None if reason.trim().is_empty() => Effect::runs("Codex throws away a block without a reason"),
        None => block,
    }
}

fn permission(fields: Option<&Map<String, Value>>) -> Option<Effect> {
    let fields = fields?;
    let reason = || text_of(fields, "permissionDecisionReason").to_owned();
    match text_of(fields, "permissionDecision") {
        "deny" => Some(Effect::Blocked(reason())),
        "ask" => Some(Effect::Asked(reason())),
        _ => None,
    }
}

fn decision(answer: &Map<String, Value>, words: &[&str]) -> Option<Effect> {
    let reason = || text_of(answer, "reason").to_owned();
    match text_of(answer, "decision") {
        "ask" => Some(Effect::Asked(reason())),
        word if words.contains(&word) => Some(Effect::Blocked(reason())),
        _ => None,
    }
}

fn stop(answer: &Map<String, Value>) -> Option<Effect> {
    let stops = answer.get("continue") == Some(&Value::Bool(false));
    stops.then(|| Effect::Blocked(text_of(answer, "stopReason").to_owned()))
}

fn text_of<'a>(fields: &'a Map<String, Value>, name: &str) -> &'a str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn no_block(agent: Agent, event: &AgentEvent, answer: &Map<String, Value>) -> Effect {
    let names: Vec<String> = answer.keys().take(8).map(|name| text::escape(name, 64)).collect();
    Effect::runs(format!(
        "{} takes nothing in {{{}}} for a block at {}",
        agent.title(),
        names.join(", "),
        event.name
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
        use crate::hook::OnFailure;
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
