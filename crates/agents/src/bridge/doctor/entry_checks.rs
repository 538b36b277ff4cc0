//! Checks of an entry without running it: what the agent does with it before it runs anything.

use super::Doctor;
use super::configured::{Configured, HookCommand};
use crate::agent::{Agent, AgentEvent};
use crate::agent_hooks::Matcher;
use crate::conditions::shown;
use crate::finding::Examination;
use crate::spec::Conditions;
use crate::text;

impl Doctor {
    /// Checks the matcher, the keys and the timeout of an entry, and the agent's own conditions.
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
        match Matcher::names(agent, event.name, matcher, &tool) {
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
        let conditions = Conditions {
            level: command.level,
            file: &command.file,
            entry,
            place: &place,
            settings: &configured.settings,
            surroundings: &self.surroundings,
        };
        (agent.spec().doctor.check)(&conditions, found);
    }
}
