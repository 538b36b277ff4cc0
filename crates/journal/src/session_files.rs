//! The session files that agents keep: JSON lines, in formats that no agent documents. Each agent's format is given
//! from outside; the [journal](crate::journal) has one, too.
//!
//! A reader takes the lines that it knows. A call whose command it cannot read has nothing to judge, and counts as not
//! read; it never counts as passed.

use std::io::{self, BufRead, Read as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::journal::{DIRECTORY, has_own_hash};

/// The longest line that is read, in bytes. A longer one is counted as unread.
pub const MAX_LINE: u64 = 64 << 20;

/// The directories of session files, for a home directory and the values of variables.
pub type Directories = fn(&Path, &dyn Fn(&str) -> Option<PathBuf>) -> Vec<PathBuf>;

/// The session files of an agent, or the journal.
#[derive(Debug)]
pub struct Format {
    /// The name of the agent, or `journal`.
    pub name: &'static str,
    /// Returns the directories of its files.
    pub directories: Directories,
    /// Returns true for a line that only a file of this format has.
    pub has_line: fn(&Value) -> bool,
    /// Creates a reader of the lines of a file.
    pub lines: fn() -> Box<dyn Lines>,
}

/// The format of the [journal](crate::journal).
pub static JOURNAL: Format = Format {
    name: "journal",
    directories: |home, variable| {
        let data = variable("XDG_DATA_HOME").unwrap_or_else(|| home.join(".local/share"));
        vec![data.join("hookbox").join(DIRECTORY)]
    },
    has_line: |line| ["v", "event", "report"].iter().all(|key| line.get(key).is_some()),
    lines: || Box::new(Journal),
};

/// A tool call of the past.
#[derive(Clone, Debug, PartialEq)]
pub struct PastCall {
    /// The agent's id of the call. A call that is in several files, because a session was resumed or forked, has one.
    pub id: Option<String>,
    /// The tool's name.
    pub tool: String,
    /// The calls to judge, each with the tool's name and its input: the call itself, or the calls that its script makes.
    /// `None` if they cannot be read.
    pub judged: Option<Vec<(String, Value)>>,
    /// True if the call is a script, which makes other calls.
    pub is_script: bool,
    /// The working directory of that moment.
    pub directory: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// The time, as the file has it (RFC 3339).
    pub time: Option<String>,
    /// The agent's mode, such as `plan`.
    pub mode: Option<String>,
}

/// A run of a hook of the agent's own.
#[derive(Clone, Debug, PartialEq)]
pub struct PastHook {
    /// The id of its line, which copies of the session share.
    pub id: Option<String>,
    /// The time, as the file has it (RFC 3339).
    pub time: Option<String>,
    /// The event and the tool, such as `PostToolUse:Bash`.
    pub name: String,
    /// The command.
    pub command: String,
    /// True if it failed or was cancelled.
    pub failed: bool,
    /// The time that it took, in milliseconds.
    pub duration_ms: Option<u64>,
}

/// A thing that a session file tells.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// A tool call.
    Call(PastCall),
    /// A run of a hook.
    Hook(PastHook),
}

/// Describes a file that was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The name of the format; `None` if no line told it.
    pub format: Option<&'static str>,
    /// The lines that are no JSON, or too long.
    pub unread_lines: u64,
}

/// Reads the lines of one file.
pub trait Lines {
    /// Returns false for the text of a line that others than its writer have put there.
    fn is_own(&self, _text: &[u8]) -> bool {
        true
    }

    /// Reads a line, and adds everything that it tells.
    fn line(&mut self, line: &Value, found: &mut Vec<Found>);
}

/// Reads a session file in one of these formats, and calls `each` with the name of the format and everything that the file
/// tells, in its order. Of formats with the same line the first counts.
///
/// # Errors
///
/// The input's own.
pub fn read(
    mut input: impl BufRead,
    formats: &[&'static Format],
    mut each: impl FnMut(&'static str, Found),
) -> io::Result<Summary> {
    let (mut summary, mut reader) = (Summary::default(), None::<(&'static Format, Box<dyn Lines>)>);
    let (mut text, mut found) = (Vec::new(), Vec::new());
    loop {
        text.clear();
        if input.by_ref().take(MAX_LINE).read_until(b'\n', &mut text)? == 0 {
            return Ok(summary);
        }
        if text.len() as u64 == MAX_LINE && text.last() != Some(&b'\n') {
            skip_line(&mut input)?;
            summary.unread_lines += 1;
            continue;
        }
        if text.trim_ascii().is_empty() {
            continue;
        }
        let Ok(line) = serde_json::from_slice::<Value>(&text) else {
            summary.unread_lines += 1;
            continue;
        };
        if reader.is_none() {
            let format = formats.iter().find(|it| (it.has_line)(&line));
            reader = format.map(|it| (*it, (it.lines)()));
            summary.format = format.map(|it| it.name);
        }
        if let Some((format, reader)) = reader.as_mut().filter(|(_, reader)| reader.is_own(&text)) {
            reader.line(&line, &mut found);
            found.drain(..).for_each(|it| each(format.name, it));
        }
    }
}

/// Reads to the end of a line, and keeps nothing.
fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let end = buffer.iter().position(|it| *it == b'\n');
        let used = end.map_or(buffer.len(), |at| at + 1);
        input.consume(used);
        if end.is_some() {
            return Ok(());
        }
    }
}

/// Returns the text at a JSON Pointer.
pub fn text(value: &Value, pointer: &str) -> Option<String> {
    value.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
}

/// Records of the journal.
#[derive(Default)]
struct Journal;

impl Lines for Journal {
    fn is_own(&self, text: &[u8]) -> bool {
        has_own_hash(text)
    }

    fn line(&mut self, line: &Value, found: &mut Vec<Found>) {
        if text(line, "/event/event").as_deref() != Some("before_tool_call") {
            return;
        }
        let tool = text(line, "/event/tool_name").unwrap_or_default();
        // A command that was cut, or from which a secret was removed, is another command.
        let has = |key: &str| line.get(key).is_some();
        let is_other =
            |input: &Value| has("cut") || has("redacted") && input.to_string().contains("[REDACTED:");
        let input = line.pointer("/event/tool_input").filter(|it| !is_other(it)).cloned();
        found.push(Found::Call(PastCall {
            id: text(line, "/id"),
            judged: input.map(|input| vec![(tool.clone(), input)]),
            tool,
            is_script: false,
            directory: text(line, "/cwd"),
            session: text(line, "/conversation"),
            time: text(line, "/time"),
            mode: text(line, "/event/mode"),
        }));
    }
}
