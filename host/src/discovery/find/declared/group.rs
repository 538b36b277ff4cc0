//! Claude Code's shape: groups of commands, each with a matcher. Here is the one reader of it, for hooks.json, for plugins
//! and for the configurations of agents, which differ in a [`CommandForm`].

use std::time::Duration;

use super::Declared;
use super::document::{
    Form, Member, Node, Object, Reader, at, is_clean, is_harmless, twice, unknown, words, wrong,
};
use super::entry::{self, TIME, TIMES, command_line, hides_guard, is_policy};
use super::service::{self, Service};
use crate::dialect::Condition;
use crate::hook::{Digest, Kind, OnFailure};
use crate::native::command::CommandLine;
use hookbox_system::text;

/// The keys of the commands in a file, and how they are meant.
#[derive(Clone, Copy, Debug)]
pub struct CommandForm {
    /// The keys of the command line, the usual one first.
    pub command_keys: &'static [&'static str],
    /// The keys of the time limit, the usual one first.
    pub timeout_keys: &'static [&'static str],
    /// All keys that have an effect.
    pub keys: &'static [&'static str],
    /// Keys that have none, and no fault.
    pub silent_keys: &'static [&'static str],
    /// Returns the time limit that a number means.
    pub time: fn(f64) -> Option<Duration>,
    /// The time limits in words, for a fault.
    pub times: &'static str,
    /// True if `args` are the arguments of a program.
    pub has_args: bool,
    /// True if the type may be `http`.
    pub has_http: bool,
    /// True if `/bin/sh` runs a line that names no shell; otherwise bash does.
    pub runs_sh: bool,
    /// True for a file of hookbox. It has hookbox's own keys, too, and of a repeated key the first value counts. In other
    /// files the last one counts, as in JavaScript.
    pub is_own: bool,
}

/// The keys of a group, and of a command in it, in a file of hookbox.
const GROUP_KEYS: [&str; 5] = ["matcher", "hooks", "on_failure", "priority", "observe"];
const COMMAND_KEYS: [&str; 13] = [
    "type",
    "command",
    "args",
    "shell",
    "if",
    "async",
    "asyncRewake",
    "timeout",
    "onFailure",
    "name",
    "priority",
    "on_failure",
    "observe",
];

/// The keys of a command that a service does not have.
const OF_COMMANDS: [&str; 9] =
    ["command", "args", "bash", "shell", "async", "asyncRewake", "env", "cwd", "loop_limit"];

impl CommandForm {
    /// The form of hookbox's own files and plugins: that of Claude Code.
    pub(super) const OWN: Self = Self {
        command_keys: &["command"],
        timeout_keys: &["timeout"],
        keys: &COMMAND_KEYS,
        silent_keys: &[],
        time: TIME,
        times: TIMES,
        has_args: true,
        has_http: true,
        runs_sh: true,
        is_own: true,
    };
}

/// A group longer than this, in bytes, is replaced by its digest in the text of its commands: there may be
/// many of them.
const MAX_TEXT: usize = 16 * 1024;

/// A group of commands. An entry that is a command itself is a group of one.
pub struct Group<'a> {
    /// The matcher, if it has one.
    pub matcher: Option<Node<'a>>,
    /// The commands.
    pub commands: Vec<Node<'a>>,
    /// The settings of commands that have none of their own.
    policy: Option<OnFailure>,
    priority: Option<i32>,
    observe: bool,
    /// The text of the group, which is part of the text of each command.
    text: String,
}

/// A command of a group.
pub struct Command<'a> {
    /// Everything but its handler.
    pub hook: Declared,
    /// Its keys.
    pub members: Vec<Member<'a>>,
    /// The action; or the reason why it cannot run, in words that read after the path of the file.
    pub runs: Result<Runs, String>,
}

/// The action of a command.
pub enum Runs {
    /// A command line.
    Line(CommandLine),
    /// A request to a service, whose wire its reader adds.
    Service(Service),
}

