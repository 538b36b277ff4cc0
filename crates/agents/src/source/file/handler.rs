//! One command of an agent's configuration.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::bridge_calls::is_own;
use super::{File, Group};
use crate::agent::Level;
use crate::agent_hooks::AgentHook;
use crate::dialect::Condition;
use crate::discovery::document::{Form, Member, Node};
use crate::discovery::reader::{at, describes, unknown, words, wrong};
use crate::discovery::{SourceCommand, SourceHook};
use crate::event::EventName;
use crate::hook::{Digest, OnFailure};
use crate::native::CommandLine;
use crate::spec::{CommandHooks, EntryForm, Spec};
use crate::text;

/// The longest time limit that an entry may set.
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// The keys of a command that have an effect in hookbox, of all agents.
const KEYS: [&str; 15] = [
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
];

/// Keys of agents that have no effect in hookbox.
const WITHOUT_EFFECT: [&str; 10] = [
    "name",
    "powershell",
    "once",
    "loop_limit",
    "rewakeMessage",
    "rewakeSummary",
    "holdsTools",
    "cloud",
    "source",
    "commandWindows",
];

/// The longest group whose text is part of its commands, in bytes. Of a longer one it is the digest, because
/// the group may have many commands.
const MAX_TEXT: usize = 16 * 1024;

