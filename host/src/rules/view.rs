//! An event as rules see it. What costs time is worked out once, by the first rule that needs it.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value;

use super::path::{self, CallPath};
use crate::dialect::kodelet;
use crate::event::{Event, EventData, ToolCall, ToolKind};
use crate::facts;

/// An event as rules see it.
pub(super) struct View<'e> {
    pub(super) event: &'e Event,
    /// The paths of the home directory.
    pub(super) homes: &'e [PathBuf],
    commands: OnceLock<Commands>,
    paths: OnceLock<Vec<CallPath>>,
    payload: OnceLock<Value>,
}

/// The commands of a shell line.
#[derive(Debug, Default)]
pub(super) struct Commands {
    /// The commands, also those that a shell within the line would run.
    pub(super) all: Vec<Line>,
    /// True if not all of them could be read.
    pub(super) unread: bool,
}

/// A command of a shell line.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) words: Vec<String>,
    /// True if its output goes to a file: its words are not the whole command.
    pub(super) has_output: bool,
}

/// A command as rules match it.
#[derive(Clone, Debug)]
pub(super) struct Given<'w> {
    pub(super) words: Vec<&'w str>,
    pub(super) has_output: bool,
}

impl Line {
    fn of(command: hookbox_shell::Command) -> Self {
        // The reader gives the descriptors of `2>&1` as words, too.
        let is_harmless =
            |file: &str| hookbox_shell::is_terminal(file) || matches!(file, "/dev/null" | "1" | "2");
        let has_output = command.outputs.iter().any(|file| !is_harmless(&file.text));
        Self { words: command.words.into_iter().map(|word| word.text).collect(), has_output }
    }

    pub(super) fn given(&self) -> Given<'_> {
        Given { words: self.words.iter().map(String::as_str).collect(), has_output: self.has_output }
    }
}

impl<'e> View<'e> {
    pub(super) fn new(event: &'e Event, homes: &'e [PathBuf]) -> Self {
        let (commands, paths, payload) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self { event, homes, commands, paths, payload }
    }

    /// Returns the commands of the call.
    pub(super) fn commands(&self) -> &Commands {
        self.commands.get_or_init(|| {
            let mut found = Commands::default();
            for line in self.event.tool_call().map(lines).unwrap_or_default() {
                let scripts = hookbox_shell::scripts(&line);
                found.unread |= scripts.unread;
                let commands = scripts.parts.into_iter().flat_map(|part| part.script.commands);
                found.all.extend(commands.map(Line::of).filter(|it| !it.words.is_empty()));
            }
            found
        })
    }

    /// Returns the paths of the call.
    pub(super) fn paths(&self) -> &[CallPath] {
        self.paths.get_or_init(|| {
            let cwd = Path::new(&self.event.context.cwd);
            let home = self.homes.first().map(PathBuf::as_path);
            self.event.tool_call().map(|call| path::of(call, cwd, home)).unwrap_or_default()
        })
    }

    /// Returns the text of a field: a string as it is, any other value as JSON. `None` without a value.
    pub(super) fn field(&self, pointer: &str) -> Option<Cow<'_, str>> {
        let beneath = |field: &str| {
            let rest = pointer.strip_prefix(field)?;
            (rest.is_empty() || rest.starts_with('/')).then_some(rest)
        };
        let value = match (beneath("/tool_input"), beneath("/tool_output"), &self.event.data) {
            (Some(rest), ..) => self.event.tool_call()?.input.pointer(rest),
            (_, Some(rest), EventData::AfterToolCall(result)) => result.output.pointer(rest),
            _ => self.payload.get_or_init(|| kodelet::encode(self.event)).pointer(pointer),
        };
        match value? {
            Value::Null => None,
            Value::String(text) => Some(Cow::Borrowed(text)),
            other => Some(Cow::Owned(other.to_string())),
        }
    }
}

/// Returns the lines that a call may run. Input in an unknown shape is read text by text: odd input passes no rule.
fn lines(call: &ToolCall) -> Vec<String> {
    match (&call.facts.command, call.facts.kind) {
        (Some(line), _) => vec![line.clone()],
        (None, ToolKind::Shell) => {
            let mut texts = Vec::new();
            collect(call.input.value(), &mut texts);
            let all = texts.join(" ");
            texts.into_iter().map(str::to_owned).chain([all]).collect()
        }
        // An unknown tool, or one of an MCP server, may be a shell by another name.
        (None, ToolKind::Other | ToolKind::Mcp) => {
            facts::command_of(&call.name, call.input.value()).into_iter().collect()
        }
        (None, _) => Vec::new(),
    }
}

/// Collects every text of a value, in their order.
fn collect<'v>(value: &'v Value, texts: &mut Vec<&'v str>) {
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop() {
        match value {
            Value::String(text) => texts.push(text),
            // The last one is the next.
            Value::Array(values) => waiting.extend(values.iter().rev()),
            Value::Object(fields) => waiting.extend(fields.values().rev()),
            _ => {}
        }
    }
}
