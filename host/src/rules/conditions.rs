//! The conditions of a rule, and of its exceptions.

use regex::Regex;

use super::command::{self, CommandPattern, WholeCommand};
use super::path::{CallPath, PathGlob};
use super::read::{Fault, Read, Table, Text};
use super::view::{Given, View};
use crate::event::{EventName, ToolCall, ToolKind};
use crate::pattern;
use hookbox_system::text;

/// The keys of conditions.
pub(super) const KEYS: [&str; 7] = ["kind", "tool", "command", "with", "path", "inside", "field"];

/// The keys of conditions that need a tool call.
const OF_CALLS: [&str; 6] = ["kind", "tool", "command", "with", "path", "inside"];

/// The number of regular expressions and of globs that a file may still have: each one takes memory when it is compiled.
pub(super) struct Room {
    regexes: usize,
    globs: usize,
}

impl Room {
    pub(super) const WHOLE: Self = Self { regexes: 64, globs: 256 };

    fn take(room: &mut usize, what: &str, text: &Text<'_>, table: &Table<'_, '_>) -> Read<()> {
        let left = room.checked_sub(1);
        *room = left.ok_or_else(|| table.lines.fault(&text.at, format!("the file has too many {what}")))?;
        Ok(())
    }
}

/// Conditions on an event. All of them have to hold; of a list one item has to.
#[derive(Clone, Debug, Default)]
pub(super) struct Conditions {
    kinds: Vec<ToolKind>,
    tools: Vec<String>,
    commands: Vec<CommandPattern>,
    /// The commands of an exception. Other conditions have none.
    whole: Vec<WholeCommand>,
    with: Vec<String>,
    paths: Vec<PathGlob>,
    inside: Option<bool>,
    fields: Vec<(String, Regex)>,
}

impl Conditions {
    /// Reads the conditions in a table for this event. Commands of an exception are whole ones.
    pub(super) fn read(
        table: &Table<'_, '_>,
        event: &EventName,
        is_exception: bool,
        room: &mut Room,
    ) -> Read<Self> {
        let has_call =
            matches!(event, EventName::BeforeToolCall | EventName::AfterToolCall | EventName::OnError);
        if let Some(key) = OF_CALLS.into_iter().find(|key| !has_call && table.get(key).is_some()) {
            return Err(table.fault(format!("{key}: {event} has no tool call")));
        }
        let wrong =
            |key: &str, text: &Text<'_>, why: String| table.lines.fault(&text.at, format!("{key}: {why}"));
        let mut read = Self { inside: table.flag("inside")?, ..Self::default() };
        for given in table.texts("kind")? {
            let kind = ToolKind::ALL.into_iter().find(|kind| kind.as_str() == given.text);
            read.kinds.push(kind.ok_or_else(|| unknown_kind(table, &given))?);
        }
        read.tools = words(table, "tool")?;
        read.with = words(table, "with")?;
        for given in table.texts("command")? {
            let wrong = |why| wrong("command", &given, why);
            if is_exception {
                read.whole.push(WholeCommand::parse(given.text, !read.with.is_empty()).map_err(wrong)?);
            } else {
                read.commands.push(CommandPattern::parse(given.text).map_err(wrong)?);
            }
        }
        for given in table.texts("path")? {
            Room::take(&mut room.globs, "globs", &given, table)?;
            read.paths.push(PathGlob::parse(given.text).map_err(|why| wrong("path", &given, why))?);
        }
        for (pointer, given) in table.pairs("field")? {
            if !pointer.starts_with('/') {
                let shown = text::escape(pointer, 80);
                let why = format!("expected a JSON pointer such as \"/tool_input/url\", found {shown:?}");
                return Err(wrong("field", &given, why));
            }
            Room::take(&mut room.regexes, "regular expressions", &given, table)?;
            let regex = pattern::compile(given.text).map_err(|why| wrong("field", &given, why))?;
            read.fields.push((pointer.to_owned(), regex));
        }
        Ok(read)
    }

    /// Returns true if there are none.
    pub(super) fn is_empty(&self) -> bool {
        let Self { kinds, tools, fields, .. } = self;
        kinds.is_empty() && tools.is_empty() && fields.is_empty() && !self.has_command() && !self.has_path()
    }

    /// Returns true if the conditions that are not about one command or path hold.
    pub(super) fn hold(&self, view: &View<'_>) -> bool {
        let call = view.event.tool_call();
        let is_kind = |call: &ToolCall| self.kinds.contains(&call.facts.kind);
        (self.kinds.is_empty() || call.is_some_and(is_kind))
            && (self.tools.is_empty() || call.is_some_and(|call| self.names(call)))
            && self
                .fields
                .iter()
                .all(|(pointer, regex)| view.field(pointer).is_some_and(|text| regex.is_match(&text)))
    }

    fn names(&self, call: &ToolCall) -> bool {
        self.tools.iter().any(|tool| {
            command::is_match(tool, &call.name)
                || hookbox_calls::is_same_mcp_tool(tool, &call.name, call.facts.kind)
        })
    }

    pub(super) fn has_command(&self) -> bool {
        !self.commands.is_empty() || !self.whole.is_empty() || !self.with.is_empty()
    }

    /// Returns true if a command matches, or no command has to.
    pub(super) fn match_command(&self, given: Option<&Given<'_>>) -> bool {
        !self.has_command()
            || given.is_some_and(|given| command::runs(&self.commands, &self.with, &given.words))
    }

    /// Returns true if these are the conditions of an exception that names a command, or names none.
    pub(super) fn excuse_command(&self, given: Option<&Given<'_>>) -> bool {
        if self.whole.is_empty() {
            return self.match_command(given);
        }
        let is_it = |given: &&Given<'_>| {
            !given.has_output && self.whole.iter().any(|it| it.is(&self.with, &given.whole))
        };
        given.as_ref().is_some_and(is_it)
    }

    /// Returns true if a command that computes its own name may match.
    pub(super) fn may_match_command(&self, given: &Given<'_>) -> bool {
        command::may_run(&self.commands, &self.with, &given.words)
    }

    pub(super) fn has_path(&self) -> bool {
        !self.paths.is_empty() || self.inside.is_some()
    }

    /// Returns true if a path matches, or no path has to.
    pub(super) fn match_path(&self, path: Option<&CallPath>, view: &View<'_>) -> bool {
        !self.has_path()
            || path.is_some_and(|path| {
                let is_named = || self.paths.iter().any(|glob| glob.matches(&path.path, view.homes));
                (self.inside.is_none() || self.inside == path.inside) && (self.paths.is_empty() || is_named())
            })
    }
}

/// Reads patterns of words. An empty one never matches.
fn words(table: &Table<'_, '_>, key: &str) -> Read<Vec<String>> {
    let read = |given: Text<'_>| match given.text.trim() {
        "" => Err(table.lines.fault(&given.at, format!("{key}: expected a text, found an empty one"))),
        _ => Ok(given.text.to_owned()),
    };
    table.texts(key)?.into_iter().map(read).collect()
}

fn unknown_kind(table: &Table<'_, '_>, given: &Text<'_>) -> Fault {
    let meant = text::or_meant(text::nearest(given.text, ToolKind::ALL.map(ToolKind::as_str)));
    table.lines.fault(&given.at, format!("kind: unknown kind {:?}{meant}", text::escape(given.text, 80)))
}
