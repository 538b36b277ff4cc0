//! What the agent gets.

use serde_json::{Map, Value, json};

use super::translation::{Plan, Ruled};
use super::{Agent, AgentEvent};
use crate::hook::OnFailure;
use crate::outcome::{Ruling, Verdict};
use crate::text;
use crate::{claude, codex, copilot, cursor, gemini, opencode, qwen};

/// How much of one warning is shown, in bytes.
const WARNING_SHOWN: usize = 2000;

/// How many warnings of one event the agent shows its user; standard error has them all.
const MAX_SHOWN: usize = 8;

/// What the hook command of an agent prints, and how it ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// The exit code: 0, or 2 where nothing is known but that it must not happen.
    pub exit_code: u8,
    /// Standard output, to the byte: one JSON object and a line break, or nothing.
    pub stdout: String,
    /// Standard error: the warnings, a line each, or with exit code 2 the reason and nothing else, since the agents give
    /// it to the model then.
    pub stderr: String,
    /// What the user should know: the hooks' warnings, and what of the verdict the agent does not get as it was meant.
    pub warnings: Vec<String>,
    /// The reason why what the event is about must not go on as it is, where the reply holds it back, asks or changes it:
    /// see [`Reply::unheard`]. Never blank, and for the model.
    pub held: Option<String>,
}

impl Reply {
    /// Adds a warning that goes to standard error only, and nowhere where the model would read it there.
    pub fn note(&mut self, note: &str) {
        if self.exit_code != 2 {
            self.stderr.push_str(&line(note));
        }
        self.warnings.push(note.to_owned());
    }

    /// The same reply where standard output cannot be written: what it holds back, asks or changes is stopped by exit
    /// code 2, with nothing but the reason on standard error.
    #[must_use]
    pub fn unheard(self) -> Self {
        match &self.held {
            Some(reason) => {
                Self { exit_code: 2, stderr: format!("{reason}\n"), stdout: String::new(), ..self }
            }
            None => self,
        }
    }
}

impl Agent {
    /// The reply to an event that is none of hookbox's, or that no hook has anything to say to.
    pub fn nothing(self) -> Reply {
        Reply { stdout: self.silence().to_owned(), ..Reply::default() }
    }

    /// The reply where there is no verdict: the payload could not be read, or what runs the chain failed.
    ///
    /// `event` is the agent's name of the event, where that is known. `policy` is what the hooks of the chain ask for:
    /// with [`OnFailure::Block`] the reply blocks where the event can be blocked; where nobody knows which event it is,
    /// by exit code 2, which stops a tool call in every agent. Else it passes, with `what` as a warning.
    pub fn failed(self, event: Option<&str>, policy: OnFailure, what: &str) -> Reply {
        let known = event.and_then(|name| self.event(name));
        match (policy, known, event) {
            (OnFailure::Block, Some(known), _) => {
                let block = Ruling::trusted("hookbox", what);
                let verdict = Verdict::blocked(block);
                write(self, known, Plan::new(self, known, &verdict, None))
            }
            (OnFailure::Block, None, None) => {
                let reason = if what.trim().is_empty() { "blocked by hookbox" } else { what };
                let reason = text::escape_lines(reason, WARNING_SHOWN);
                let stderr = format!("{reason}\n");
                Reply { exit_code: 2, stderr, held: Some(reason), ..Reply::default() }
            }
            (_, Some(known), _) => {
                let plan = Plan { warnings: vec![what.to_owned()], ..Plan::default() };
                write(self, known, plan)
            }
            (_, None, _) => with_warnings(self, None, vec![what.to_owned()]),
        }
    }
}

/// The reply that says what is planned.
pub(crate) fn write(agent: Agent, event: &AgentEvent, plan: Plan) -> Reply {
    let answer = match agent {
        Agent::Claude => claude::reply::write(event, &plan),
        Agent::Codex => codex::reply::write(event, &plan),
        Agent::Gemini => gemini::reply::write(event, &plan),
        Agent::Qwen => qwen::reply::write(event, &plan),
        Agent::Copilot => copilot::reply::write(event, &plan),
        Agent::Cursor => cursor::reply::write(event, &plan),
        Agent::OpenCode => opencode::reply::write(event, &plan),
    };
    // Beside anything that must hold stands nothing that an agent could stumble over.
    let is_plain = plan.ruled == Ruled::Pass && plan.changed.is_none() && plan.follow_up.is_none();
    let shows = !matches!(agent, Agent::Copilot | Agent::Cursor | Agent::OpenCode) && is_plain;
    let mut answer = answer;
    if shows && !plan.warnings.is_empty() {
        let mut said: Vec<String> =
            plan.warnings.iter().take(MAX_SHOWN).map(|warning| shown(warning)).collect();
        if let more @ 1.. = plan.warnings.len().saturating_sub(MAX_SHOWN) {
            said.push(format!("and {more} more, which hookbox writes to standard error"));
        }
        answer.insert("systemMessage".to_owned(), said.join("\n").into());
    }
    let held = match &plan.ruled {
        Ruled::Block(reason) | Ruled::Ask(reason) | Ruled::Stop(reason) => Some(reason.clone()),
        Ruled::Pass => plan.changed.as_ref().map(|_| "a hook changed it".to_owned()),
    };
    Reply { held, ..with_warnings(agent, Some(answer), plan.warnings) }
}

fn with_warnings(agent: Agent, answer: Option<Map<String, Value>>, warnings: Vec<String>) -> Reply {
    let stdout = match answer.filter(|answer| !answer.is_empty()) {
        Some(answer) => format!("{}\n", Value::Object(answer)),
        None => agent.silence().to_owned(),
    };
    let stderr = warnings.iter().map(|warning| line(warning)).collect();
    Reply { stdout, stderr, warnings, ..Reply::default() }
}

fn line(warning: &str) -> String {
    format!("hookbox: {}\n", shown(warning))
}

fn shown(warning: &str) -> String {
    text::escape(warning, WARNING_SHOWN)
}

/// An answer of these fields.
pub(crate) fn object<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// `decision` (`block` or Gemini's `deny`) with its reason.
pub(crate) fn decision(word: &str, reason: &str) -> Map<String, Value> {
    object([("decision", json!(word)), ("reason", json!(reason))])
}

/// `continue: false` with its reason.
pub(crate) fn stop(reason: &str) -> Map<String, Value> {
    object([("continue", json!(false)), ("stopReason", json!(reason))])
}

/// `hookSpecificOutput` with these fields, or nothing without any.
pub(crate) fn specific(event: &AgentEvent, fields: Map<String, Value>) -> Map<String, Value> {
    if fields.is_empty() {
        return fields;
    }
    let mut specific = object([("hookEventName", json!(event.name))]);
    specific.extend(fields);
    object([("hookSpecificOutput", Value::Object(specific))])
}

/// `permissionDecision` with its reason.
pub(crate) fn permission(word: &str, reason: &str) -> Map<String, Value> {
    object([("permissionDecision", json!(word)), ("permissionDecisionReason", json!(reason))])
}

/// `additionalContext`, where there is any.
pub(crate) fn context(plan: &Plan) -> Map<String, Value> {
    plan.context.iter().map(|text| ("additionalContext".to_owned(), json!(text))).collect()
}
