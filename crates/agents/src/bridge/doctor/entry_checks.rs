//! Checks of an entry without running it: what the agent does with it before it runs anything.

use super::Doctor;
use super::configured::{Configured, HookCommand, shown};
use crate::agent::{Agent, AgentEvent};
use crate::agent_hooks::Matcher;
use crate::codex::trust::{CodexTrust, trust_in_entry, trusts_project};
use crate::config::Level;
use crate::finding::Examination;
use crate::text;

impl Doctor {
    /// Checks the matcher, the keys and the timeout of an entry, and that the agent trusts it.
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
        let (tool, quoted) =
            (agent.shell_tool(event), format!("the matcher \"{}\"", text::escape(matcher, 100)));
        let hint = "remove the matcher; hookbox knows which hook is for which tool";
        match Matcher::names(agent, event.name, matcher, tool) {
            Ok(true) if entry.is_for_every_tool() => {}
            Ok(true) => {
                let message = format!("{quoted} leaves tools out: no guard sees their calls");
                found.warn("matcher", message, hint);
            }
            Ok(false) => {
                let message = format!("{quoted} of {place} does not match the shell tool {tool}");
                found.fail("matcher", message, hint);
            }
            Err(problem) => {
                let message = format!("{quoted} of {place} cannot be judged: {problem}");
                found.fail("matcher", message, "remove the matcher");
            }
        }
        for key in entry.limits() {
            let message = match key {
                "async" => format!("{place} is \"async\": the agent does not wait for its answer"),
                key => format!("{place} has \"{key}\": the agent may not run it for every call"),
            };
            found.fail("event", message, format!("remove \"{key}\""));
        }
        if entry.timeout <= command.deadline {
            let (waits, takes) = (entry.timeout, command.deadline);
            let message = format!("the agent waits {waits:?} for {place}, and hookbox may take {takes:?}");
            found.fail("timeout", message, "set a timeout that is longer than hookbox's --deadline");
        }
        self.check_trust(agent, command, &place, configured, found);
    }

    /// Checks that the agent runs the entry at all, by its user's trust.
    fn check_trust(
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
                // The trust is in the directory that contains `.codex`.
                let project = command.file.ancestors().nth(2).unwrap_or(self.project());
                if is_project && !trusts_project(&configured.codex, project) {
                    let message = format!("Codex does not trust {}, and skips its hooks", shown(project));
                    found.fail("trust", message, "start codex there and trust the project");
                }
                let (message, hint) = match trust_in_entry(&configured.codex, &command.file, &command.entry) {
                    CodexTrust::Trusted => return found.ok("trust", "Codex trusts the command"),
                    CodexTrust::Unknown => {
                        ("does not trust the command yet, and skips it silently", "trust the command")
                    }
                    CodexTrust::Changed => (
                        "does not trust the command as it is now, and skips it silently",
                        "trust the command; if it is listed as trusted, this Codex is newer than this check (0.169)",
                    ),
                    CodexTrust::Disabled => ("has switched off the command", "enable the command"),
                };
                let hint = format!("start codex, enter /hooks, and {hint}");
                found.fail("trust", format!("Codex {message}: {place}"), hint);
            }
            Agent::Gemini | Agent::Qwen => self.check_folder(agent, command.level, found),
            Agent::Copilot if is_project => self.check_copilot_folder(found),
            Agent::Claude if is_project => {
                let message = "Claude Code runs the hooks of a project only in a folder that you trust; whether you do cannot be seen here";
                found.warn("trust", message, "start claude there and trust the folder");
            }
            _ => {}
        }
    }
}
