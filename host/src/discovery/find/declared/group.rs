//! Claude Code's shape: groups of commands, each with a matcher.

use super::document::{Form, Member, Node, Object};
use super::guard::{self, hides_guard, is_policy};
use super::reader::{Reader, at, describes, twice, unknown, words, wrong};
use super::{ClaudeCommand, Declared, Handler};
use crate::dialect::Condition;
use crate::dialect::claude::{self, Matcher};
use crate::event::EventName;
use crate::hook::{Digest, OnFailure};
use crate::native::command::CommandLine;

/// The keys of a group, and of a command in it.
const GROUP_KEYS: [&str; 5] = ["matcher", "hooks", "on_failure", "priority", "observe"];
const COMMAND_KEYS: [&str; 15] = [
    "type",
    "command",
    "args",
    "shell",
    "if",
    "async",
    "asyncRewake",
    "rewakeMessage",
    "rewakeSummary",
    "once",
    "timeout",
    "name",
    "priority",
    "on_failure",
    "observe",
];

/// A group longer than this, in bytes, is replaced by its digest in the text of its commands: there may be
/// many of them.
const MAX_TEXT: usize = 16 * 1024;

/// The shell that an entry names for its line.
#[derive(Clone, Copy)]
enum Shell {
    /// The usual one.
    Any,
    Bash,
    Power,
}

/// A group of commands.
pub(super) struct Group<'a> {
    matcher: Option<Matcher>,
    /// The settings of commands that have none of their own.
    on_failure: Option<OnFailure>,
    priority: Option<i32>,
    observe: bool,
    /// The text of the group, which is part of the text of each command.
    text: String,
    pub(super) commands: Vec<Node<'a>>,
}

/// Returns true if this is a group: an object with `hooks`.
pub(super) fn is_group(node: Node<'_>) -> bool {
    matches!(node.form(), Form::Object(object) if object.members.iter().any(|it| it.name == "hooks"))
}

/// Returns the event of this key, if Claude Code has it, and Claude Code's name. A key in snake case stands
/// for all of its names.
pub(super) fn event(key: &str) -> Option<(EventName, Option<String>)> {
    if let Some(event) = claude::event_name(key) {
        return Some((event, Some(key.to_owned())));
    }
    let event: EventName = key.parse().ok()?;
    let has_it = matches!(
        event,
        EventName::SessionStart
            | EventName::SessionEnd
            | EventName::UserMessageSend
            | EventName::BeforeToolCall
            | EventName::AfterToolCall
            | EventName::OnError
            | EventName::AgentStop
            | EventName::PreCompact
            | EventName::PostCompact
            | EventName::Other(_)
    );
    has_it.then_some((event, None))
}

