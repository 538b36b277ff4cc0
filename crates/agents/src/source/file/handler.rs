//! One command of an agent's configuration.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::File;
use crate::agent::Level;
use crate::agent::bridge_command::installed_for;
use crate::agent_hooks::AgentHook;
use crate::event::EventName;
use crate::hook::OnFailure;
use crate::native::command::CommandLine;
use crate::spec::{CommandHooks, Spec, Unit};
use hookbox::discovery::document::{Form, Member, Node, at, wrong};
use hookbox::discovery::group::{Command, CommandForm, Group, Runs};
use hookbox::discovery::{Declared, Handler, Service, WiredCommand};

/// A time limit in milliseconds below this one was probably meant in seconds.
const SHORT: Duration = Duration::from_millis(300);

/// The keys of a command that have an effect in hookbox, of all agents.
const KEYS: [&str; 16] = [
    "type",
    "command",
    "args",
    "bash",
    "timeout",
    "timeoutSec",
    "matcher",
    "env",
    "cwd",
    "failClosed",
    "onFailure",
    "async",
    "asyncRewake",
    "if",
    "shell",
    "loop_limit",
];

/// Keys of agents that have no effect in hookbox.
const WITHOUT_EFFECT: [&str; 5] = ["name", "powershell", "holdsTools", "cloud", "source"];

impl File<'_> {
    fn spec(&self) -> &'static Spec {
        self.outside.agent.spec()
    }

    /// Returns the rules of the agent's hooks; those of Claude Code for an agent without any.
    fn rules(&self) -> &'static CommandHooks {
        self.spec().hooks.as_ref().unwrap_or(const { &CommandHooks::BASE })
    }

    /// Returns the form of the agent's commands.
    pub(super) fn form(&self) -> CommandForm {
        let spec = self.spec();
        let entry = &spec.config.entry;
        CommandForm {
            command_keys: entry.command_keys,
            timeout_keys: entry.timeout_keys,
            keys: &KEYS,
            silent_keys: &WITHOUT_EFFECT,
            time: spec.wait.unit.reader(),
            times: spec.wait.unit.times(),
            has_args: entry.has_args,
            has_http: entry.has_http,
            runs_sh: entry.runs_sh,
            is_own: false,
        }
    }

    /// Reads a command; `None` if it is hookbox's own. A command that cannot run is a hook all the same: it may
    /// be a guard.
    pub(super) fn handler(
        &mut self,
        event: &str,
        known: Option<&EventName>,
        group: &Group<'_>,
        node: Node<'_>,
        label: String,
    ) -> Option<Declared> {
        let form = self.form();
        let hook = Declared::new(label, known.cloned());
        let Command { mut hook, members, runs } = self.reader.command(group, node, &form, hook);
        let shown = match &runs {
            Ok(Runs::Line(line)) => line.to_string(),
            _ => String::new(),
        };
        // Hookbox would start itself again and again. A line that does more is run, because it may be a guard.
        if installed_for(&shown).is_some() {
            return None;
        }
        let find = |name: &str| members.iter().find(|it| it.name == name);
        let is_named = |it: &String| *it == shown || find("name").is_some_and(|name| name.value.is_text(it));
        hook.is_disabled = self.disabled.iter().any(is_named);
        let must_answer = hook.on_failure == Some(OnFailure::Block);
        let loop_limit = find("loop_limit").and_then(|it| self.loop_limit(it));
        self.tells_milliseconds(hook.timeout, node);
        hook.handler = runs.and_then(|runs| {
            let runs = match runs {
                Runs::Line(line) => {
                    let line = self.rooted(line, node)?;
                    self.without_env_file(&line, node);
                    Runs::Line(line)
                }
                service @ Runs::Service(_) => service,
            };
            if known.is_none() {
                return Err("its event is not known".to_owned());
            }
            let wire = AgentHook::new(self.outside.agent, event)
                .map_err(|error| at(node.spot(), &error.to_string()))?;
            let wire = self.matching(wire, group).must_answer(must_answer).loop_limit(loop_limit);
            let env = find("env").map_or(Ok(Vec::new()), |env| self.entry_env(env))?;
            let cwd = directory(find("cwd"))?;
            Ok(match runs {
                Runs::Line(line) => Handler::Wired(Box::new(self.command(line, wire, env, cwd))),
                Runs::Service(it) => Handler::Http(Box::new(Service { wire: Some(Arc::new(wire)), ..it })),
            })
        });
        Some(hook)
    }

    /// Returns the command with the directories and variables that the agent gives it.
    fn command(
        &self,
        line: CommandLine,
        hook_of_agent: AgentHook,
        env: Vec<(String, String)>,
        cwd: Option<String>,
    ) -> WiredCommand {
        let rules = self.rules();
        let beside = self.outside.path.parent().map(Path::to_owned);
        let is_users = self.outside.level == Level::User && self.outside.plugin.is_none();
        WiredCommand {
            directory: beside.clone().filter(|_| rules.runs_beside_file && is_users),
            cwd,
            env,
            project_variables: rules.project_variables,
            plugin_variables: rules.plugin_variables,
            plugin: self.outside.plugin.clone(),
            variables: rules.directory_variable.zip(beside).into_iter().collect(),
            ..WiredCommand::new(line, Arc::new(hook_of_agent))
        }
    }

    fn matching(&mut self, hook_of_agent: AgentHook, group: &Group<'_>) -> AgentHook {
        let parse = |pattern: &str| {
            let matching = hook_of_agent.clone().matching(pattern).map_err(|error| error.to_string())?;
            Ok((matching, pattern.to_owned()))
        };
        let Some((matching, pattern)) = self.reader.matcher(group, parse) else { return hook_of_agent };
        if let (Some(why), Some(node)) = (matching.dead_word(&pattern), group.matcher) {
            self.reader.fault(|| at(node.spot(), &format!("matcher: {why}")));
        }
        matching
    }

    /// Reads the number of times that a hook may let the agent go on; null is no limit.
    fn loop_limit(&mut self, member: &Member<'_>) -> Option<u32> {
        let limit = member.value.raw().parse().ok();
        if limit.is_none() && !matches!(member.value.form(), Form::Null) {
            self.reader.fault(|| {
                format!("{}; it gets no limit", wrong(&member.name, "a whole number or null", member.value))
            });
        }
        limit
    }

    /// Adds a fault for a time of some milliseconds, whose writer meant seconds: the hook never answers in it.
    fn tells_milliseconds(&mut self, timeout: Option<Duration>, node: Node<'_>) {
        let agent = self.outside.agent.title();
        if let Some(short) = timeout.filter(|it| self.spec().wait.unit == Unit::Milliseconds && *it < SHORT) {
            let number = short.as_millis();
            let what = format!(
                "timeout: is {number} ms, because {agent} counts milliseconds; it hardly suffices for a process"
            );
            self.reader.fault(|| at(node.spot(), &what));
        }
    }

    /// Adds a fault for a line that writes variables for the session's later commands.
    fn without_env_file(&mut self, line: &CommandLine, node: Node<'_>) {
        let Some(name) = self.rules().env_file_variable else { return };
        if line.words().iter().any(|word| word.contains(name)) {
            self.reader.fault(|| {
                let what =
                    format!("names {name}, which hookbox does not set: it sets no variables of a session");
                at(node.spot(), &what)
            });
        }
    }

    /// Returns the line with the directory of its plugin, or the part of it that hookbox does not know.
    fn rooted(&self, line: CommandLine, node: Node<'_>) -> Result<CommandLine, String> {
        let all = line.words().join(" ");
        if all.contains("${user_config.") {
            let what = "needs ${user_config.…}: an option of its plugin, which hookbox does not know";
            return Err(at(node.spot(), what));
        }
        let Some(root) = &self.outside.plugin else {
            let has_plugins = self.spec().config.plugins_key.is_some();
            let of_plugin =
                ["CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA"].into_iter().find(|it| needs(&all, it));
            return match of_plugin.filter(|_| has_plugins) {
                Some(name) => {
                    Err(at(node.spot(), &format!("needs ${{{name}}}, and is not a hook of a plugin")))
                }
                None => Ok(line),
            };
        };
        let root = root.to_string_lossy();
        let put = |text: &str| {
            let text = text.replace("${CLAUDE_PLUGIN_ROOT}", &root).replace("${extensionPath}", &root);
            text.replace("${/}", "/")
        };
        Ok(match line {
            // A shell expands no variable in single quotes, and the agent puts the directory in before. In a
            // shell line, that is safe only if no letter of the directory means anything to the shell.
            CommandLine::Shell(line) if is_plain(&root) => CommandLine::Shell(put(&line)),
            CommandLine::Bash(line) if is_plain(&root) => CommandLine::Bash(put(&line)),
            CommandLine::Shell(_) | CommandLine::Bash(_) => line,
            CommandLine::Program { program, args } => {
                CommandLine::Program { program: put(&program), args: args.iter().map(|it| put(it)).collect() }
            }
        })
    }
}

