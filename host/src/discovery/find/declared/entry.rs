//! One entry of an event: the action, the tools that it is for, and how it runs.
//!
//! Guards count in the parts that are left out, too: an author who wrote `on_failure` wanted protection, and a mistake
//! beside it must not undo that.

use std::sync::LazyLock;
use std::time::Duration;

use regex::Regex;

use super::document::{
    Form, MAX_WORDS, Member, Node, Object, Reader, at, is_clean, is_harmless, twice, unknown, words, wrong,
};
use super::{Declared, Handler, Service, Source};
use crate::event::kind_of_pattern;
use crate::hook::{Kind, OnFailure};
use crate::native::command::CommandLine;
use hookbox_system::{limits, text, units};

/// The keys of an action.
const ACTIONS: [&str; 4] = ["command", "component", "tool", "url"];

/// The keys of an entry.
const KEYS: [&str; 14] = [
    "command",
    "component",
    "tool",
    "url",
    "headers",
    "allowedEnvVars",
    "addresses",
    "fallback",
    "name",
    "priority",
    "matcher",
    "timeout",
    "on_failure",
    "observe",
];

/// The message for an entry without an action, or with two.
const ONE_ACTION: &str = "expected one of command, component, tool and url";

/// The time limit that a number means, and the time limits in words.
pub(super) const TIME: fn(f64) -> Option<Duration> = |seconds| Duration::try_from_secs_f64(seconds).ok();
pub(super) const TIMES: &str = "seconds above zero such as 2 or 0.5, or a time such as \"500ms\"";

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
        let (mut actions, mut unknowns) = (Vec::new(), Vec::new());
        let is_http = members.iter().any(|it| it.name == "url");
        for member in &members {
            let value = member.value;
            match member.name.as_str() {
                "command" => actions.push((member, Kind::Command, command_line(value).map(Handler::Command))),
                "component" => actions.push((member, Kind::Component, component("component", value))),
                "tool" => actions.push((member, Kind::Tool, tool(value))),
                "url" => {
                    let service = Service::read(&members, node);
                    actions.push(match members.iter().find(|it| it.name == "fallback") {
                        Some(local) => {
                            let local = service.and_then(|it| {
                                hook.service = Some(it);
                                component("fallback", local.value)
                            });
                            (member, Kind::Component, local)
                        }
                        None => (member, Kind::Http, service.map(|it| Handler::Http(Box::new(it)))),
                    });
                }
                "headers" | "allowedEnvVars" | "addresses" | "fallback" if is_http => {}
                "type" if is_http && value.is_text("http") => {}
                "matcher" => hook.tools = self.tools(value),
                _ if self.common(member, &mut hook) || is_harmless(&member.name) => {}
                _ => unknowns.push(member),
            }
        }
        // A repeated action has two values, and the entry may be a guard: it does not run.
        let (repeated, others): (Vec<_>, Vec<_>) = again.iter().partition(|it| ACTIONS.contains(&&*it.name));
        others.into_iter().for_each(|member| self.fault(|| twice(member)));
        let mut actions = actions.into_iter();
        let first = actions.next();
        hook.kind = first.as_ref().map_or(hook.kind, |(_, kind, _)| *kind);
        hook.handler = match (first, actions.next(), repeated.first()) {
            (None, ..) => {
                let misspelt = unknowns.iter().take(MAX_WORDS).position(|it| is_action(it));
                let misspelt = misspelt.or_else(|| unknowns.iter().position(|it| !is_policy(&it.name)));
                let none = format!("{ONE_ACTION}, found none of them");
                // The missing key is the misspelt one.
                Err(misspelt
                    .map_or_else(|| at(node.spot(), &none), |which| unknown(unknowns.remove(which), &KEYS)))
            }
            (Some((first, ..)), Some((second, ..)), _) => {
                let (first, found) = (&first.name, &second.name);
                let what = format!("{ONE_ACTION}, found {first} and {found}");
                Err(at(second.at, &what))
            }
            (_, _, Some(second)) => Err(twice(second)),
            (Some((_, kind, _)), ..) if source == Source::McpJson && kind != Kind::Tool => {
                let what =
                    "mcp.json sends events to tools only: a command or component belongs into hooks.json";
                Err(at(node.spot(), what))
            }
            (Some((first, ..)), ..) if source == Source::Settings && first.name != "url" => {
                Err(at(first.at, "is for an HTTP service only: the rest belongs into hooks.json"))
            }
            (Some((_, _, handler)), ..) => handler,
        };
        self.unknowns(unknowns, &KEYS, &mut hook);
        hook
    }

    /// Reads a key that is common to all actions; returns false for any other key.
    pub(super) fn common(&mut self, member: &Member<'_>, hook: &mut Declared) -> bool {
        let Member { name: key, value, .. } = member;
        match key.as_str() {
            "name" => {
                let expected = "a name without / and of at most 100 bytes, which does not begin as \
                                hooks.json#, mcp.json# or builtin:";
                let name = value.text().filter(|name| can_be_a_name(name));
                hook.name = self.checked(key, expected, *value, name, "").or(hook.name.take());
            }
            "priority" => {
                let priority = priority(*value);
                let priority = self.checked(key, "a whole number of 32 bits", *value, priority, "");
                hook.priority = priority.or(hook.priority);
            }
            "timeout" => {
                let time = time(*value, TIME, true);
                hook.timeout = self.checked(key, TIMES, *value, time, "").or(hook.timeout);
            }
            "observe" => {
                let observe = self.checked(key, "true or false", *value, value.flag(), "");
                hook.observe = observe.unwrap_or(hook.observe);
            }
            "on_failure" => {
                let is_known = value.is_text("pass") || value.is_text("block");
                let expected = "\"pass\" or \"block\"";
                self.checked(key, expected, *value, is_known.then_some(()), "; taken as \"block\"");
            }
            _ => return false,
        }
        true
    }

    /// Reads the unknown keys of an entry. One that starts a process or sends a request cannot run with such a key, which may
    /// be the one that made it safe, and is a guard.
    pub(super) fn unknowns(&mut self, members: Vec<&Member<'_>>, known: &[&str], hook: &mut Declared) {
        let acts =
            hook.service.is_some() || matches!(hook.handler, Ok(Handler::Command(_) | Handler::Http(_)));
        for member in members {
            if is_policy(&member.name) || !acts {
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
    text::nearest(&member.name, KEYS).is_some_and(|nearest| ACTIONS.contains(&nearest))
}

/// Reads a whole number of 32 bits. 20.0 and 2e1 are whole numbers, too.
fn priority(value: Node<'_>) -> Option<i32> {
    let Form::Number(number) = value.form() else { return None };
    let is_i32 = number.fract() == 0.0 && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number);
    is_i32.then(|| format!("{number:.0}").parse().ok()).flatten()
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

/// Reads a time limit: a number, or a text with a unit.
pub(super) fn time(
    value: Node<'_>,
    number: fn(f64) -> Option<Duration>,
    has_units: bool,
) -> Option<Duration> {
    let time = match value.form() {
        Form::Number(it) => number(it),
        Form::Text(text) if has_units => units::parse_duration(&text).ok(),
        _ => None,
    };
    time.filter(|time| (Duration::from_millis(1)..=limits::DAY).contains(time))
}

/// Reads a shell line, or a program with its arguments.
pub(super) fn command_line(value: Node<'_>) -> Result<CommandLine, String> {
    let line = match value.form() {
        Form::Text(line) => Some(line).filter(|line| is_clean(line)).map(CommandLine::Shell),
        _ => words(value).filter(|words| words.first().is_some_and(|it| is_clean(it))).map(|mut words| {
            let program = words.remove(0);
            CommandLine::Program { program, args: words }
        }),
    };
    let expected = "a shell line, or a list of words such as [\"python\", \"x.py\"]";
    line.ok_or_else(|| wrong("command", expected, value))
}

fn component(key: &str, value: Node<'_>) -> Result<Handler, String> {
    let path = value.text().filter(|path| is_clean(path));
    let path = path.ok_or_else(|| wrong(key, "the path of a .wasm file", value))?;
    Ok(Handler::Component(path.into()))
}

fn tool(value: Node<'_>) -> Result<Handler, String> {
    let text = value.text().unwrap_or_default();
    let named = text.split_once('.').filter(|(server, tool)| !server.is_empty() && !tool.is_empty());
    let expected = "\"SERVER.TOOL\", of a server of this root's mcp.json";
    let (server, tool) = named.ok_or_else(|| wrong("tool", expected, value))?;
    let spot = value.spot().to_string();
    Ok(Handler::Tool { server: server.to_owned(), tool: tool.to_owned(), spot })
}

impl Reader {
    /// Reads the tools of a matcher as a subscription takes them; an empty list means all tools. A matcher
    /// that cannot be read means all tools: a guard that runs too often is noticed, one that never runs is
    /// not.
    pub(super) fn tools(&mut self, value: Node<'_>) -> Vec<String> {
        let expected = "tool names such as \"bash|edit\" or [\"bash\", \"kind:shell\"]";
        let trimmed = |name: &str| name.trim().to_owned();
        let names: Option<Vec<String>> = match value.form() {
            Form::Text(names) => Some(names.split('|').map(trimmed).collect()),
            Form::Array(items) => items.into_iter().map(|item| Some(trimmed(&item.text()?))).collect(),
            _ => None,
        };
        let names = names.filter(|names| names.len() <= MAX_WORDS);
        let names = self.checked("matcher", expected, value, names, "; it gets all of them");
        let Some(names) = names else { return Vec::new() };
        if names.iter().all(|name| matches!(name.as_str(), "" | "*")) {
            return Vec::new();
        }
        let read: Result<Vec<String>, Option<String>> = names.iter().map(|name| tool_pattern(name)).collect();
        read.unwrap_or_else(|why| {
            self.fault(|| {
                let what = match why {
                    Some(why) => at(value.spot(), &format!("matcher: {why}")),
                    None => wrong("matcher", expected, value),
                };
                format!("{what}; it gets all of them")
            });
            Vec::new()
        })
    }
}

/// Reads a name or a kind in the form in which it is compared.
fn tool_pattern(name: &str) -> Result<String, Option<String>> {
    if let Some(kind) = kind_of_pattern(name) {
        let unknown = |nearest: Option<String>| {
            let (shown, meant) = (text::escape(name, 80), text::or_meant(nearest.as_deref()));
            Some(format!("unknown kind of tool \"{shown}\"{meant}"))
        };
        return kind.map(|kind| format!("kind:{}", kind.as_str())).map_err(unknown);
    }
    // `knd:shell` is not the name of a tool.
    let is_misspelt = name.split_once(':').is_some_and(|(head, tail)| {
        text::distance(&head.trim().to_ascii_lowercase(), "kind") <= 1
            && kind_of_pattern(&format!("kind:{tail}")).is_some_and(|kind| kind.is_ok())
    });
    let is_pattern = name.contains(['*', '^', '$', '(', ')', '[', ']', '\\', '?', '+', ',']);
    if name.is_empty() || is_pattern || is_misspelt || name.contains(char::is_whitespace) {
        return Err(None);
    }
    Ok(name.to_owned())
}

/// Returns true if a key is `on_failure`, or a misspelt one.
pub(super) fn is_policy(key: &str) -> bool {
    text::distance(&key.trim().to_ascii_lowercase(), "on_failure") <= 2
}

/// Returns the failure policy in these members. A value other than `"pass"`, a misspelt key, and a guard in a nested
/// value, where no policy belongs, all block.
pub(super) fn policy<'m>(members: impl Iterator<Item = &'m Member<'m>>) -> Option<OnFailure> {
    let of = |member: &Member<'_>| match is_policy(&member.name) {
        true if member.value.is_text("pass") => Some(OnFailure::Pass),
        is_policy => (is_policy || hides_guard(member.value.raw())).then_some(OnFailure::Block),
    };
    members.filter_map(of).reduce(|a, b| if a == OnFailure::Block { a } else { b })
}

