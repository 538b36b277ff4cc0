//! The reply to an agent.

use serde_json::{Map, Value};

use super::answer::{Decision, Plan};
use super::event::{AgentEvent, EventKind};
use crate::spec::{CodePlace, Spec};
use crate::text;
use hookbox_system::limits;

/// The number of warnings of one event that the agent shows its user. Standard error has them all.
const MAX_SHOWN: usize = 8;

/// The output and the exit code of an agent's hook command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// The exit code: 0, or 2 for a block at an event that is not known or has no answers of its own, and in an agent that
    /// reads no others.
    pub exit_code: u8,
    /// Standard output: one JSON object and a line break, or nothing; text for the model of an agent that reads no JSON.
    pub stdout: String,
    /// Standard error: a line for each warning. With exit code 2 it is the reason and nothing else, because
    /// the agents give it to the model.
    pub stderr: String,
    /// Messages for the user: the hooks' warnings, and the parts of the verdict that the agent does not take.
    pub warnings: Vec<String>,
    /// The reason why the event must not go on unchanged, if the reply blocks, asks or changes something. It
    /// is never blank, and it is for the model. See [`Reply::unheard`].
    pub held: Option<String>,
}

impl Reply {
    /// Returns the reply with exit code 2, by which all agents stop what they do.
    pub(crate) fn stop(reason: String) -> Self {
        let stderr = format!("{reason}\n");
        Self { exit_code: 2, stderr, held: Some(reason), ..Self::default() }
    }

    /// Adds a warning for standard error, unless the model would read it there.
    pub fn note(&mut self, note: &str) {
        if self.exit_code != 2 {
            self.stderr.push_str(&line(note));
        }
        self.warnings.push(note.to_owned());
    }

    /// Returns the reply for a standard output that cannot be written. A block, a question or a change
    /// becomes exit code 2 with only the reason on standard error.
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

/// Returns the reply that follows a plan.
pub(crate) fn write(spec: &Spec, event: &AgentEvent, mut plan: Plan) -> Reply {
    let code = plan
        .code
        .take()
        .map(|code| format!("to let this call through once, run in your own terminal: hookbox allow {code}"));
    let by_exit_code = spec.answers.are_exit_codes || matches!(event.event, EventKind::Other(_));
    if let (true, Decision::Block(reason)) = (by_exit_code, &plan.decision) {
        return Reply { warnings: plan.warnings, ..Reply::stop(reason.clone()) };
    }
    if spec.answers.are_exit_codes {
        let stdout = plan.context.map(|text| format!("{text}\n")).unwrap_or_default();
        return Reply { stdout, ..with_warnings(spec, None, plan.warnings) };
    }
    let mut answer = match &plan.follow_up {
        None => (spec.answers.write)(event, &plan),
        Some(message) => (spec.answers.follow_up)(event, message),
    };
    // Some agents drop a block, a question or a change with another field beside it. Where that is not so, the user reads
    // the words of the hook that blocks, and no others: a block may be for the model alone.
    let is_plain = plan.decision == Decision::Pass && plan.changed.is_none() && plan.follow_up.is_none();
    let mut lines: Vec<String> = Vec::new();
    let may_have_more = spec.answers.code == CodePlace::SystemMessage;
    // A hook that lets the agent go on speaks to the user as well.
    let goes_on = may_have_more && plan.follow_up.is_some();
    if !is_plain && may_have_more && !goes_on {
        lines.extend(plan.said.iter().take(MAX_SHOWN).map(|it| text::escape_lines(it, limits::MESSAGE)));
    } else if (is_plain || goes_on) && spec.answers.shows_warnings {
        lines.extend(plan.warnings.iter().take(MAX_SHOWN).map(|it| text::escape_lines(it, limits::MESSAGE)));
        if let more @ 1.. = plan.warnings.len().saturating_sub(MAX_SHOWN) {
            lines.push(format!("and {more} more, which hookbox writes to standard error"));
        }
    }
    // Only the user may read the code. Where an agent has no place for it, `hookbox allow` lists it.
    match (spec.answers.code, code) {
        (CodePlace::SystemMessage, Some(code)) => lines.push(code),
        (CodePlace::StandardError, Some(code)) => plan.warnings.push(code),
        (CodePlace::Nowhere, _) | (_, None) => {}
    }
    if !lines.is_empty() {
        answer.insert("systemMessage".to_owned(), lines.join("\n").into());
    }
    let held = match &plan.decision {
        Decision::Block(reason) | Decision::Ask(reason) | Decision::Stop(reason) => Some(reason.clone()),
        Decision::Pass => plan.changed.as_ref().map(|_| "a hook changed it".to_owned()),
    };
    Reply { held, ..with_warnings(spec, Some(answer), plan.warnings) }
}

/// Returns the reply with this answer, or with the agent's empty one.
pub(crate) fn with_warnings(spec: &Spec, answer: Option<Map<String, Value>>, warnings: Vec<String>) -> Reply {
    let stdout = match answer.filter(|answer| !answer.is_empty()) {
        Some(answer) => format!("{}\n", Value::Object(answer)),
        None => spec.answers.empty.to_owned(),
    };
    let stderr = warnings.iter().map(|warning| line(warning)).collect();
    Reply { stdout, stderr, warnings, ..Reply::default() }
}

fn line(warning: &str) -> String {
    format!("hookbox: {}\n", text::escape(warning, limits::MESSAGE))
}
