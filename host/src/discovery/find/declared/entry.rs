//! One entry of an event: the action, and how it runs.

use std::time::Duration;

use super::document::{Form, Member, Node, Object};
use super::guard::{hides_guard, is_policy, policy};
use super::reader::{MAX_WORDS, Reader, at, is_harmless, twice, unknown, words, wrong};
use super::{Declared, Handler, Source};
use crate::hook::{Kind, OnFailure};
use crate::native::command::CommandLine;
use hookbox_system::text;
use hookbox_system::units;

/// The keys of an entry.
const KEYS: [&str; 9] =
    ["command", "component", "tool", "name", "priority", "matcher", "timeout", "on_failure", "observe"];

/// The longest time that an entry can give itself.
pub(super) const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// The longest name of an entry, in bytes.
const MAX_NAME: usize = 100;

impl Reader {
    /// Reads an entry of a hooks.json or mcp.json into `hook`. An entry that cannot run stays an entry,
    /// because it may be a guard.
    pub(super) fn entry(&mut self, source: Source, node: Node<'_>, mut hook: Declared) -> Declared {
        hook.text = node.raw().to_owned();
        hook.spot = node.spot().to_string();
        let Form::Object(object) = node.form() else {
            hook.handler = Err(wrong(&hook.label, "an object such as {\"command\": \"…\"}", node));
            if hides_guard(node.raw()) {
                hook.on_failure = Some(OnFailure::Block);
            }
            return hook;
        };
        let Object { members, again } = object;
        hook.on_failure = policy(members.iter().chain(&again));
        let mut actions = Vec::new();
        let mut unknowns = Vec::new();
        for member in &members {
            match member.name.as_str() {
                "command" => {
                    actions.push((member, Kind::Command, command_line(member.value).map(Handler::Command)))
                }
                "component" => actions.push((member, Kind::Component, component(member.value))),
                "tool" => actions.push((member, Kind::Tool, tool(member.value))),
                "matcher" => hook.tools = self.tools(member.value),
                _ if self.common(member, &mut hook) => {}
                _ => unknowns.push(member),
            }
        }
        unknowns.retain(|it| !is_harmless(&it.name));
        // A repeated key has two values: the stricter one counts, because the entry may be a guard.
        for member in &again {
            match member.name.as_str() {
                "command" | "component" | "tool" => actions.push((member, Kind::Command, Err(twice(member)))),
                _ => self.fault(|| twice(member)),
            }
        }
        if let Some((_, kind, _)) = actions.first() {
            hook.kind = *kind;
        }
        let misspelt = unknowns.iter().take(MAX_WORDS).position(|it| is_action(it));
        let misspelt = misspelt.or_else(|| unknowns.iter().position(|it| !is_policy(&it.name)));
        hook.handler = match (actions.as_mut_slice(), misspelt) {
            ([(_, kind, _)], _) if source == Source::McpJson && *kind != Kind::Tool => {
                let what =
                    "mcp.json sends events to tools only: a command or component belongs into hooks.json";
                Err(at(node.spot(), what))
            }
            ([(_, _, handler)], _) => std::mem::replace(handler, Err(String::new())),
            // The missing key is the misspelt one.
            ([], Some(which)) => Err(unknown(unknowns.remove(which), &KEYS)),
            ([], None) => {
                Err(at(node.spot(), "expected one of command, component and tool, found none of them"))
            }
            ([_, (second, _, Err(_))], _) if again.iter().any(|it| std::ptr::eq(it, *second)) => {
                Err(twice(second))
            }
            ([(first, ..), (second, ..), ..], _) => {
                let what = format!(
                    "expected one of command, component and tool, found {} and {}",
                    first.name, second.name
                );
                Err(at(second.at.spot(), &what))
            }
        };
        self.unknowns(unknowns, &KEYS, &mut hook);
        hook
    }

