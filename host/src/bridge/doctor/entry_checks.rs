//! What an agent does with an entry before it runs anything.

use super::Doctor;
use super::configured::{Configured, HookCommand, shown};
use super::finding::Examination;
use super::trust::{self, CodexTrust};
use crate::bridge::config::Level;
use crate::dialect::agent::{Agent, AgentEvent};
use crate::dialect::foreign::Matcher;
use crate::text;

impl Doctor {
    /// What the agent does with this entry before it runs anything.
    pub(super) fn check_entry(
        &self,
        agent: Agent,
        command: &HookCommand,
        event: &AgentEvent,
        configured: &Configured,
        found: &mut Examination,
    ) {
        let entry = &command.entry;
        let place = format!("{} ({}: {})", event.name, command.level, shown(&command.file));
        found.ok("event", format!("{place} runs {}", text::escape(&entry.command, 500)));
        let matcher = entry.matcher.as_deref().unwrap_or_default();
        match Matcher::names(agent, event.name, matcher, agent.shell_tool(event)) {
            Ok(true) if entry.is_for_every_tool() => {}
            Ok(true) => {
                let shown = text::escape(matcher, 100);
                let message = format!("the matcher \"{shown}\" leaves tools out, whose calls no guard sees");
                found.warn(
                    "matcher",
                    message,
                    "take the matcher out; hookbox knows which hook is for which tool",
                );
            }
            Ok(false) => {
                let shown = text::escape(matcher, 100);
                let message = format!(
                    "the matcher \"{shown}\" of {place} does not match the shell tool {}",
                    agent.shell_tool(event)
                );
                found.fail(
                    "matcher",
                    message,
                    "take the matcher out; hookbox knows which hook is for which tool",
                );
            }
            Err(problem) => {
                let shown = text::escape(matcher, 100);
                let message = format!("the matcher \"{shown}\" of {place} cannot be judged: {problem}");
                found.fail("matcher", message, "take the matcher out");
            }
        }
        for key in entry.limits() {
            let message = match key {
                "async" => format!("{place} is \"async\": the agent does not wait for its answer"),
                key => format!("{place} has \"{key}\", by which the agent may not run it for every call"),
            };
            found.fail("event", message, format!("take \"{key}\" out"));
        }
        if entry.timeout <= command.deadline {
            let (waits, takes) = (entry.timeout, command.deadline);
            let message = format!("the agent waits {waits:?} for {place}, and hookbox may take {takes:?}");
            let hint = "let the timeout of the entry be longer than the deadline (--deadline)";
            found.fail("timeout", message, hint);
        }
        self.trusted(agent, command, &place, configured, found);
    }

    /// Whether the agent runs the entry at all, by what its user trusts.
    fn trusted(
        &self,
        agent: Agent,
        command: &HookCommand,
        place: &str,
        configured: &Configured,
        found: &mut Examination,
    ) {
        let is_project = command.level != Level::User;
        match agent {
            Agent::Codex => {
                // Of a project it is the directory with `.codex` that counts.
                let project = command.file.ancestors().nth(2).unwrap_or(self.project());
                if is_project && !trust::codex_project(&configured.codex, project) {
                    let message = format!("Codex does not trust {}, and skips its hooks", shown(project));
                    found.fail("trust", message, "start codex there and trust the project");
                }
                let (message, hint) = match trust::codex(&configured.codex, &command.file, &command.entry) {
                    CodexTrust::Trusted => return found.ok("trust", "Codex trusts the command"),
                    CodexTrust::Untrusted => {
                        ("does not trust, or no longer: it skips it in silence", "trust")
                    }
                    CodexTrust::Disabled => ("has switched off", "enable"),
                };
                let hint = format!("start codex, enter /hooks, and {hint} the command");
                found.fail("trust", format!("Codex {message}: {place}"), hint);
            }
            Agent::Gemini | Agent::Qwen => self.trusts_folder(agent, command.level, found),
            Agent::Copilot if is_project => self.copilot_trusts(found),
            Agent::Claude if is_project => {
                let message =
                    "in its own window Claude Code runs the hooks of a project once you trust the folder";
                found.warn("trust", message, "start claude there and trust the folder");
            }
            _ => {}
        }
    }
}
