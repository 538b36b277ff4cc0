//! An event as rules see it. What costs time is worked out once, by the first rule that needs it.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use hookbox_shell::{Arg, Known, Mode, Run, Unread, runs};
use serde_json::Value;

use super::path::{self, CallPath};
use crate::dialect::kodelet;
use crate::event::{Event, EventData};

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
    /// The program and its arguments.
    words: Vec<String>,
    /// The command as the line has it, with the programs that start this one.
    whole: Arc<[Arg]>,
    /// True if the output of the command goes to a file: its words are not the whole command.
    has_output: bool,
}

/// A command as rules match it.
#[derive(Clone, Debug)]
pub(super) struct Given<'w> {
    /// The program and its arguments.
    pub(super) words: Vec<&'w str>,
    /// The command as the line has it: an exception names all of it.
    pub(super) whole: Vec<&'w str>,
    pub(super) has_output: bool,
}

impl Line {
    pub(super) fn given(&self) -> Given<'_> {
        let whole: Vec<&str> = self.whole.iter().map(|it| it.text.as_str()).collect();
        Given { words: self.words.iter().map(String::as_str).collect(), whole, has_output: self.has_output }
    }
}

/// Returns the commands of a line, and of those that start others also their words as the line has them.
fn read(line: &str, home: Option<&str>, cwd: &str) -> Commands {
    let cwd = Some(cwd).filter(|it| it.starts_with('/'));
    let reading = runs(line, &Known { cwd, home, ..Known::default() });
    // The redirections of a command are those of its wrappers, and of what `find` starts.
    let written: BTreeSet<*const Arg> =
        reading.runs.iter().filter(|it| has_output(it)).map(|it| it.whole.as_ptr()).collect();
    let mut all: Vec<Line> = Vec::new();
    for Run { words, whole, .. } in reading.runs {
        let has_output = written.contains(&whole.as_ptr());
        let is_whole = words.iter().map(|it| &it.text).eq(whole.iter().map(|it| &it.text));
        let is_known = |it: &Line| Arc::ptr_eq(&it.whole, &whole);
        if !is_whole && !whole.is_empty() && !all.last().is_some_and(is_known) {
            let words = whole.iter().map(|it| it.text.clone()).collect();
            all.push(Line { words, whole: Arc::clone(&whole), has_output });
        }
        if !words.is_empty() {
            all.push(Line { words: words.into_iter().map(|it| it.text).collect(), whole, has_output });
        }
    }
    Commands { all, unread: reading.unread.contains(&Unread::Limit) }
}

/// Returns true if the output of a command goes to a file.
fn has_output(run: &Run) -> bool {
    let is_harmless = |file: &str| hookbox_shell::is_terminal(file) || file == "/dev/null";
    run.redirections
        .iter()
        .any(|it| matches!(it.mode, Mode::Write | Mode::Append | Mode::Both) && !is_harmless(&it.target.text))
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
            for line in self
                .event
                .tool_call()
                .map(|call| hookbox_calls::lines(&call.as_made(&call.decoded())))
                .unwrap_or_default()
            {
                let home = self.homes.first().and_then(|it| it.to_str());
                let read = read(&line, home, &self.event.context.cwd);
                found.unread |= read.unread;
                found.all.extend(read.all);
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