/// Returns true if this is a group: an object with `hooks`.
pub(super) fn is_group(node: Node<'_>) -> bool {
    matches!(node.form(), Form::Object(object) if object.members.iter().any(|it| it.name == "hooks"))
}

impl Reader {
    /// Reads a group.
    pub fn group<'a>(&mut self, node: Node<'a>, form: &CommandForm) -> Group<'a> {
        let text = match node.raw() {
            text if text.len() <= MAX_TEXT => text.to_owned(),
            text => Digest::of(text.as_bytes()).to_string(),
        };
        let (matcher, commands) = (None, Vec::new());
        let mut group = Group { matcher, commands, policy: None, priority: None, observe: false, text };
        let object = match node.form() {
            Form::Object(object) if is_group(node) => object,
            Form::Object(object) => {
                group.matcher = object.members.iter().find(|it| it.name == "matcher").map(|it| it.value);
                group.commands.push(node);
                return group;
            }
            _ => {
                group.commands.push(node);
                return group;
            }
        };
        let mut own = Declared::new(String::new(), None);
        if form.is_own {
            let settings = object.members.iter().chain(&object.again).filter(|it| it.name != "hooks");
            group.policy = entry::policy(settings);
        }
        // If `hooks` appears twice, the hooks of both run: none is lost.
        for member in self.members(object, form, |name| name == "hooks") {
            match member.name.as_str() {
                "matcher" => group.matcher = Some(member.value),
                "hooks" => match member.value.form() {
                    Form::Array(found) => group.commands.extend(found),
                    // It becomes an entry, because it may be a guard.
                    _ => group.commands.push(member.value),
                },
                "on_failure" | "priority" | "observe" if form.is_own => {
                    self.common(&member, &mut own);
                }
                "sequential" | "name" if !form.is_own => {}
                key if is_harmless(key) => {}
                _ if form.is_own => self.unknown(&member, &GROUP_KEYS),
                _ => self.fault(|| format!("{}; it is left out", unknown(&member, &["matcher", "hooks"]))),
            }
        }
        Group { priority: own.priority, observe: own.observe, ..group }
    }

    /// Returns the members of an object, each name once, but for names of which all count.
    pub fn members<'a>(
        &mut self,
        object: Object<'a>,
        form: &CommandForm,
        all_count: impl Fn(&str) -> bool,
    ) -> Vec<Member<'a>> {
        let Object { mut members, again } = object;
        for member in again {
            let is_kept = all_count(&member.name);
            self.fault(|| match (is_kept, form.is_own) {
                (_, true) => twice(&member),
                (true, _) => again_counts(&member, "the hooks of both run"),
                (false, _) => again_counts(&member, "the last one counts"),
            });
            match members.iter_mut().find(|it| it.name == member.name) {
                _ if is_kept => members.push(member),
                Some(first) if !form.is_own => *first = member,
                _ => {}
            }
        }
        members
    }

    /// Reads the matcher of a group. One that cannot be read is no matcher: a guard for too many events is noticed, and
    /// one for none is not.
    pub fn matcher<T>(
        &mut self,
        group: &Group<'_>,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let value = group.matcher?;
        let problem = match value.form() {
            Form::Text(pattern) => match parse(&pattern) {
                Ok(matcher) => return Some(matcher),
                Err(error) => at(value.spot(), &format!("matcher: {error}")),
            },
            Form::Null => return None,
            _ => wrong("matcher", "a text such as \"Bash|Edit\"", value),
        };
        self.fault(|| format!("{problem}; it gets all of them"));
        None
    }

    /// Reads a command of a group into `hook`. One that cannot run is a hook all the same: it may be a guard.
    pub fn command<'a>(
        &mut self,
        group: &Group<'a>,
        node: Node<'a>,
        form: &CommandForm,
        mut hook: Declared,
    ) -> Command<'a> {
        // The matcher is a part of what the user trusts.
        hook.text = format!("{}{}", hook.label, group.text);
        hook.spot = node.spot().to_string();
        hook.priority = group.priority;
        hook.observe = group.observe;
        hook.matcher = group.matcher.and_then(Node::text);
        let Form::Object(object) = node.form() else {
            let example = "an object such as {\"type\": \"command\", \"command\": \"…\"}";
            hook.on_failure = (form.is_own && hides_guard(node.raw())).then_some(OnFailure::Block);
            hook.on_failure = hook.on_failure.or(group.policy);
            return Command { hook, members: Vec::new(), runs: Err(wrong("hooks", example, node)) };
        };
        let is_twice = |it: &&Member<'_>| matches!(it.name.as_str(), "command" | "args" | "url");
        let repeated = object.again.iter().find(is_twice).filter(|_| form.is_own).map(twice);
        hook.on_failure = self.policy(&object, form).or(group.policy);
        let members = self.members(object, form, |_| false);
        let find = |name: &str| members.iter().find(|it| it.name == name);
        hook.condition = find("if").and_then(|it| self.condition(it.value));
        hook.timeout = self.time(&members, form);
        let is_http = form.has_http && find("type").is_some_and(|it| it.value.is_text("http"));
        if is_http {
            hook.kind = Kind::Http;
        }
        for key in ["async", "asyncRewake"] {
            let Some(value) = find(key).map(|it| it.value).filter(|_| !is_http) else { continue };
            let background = self.checked(key, "true or false", value, value.flag(), "");
            hook.background |= background.unwrap_or_default();
        }
        if form.is_own {
            for member in members.iter().filter(|it| !form.timeout_keys.contains(&it.name.as_str())) {
                self.common(member, &mut hook);
            }
        }
        let mut runs = match repeated {
            Some(why) => Err(why),
            None if is_http => Service::read(&members, node).map(Runs::Service),
            None => self.line(&members, node, form).map(Runs::Line),
        };
        let is_known = |name: &str| {
            (form.keys.contains(&name) && !(is_http && OF_COMMANDS.contains(&name)))
                || (is_http && service::KEYS.contains(&name))
                || form.silent_keys.contains(&name)
                || is_harmless(name)
        };
        // Another type has keys of its own.
        let is_command = is_http || find("type").is_none_or(|it| it.value.is_text("command"));
        for member in members.iter().filter(|it| !is_known(&it.name)) {
            if form.is_own && is_policy(&member.name) {
                self.unknown(member, form.keys);
            } else if is_command && runs.is_ok() {
                // The key may be the one that made the command safe, and the command a guard.
                runs = Err(unknown(member, if is_http { &service::KEYS } else { form.keys }));
                hook.on_failure.get_or_insert(OnFailure::Block);
            }
        }
        if hook.background && hook.on_failure == Some(OnFailure::Block) {
            self.fault(|| at(node.spot(), "runs in the background (async), so it cannot block"));
        }
        Command { hook, members, runs }
    }

    /// Reads the failure policy of a command: that of its agent, or hookbox's own.
    fn policy(&mut self, object: &Object<'_>, form: &CommandForm) -> Option<OnFailure> {
        let all = || object.members.iter().chain(&object.again);
        let mut found = None;
        for member in all() {
            let (strict, lax, expected) = match member.name.as_str() {
                "failClosed" => ("true", "false", "true or false"),
                "onFailure" => ("\"block\"", "\"continue\"", "\"continue\" or \"block\""),
                _ => continue,
            };
            let known = [strict, lax].contains(&member.value.raw()).then_some(());
            self.checked(&member.name, expected, member.value, known, "; taken as to block");
            let blocks = member.value.raw() != lax;
            found = Some(if blocks { OnFailure::Block } else { OnFailure::Pass });
        }
        if form.is_own {
            let own = entry::policy(all().filter(|it| it.name != "onFailure"));
            found = if own == Some(OnFailure::Block) { own } else { found.or(own) };
        }
        found
    }

    /// Reads the time limit of a command.
    fn time(&mut self, members: &[Member<'_>], form: &CommandForm) -> Option<Duration> {
        let mut keys = form.timeout_keys.iter();
        let member = keys.find_map(|key| members.iter().find(|it| it.name == *key))?;
        let time = entry::time(member.value, form.time, form.is_own);
        self.checked(&member.name, form.times, member.value, time, "; it gets the default")
    }

    /// Reads the permission rule of `if`.
    fn condition(&mut self, value: Node<'_>) -> Option<Condition> {
        let condition = value.text().and_then(|rule| Condition::parse(&rule));
        let expected = "a permission rule such as \"Bash(git *)\"";
        self.checked("if", expected, value, condition, "; it gets all calls that its matcher names")
    }

    /// Reads the line of a command, or with `args` its program.
    fn line(
        &mut self,
        members: &[Member<'_>],
        node: Node<'_>,
        form: &CommandForm,
    ) -> Result<CommandLine, String> {
        let find = |name: &str| members.iter().find(|it| it.name == name);
        if let Some(kind) = find("type").filter(|it| !it.value.is_text("command")) {
            let types = match form.has_http {
                true => "\"command\" or \"http\", the only types that are run",
                false => "\"command\", the only type that is run",
            };
            return Err(wrong("type", types, kind.value));
        }
        let shell = find("shell").map(|it| it.value);
        if let Some(shell) = shell.filter(|it| it.is_text("powershell")) {
            return Err(at(shell.spot(), "is a line for PowerShell, which is not run here"));
        }
        let mut keys = form.command_keys.iter();
        let Some((key, command)) = keys.find_map(|key| Some((*key, find(key)?))) else {
            return Err(self.without_command(members, node, form));
        };
        let line = match command.value.form() {
            Form::Array(_) if form.is_own => command_line(command.value)?,
            Form::Text(line) if is_clean(&line) => CommandLine::Shell(line),
            _ => return Err(wrong(key, "a command line", command.value)),
        };
        if let Some(args) = find("args").filter(|_| form.has_args) {
            let CommandLine::Shell(program) = line else {
                return Err(at(args.value.spot(), "\"args\" needs a \"command\" that is a text"));
            };
            let args = words(args.value).ok_or_else(|| wrong("args", "a list of words", args.value))?;
            return Ok(CommandLine::Program { program, args });
        }
        if let Some(shell) = shell {
            let known = shell.is_text("bash").then_some(());
            self.checked("shell", "\"bash\" or \"powershell\"", shell, known, "; it gets the usual one");
        }
        // The shell of some agents is not known: bash runs a line for either.
        let is_for_sh = form.runs_sh && shell.is_none_or(|it| !it.is_text("bash"));
        Ok(match line {
            CommandLine::Shell(line) if !is_for_sh => CommandLine::Bash(line),
            line => line,
        })
    }

    /// Returns the reason why an entry has no command line.
    fn without_command(&self, members: &[Member<'_>], node: Node<'_>, form: &CommandForm) -> String {
        if members.iter().any(|it| it.name == "powershell") {
            return at(node.spot(), "has a line for PowerShell only, which is not run here");
        }
        let expected = form.command_keys.first().copied().unwrap_or("command");
        let misspelt = members.iter().find(|it| {
            !form.keys.contains(&it.name.as_str())
                && text::distance(&text::prefix(&it.name, 32).to_ascii_lowercase(), expected) <= 2
        });
        match misspelt {
            Some(member) => unknown(member, &[expected]),
            None => at(node.spot(), &format!("expected {expected}, found none")),
        }
    }
}

/// Describes a key that appears twice, in a file in which the first value does not count.
fn again_counts(member: &Member<'_>, what: &str) -> String {
    let key = text::escape(&member.name, 80);
    at(member.at, &format!("\"{key}\" appears twice: {what}"))
}