    /// Reads a key that is common to all actions; returns false for any other key.
    pub(super) fn common(&mut self, member: &Member<'_>, hook: &mut Declared) -> bool {
        let Member { name: key, value, .. } = member;
        match key.as_str() {
            "name" => match value.form() {
                Form::Text(name) if can_be_a_name(&name) => hook.name = Some(name),
                _ => {
                    let expected = "a name without / and of at most 100 bytes, which does not begin as \
                                    hooks.json#, mcp.json# or builtin:";
                    self.fault(|| wrong(key, expected, *value));
                }
            },
            "priority" => match value.form() {
                Form::Number(number) if is_i32(number) => {
                    // 20.0 and 2e1 are whole numbers, too.
                    hook.priority = format!("{number:.0}").parse().ok();
                }
                _ => self.fault(|| wrong(key, "a whole number of 32 bits", *value)),
            },
            "timeout" => match timeout(*value) {
                Some(time) => hook.timeout = Some(time),
                None => {
                    let expected = "seconds above zero such as 2 or 0.5, or a time such as \"500ms\"";
                    self.fault(|| wrong(key, expected, *value));
                }
            },
            "observe" => match value.form() {
                Form::Boolean(observe) => hook.observe = observe,
                _ => self.fault(|| wrong(key, "true or false", *value)),
            },
            "on_failure" if value.is_text("pass") || value.is_text("block") => {}
            "on_failure" => {
                let what = wrong(key, "\"pass\" or \"block\"", *value);
                self.fault(|| format!("{what}; taken as \"block\""));
            }
            _ => return false,
        }
        true
    }

    /// Reads the unknown keys of an entry. One that starts a process cannot run with such a key, which may be the one
    /// that made it safe, and is a guard.
    pub(super) fn unknowns(&mut self, members: Vec<&Member<'_>>, known: &[&str], hook: &mut Declared) {
        let starts_a_process = matches!(hook.handler, Ok(Handler::Command(_)));
        for member in members {
            if is_policy(&member.name) || !starts_a_process {
                self.unknown(member, known);
            } else if hook.handler.is_ok() {
                hook.handler = Err(unknown(member, known));
                hook.on_failure.get_or_insert(OnFailure::Block);
            }
        }
    }

    /// Leaves out an unknown key. A misspelt `on_failure` counts, so that no guard is lost to a typing error.
    pub(super) fn unknown(&mut self, member: &Member<'_>, known: &[&str]) {
        let blocks = is_policy(&member.name) && !member.value.is_text("pass");
        let follows = if blocks { "taken as \"on_failure\": \"block\"" } else { "it is left out" };
        self.fault(|| format!("{}; {follows}", unknown(member, known)));
    }
}

/// Returns true if an unknown key is a misspelt action.
fn is_action(member: &Member<'_>) -> bool {
    matches!(text::nearest(&member.name, KEYS), Some("command" | "component" | "tool"))
}

fn is_i32(number: f64) -> bool {
    number.fract() == 0.0 && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number)
}

fn can_be_a_name(name: &str) -> bool {
    !name.trim().is_empty()
        && name.len() <= MAX_NAME
        && !name.contains('/')
        && text::escape(name, MAX_NAME + 1) == name
        && !matches!(name, "." | "..")
        && !name.starts_with("builtin:")
        && !Source::is_position(name)
}

fn timeout(value: Node<'_>) -> Option<Duration> {
    let time = match value.form() {
        Form::Number(seconds) => Duration::try_from_secs_f64(seconds).ok()?,
        Form::Text(text) => units::parse_duration(&text).ok()?,
        _ => return None,
    };
    Some(time).filter(|time| (Duration::from_millis(1)..=MAX_TIMEOUT).contains(time))
}

/// Reads a shell line, or a program with its arguments.
pub(super) fn command_line(value: Node<'_>) -> Result<CommandLine, String> {
    let fault =
        || Err(wrong("command", "a shell line, or a list of words such as [\"python\", \"x.py\"]", value));
    let clean = |word: &String| !word.contains('\0');
    match value.form() {
        Form::Text(line) if !line.trim().is_empty() && clean(&line) => Ok(CommandLine::Shell(line)),
        Form::Array(_) => {
            let words = words(value);
            let Some((program, args)) = words.as_deref().and_then(<[String]>::split_first) else {
                return fault();
            };
            if program.trim().is_empty() {
                return fault();
            }
            Ok(CommandLine::Program { program: program.clone(), args: args.to_vec() })
        }
        _ => fault(),
    }
}

fn component(value: Node<'_>) -> Result<Handler, String> {
    match value.form() {
        Form::Text(path) if !path.trim().is_empty() && !path.contains('\0') => {
            Ok(Handler::Component(path.into()))
        }
        _ => Err(wrong("component", "the path of a .wasm file", value)),
    }
}

fn tool(value: Node<'_>) -> Result<Handler, String> {
    let fault = || Err(wrong("tool", "\"SERVER.TOOL\", of a server of this root's mcp.json", value));
    let Form::Text(text) = value.form() else { return fault() };
    match text.split_once('.') {
        Some((server, tool)) if !server.is_empty() && !tool.is_empty() => {
            let spot = value.spot();
            Ok(Handler::Tool { server: server.to_owned(), tool: tool.to_owned(), spot: spot.to_string() })
        }
        _ => fault(),
    }
}
