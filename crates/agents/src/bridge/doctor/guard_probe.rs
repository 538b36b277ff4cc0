//! The proof that a guard fires: the answers of the configured command to payloads of the agent.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

use hookbox::Hint;
use hookbox::internal::tool_result;
use hookbox::report::Status as Reported;
use serde_json::json;
use tokio::time::{Instant, timeout_at};

use super::configured::{Configured, HookCommand};
use super::{Doctor, Trial};
use crate::agent::{Agent, AgentEvent, Effect, Printed};
use crate::bridge::sessions::DOCTOR;
use crate::builtin::SELF_PROTECTION;
use crate::event::{Context, EventData, EventName, ToolCall};
use crate::finding::Examination;
use crate::hook::{Budget, Cause, Kind, Mode, OnFailure};
use crate::manager::{Entry, EntryStatus, Manager};
use crate::native::process::Process;
use crate::native::{DEPTH_VARIABLE, depth};
use crate::outcome::Ruling;
use crate::text;

/// A line that `builtin:self-protection` blocks, whatever else is configured.
const PROTECTED: &str = "hookbox trust hookbox-doctor --yes";

/// A line that nothing should block.
const HARMLESS: &str = "echo hookbox doctor";

/// The hint if no guard blocks the line.
const NO_GUARD: &str = "add the guards that hookbox comes with: hookbox guard add --all";

/// An input that is not an event.
const GARBAGE: &str = "this is not an event: hookbox doctor";

/// A command that an agent runs before a tool call, which is to be tried.
pub(super) struct GuardProbe<'a> {
    pub(super) doctor: &'a Doctor,
    pub(super) agent: Agent,
    pub(super) command: &'a HookCommand,
    pub(super) event: &'static AgentEvent,
    pub(super) configured: &'a Configured,
    /// The end of the examination.
    pub(super) until: Instant,
}

