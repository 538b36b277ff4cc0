//! Claude Code's shape: groups of commands, each with a matcher.

use super::document::{Form, Member, Node};
use super::entry::is_policy;
use super::reader::{Reader, at, once, twice, unknown, wrong};
use super::{ClaudeCommand, Declared, Handler};
use crate::dialect::claude::{self, Matcher};
use crate::event::EventName;

/// The keys of a group, and of a command in it.
const GROUP_KEYS: [&str; 2] = ["matcher", "hooks"];
const COMMAND_KEYS: [&str; 8] =
    ["type", "command", "timeout", "name", "priority", "on_failure", "observe", "statusMessage"];

/// A group that holds commands.
pub(super) struct Group<'a> {
    matcher: Option<Matcher>,
    /// The group as it stands, for what a command of it says.
    text: &'a str,
    pub(super) commands: Vec<Node<'a>>,
}

/// Whether this is a group: an object with `hooks`.
pub(super) fn is_group(node: Node<'_>) -> bool {
    matches!(node.form(), Form::Object(members) if members.iter().any(|member| member.name == "hooks"))
}

/// What Claude Code calls the event of this key, where it has it; a key in snake case is every one of its names.
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
    /// Reads a group.
    pub(super) fn group<'a>(&mut self, node: Node<'a>) -> Group<'a> {
        let mut group = Group { matcher: None, text: node.raw(), commands: Vec::new() };
        let Form::Object(members) = node.form() else { return group };
        let (members, again) = once(members);
        for member in &again {
            self.fault(twice(member));
        }
        for member in &members {
            match member.name.as_str() {
                "matcher" => group.matcher = self.matcher(member.value),
                "hooks" => match member.value.form() {
                    Form::Array(commands) => group.commands = commands,
                    // What it may be is an entry all the same: it may be a guard.
                    _ => group.commands = vec![member.value],
                },
                _ => self.fault(format!("{}; it is left out", unknown(member, &GROUP_KEYS))),
            }
        }
        // Of hooks that are there twice all run: none is lost.
        for member in again.iter().filter(|it| it.name == "hooks") {
            if let Form::Array(commands) = member.value.form() {
                group.commands.extend(commands);
            }
        }
        group
    }

    fn matcher(&mut self, value: Node<'_>) -> Option<Matcher> {
        let problem = match value.form() {
            Form::Text(pattern) => match Matcher::parse(&pattern) {
                Ok(matcher) => return Some(matcher),
                Err(error) => at(value.spot(), &format!("matcher: {error}")),
            },
            _ => wrong("matcher", "a text such as \"Bash|Edit\"", value),
        };
        self.fault(format!("{problem}; it gets all of them"));
        None
    }

    /// Reads a command of a group into `hook`, which stands for it.
    pub(super) fn nested(
        &mut self,
        group: &Group<'_>,
        name: Option<String>,
        node: Node<'_>,
        mut hook: Declared,
    ) -> Declared {
        // What the matcher says belongs to it.
        hook.text = format!("{}{}", hook.label, group.text);
        let Form::Object(members) = node.form() else {
            hook.handler = Err(wrong("hooks", "an object such as {\"type\": \"command\", …}", node));
            return hook;
        };
        let (members, again) = once(members);
        let (mut command, mut kind, mut unknowns): (Option<&Member<'_>>, _, _) = (None, None, Vec::new());
        for member in &members {
            match member.name.as_str() {
                "type" => kind = Some(member.value),
                "command" => command = Some(member),
                "statusMessage" => {}
                _ if self.common(member, &mut hook) => {}
                _ => unknowns.push(member),
            }
        }
        let is_command = |value: &Node<'_>| matches!(value.form(), Form::Text(it) if it == "command");
        hook.handler = match (command, kind) {
            (_, Some(kind)) if !is_command(&kind) => {
                Err(wrong("type", "\"command\", the only type that is run", kind))
            }
            (Some(_), _) if again.iter().any(|it| it.name == "command") => {
                again.iter().find(|it| it.name == "command").map_or(Err(String::new()), |it| Err(twice(it)))
            }
            (Some(command), _) => match super::entry::command(command.value) {
                Ok(Handler::Command(line)) => {
                    Ok(Handler::Claude(ClaudeCommand { line, name, matcher: group.matcher.clone() }))
                }
                other => other,
            },
            (None, _) if unknowns.is_empty() => Err(at(node.spot(), "expected a command, found none")),
            (None, _) => Err(unknown(unknowns.remove(0), &COMMAND_KEYS)),
        };
        for member in again.iter().filter(|it| it.name != "command") {
            self.fault(twice(member));
        }
        // Another type has keys of its own.
        let is_other = kind.is_some_and(|kind| !is_command(&kind));
        for member in unknowns.into_iter().filter(|it| !is_other || is_policy(it)) {
            self.unknown(member, &COMMAND_KEYS, &mut hook);
        }
        hook
    }
}
