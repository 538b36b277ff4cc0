//! The session files that agents keep: JSON lines, in formats that no agent documents.
//!
//! A reader takes the lines that it knows. A call whose command it cannot read has nothing to judge, and counts as not
//! read; it never counts as passed.

mod claude;
mod codex;
mod copilot;
mod gemini;
mod journal;
mod script;

use std::io::{self, BufRead, Read as _};

use serde_json::Value;

/// The longest line that is read, in bytes. A longer one is counted as unread.
pub const MAX_LINE: u64 = 64 << 20;

/// The format of a file: the agent that wrote it, or the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// Claude Code: `~/.claude/projects/**/*.jsonl`.
    Claude,
    /// Codex: `~/.codex/sessions/**/rollout-*.jsonl`, in three generations.
    Codex,
    /// Copilot CLI: `~/.copilot/session-state/**/*.jsonl`.
    Copilot,
    /// Gemini CLI: `~/.gemini/tmp/*/chats/*.jsonl`.
    Gemini,
    /// The [journal](crate::journal) of hookbox.
    Journal,
}

impl Format {
    /// The formats of agents.
    pub const AGENTS: [Self; 4] = [Self::Claude, Self::Codex, Self::Copilot, Self::Gemini];

    /// All formats.
    pub const ALL: [Self; 5] = [Self::Claude, Self::Codex, Self::Copilot, Self::Gemini, Self::Journal];

    /// Returns the name of the agent, or `journal`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Copilot => "copilot",
            Self::Gemini => "gemini",
            Self::Journal => "journal",
        }
    }

    /// Returns the format of a file that has this line, if the line tells.
    pub fn of(line: &Value) -> Option<Self> {
        let has = |key: &str| line.get(key).is_some();
        let kind = line.get("type").and_then(Value::as_str).unwrap_or_default();
        if has("v") && has("event") && has("report") {
            Some(Self::Journal)
        } else if has("projectHash") || has("$set") || kind == "gemini" {
            Some(Self::Gemini)
        } else if has("data") && has("parentId") || kind == "session.start" {
            Some(Self::Copilot)
        } else if has("payload") || codex::is_bare(line) {
            Some(Self::Codex)
        } else if has("sessionId") && !kind.is_empty() || has("uuid") && has("message") {
            Some(Self::Claude)
        } else {
            None
        }
    }
}

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
    /// The format; `None` if no line told it.
    pub format: Option<Format>,
    /// The lines that are no JSON, or too long.
    pub unread_lines: u64,
}

/// Reads the lines of one format.
trait Lines {
    fn line(&mut self, line: &Value, found: &mut Vec<Found>);
}

/// Reads a session file, and calls `each` with everything that it tells, in the order of the file.
///
/// # Errors
///
/// The input's own.
pub fn read(mut input: impl BufRead, mut each: impl FnMut(Format, Found)) -> io::Result<Summary> {
    let (mut summary, mut reader) = (Summary::default(), None::<(Format, Box<dyn Lines>)>);
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
            reader = Format::of(&line).map(|format| (format, lines_of(format)));
            summary.format = reader.as_ref().map(|(format, _)| *format);
        }
        if let Some((format, reader)) = &mut reader {
            reader.line(&line, &mut found);
            found.drain(..).for_each(|it| each(*format, it));
        }
    }
}

fn lines_of(format: Format) -> Box<dyn Lines> {
    match format {
        Format::Claude => Box::<claude::Claude>::default(),
        Format::Codex => Box::<codex::Codex>::default(),
        Format::Copilot => Box::<copilot::Copilot>::default(),
        Format::Gemini => Box::<gemini::Gemini>::default(),
        Format::Journal => Box::new(journal::Journal),
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
fn text(value: &Value, pointer: &str) -> Option<String> {
    value.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests;