/// Returns true if the text of a value has an `on_failure` that is not `"pass"`, at any depth.
pub(super) fn hides_guard(raw: &str) -> bool {
    // A name is text in quotes before a colon; the longest misspelt one has 12 letters and some blanks.
    static MEMBER: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#""([^"\\]{7,20})"\s*:\s*("pass")?"#).ok());
    let Some(member) = MEMBER.as_ref() else { return raw.contains("on_failure") };
    member
        .captures_iter(raw)
        .any(|found| found.get(2).is_none() && found.get(1).is_some_and(|name| is_policy(name.as_str())))
}

#[cfg(test)]
mod tests {
    use super::super::document::Document;
    use super::*;

    #[test]
    fn a_kind_is_read_in_any_spelling_and_what_cannot_be_read_is_all_tools() {
        for (text, want, fault) in [
            (r#""bash|kind:shell""#, &["bash", "kind:shell"][..], ""),
            (r#""kind: Shell""#, &["kind:shell"], ""),
            (r#"["Kind:SHELL", " edit "]"#, &["kind:shell", "edit"], ""),
            (r#""*""#, &[], ""),
            (r#""kind:shel""#, &[], "unknown kind of tool \"kind:shel\" (did you mean kind:shell?)"),
            (r#""kind:""#, &[], "unknown kind of tool"),
            (r#""knd:shell""#, &[], "expected tool names"),
            (r#""bash,edit""#, &[], "expected tool names"),
            (r#""bash edit""#, &[], "expected tool names"),
            (r#""bash|""#, &[], "expected tool names"),
            (r#"["bash", 5]"#, &[], "expected tool names"),
            (r#""server:tool""#, &["server:tool"], ""),
        ] {
            let mut reader = Reader::default();
            assert_eq!(reader.tools(Document::parse(text).unwrap().root()), want, "{text}");
            let faults = reader.finish();
            assert_eq!(faults.len(), usize::from(!fault.is_empty()), "{text}");
            assert!(faults.iter().all(|it| it.message.contains(fault)), "{text}: {faults:?}");
        }
    }

    #[test]
    fn a_guard_is_found_at_any_depth() {
        for (text, want) in [
            (r#"{"on_failure": "block"}"#, true),
            (r#"[[{"a": {"On-Failure": 5}}]]"#, true),
            (r#"{"a": 1, "a": {"on_failure": "stop"}}"#, true),
            (r#"{"on_failure": "pass", "on_failure" : "block"}"#, true),
            (r#"{"on_failure": "pass"}"#, false),
            (r#"{"a": "on_failure"}"#, false),
            (r#"{"a": "\"on_failure\": 1"}"#, false),
            ("5", false),
        ] {
            assert_eq!(hides_guard(text), want, "{text}");
        }
    }
}
