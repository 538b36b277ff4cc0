//! The way from the agent to a guard, step by step.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::Value;

use super::configured::{Configured, Found, shown};
use super::finding::{Examination, Reach, millis};
use super::trust::{self, CodexTrust};
use super::{Doctor, SESSION, matcher, run};
use crate::bridge::config::{Level, Switch, file};
use crate::dialect::agent::{Agent, AgentEvent, Effect};
use crate::discovery::EntryStatus;
use crate::event::{Context, EventName};
use crate::hook::OnFailure;
use crate::manager::Manager;
use crate::text;

/// What `builtin:self-protection` blocks, whatever else there is.
const PROTECTED: &str = "hookbox trust hookbox-doctor --yes";

/// What nothing should block.
const HARMLESS: &str = "echo hookbox doctor";

/// What is no event.
const GARBAGE: &str = "this is no event: hookbox doctor";

impl Doctor {
    /// Examines one agent. `manager` holds the hooks of the project, to say which of them blocks.
    pub async fn examine(&self, agent: Agent, manager: &Manager) -> Examination {
        let mut found = Examination::new(agent);
        found.program = self.program(agent);
        let configured = Configured::read(agent, &self.surroundings, &mut found);
        found.configured = !configured.commands.is_empty();
        found.events = configured.commands.iter().map(|it| reach(agent, it)).collect();
        if agent == Agent::OpenCode {
            let message = "it runs no commands: whether its plugin calls hookbox is not seen here";
            found.fail("configuration", message, "see the page on OpenCode in the book");
            return found.finish();
        }
        if !found.configured {
            let hint = format!("hookbox install {agent}");
            found.warn("configuration", "no command of its configuration calls hookbox", hint);
            return found.finish();
        }
        if found.program.is_none() {
            let hint = "install it, or put it on PATH";
            found.warn("agent", format!("its program {} is not on PATH", names(agent).join(" or ")), hint);
        }
        self.look(agent, &configured, &mut found);
        let before: Vec<(&Found, &'static AgentEvent)> = configured
            .commands
            .iter()
            .filter_map(|it| Some((it, agent.event(&it.entry.event)?)))
            .filter(|(_, event)| event.event == "before_tool_call")
            .collect();
        if before.is_empty() {
            let name = agent.names_of(&EventName::BeforeToolCall).next().unwrap_or_default();
            let hint = format!("hookbox install {agent}");
            found.fail("event", format!("no command for {name}: no tool call reaches hookbox"), hint);
        }
        for (command, event) in before {
            self.way(agent, command, event, &configured, &mut found);
            if self.version(agent, command, &mut found).await {
                self.probe(agent, command, event, manager, &mut found).await;
            }
        }
        found.finish()
    }

    fn program(&self, agent: Agent) -> Option<PathBuf> {
        let is_program = |path: &PathBuf| {
            std::fs::metadata(path).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
        };
        let places =
            names(agent).iter().flat_map(|name| self.search.iter().map(move |place| place.join(name)));
        places.into_iter().find(is_program)
    }

    /// What holds for all entries.
    fn look(&self, agent: Agent, configured: &Configured, found: &mut Examination) {
        for (level, path, switch) in &configured.switches {
            let concerns = match switch {
                Switch::All(_) | Switch::AllButManaged(_) => true,
                Switch::Named { name, .. } => configured.commands.iter().any(|it| {
                    let own = it.entry.extra.get("name").and_then(Value::as_str);
                    own == Some(name) || it.entry.command == *name
                }),
            };
            if concerns {
                let message = format!("{switch} ({level}: {})", shown(path));
                found.fail("switch", message, "take that setting out");
            }
        }
        let mut seen = BTreeSet::new();
        for it in &configured.commands {
            if !seen.insert(it.entry.event.as_str()) {
                let hint = format!("keep one of them: hookbox uninstall {agent} at one level");
                found.fail("event", format!("{} calls hookbox more than once", shown_event(it)), hint);
            }
            if it.call.agent != agent.as_str() {
                let message = format!("{} speaks to hookbox as {}", shown_event(it), it.call.agent);
                found.fail("command", message, format!("let the command be hookbox bridge {agent}"));
            }
            if agent.event(&it.entry.event).is_none() {
                let message = format!("{} is no event of hookbox: it answers nothing", shown_event(it));
                found.warn("event", message, "take the entry out");
            }
        }
        if agent == Agent::Copilot && configured.commands.iter().all(|it| it.level != Level::Project) {
            let claude = file(Agent::Claude, Level::Project, &self.surroundings);
            let text = claude.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
            if text.contains("bridge claude") {
                let message = "it also runs the project's .claude/settings.json, which calls hookbox as well";
                found.warn("event", message, "install hookbox for one of the two in this project");
            }
        }
    }

    /// What the agent does with this entry before it runs anything.
    fn way(
        &self,
        agent: Agent,
        command: &Found,
        event: &AgentEvent,
        configured: &Configured,
        found: &mut Examination,
    ) {
        let entry = &command.entry;
        let place = format!("{} ({}: {})", event.name, command.level, shown(&command.file));
        found.ok("event", format!("{place} runs {}", text::escape(&entry.command, 500)));
        match matcher::reaches_shell(agent, event, entry.matcher.as_deref()) {
            Ok(true) if entry.is_for_every_tool() => {}
            Ok(true) => {
                let shown = text::escape(entry.matcher.as_deref().unwrap_or_default(), 100);
                let message = format!("the matcher \"{shown}\" leaves tools out, whose calls no guard sees");
                found.warn(
                    "matcher",
                    message,
                    "take the matcher out; hookbox knows which hook is for which tool",
                );
            }
            Ok(false) => {
                let shown = text::escape(entry.matcher.as_deref().unwrap_or_default(), 100);
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
                let message = format!("the matcher of {place} cannot be judged: {problem}");
                found.fail("matcher", message, "take the matcher out");
            }
        }
        if entry.is_in_background() {
            let message = format!("{place} is \"async\": the agent does not wait for its answer");
            found.fail("event", message, "take \"async\" out");
        }
        if entry.timeout <= command.call.deadline {
            let (waits, takes) = (entry.timeout, command.call.deadline);
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
        command: &Found,
        place: &str,
        configured: &Configured,
        found: &mut Examination,
    ) {
        let is_project = command.level != Level::User;
        let project = &self.surroundings.project;
        match agent {
            Agent::Codex => {
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
            Agent::Claude if is_project => {
                let message =
                    "in its own window Claude Code runs the hooks of a project once you trust the folder";
                found.warn("trust", message, "start claude there and trust the folder");
            }
            _ => {}
        }
    }

    /// Whether the program can be run; it should be this one.
    async fn version(&self, agent: Agent, command: &Found, found: &mut Examination) -> bool {
        let line = format!("{} --version", command.call.program);
        let ran = run::shell(agent, &line, &self.surroundings.project, "", command.entry.timeout).await;
        let shown = text::escape(&command.call.program, 300);
        match ran.line() {
            Some(line) if line == self.version => {
                found.ok("version", text::escape(line, 200));
                true
            }
            Some(line) => {
                let message = format!(
                    "{shown} is another version: {}, and this is {}",
                    text::escape(line, 200),
                    self.version
                );
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
    async fn probe(
        &self,
        agent: Agent,
        command: &Found,
        event: &'static AgentEvent,
        manager: &Manager,
        found: &mut Examination,
    ) {
        let project = &self.surroundings.project;
        let ask = async |input: &str| {
            let ran = run::shell(agent, &command.entry.command, project, input, command.entry.timeout).await;
            (ran.effect(agent, event), ran.said())
        };
        let call = |line: &str| agent.shell_call(event, line, project, SESSION).to_string();
        let (harmless, _) = ask(&call(HARMLESS)).await;
        if let Effect::Blocked(reason) = &harmless {
            let message = format!("`{HARMLESS}` is blocked as well: {}", text::escape(reason, 500));
            found.warn("guard", message, "see why: it may be that hookbox cannot read what the agent sends");
        }
        let (path, said) = ask(&call(PROTECTED)).await;
        let (line, line_said) = ask(&call(&self.line)).await;
        let shown = text::escape(&self.line, 200);
        let by = self.by(agent, event, manager).await;
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
        match (&line, by) {
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
                let hint =
                    "put a guard into ~/.hookbox/hooks, such as the sample guardrail.wasm; see hookbox list";
                found.fail("guard", message, hint);
            }
        }
        guards(manager, line.is_blocked(), found);
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

    /// Which hook blocks the line, by this program.
    async fn by(&self, agent: Agent, event: &AgentEvent, manager: &Manager) -> Option<String> {
        let project = &self.surroundings.project;
        let payload = agent.shell_call(event, &self.line, project, SESSION).to_string();
        let defaults = Context::new(SESSION, project.to_string_lossy());
        let request = agent.read(payload.as_bytes(), Some(event.name), &defaults).ok()??;
        let fired = manager.session(SESSION).fire_event(request.event).await;
        fired.verdict.block.map(|ruling| ruling.by)
    }
}

/// Hooks that do not run.
fn guards(manager: &Manager, is_blocked: bool, found: &mut Examination) {
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
        if is_blocked {
            found.warn("guard", message, hint);
        } else {
            found.fail("guard", message, hint);
        }
    }
    if let Some(why) = manager.switched_off() {
        found.fail("guard", format!("no hook runs: {why}"), "see the settings of hookbox");
    }
}

/// The names of an agent's program.
fn names(agent: Agent) -> &'static [&'static str] {
    match agent {
        Agent::Claude => &["claude"],
        Agent::Codex => &["codex"],
        Agent::Gemini => &["gemini"],
        Agent::Qwen => &["qwen"],
        Agent::Copilot => &["copilot"],
        Agent::Cursor => &["cursor-agent", "cursor"],
        Agent::OpenCode => &["opencode"],
    }
}

fn reach(agent: Agent, command: &Found) -> Reach {
    let entry = &command.entry;
    Reach {
        event: text::escape(&entry.event, 100),
        hookbox_event: agent.event(&entry.event).map(|event| event.event),
        level: command.level.as_str(),
        file: shown(&command.file),
        command: text::escape(&entry.command, 1000),
        matcher: entry.matcher.as_deref().map(|it| text::escape(it, 500)),
        timeout_ms: millis(entry.timeout),
    }
}

fn shown_event(command: &Found) -> String {
    text::escape(&command.entry.event, 100)
}