impl File<'_> {
    fn spec(&self) -> &'static Spec {
        self.outside.agent.spec()
    }

    fn form(&self) -> &'static EntryForm {
        &self.spec().config.entry
    }

    /// Returns the rules of the agent's hooks; those of Claude Code for an agent without any.
    fn rules(&self) -> &'static CommandHooks {
        self.spec().hooks.as_ref().unwrap_or(const { &CommandHooks::BASE })
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
    ) -> Option<SourceHook> {
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
            background: false,
            matcher: group.matcher.and_then(|it| match it.form() {
                Form::Text(pattern) => Some(pattern),
                _ => None,
            }),
            condition: None,
            on_failure: None,
            timeout: None,
            is_disabled: false,
            is_reported: false,
            command: Err(String::new()),
        };
        let Form::Object(object) = node.form() else {
            hook.command =
                Err(wrong(event, "an object such as {\"type\": \"command\", \"command\": \"…\"}", node));
            return Some(hook);
        };
        let members = self.every(object, |_| false);
        let find = |name: &str| members.iter().find(|it| it.name == name);
        hook.background =
            ["async", "asyncRewake"].iter().any(|key| find(key).is_some_and(|it| it.value.raw() == "true"));
        hook.condition = find("if").and_then(|condition| self.condition(condition.value));
        self.policy(&members, &mut hook);
        hook.timeout = self.timeout(&members);
        let line = self.line(&members, node);
        let shown = line.as_ref().map(ToString::to_string).unwrap_or_default();
        if is_own(&shown) {
            return None;
        }
        let is_named = |it: &String| *it == shown || find("name").is_some_and(|name| name.value.is_text(it));
        let is_unknown = |it: &&Member<'_>| {
            let name = it.name.as_str();
            !KEYS.contains(&name) && !WITHOUT_EFFECT.contains(&name) && !describes(name)
        };
        // The key may be the one that made the command safe.
        let line = line.and_then(|line| match members.iter().find(is_unknown) {
            Some(member) => {
                hook.on_failure.get_or_insert(OnFailure::Block);
                Err(unknown(member, &KEYS))
            }
            None => Ok(line),
        });
        hook.is_disabled = self.disabled.iter().any(is_named);
        hook.command = line.and_then(|line| {
            let line = self.rooted(line, node)?;
            self.without_env_file(&line, node);
            if known.is_none() {
                return Err("its event is not known".to_owned());
            }
            let hook_of_agent = AgentHook::new(self.outside.agent, event)
                .map_err(|error| at(node.spot(), &error.to_string()))?;
            let hook_of_agent = self
                .matching(hook_of_agent, group.matcher)
                .must_answer(hook.on_failure == Some(OnFailure::Block));
            let env = find("env").map_or(Ok(Vec::new()), |env| self.entry_env(env))?;
            let cwd = directory(find("cwd"))?;
            Ok(self.command(line, hook_of_agent, env, cwd))
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
    ) -> SourceCommand {
        let rules = self.rules();
        let beside = self.outside.path.parent().map(Path::to_owned);
        let is_users = self.outside.level == Level::User && self.outside.plugin.is_none();
        SourceCommand {
            line,
            wire: Arc::new(hook_of_agent),
            directory: beside.clone().filter(|_| rules.runs_beside_file && is_users),
            cwd,
            env,
            user_env: Vec::new(),
            project_env: Vec::new(),
            project_variables: rules.project_variables,
            plugin: self.outside.plugin.clone().map(|directory| (directory, rules.plugin_variables)),
            variables: rules.directory_variable.zip(beside).into_iter().collect(),
        }
    }

    /// Reads the failure policy of an entry, in agents that have one.
    fn policy(&mut self, members: &[Member<'_>], hook: &mut SourceHook) {
        for member in members {
            let expected = match member.name.as_str() {
                "failClosed" => "true or false",
                "onFailure" => "\"continue\" or \"block\"",
                _ => continue,
            };
            let policy = match (member.name.as_str(), member.value.raw()) {
                ("failClosed", "true") | ("onFailure", "\"block\"") => OnFailure::Block,
                ("failClosed", "false") | ("onFailure", "\"continue\"") => OnFailure::Pass,
                _ => {
                    self.reader.fault(|| {
                        format!("{}; taken as to block", wrong(&member.name, expected, member.value))
                    });
                    OnFailure::Block
                }
            };
            hook.on_failure = Some(policy);
        }
    }

    fn timeout(&mut self, members: &[Member<'_>]) -> Option<Duration> {
        let unit = self.spec().wait.unit;
        let member =
            self.form().timeout_keys.iter().find_map(|key| members.iter().find(|it| it.name == *key))?;
        let time = match member.value.form() {
            Form::Number(number) => unit.time(number),
            _ => None,
        };
        let time = time.filter(|time| (Duration::from_millis(1)..=MAX_TIMEOUT).contains(time));
        if time.is_none() {
            let expected = format!("{} above zero, and no more than a day", unit.as_str());
            self.reader
                .fault(|| format!("{}; it gets the default", wrong(&member.name, &expected, member.value)));
        }
        time
    }

    /// Reads the permission rule of `if`.
    fn condition(&mut self, value: Node<'_>) -> Option<Condition> {
        let condition = match value.form() {
            Form::Text(rule) => Condition::parse(&rule),
            _ => None,
        };
        if condition.is_none() {
            let problem = wrong("if", "a permission rule such as \"Bash(git *)\"", value);
            self.reader.fault(|| format!("{problem}; it gets all calls that its matcher names"));
        }
        condition
    }

    fn matching(&mut self, hook_of_agent: AgentHook, matcher: Option<Node<'_>>) -> AgentHook {
        let Some(value) = matcher else { return hook_of_agent };
        let problem = match value.form() {
            Form::Text(pattern) => match hook_of_agent.clone().matching(&pattern) {
                Ok(hook_of_agent) => return hook_of_agent,
                Err(error) => at(value.spot(), &format!("matcher: {error}")),
            },
            Form::Null => return hook_of_agent,
            _ => wrong("matcher", "a text such as \"Bash|Edit\"", value),
        };
        // A guard for too many events is noticed, and one for none is not.
        self.reader.fault(|| format!("{problem}; it gets all of them"));
        hook_of_agent
    }

    /// Returns the command line, or the reason why there is none.
    fn line(&self, members: &[Member<'_>], node: Node<'_>) -> Result<CommandLine, String> {
        let form = self.form();
        let find = |name: &str| members.iter().find(|it| it.name == name);
        if let Some(kind) = find("type").filter(|it| !it.value.is_text("command")) {
            return Err(wrong("type", "\"command\", the only type that is run", kind.value));
        }
        if let Some(shell) = find("shell").filter(|it| it.value.is_text("powershell")) {
            return Err(at(shell.value.spot(), "is a line for PowerShell, which is not run here"));
        }
        let keys = form.command_keys;
        let found = keys.iter().find_map(|key| Some((*key, find(key)?)));
        let Some((key, command)) = found else {
            if find("powershell").is_some() {
                return Err(at(node.spot(), "has a line for PowerShell only, which is not run here"));
            }
            let expected = form.command();
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
        let Some(args) = find("args").filter(|_| form.has_args) else {
            // Of Cursor the shell is not known: bash runs a line for either.
            let is_for_sh = form.runs_sh && find("shell").is_none_or(|it| !it.value.is_text("bash"));
            return Ok(if is_for_sh { CommandLine::Shell(line) } else { CommandLine::Bash(line) });
        };
        match words(args.value) {
            Some(args) => Ok(CommandLine::Program { program: line, args }),
            None => Err(wrong("args", "a list of words", args.value)),
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
            let is_plugins = self.spec().config.plugins_key.is_some();
            return match is_plugins && needs(&all, "CLAUDE_PLUGIN_ROOT") {
                true => Err(at(node.spot(), "needs ${CLAUDE_PLUGIN_ROOT}, and is not a hook of a plugin")),
                false => Ok(line),
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
