//! The proof: what the configured command answers to payloads of the agent.

use std::path::PathBuf;

use tokio::time::{Instant, timeout_at};

use super::configured::{Configured, HookCommand};
use super::finding::Examination;
use super::run_command::{CommandResult, CommandRun};
use super::{Doctor, SESSION};
use crate::builtin::SELF_PROTECTION;
use crate::dialect::agent::{Agent, AgentEvent, Effect};
use crate::discovery::EntryStatus;
use crate::event::{Context, EventName};
use crate::hook::OnFailure;
use crate::manager::Manager;
use crate::outcome::Ruling;
use crate::text;

/// What `builtin:self-protection` blocks, whatever else there is.
const PROTECTED: &str = "hookbox trust hookbox-doctor --yes";

/// What nothing should block.
const HARMLESS: &str = "echo hookbox doctor";

/// The hint where no guard blocks the line.
const NO_GUARD: &str =
    "put a guard into ~/.hookbox/hooks, such as the sample guardrail.wasm; see hookbox list";

/// What is no event.
const GARBAGE: &str = "this is no event: hookbox doctor";

/// A command that an agent runs before a tool call, to be put to the proof.
pub(super) struct GuardProbe<'a> {
    doctor: &'a Doctor,
    agent: Agent,
    command: &'a HookCommand,
    event: &'static AgentEvent,
    directory: PathBuf,
    variables: Vec<(String, String)>,
    /// When the examination has to be over.
    until: Instant,
}

impl<'a> GuardProbe<'a> {
    pub(super) fn new(
        doctor: &'a Doctor,
        agent: Agent,
        command: &'a HookCommand,
        event: &'static AgentEvent,
        configured: &Configured,
        until: Instant,
    ) -> Self {
        Self {
            directory: command.directory(agent, doctor.project()),
            variables: command.variables(agent, configured),
            doctor,
            agent,
            command,
            event,
            until,
        }
    }

    /// Whether the program can be run; it should be this one.
    pub(super) async fn version(&self, found: &mut Examination) -> bool {
        let (agent, own) = (self.agent, &self.doctor.version);
        let program = &self.command.program;
        let ran = self.shell(&format!("{program} --version"), "").await;
        let shown = text::escape(program, 300);
        match ran.line() {
            Some(line) if line == *own => {
                found.ok("version", text::escape(line, 200));
                true
            }
            Some(line) => {
                let message =
                    format!("{shown} is another version: {}, and this is {own}", text::escape(line, 200),);
                found.fail(
                    "version",
                    message,
                    format!("hookbox install {agent} with the version that you want"),
                );
                true
            }
            None => {
                let message = format!("{shown} cannot be run: {}", ran.said());
                let hint = if ran.is_not_found() {
                    format!("hookbox install {agent}, or put the program on the agent's PATH")
                } else {
                    format!("hookbox install {agent}")
                };
                found.fail("command", message, hint);
                false
            }
        }
    }