impl GuardProbe<'_> {
    /// Returns true if the program can be run. It should be this version.
    pub(super) async fn check_version(&self, found: &mut Examination) -> bool {
        let (agent, own) = (self.agent, &self.doctor.version);
        let program = &self.command.program;
        let ran = self.shell(&format!("{program} --version"), "").await;
        let program = text::escape(program, 300);
        match ran.stdout.lines().next().filter(|_| ran.exit_code == Some(0)) {
            Some(line) if line == *own => found.ok("version", text::escape(line, 200)),
            Some(line) => {
                let line = text::escape(line, 200);
                let message = format!("{program} is another version: {line}, and this is {own}");
                let hint = format!("hookbox install {agent} with the version that you want");
                found.fail("version", message, hint);
            }
            None => {
                let hint = match ran.exit_code {
                    // The shell found no program, or could not execute it.
                    Some(126 | 127) => {
                        format!("hookbox install {agent}, or put the program on the agent's PATH")
                    }
                    _ => format!("hookbox install {agent}"),
                };
                found.fail("command", format!("{program} cannot be run: {}", ran.trouble()), hint);
                return false;
            }
        }
        true
    }

    /// Runs the command with payloads of the agent, and judges the answers as the agent does.
    pub(super) async fn probe(&self, manager: &Manager, found: &mut Examination) {
        if !self.check_harmless(manager, found).await {
            return;
        }
        let (path, path_words) = self.ask_about(PROTECTED).await;
        let (line, line_words) = self.ask_about(&self.doctor.line).await;
        match (&path, &line) {
            (Effect::Blocked(_), _) => found.ok("path", format!("`{PROTECTED}` is blocked")),
            (_, Effect::Blocked(_)) => {
                let message = format!("`{PROTECTED}` is not blocked: the agent could change its own guards");
                found.warn("path", message, "let builtin:self-protection run");
            }
            (Effect::Asked(_), _) => {
                let message = format!("`{PROTECTED}` is not blocked: the agent asks its user");
                found.fail("path", message, "see what the hook says");
            }
            (Effect::Runs(why), _) => {
                let message = format!("the answer to `{PROTECTED}` lets it through: {why}{path_words}");
                let hint = format!(
                    "run hookbox bridge {} by hand and compare: its answer has to be all that is printed",
                    self.agent
                );
                found.fail("path", message, hint);
            }
        }
        let by = self.blocking_hook(&self.doctor.line, manager).await.map(|it| it.by);
        let is_guarded = line.is_blocked() && by.as_deref() != Some(SELF_PROTECTION);
        let shown = text::escape(&self.doctor.line, 200);
        let by = by.map(|by| text::escape(&by, 200));
        match (&line, by) {
            (Effect::Blocked(_), Some(by)) if !is_guarded => {
                let message = format!("only {by} blocks `{shown}`, and it guards hookbox alone");
                found.fail("guard", message, NO_GUARD);
            }
            (Effect::Blocked(reason), by) => {
                let by = by.map(|by| format!(" by {by}")).unwrap_or_default();
                found.ok("guard", format!("`{shown}` is blocked{by}: {}", text::escape(reason, 300)));
            }
            (Effect::Asked(_), _) => {
                let message = format!("`{shown}` is not blocked: the agent asks its user");
                found.warn("guard", message, "if the agent runs without a user, use a guard that blocks it");
            }
            (Effect::Runs(why), Some(by)) => {
                let message = format!("`{shown}` runs, although {by} blocks it here: {why}{line_words}");
                found.fail("guard", message, NO_GUARD);
            }
            (Effect::Runs(_), None) => {
                found.fail("guard", format!("`{shown}` runs: no hook blocks it{line_words}"), NO_GUARD);
            }
        }
        check_hooks(manager, is_guarded, found);
        for trial in &self.doctor.trials {
            self.try_hook(trial, manager, found).await;
        }
        self.check_failure(manager, found).await;
    }

    /// Checks that a hook speaks at its trial. A hook before it may have blocked the call.
    async fn try_hook(&self, trial: &Trial, manager: &Manager, found: &mut Examination) {
        let runs = |it: &Entry| it.status == EntryStatus::Active && it.mode == Mode::Enforce;
        if !manager.entries().iter().any(|it| it.name == trial.hook && runs(it)) {
            return;
        }
        let session = manager.session(DOCTOR).for_trials();
        let session = session.cwd(self.doctor.project().to_string_lossy());
        let call = |line: &str| ToolCall::new("bash", json!({ "command": line }));
        let data = if trial.is_output {
            EventData::AfterToolCall(tool_result(call(HARMLESS), json!(trial.text)))
        } else {
            EventData::BeforeToolCall(call(&trial.text))
        };
        let Ok(fired) = timeout_at(self.until, session.fire(data)).await else { return };
        let status = fired.report.hooks.iter().find(|it| it.name == trial.hook).map(|it| it.status);
        let (name, text) = (text::escape(&trial.hook, 200), text::escape(&trial.text, 200));
        match status {
            Some(Reported::Blocked | Reported::Asked | Reported::Changed) => {
                found.ok("guard", format!("{name} answers to `{text}`"));
            }
            Some(Reported::Skipped | Reported::Observed) => {}
            Some(Reported::Failed) => {
                found.fail("guard", format!("{name} failed at `{text}`"), "see hookbox list");
            }
            _ => found.warn(
                "guard",
                format!("{name} says nothing to `{text}`, which it is made to stop"),
                format!("see its settings, and hookbox explain {}", text::shell_word(&text)),
            ),
        }
    }

    /// Returns true if a harmless line runs, or if a hook blocks it. A command that blocks every line proves
    /// no guard.
    async fn check_harmless(&self, manager: &Manager, found: &mut Examination) -> bool {
        let (Effect::Blocked(reason), _) = self.ask_about(HARMLESS).await else { return true };
        let reason = text::escape(&reason, 500);
        // An error that blocks has another reason than the hook that blocks the line here.
        let own = self.blocking_hook(HARMLESS, manager).await;
        let own =
            own.filter(|it| !it.for_user().is_empty() && reason.contains(&text::escape(it.for_user(), 300)));
        match own {
            Some(own) => {
                let message = format!("`{HARMLESS}` is blocked by {} as well", text::escape(&own.by, 200));
                let hint = mend(manager, |it| it.name == own.by);
                let hint = hint.unwrap_or_else(|| "use a guard that lets harmless lines run".into());
                found.warn("guard", message, hint);
                true
            }
            None => {
                let message = format!(
                    "even `{HARMLESS}` is blocked, so this does not show that a guard works: {reason}"
                );
                let hint = "let --event be the event of the entry; otherwise see what blocks it";
                found.fail("guard", message, mend(manager, |_| true).unwrap_or_else(|| hint.into()));
                false
            }
        }
    }

    /// Checks that input which hookbox cannot read is blocked, if a guard asks for that.
    async fn check_failure(&self, manager: &Manager, found: &mut Examination) {
        if manager.on_failure(Some(&EventName::BeforeToolCall)) != OnFailure::Block {
            let message = "if hookbox or a guard fails, the call runs: no guard says otherwise";
            let hint = "set on_failure = \"block\" in the guard's table of hookbox.toml";
            return found.warn("failure", message, hint);
        }
        match self.ask(GARBAGE).await.0 {
            Effect::Blocked(_) => found.ok("failure", "what hookbox cannot read is blocked"),
            Effect::Asked(why) | Effect::Runs(why) => {
                let message = format!(
                    "what hookbox cannot read runs, although a guard has on_failure = \"block\": {why}"
                );
                let hint = "run hookbox bridge by hand, with garbage on standard input, and compare";
                found.fail("failure", message, hint);
            }
        }
    }

    fn payload(&self, line: &str) -> String {
        self.agent.shell_call(self.event, line, self.doctor.project(), DOCTOR).to_string()
    }

    async fn ask_about(&self, line: &str) -> (Effect, String) {
        self.ask(&self.payload(line)).await
    }

    /// Returns the effect of the command's answer, and the command's own words as the end of a sentence.
    async fn ask(&self, input: &str) -> (Effect, String) {
        let ran = self.shell(&self.command.entry.command, input).await;
        let words = ran.first_error().map(|it| format!("; {it}")).unwrap_or_default();
        let printed = Printed { exit_code: ran.exit_code, stdout: &ran.stdout, stderr: &ran.stderr };
        (ran.failure.map_or_else(|| self.agent.effect(self.event, printed), Effect::Runs), words)
    }

    /// Returns the hook that blocks a line in this program.
    async fn blocking_hook(&self, line: &str, manager: &Manager) -> Option<Ruling> {
        let defaults = Context::new(DOCTOR, self.doctor.project().to_string_lossy());
        let payload = self.payload(line);
        let request = self.agent.read(payload.as_bytes(), Some(self.event.name), &defaults).ok()??;
        let session = manager.session(DOCTOR).for_trials();
        let fired = timeout_at(self.until, session.fire_event(request.event)).await.ok()?;
        fired.verdict.block
    }
}

