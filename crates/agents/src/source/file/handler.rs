//! One command of an agent's configuration.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::bridge_calls::is_own;
use super::{File, Group};
use crate::agent::{Agent, Level, Unit};
use crate::agent_hooks::AgentHook;
use crate::discovery::document::{Form, Member, Node};
use crate::discovery::reader::{at, unknown, wrong};
use crate::discovery::{SourceCommand, SourceHook};
use crate::event::EventName;
use crate::hook::{Digest, OnFailure};
use crate::native::CommandLine;
use crate::text;

/// The longest time limit that an entry may set.
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// How many words a command may have.
const MAX_WORDS: usize = 256;

/// The keys of a command that have an effect here, in any of the agents.
const KEYS: [&str; 12] = [
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
];

/// Keys that agents know, and that change nothing of what a hook does here.
const WITHOUT_EFFECT: [&str; 18] = [
    "name",
    "description",
    "comment",
    "statusMessage",
    "powershell",
    "shell",
    "once",
    "if",
    "loop_limit",
    "asyncRewake",
    "rewakeMessage",
    "rewakeSummary",
    "holdsTools",
    "cloud",
    "source",
    "id",
    "commandWindows",
    "$schema",
];

/// A group longer than this, in bytes, stands in what its commands say by its digest: there may be many of them.
const MAX_TEXT: usize = 16 * 1024;