/// Returns true if a line names this variable without a default such as `${NAME:-…}`.
fn needs(line: &str, name: &str) -> bool {
    let goes_on = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let has_default = |rest: &str| rest.strip_prefix(':').unwrap_or(rest).starts_with(['-', '=', '+']);
    line.split('$').skip(1).any(|rest| match rest.strip_prefix('{') {
        Some(rest) => rest.strip_prefix(name).is_some_and(|rest| !goes_on(rest) && !has_default(rest)),
        None => rest.strip_prefix(name).is_some_and(|rest| !goes_on(rest)),
    })
}

/// Returns true if a path means itself to a shell, with and without quotes.
fn is_plain(path: &str) -> bool {
    path.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+@:,".contains(c))
}

/// Returns the directory of the project in which the entry runs.
fn directory(member: Option<&Member<'_>>) -> Result<Option<String>, String> {
    let Some(member) = member else { return Ok(None) };
    match member.value.form() {
        Form::Text(path) if is_beneath(&path) => Ok(Some(path).filter(|path| !path.is_empty())),
        Form::Null => Ok(None),
        _ => Err(wrong("cwd", "a directory of the project, such as \"scripts\"", member.value)),
    }
}

fn is_beneath(path: &str) -> bool {
    use std::path::Component;
    let parts = || std::path::Path::new(path).components();
    !path.contains('\0') && parts().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}