/// Returns the step that mends such a hook, which cannot be used.
fn mend(manager: &Manager, is_it: impl Fn(&Entry) -> bool) -> Option<Hint> {
    let problems = manager.problems();
    let step = |it: &Entry| {
        let of_it = problems.iter().find(|problem| Some(&problem.path) == it.path.as_ref());
        of_it.and_then(|problem| problem.hint.clone())
    };
    let entries = manager.entries();
    entries.iter().filter(|it| it.status == EntryStatus::Invalid && is_it(it)).find_map(step)
}

/// Reports the hooks that do not run.
fn check_hooks(manager: &Manager, is_guarded: bool, found: &mut Examination) {
    for entry in manager.entries().iter() {
        let name = text::escape(&entry.name, 200);
        let why = entry.problem.as_deref().unwrap_or_default();
        if entry.status == EntryStatus::Active && entry.mode == Mode::Observe {
            let message = format!("{name} is in shadow mode: it does not guard");
            found.warn("guard", message, "see what it would have done; then set mode = \"enforce\" for it");
            continue;
        }
        let (message, hint) = match entry.status {
            EntryStatus::Untrusted => (
                format!("{name} does not run: you have not trusted it"),
                format!("hookbox trust {}", text::shell_word(&entry.name)).into(),
            ),
            EntryStatus::Invalid => {
                let hint = mend(manager, |it| it.name == entry.name);
                let hint = hint.unwrap_or_else(|| "see hookbox list".into());
                (format!("{name} cannot be used: {}", text::escape(why, 500)), hint)
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

/// The longest time that a command may take, even if the agent waits longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// The result of a command.
#[derive(Default)]
struct CommandResult {
    exit_code: Option<i32>,
    stdout: String,
    stderr: String,
    /// The reason why it did not end by itself.
    failure: Option<String>,
}

impl CommandResult {
    fn failed(why: String, stderr: String) -> Self {
        Self { stderr, failure: Some(why), ..Self::default() }
    }

    /// Returns the first line of standard error.
    fn first_error(&self) -> Option<String> {
        let first = self.stderr.lines().find(|line| !line.trim().is_empty());
        first.map(|line| format!("it says: {}", text::escape(line, 300)))
    }

    /// Returns the reason for a failure, in its own words if it has some.
    fn trouble(&self) -> String {
        let failure = || self.failure.clone();
        self.first_error().or_else(failure).unwrap_or_else(|| match self.exit_code {
            Some(0) | None => "it prints no version".to_owned(),
            Some(code) => format!("it ended with exit code {code}"),
        })
    }
}

impl GuardProbe<'_> {
    /// Runs a line by `sh`, as the agent runs its command, with this on standard input.
    async fn shell(&self, line: &str, input: &str) -> CommandResult {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let why = "the examination took too long, and ended before it".to_owned();
            return CommandResult::failed(why, String::new());
        }
        let project = self.doctor.project();
        let wall = self.command.entry.timeout.min(PATIENCE).min(left);
        let depth = OsString::from(depth().to_string());
        let configured = self.command.variables(self.agent, self.configured);
        let mut variables: Vec<(&str, &OsStr)> =
            configured.iter().map(|(name, value)| (name.as_str(), OsStr::new(value))).collect();
        variables.push((DEPTH_VARIABLE, &depth));
        if let Some(name) = self.agent.project_variable() {
            variables.push((name, project.as_os_str()));
            // The agents that have a variable of their own set this one, too.
            variables.push(("CLAUDE_PROJECT_DIR", project.as_os_str()));
        }
        // A payload that only asks is not reported to a collector, and an agent around this one sets no
        // variable of it.
        let is_given = |name: &String| !name.starts_with("OTEL_") && !name.ends_with("_PROJECT_DIR");
        let names: Vec<String> =
            std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).filter(is_given).collect();
        let budget = Budget::for_kind(Kind::Native);
        let process = Process {
            program: Path::new("/bin/sh"),
            args: &["-c", line],
            environment: Some(&names),
            variables: &variables,
            directory: Some(&self.command.directory(self.agent, project)),
            stdin: Some(input.as_bytes().to_vec()),
            wall,
            output: budget.output,
            log: budget.log,
        };
        match process.end().await {
            Ok(ended) => CommandResult {
                exit_code: Some(ended.status),
                stdout: String::from_utf8_lossy(&ended.printed.stdout).into_owned(),
                stderr: ended.printed.log,
                failure: None,
            },
            Err(error) => {
                let why = match error.cause {
                    Cause::Timeout => format!("no answer within {wall:?}, and the agent goes on"),
                    _ => format!("the command {}", error.message),
                };
                CommandResult::failed(why, error.spent.log)
            }
        }
    }
}