impl File<'_> {
    /// Reads a command, with the name that it gives itself; `None` if it is hookbox's own. A command that cannot run is a
    /// hook all the same: it may be a guard.
    pub(super) fn handler(
        &mut self,
        event: &str,
        known: Option<&EventName>,
        group: &Group<'_>,
        node: Node<'_>,
        label: String,
    ) -> Option<(Option<String>, SourceHook)> {
        let text = match group.text {
            text if text.len() <= MAX_TEXT => text.to_owned(),
            text => Digest::of(text.as_bytes()).to_string(),
        };
        let mut hook = SourceHook {
            // The text of the group, with its matcher.
            text: format!("{label}{text}"),
            label,
            spot: node.spot().to_string(),
            event: known.cloned(),
            observe: false,
            on_failure: None,
            timeout: None,
            is_disabled: false,
            is_reported: false,
            command: Err(String::new()),
        };
        let Form::Object(object) = node.form() else {
            hook.command =
                Err(wrong(event, "an object such as {\"type\": \"command\", \"command\": \"…\"}", node));
            return Some((None, hook));
        };
        let members = self.every(object, |_| false);
        let find = |name: &str| members.iter().find(|it| it.name == name);
        let name = find("name").and_then(|name| match name.value.form() {
            Form::Text(name) => Some(name),
            _ => None,
        });
        hook.observe =
            find("async").or_else(|| find("asyncRewake")).is_some_and(|it| it.value.raw() == "true");
        if let Some(condition) = find("if") {
            self.reader.fault(|| {
                at(condition.at.spot(), "\"if\" is not looked at: the hook gets what its matcher names")
            });
        }
        self.policy(&members, &mut hook);
        hook.timeout = self.timeout(&members);
        for member in &members {
            let is_known =
                KEYS.contains(&member.name.as_str()) || WITHOUT_EFFECT.contains(&member.name.as_str());
            let is_command = find("type").is_none_or(|it| it.value.is_text("command"));
            if !is_known && is_command {
                self.reader.fault(|| format!("{}; it is left out", unknown(member, &KEYS)));
            }
        }
        let line = self.line(&members, node);
        if line.as_ref().is_ok_and(|line| is_own(&line.to_string())) {
            return None;
        }
        hook.command = line.and_then(|line| {
            let line = self.rooted(line, node)?;
            self.without_env_file(&line, node);
            if known.is_none() {
                return Err("its event is not known".to_owned());
            }
            let foreign = AgentHook::new(self.outside.agent, event)
                .map_err(|error| at(node.spot(), &error.to_string()))?;
            let foreign =
                self.matching(foreign, group.matcher).must_answer(hook.on_failure == Some(OnFailure::Block));
            let env = find("env").map_or(Ok(Vec::new()), |env| self.entry_env(env))?;
            let cwd = directory(find("cwd"))?;
            Ok(self.command(line, foreign, env, cwd))
        });
        Some((name, hook))
    }

    /// The command with the directories and variables that the agent gives it.
    fn command(
        &self,
        line: CommandLine,
        foreign: AgentHook,
        env: Vec<(String, String)>,
        cwd: Option<String>,
    ) -> SourceCommand {
        let agent = self.outside.agent;
        let beside = self.outside.path.parent().map(Path::to_owned);
        let is_users = self.outside.level == Level::User && self.outside.plugin.is_none();
        let of_plugin: &'static [&'static str] = match agent {
            Agent::Codex => &["CLAUDE_PLUGIN_ROOT", "PLUGIN_ROOT"],
            _ => &["CLAUDE_PLUGIN_ROOT"],
        };
        SourceCommand {
            line,
            wire: Arc::new(foreign),
            // Cursor runs the user's hooks in the directory of their configuration.
            directory: beside.clone().filter(|_| agent == Agent::Cursor && is_users),
            cwd,
            env,
            user_env: Vec::new(),
            project_env: Vec::new(),
            project_variables: agent.project_variables(),
            plugin: self.outside.plugin.clone().map(|directory| (directory, of_plugin)),
            variables: beside
                .filter(|_| agent == Agent::Copilot)
                .map(|directory| ("COPILOT_HOOK_DIR", directory))
                .into_iter()
                .collect(),
        }
    }

    /// What follows a failure, where the agent lets a hook say so.
    fn policy(&mut self, members: &[Member<'_>], hook: &mut SourceHook) {
        for member in members {
            let policy = match (member.name.as_str(), member.value.form()) {
                ("failClosed", Form::Boolean(closed)) => {
                    if closed {
                        OnFailure::Block
                    } else {
                        OnFailure::Pass
                    }
                }
                ("onFailure", Form::Text(word)) if word == "continue" => OnFailure::Pass,
                ("onFailure", Form::Text(word)) if word == "block" => OnFailure::Block,
                ("failClosed" | "onFailure", _) => {
                    let expected = if member.name == "failClosed" {
                        "true or false"
                    } else {
                        "\"continue\" or \"block\""
                    };
                    self.reader.fault(|| {
                        format!("{}; taken as to block", wrong(&member.name, expected, member.value))
                    });
                    OnFailure::Block
                }
                _ => continue,
            };
            hook.on_failure = Some(policy);
        }
    }

    fn timeout(&mut self, members: &[Member<'_>]) -> Option<Duration> {
        let agent = self.outside.agent;
        let keys: &[&str] = if agent == Agent::Copilot { &["timeoutSec", "timeout"] } else { &["timeout"] };
        let member = keys.iter().find_map(|key| members.iter().find(|it| it.name == *key))?;
        let time = match member.value.form() {
            Form::Number(number) => agent.unit().time(number),
            _ => None,
        };
        let time = time.filter(|time| (Duration::from_millis(1)..=MAX_TIMEOUT).contains(time));
        if time.is_none() {
            let unit = if agent.unit() == Unit::Milliseconds { "milliseconds" } else { "seconds" };
            let expected = format!("{unit} above zero, and no more than a day");
            self.reader
                .fault(|| format!("{}; it gets the default", wrong(&member.name, &expected, member.value)));
        }
        time
    }

    fn matching(&mut self, foreign: AgentHook, matcher: Option<Node<'_>>) -> AgentHook {
        let Some(value) = matcher else { return foreign };
        let problem = match value.form() {
            Form::Text(pattern) => match foreign.clone().matching(&pattern) {
                Ok(foreign) => return foreign,
                Err(error) => at(value.spot(), &format!("matcher: {error}")),
            },
            Form::Null => return foreign,
            _ => wrong("matcher", "a text such as \"Bash|Edit\"", value),
        };
        // A guard that sees too much is seen, one that sees nothing is not.
        self.reader.fault(|| format!("{problem}; it gets all of them"));
        foreign
    }

    /// What is started; or why nothing can be.
    fn line(&self, members: &[Member<'_>], node: Node<'_>) -> Result<CommandLine, String> {
        let agent = self.outside.agent;
        let find = |name: &str| members.iter().find(|it| it.name == name);
        if let Some(kind) = find("type").filter(|it| !it.value.is_text("command")) {
            return Err(wrong("type", "\"command\", the only type that is run", kind.value));
        }
        if let Some(shell) = find("shell").filter(|it| it.value.is_text("powershell")) {
            return Err(at(shell.value.spot(), "is a line for PowerShell, which is not run here"));
        }
        let key = if agent == Agent::Copilot && find("bash").is_some() { "bash" } else { "command" };
        let Some(command) = find(key) else {
            if find("powershell").is_some() {
                return Err(at(node.spot(), "has a line for PowerShell only, which is not run here"));
            }
            let expected = if agent == Agent::Copilot { "bash" } else { "command" };
            let misspelt = members.iter().find(|it| {
                !KEYS.contains(&it.name.as_str())
                    && text::nearest(&it.name, [expected]).is_some()
                    && text::distance(&text::prefix(&it.name, 32).to_ascii_lowercase(), expected) <= 2
            });
            return Err(match misspelt {
                Some(member) => unknown(member, &[expected]),
                None => at(node.spot(), &format!("expected {expected}, found none")),
            });
        };
        let line = match command.value.form() {
            Form::Text(line) if !line.trim().is_empty() && !line.contains('\0') => line,
            _ => return Err(wrong(key, "a command line", command.value)),
        };
        let Some(args) = find("args").filter(|_| matches!(agent, Agent::Claude | Agent::Codex)) else {
            // Claude Code takes /bin/sh unless a hook says bash; of Cursor that is not known, and bash runs a line for either.
            let is_for_sh =
                agent == Agent::Claude && find("shell").is_none_or(|it| !it.value.is_text("bash"));
            return Ok(if is_for_sh { CommandLine::Shell(line) } else { CommandLine::Bash(line) });
        };
        let words = match args.value.form() {
            Form::Array(items) if items.len() <= MAX_WORDS => items
                .into_iter()
                .map(|item| match item.form() {
                    Form::Text(word) if !word.contains('\0') => Some(word),
                    _ => None,
                })
                .collect::<Option<Vec<_>>>(),
            _ => None,
        };
        match words {
            Some(args) => Ok(CommandLine::Program { program: line, args }),
            None => Err(wrong("args", "a list of words", args.value)),
        }
    }

    /// Says that what a line writes for Claude Code's later commands reaches nobody.
    fn without_env_file(&mut self, line: &CommandLine, node: Node<'_>) {
        let is_named = line.words().iter().any(|word| word.contains("CLAUDE_ENV_FILE"));
        if is_named && self.outside.agent == Agent::Claude {
            self.reader.fault(|| {
                let what =
                    "names CLAUDE_ENV_FILE, which hookbox does not set: it sets no variables of a session";
                at(node.spot(), what)
            });
        }
    }

    /// The line with the directory of its plugin in it; or what of it nobody can know here.
    fn rooted(&self, line: CommandLine, node: Node<'_>) -> Result<CommandLine, String> {
        let all = line.words().join(" ");
        for (name, is_needed, what) in [
            (
                "CLAUDE_PLUGIN_DATA",
                needs(&all, "CLAUDE_PLUGIN_DATA"),
                "a directory for the data of plugins, which hookbox does not have",
            ),
            (
                "user_config.",
                all.contains("${user_config."),
                "an option of its plugin, which hookbox does not know",
            ),
        ] {
            if is_needed {
                return Err(at(node.spot(), &format!("needs ${{{name}…}}: {what}")));
            }
        }
        let Some(root) = &self.outside.plugin else {
            return match needs(&all, "CLAUDE_PLUGIN_ROOT") && self.outside.agent == Agent::Claude {
                true => Err(at(node.spot(), "needs ${CLAUDE_PLUGIN_ROOT}, and is no hook of a plugin")),
                false => Ok(line),
            };
        };
        let root = root.to_string_lossy();
        let put = |text: &str| {
            let text = text.replace("${CLAUDE_PLUGIN_ROOT}", &root).replace("${extensionPath}", &root);
            text.replace("${/}", "/")
        };
        Ok(match line {
            // In single quotes a shell does not look for variables, and the agent puts the directory in before; in a
            // shell line only where no letter of it means anything to the shell.
            CommandLine::Shell(line) if is_plain(&root) => CommandLine::Shell(put(&line)),
            CommandLine::Bash(line) if is_plain(&root) => CommandLine::Bash(put(&line)),
            CommandLine::Shell(_) | CommandLine::Bash(_) => line,
            CommandLine::Program { program, args } => {
                CommandLine::Program { program: put(&program), args: args.iter().map(|it| put(it)).collect() }
            }
        })
    }
}

/// Whether a line names this variable and does not say what holds where it is not set, as `${NAME:-…}` does.
fn needs(line: &str, name: &str) -> bool {
    let goes_on = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let has_default = |rest: &str| rest.strip_prefix(':').unwrap_or(rest).starts_with(['-', '=', '+']);
    line.split('$').skip(1).any(|rest| match rest.strip_prefix('{') {
        Some(rest) => rest.strip_prefix(name).is_some_and(|rest| !goes_on(rest) && !has_default(rest)),
        None => rest.strip_prefix(name).is_some_and(|rest| !goes_on(rest)),
    })
}

/// Whether a path means itself to a shell, in quotes and without.
fn is_plain(path: &str) -> bool {
    path.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+@:,".contains(c))
}

/// The directory that the entry runs in, beneath the project.
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
