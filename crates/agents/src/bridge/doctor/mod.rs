//! Checks that an agent's hooks reach hookbox, and that a guard fires. It runs the command line that the
//! agent has configured, with a real payload of that agent, and judges the output as the agent does.
//!
//! Nothing is changed, and no tool call is made: a payload only asks about one. The user's hooks see it as a
//! call of the session `hookbox-doctor`.

mod configured;
mod guard_probe;
mod heartbeat;

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;

use self::configured::{Configured, HookCommand};
use self::guard_probe::GuardProbe;
use crate::agent::{Agent, AgentEvent, EventKind};
use crate::agent_hooks::AgentHook;
use crate::builtin::SELF_PROTECTION;
use crate::config::{Level, Surroundings};
use crate::finding::{millis, shown, variable};
use crate::manager::Manager;
use crate::spec::{Conditions, LeavesOut};
use crate::text;

pub use crate::finding::{ConfiguredCommand, Examination, Finding, Status};

/// The default line that a guard has to block.
pub const LINE: &str = "rm -rf /";

/// The time for the examination of one agent: enough for a command that uses all of its usual deadline for
/// each question.
const LIMIT: Duration = Duration::from_secs(120);

/// Examines the agents of one user and project.
#[derive(Clone, Debug)]
pub struct Doctor {
    surroundings: Surroundings,
    version: String,
    line: String,
    trials: Vec<Trial>,
    search: Vec<PathBuf>,
}

/// A call for which a hook has to speak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The full name of the hook.
    pub hook: String,
    /// The line of the shell tool, or the output of one.
    pub text: String,
    /// True for an output.
    pub is_output: bool,
}