    /// Runs the command with payloads of the agent, and judges the answers as the agent does.
    pub(super) async fn probe(&self, manager: &Manager, found: &mut Examination) {
        let Self { agent, event, .. } = *self;
        let own_line = self.doctor.line.as_str();
        let ask = async |input: &str| {
            let ran = self.shell(&self.command.entry.command, input).await;
            (ran.effect(agent, event), ran.said())
        };
        let call = |line: &str| agent.shell_call(event, line, self.doctor.project(), SESSION).to_string();
        if let (Effect::Blocked(reason), _) = ask(&call(HARMLESS)).await {
            let reason = text::escape(&reason, 500);
            // An error that blocks is no guard; one that lets nothing through says the same here.
            let own = self.blocks(HARMLESS, manager).await;
            let own =
                own.filter(|it| !it.reason.is_empty() && reason.contains(&text::escape(&it.reason, 300)));
            let Some(own) = own else {
                let message =
                    format!("it blocks everything, which proves no guard: `{HARMLESS}`, too: {reason}");
                let hint = "let --event be the event that the command stands under; else see what blocks it";
                return found.fail("guard", message, hint);
            };
            let message = format!("`{HARMLESS}` is blocked by {} as well", text::escape(&own.by, 200));
            found.warn("guard", message, "let the guard be one that lets what is harmless through");
        }
        let (path, said) = ask(&call(PROTECTED)).await;
        let (line, line_said) = ask(&call(own_line)).await;
        let shown = text::escape(own_line, 200);
        let by = self.blocks(own_line, manager).await.map(|it| it.by);
        match (&path, &line) {
            (Effect::Blocked(_), _) => found.ok("path", format!("`{PROTECTED}` is blocked")),
            (_, Effect::Blocked(_)) => {
                let message = format!("`{PROTECTED}` is not blocked: the agent could change its own guards");
                found.warn("path", message, "let builtin:self-protection run");
            }
            (Effect::Asked(_), _) => {
                found.fail("path", format!("`{PROTECTED}` is only asked about"), "see what the hook says");
            }
            (Effect::Runs(why), _) => {
                let message = format!("the answer to `{PROTECTED}` lets it through: {why}; {said}");
                let hint = format!(
                    "compare with hookbox bridge {agent} by hand: the answer has to be all that is printed"
                );
                found.fail("path", message, hint);
            }
        }
        let is_guarded = line.is_blocked() && by.as_deref() != Some(SELF_PROTECTION);
        match (&line, by) {
            (Effect::Blocked(_), Some(by)) if !is_guarded => {
                let message = format!("only {by} blocks `{shown}`, and it guards hookbox alone");
                found.fail("guard", message, NO_GUARD);
            }
            (Effect::Blocked(reason), Some(by)) => {
                let reason = text::escape(reason, 300);
                found.ok("guard", format!("`{shown}` is blocked by {}: {reason}", text::escape(&by, 200)));
            }
            (Effect::Blocked(reason), None) => {
                found.ok("guard", format!("`{shown}` is blocked: {}", text::escape(reason, 300)));
            }
            (Effect::Asked(_), _) => {
                let hint = "let a guard block it, where nobody sits before the agent";
                found.warn("guard", format!("`{shown}` is only asked about"), hint);
            }
            (Effect::Runs(why), by) => {
                let message = match by {
                    Some(by) => format!(
                        "`{shown}` runs, although {} blocks it here: {why}; {line_said}",
                        text::escape(&by, 200)
                    ),
                    None => format!("`{shown}` runs: {why}; {line_said}"),
                };
                found.fail("guard", message, NO_GUARD);
            }
        }
        guards(manager, is_guarded, found);
        if manager.on_failure(Some(&EventName::BeforeToolCall)) == OnFailure::Block {
            let (garbage, _) = ask(GARBAGE).await;
            match garbage {
                Effect::Blocked(_) => found.ok("failure", "what hookbox cannot read is blocked"),
                Effect::Asked(why) | Effect::Runs(why) => {
                    let message = format!(
                        "what hookbox cannot read runs, although a guard says on_failure = \"block\": {why}"
                    );
                    found.fail(
                        "failure",
                        message,
                        "compare with hookbox bridge by hand, with garbage on standard input",
                    );
                }
            }
        } else {
            let hint = "on_failure = \"block\" in the guard's table of hookbox.toml";
            found.warn(
                "failure",
                "where hookbox or a guard fails, the call runs: no guard says otherwise",
                hint,
            );
        }
    }

    /// Which hook blocks a line, by this program.
    async fn blocks(&self, line: &str, manager: &Manager) -> Option<Ruling> {
        let project = self.doctor.project();
        let payload = self.agent.shell_call(self.event, line, project, SESSION).to_string();
        let defaults = Context::new(SESSION, project.to_string_lossy());
        let request = self.agent.read(payload.as_bytes(), Some(self.event.name), &defaults).ok()??;
        let session = manager.session(SESSION);
        let fired = timeout_at(self.until, session.fire_event(request.event)).await.ok()?;
        fired.verdict.block
    }

    async fn shell(&self, line: &str, input: &str) -> CommandResult {
        let run = CommandRun {
            agent: self.agent,
            project: self.doctor.project(),
            directory: &self.directory,
            variables: &self.variables,
            wall: self.command.entry.timeout,
            until: self.until,
        };
        run.shell(line, input).await
    }
}

/// Hooks that do not run.
fn guards(manager: &Manager, is_guarded: bool, found: &mut Examination) {
    for entry in manager.entries().iter() {
        let name = text::escape(&entry.name, 200);
        let why = entry.problem.as_deref().unwrap_or_default();
        let (message, hint) = match entry.status {
            EntryStatus::Untrusted => (
                format!("{name} does not run: you have not trusted it"),
                format!("hookbox trust {}", text::shell_word(&entry.name)),
            ),
            EntryStatus::Invalid => {
                (format!("{name} cannot be used: {}", text::escape(why, 500)), "see hookbox list".to_owned())
            }
            _ => continue,
        };
        if is_guarded {
            found.warn("guard", message, hint);
        } else {
            found.fail("guard", message, hint);
        }
    }
    if let Some(why) = manager.switched_off() {
        found.fail("guard", format!("no hook runs: {why}"), "see the settings of hookbox");
    }
}