impl Reader {
    /// Reads a group. `policy` collects the settings of all of its commands.
    pub(super) fn group<'a>(&mut self, node: Node<'a>, mut policy: Declared) -> Group<'a> {
        let text = match node.raw() {
            text if text.len() <= MAX_TEXT => text.to_owned(),
            text => Digest::of(text.as_bytes()).to_string(),
        };
        let (mut matcher, mut commands) = (None, Vec::new());
        if let Form::Object(object) = node.form() {
            let Object { members, again } = object;
            policy.on_failure = guard::policy(members.iter().chain(&again).filter(|it| it.name != "hooks"));
            // If `hooks` appears twice, all of them run: none is lost.
            for member in members.iter().chain(again.iter().filter(|it| it.name == "hooks")) {
                match member.name.as_str() {
                    "matcher" => matcher = self.matcher(member.value),
                    "hooks" => match member.value.form() {
                        Form::Array(found) => commands.extend(found),
                        // It becomes an entry, because it may be a guard.
                        _ => commands.push(member.value),
                    },
                    "on_failure" | "priority" | "observe" => {
                        self.common(member, &mut policy);
                    }
                    key if describes(key) => {}
                    _ => self.unknown(member, &GROUP_KEYS),
                }
            }
            for member in &again {
                self.fault(|| twice(member));
            }
        }
        let Declared { on_failure, priority, observe, .. } = policy;
        Group { matcher, on_failure, priority, observe, text, commands }
    }

    fn matcher(&mut self, value: Node<'_>) -> Option<Matcher> {
        let problem = match value.form() {
            Form::Text(pattern) => match Matcher::parse(&pattern) {
                Ok(matcher) => return Some(matcher),
                Err(error) => at(value.spot(), &format!("matcher: {error}")),
            },
            _ => wrong("matcher", "a text such as \"Bash|Edit\"", value),
        };
        self.fault(|| format!("{problem}; it gets all of them"));
        None
    }

    /// Reads the shell of a line.
    fn shell(&mut self, value: Node<'_>) -> Shell {
        if value.is_text("powershell") {
            return Shell::Power;
        }
        if !value.is_text("bash") {
            self.fault(|| {
                format!("{}; it gets /bin/sh", wrong("shell", "\"bash\" or \"powershell\"", value))
            });
            return Shell::Any;
        }
        Shell::Bash
    }

    /// Reads the permission rule of `if`.
    fn condition(&mut self, value: Node<'_>) -> Option<Condition> {
        let condition = match value.form() {
            Form::Text(rule) => Condition::parse(&rule),
            _ => None,
        };
        if condition.is_none() {
            let problem = wrong("if", "a permission rule such as \"Bash(git *)\"", value);
            self.fault(|| format!("{problem}; it gets all calls that its matcher names"));
        }
        condition
    }

    /// Reads a command of a group into `hook`.
    pub(super) fn nested(
        &mut self,
        group: &Group<'_>,
        name: Option<String>,
        node: Node<'_>,
        mut hook: Declared,
    ) -> Declared {
        // The matcher is a part of what the user trusts.
        hook.text = format!("{}{}", hook.label, group.text);
        hook.spot = node.spot().to_string();
        hook.priority = group.priority;
        hook.observe = group.observe;
        hook.matcher = group.matcher.as_ref().map(|it| it.as_str().to_owned());
        let Form::Object(object) = node.form() else {
            hook.handler = Err(wrong("hooks", "an object such as {\"type\": \"command\", …}", node));
            hook.on_failure = hides_guard(node.raw()).then_some(OnFailure::Block).or(group.on_failure);
            return hook;
        };
        let Object { members, again } = object;
        hook.on_failure = guard::policy(members.iter().chain(&again)).or(group.on_failure);
        let (mut command, mut kind, mut unknowns): (Option<&Member<'_>>, _, _) = (None, None, Vec::new());
        let mut args = None;
        let mut shell = Shell::Any;
        for member in &members {
            match member.name.as_str() {
                "type" => kind = Some(member.value),
                "command" => command = Some(member),
                "args" => args = Some(member.value),
                "shell" => shell = self.shell(member.value),
                "if" => hook.condition = self.condition(member.value),
                "async" | "asyncRewake" => match member.value.form() {
                    Form::Boolean(background) => hook.background |= background,
                    _ => self.fault(|| wrong(&member.name, "true or false", member.value)),
                },
                // Claude Code ignores `once` in a file of settings or of a plugin. No model is woken.
                "once" | "rewakeMessage" | "rewakeSummary" => {}
                key if describes(key) => {}
                _ if self.common(member, &mut hook) => {}
                _ => unknowns.push(member),
            }
        }
        let is_command = |value: &Node<'_>| value.is_text("command");
        let is_twice = |it: &&Member<'_>| matches!(it.name.as_str(), "command" | "args");
        hook.handler = match (command, kind) {
            (_, Some(kind)) if !is_command(&kind) => {
                Err(wrong("type", "\"command\", the only type that is run", kind))
            }
            (Some(command), _) => match again.iter().find(is_twice) {
                Some(member) => Err(twice(member)),
                None => line(command, args, shell),
            }
            .map(|line| Handler::Claude(ClaudeCommand { line, name, matcher: group.matcher.clone() })),
            (None, _) if unknowns.is_empty() => Err(at(node.spot(), "expected a command, found none")),
            (None, _) => Err(unknown(unknowns.remove(0), &COMMAND_KEYS)),
        };
        for member in again.iter().filter(|it| !is_twice(it)) {
            self.fault(|| twice(member));
        }
        if hook.background && hook.on_failure == Some(OnFailure::Block) {
            self.fault(|| at(node.spot(), "runs in the background (async), so it cannot block"));
        }
        // Another type has keys of its own.
        let is_other = kind.is_some_and(|kind| !is_command(&kind));
        unknowns.retain(|it| !is_other || is_policy(&it.name));
        self.unknowns(unknowns, &COMMAND_KEYS, &mut hook);
        hook
    }
}

/// Reads the line of a command, or with `args` its program.
fn line(command: &Member<'_>, args: Option<Node<'_>>, shell: Shell) -> Result<CommandLine, String> {
    if matches!(shell, Shell::Power) {
        return Err(at(command.at.spot(), "has a line for PowerShell, which is not run here"));
    }
    match (super::entry::command_line(command.value)?, args, shell) {
        (CommandLine::Shell(program), Some(args), _) => match words(args) {
            Some(args) => Ok(CommandLine::Program { program, args }),
            None => Err(wrong("args", "a list of words", args)),
        },
        (_, Some(args), _) => Err(at(args.spot(), "\"args\" needs a \"command\" that is a text")),
        (CommandLine::Shell(line), None, Shell::Bash) => Ok(CommandLine::Bash(line)),
        (line, None, _) => Ok(line),
    }
}