impl Doctor {
    /// Creates a doctor for the configuration of these surroundings. `version` is the output of `--version`
    /// that is expected of the configured program.
    pub fn new(surroundings: Surroundings, version: impl Into<String>) -> Self {
        let search = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect());
        Self {
            surroundings,
            version: version.into(),
            line: LINE.to_owned(),
            trials: Vec::new(),
            search: search.unwrap_or_default(),
        }
    }

    /// Sets the line of the shell tool that has to be blocked (default: [`LINE`]).
    #[must_use]
    pub fn line(self, line: impl Into<String>) -> Self {
        Self { line: line.into(), ..self }
    }

    /// Sets the calls that are tried, each for one hook (default: none). A hook that does not run is left out.
    #[must_use]
    pub fn trials(self, trials: Vec<Trial>) -> Self {
        Self { trials, ..self }
    }

    fn project(&self) -> &Path {
        &self.surroundings.project
    }

    /// Examines one agent, in two minutes at most. `manager` has the hooks of the project, to tell which of
    /// them blocks.
    pub async fn examine(&self, agent: Agent, manager: &Manager) -> Examination {
        let until = Instant::now() + LIMIT;
        let mut found = Examination::new(agent.as_str(), agent.title());
        found.program = self.program(agent);
        let configured = Configured::read(agent, &self.surroundings, &mut found);
        found.configured = !configured.commands.is_empty();
        found.events = configured.commands.iter().map(|it| configured_command(agent, it)).collect();
        if !found.configured {
            let what = match agent.spec().plugin {
                Some(_) => "hookbox's plugin is not installed",
                None => "no command of its configuration calls hookbox",
            };
            found.warn("configuration", what, format!("hookbox install {agent}"));
            return found.finish();
        }
        let has_program = !agent.spec().process.commands.is_empty();
        if has_program && found.program.is_none() {
            let hint = "install it, or put it on PATH";
            found.warn(
                "agent",
                format!("its program {} is not on PATH", agent.spec().process.commands.join(" or ")),
                hint,
            );
        }
        self.check_all(agent, &configured, &mut found);
        let trust = manager.trust_file();
        let data = trust.as_ref().map(|file| file.directory());
        heartbeat::check(agent, data, &self.surroundings, &configured, &mut found);
        check_input(agent, manager, &mut found);
        self.check_command_files(agent, &mut found);
        let before: Vec<(&HookCommand, &'static AgentEvent)> = configured
            .commands
            .iter()
            .filter_map(|it| Some((it, agent.event(&it.entry.event)?)))
            .filter(|(_, event)| event.event == EventKind::BeforeToolCall)
            .collect();
        if before.is_empty() {
            let name = agent.names_of(EventKind::BeforeToolCall).next().unwrap_or_default();
            let message = format!("no command for {name}: no tool call reaches hookbox");
            found.fail("event", message, format!("hookbox install {agent}"));
        }
        for (command, event) in before {
            self.check_entry(agent, command, event, &configured, &mut found);
            let probe = GuardProbe { doctor: self, agent, command, event, configured: &configured, until };
            if probe.check_version(&mut found).await {
                probe.probe(manager, &mut found).await;
            }
        }
        found.finish()
    }

    /// Names the skills and command files with shell lines that the agent runs by itself: those that others brought were
    /// judged by nobody.
    fn check_command_files(&self, agent: Agent, found: &mut Examination) {
        let roots = [Some(self.project()), self.surroundings.home.as_deref()];
        let places = agent.spec().command_files.iter();
        let files =
            places.flat_map(|place| roots.into_iter().flatten().flat_map(|root| place.with_lines(root)));
        let files: BTreeSet<String> = files.map(|path| shown(&path)).collect();
        let Some(first) = files.first() else { return };
        let more = match files.len() {
            1 => String::new(),
            many => format!(", and {} more", many - 1),
        };
        let message = format!("shell lines run without a tool call: {first}{more}");
        found.warn("lines", message, "read the lines with ! before them");
    }

    fn program(&self, agent: Agent) -> Option<PathBuf> {
        let is_program = |path: &PathBuf| {
            std::fs::metadata(path).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
        };
        let names = agent.spec().process.commands.iter();
        names.flat_map(|name| self.search.iter().map(move |place| place.join(name))).find(is_program)
    }

    /// Checks what concerns all entries.
    fn check_all(&self, agent: Agent, configured: &Configured, found: &mut Examination) {
        for (switch, level, place) in &configured.switches {
            let mut left_out = configured.commands.iter().filter(|it| it.is_left_out(agent, switch, *level));
            // The same event may reach hookbox by another entry.
            let is_covered = |it: &HookCommand| {
                let mut others =
                    configured.commands.iter().filter(|other| other.entry.event == it.entry.event);
                others.any(|other| !other.is_off(agent, configured))
            };
            if left_out.any(|it| !is_covered(it)) {
                found.fail("switch", format!("{switch} ({place})"), "remove that setting");
            }
        }
        check_repository(agent, configured, found);
        let is_on = |name: &&str| {
            let value = variable(name).unwrap_or_default().to_string_lossy().to_ascii_lowercase();
            matches!(value.as_str(), "1" | "true")
        };
        if let Some(name) = agent.spec().doctor.off_variable.filter(is_on) {
            let message = format!("{name} is set: {} loads no plugin", agent.title());
            found.fail("switch", message, "remove the variable from the environment");
        }
        let mut seen = BTreeSet::new();
        for it in &configured.commands {
            if !seen.insert(it.entry.event.as_str()) {
                let hint = format!("keep one of them: hookbox uninstall {agent} at one level");
                found.fail("event", format!("{} calls hookbox more than once", shown_event(it)), hint);
            }
            if it.named != agent {
                let message = format!("{} speaks to hookbox as {}", shown_event(it), it.named);
                found.fail("command", message, format!("let the command be hookbox bridge {agent}"));
            }
            if it.trusts_all {
                let message = format!("{} runs every hook of a repository (--trust all)", shown_event(it));
                found.warn("command", message, "remove --trust all, and trust the hooks that you have read");
            }
            if agent.event(&it.entry.event).is_none() {
                let message =
                    format!("{} is not an event of hookbox, which answers nothing to it", shown_event(it));
                found.warn("event", message, "remove the entry");
            }
        }
    }

    /// Checks the matcher, the keys and the timeout of an entry, and the agent's own conditions.
    fn check_entry(
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
        match AgentHook::names_tool(agent, event.name, matcher, &tool) {
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

/// Names the tool by which the model writes to a program that runs.
fn check_input(agent: Agent, manager: &Manager, found: &mut Examination) {
    let Some(tool) = agent.spec().tools.unseen_input else { return };
    let hole = format!("{tool} reaches no hook");
    if manager.hook(SELF_PROTECTION).is_some() {
        let answer =
            format!("{hole}: {SELF_PROTECTION} refuses a shell or REPL that would take commands from it");
        return found.ok("input", answer);
    }
    let message = format!("{hole}, and {SELF_PROTECTION} is off: a shell that is open takes any command");
    found.warn("input", message, "switch it on in the hookbox.toml of your home directory");
}

/// Reports the settings by which a repository could switch the hooks off, whatever this one has.
fn check_repository(agent: Agent, configured: &Configured, found: &mut Examination) {
    let config = &agent.spec().config;
    let Some(setting) = config.repository_switch else { return };
    let careful = format!("read its settings before you start {agent} in a repository of others");
    let is_of_system = |it: &&HookCommand| {
        it.level == Level::System
            && agent.event(&it.entry.event).is_some_and(|it| it.event == EventKind::BeforeToolCall)
    };
    let system = configured.commands.iter().find(is_of_system);
    let is_kept = config.keeps_system_hooks || !configured.kept_on.is_empty();
    let by_name = config.disable_settings.iter().find(|it| it.leaves_out == LeavesOut::Named);
    match (system, by_name) {
        (Some(_), None) if is_kept => found.ok("switch", "no repository can switch the system's hooks off"),
        (Some(_), Some(by_name)) if is_kept => {
            let message =
                format!("a repository can still switch single hooks off by name: {}", by_name.shown);
            found.warn("switch", message, careful);
        }
        _ => {
            let message = format!("a repository can switch these hooks off, by {setting}");
            let has_system = agent.spec().places_at(Level::System).next().is_some();
            let hint = if has_system {
                format!("sudo hookbox install {agent} --system; or {careful}")
            } else {
                careful
            };
            found.warn("switch", message, hint);
        }
    }
}

fn configured_command(agent: Agent, command: &HookCommand) -> ConfiguredCommand {
    let entry = &command.entry;
    ConfiguredCommand {
        event: text::escape(&entry.event, 100),
        hookbox_event: agent.event(&entry.event).map(|event| event.event.as_str()),
        level: command.level.as_str(),
        file: shown(&command.file),
        command: text::escape(&entry.command, 1000),
        matcher: entry.matcher.as_deref().map(|it| text::escape(it, 500)),
        timeout_ms: millis(entry.timeout),
    }
}

fn shown_event(command: &HookCommand) -> String {
    text::escape(&command.entry.event, 100)
}
