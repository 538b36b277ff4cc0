//! The state of a list of commands, and the words and groups in it.

use std::iter;
use std::ops::Range;

use crate::{Command, Input, Script, Word};

/// A here-document whose body follows the line.
pub(crate) struct Pending {
    pub(crate) command: usize,
    pub(crate) delimiter: String,
    pub(crate) strips_tabs: bool,
    pub(crate) expands: bool,
}

/// The meaning of the next word.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Next {
    #[default]
    Word,
    Output,
    /// A file that is only read.
    Input,
    /// The name of a function.
    Ignored,
}

/// An open compound command.
pub(crate) struct Group {
    pub(crate) end: &'static str,
    /// The first of its commands.
    pub(crate) from: usize,
    pub(crate) flow: usize,
    /// The commands that feed it.
    pub(crate) upstream: Vec<Range<usize>>,
    /// True within `((…))`, which has no here-documents.
    pub(crate) is_arithmetic: bool,
}

/// Names of the terminal and of the standard input.
const TERMINAL: [&str; 6] =
    ["/dev/stdin", "/dev/tty", "/dev/fd/0", "/proc/self/fd/0", "/proc/thread-self/fd/0", "/dev/console"];

/// Returns true if a file is the terminal or the standard input of the line, by any path with this meaning from a root.
pub fn is_terminal(file: &str) -> bool {
    if !file.starts_with(['/', '.']) {
        return false;
    }
    let mut path = Vec::new();
    for part in file.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(path.pop()),
            part => path.push(part),
        }
    }
    let path = format!("/{}", path.join("/"));
    TERMINAL.contains(&path.as_str()) || path.starts_with("/dev/pts/")
}

/// The state of a list of commands.
#[derive(Default)]
pub(crate) struct List {
    /// The index of the command that is being read.
    pub(crate) command: Option<usize>,
    pub(crate) word: Option<(Vec<u8>, bool)>,
    pub(crate) quoted: bool,
    /// True within the brackets of `a=(b c)`, which count as one word.
    pub(crate) array: bool,
    pub(crate) next: Next,
    /// The number of open brackets in the patterns of `case`, if one of them is being read.
    pub(crate) pattern: Option<usize>,
    pub(crate) flow: usize,
    pub(crate) after: bool,
    pub(crate) groups: Vec<Group>,
    /// The commands that feed all of the list.
    pub(crate) base: Vec<Range<usize>>,
    /// The commands before the next one in its pipeline.
    pub(crate) upstream: Vec<Range<usize>>,
    /// The commands in the substitutions of the command that is being read.
    pub(crate) inner: Vec<usize>,
    /// The first command of the compound command that has just ended.
    pub(crate) closed: Option<usize>,
    pub(crate) pending: Vec<Pending>,
}

impl List {
    pub(crate) fn push(&mut self, byte: u8) {
        self.word.get_or_insert_default().0.push(byte);
    }

    pub(crate) fn quote(&mut self) {
        self.word.get_or_insert_default();
        self.quoted = true;
    }

    /// Returns the index of the command that is being read.
    pub(crate) fn command(&mut self, script: &mut Script) -> usize {
        *self.command.get_or_insert_with(|| {
            let (flow, after, level) = (self.flow, self.after, script.level);
            script.commands.push(Command { flow, after, level, ..Command::default() });
            script.commands.len() - 1
        })
    }

    /// Begins a redirection. After a compound command it applies to all of its commands.
    pub(crate) fn redirect(&mut self, next: Next, script: &mut Script) {
        if let Some(from) = self.closed {
            script.merge(from, self.flow);
        }
        self.next = next;
    }

    pub(crate) fn open(&mut self, end: &'static str, script: &mut Script) {
        script.level += usize::from(end == ")");
        let upstream = std::mem::take(&mut self.upstream);
        let (from, flow) = (script.commands.len(), self.flow);
        self.groups.push(Group { end, from, flow, upstream, is_arithmetic: false });
    }

    /// Returns true before the first word of a command that is in no group.
    pub(crate) fn is_at_start(&self) -> bool {
        self.word.is_none() && self.command.is_none() && self.groups.is_empty()
    }

    pub(crate) fn is_arithmetic(&self) -> bool {
        self.groups.last().is_some_and(|it| it.is_arithmetic)
    }

    pub(crate) fn close(&mut self, end: &str, script: &mut Script) {
        let Some(group) = self.groups.pop_if(|it| it.end == end) else { return };
        script.level = script.level.saturating_sub(usize::from(end == ")"));
        // A pipe leads into the group.
        if script.commands.iter().take(group.from).next_back().is_some_and(|it| it.flow == group.flow) {
            script.merge(group.from, group.flow);
            self.flow = group.flow;
        } else {
            self.flow = script.next_flow();
        }
        self.closed = Some(group.from);
        self.upstream = group.upstream;
    }

    pub(crate) fn end_word(&mut self, script: &mut Script) {
        let is_quoted = std::mem::take(&mut self.quoted);
        let Some((word, glob)) = self.word.take() else { return };
        let text = String::from_utf8_lossy(&word).into_owned();
        let next = std::mem::take(&mut self.next);
        if next == Next::Input {
            let descriptor = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
            self.feed(if descriptor || is_terminal(&text) { Input::Named } else { Input::Given }, script);
            if text.starts_with("<(") {
                let command = self.command(script);
                script.commands.get_mut(command).into_iter().for_each(|it| it.texts.push(text.clone()));
            }
            return;
        }
        if self.pattern.is_some() {
            if text == "esac" && next == Next::Word && !is_quoted {
                self.close("esac", script);
                self.pattern = None;
            }
            return;
        }
        if next == Next::Ignored || (next == Next::Word && !is_quoted && self.is_grammar(&text, script)) {
            return;
        }
        let command = self.command(script);
        let Some(command) = script.commands.get_mut(command) else { return };
        let words = if next == Next::Output { &mut command.outputs } else { &mut command.words };
        words.push(Word { text, glob });
    }

    /// Gives the command, or the compound command that has just ended, a standard input.
    pub(crate) fn feed(&mut self, input: Input, script: &mut Script) {
        let from = match (self.closed, self.command) {
            (Some(from), None) => from,
            _ => self.command(script),
        };
        for command in script.commands.iter_mut().skip(from).filter(|it| it.input == Input::Inherited) {
            command.input = input;
        }
    }

    /// Returns the commands that feed the next command.
    pub(crate) fn feeding(&self) -> Vec<Range<usize>> {
        // The commands that feed those are known from these.
        let groups = self.groups.iter().rev().map(|group| &group.upstream);
        let mut all = iter::once(&self.upstream).chain(groups).chain([&self.base]);
        all.find(|it| !it.is_empty()).cloned().unwrap_or_default()
    }

    /// Returns true for a keyword at the beginning of a command or at the end of `for x` and `case x`, and applies it.
    pub(crate) fn is_grammar(&mut self, word: &str, script: &mut Script) -> bool {
        if let Some(command) = self.command {
            let words = script.commands.get(command).map_or(&[][..], |it| &it.words);
            let ends = match words {
                [first, _] if matches!(first.text.as_str(), "for" | "select") => "do",
                [first, _] if first.text == "case" => "in",
                _ => return false,
            };
            // The first word of another command may have quotes.
            if word != ends || self.groups.last().is_none_or(|it| it.from != command) {
                return false;
            }
            self.end_command(script, false);
        }
        match word {
            "in" => {
                let Some(group) = self.groups.last_mut().filter(|it| it.end == "in") else { return false };
                group.end = "esac";
                self.pattern = Some(0);
            }
            "{" => self.open("}", script),
            "if" => self.open("fi", script),
            "while" | "until" => self.open("done", script),
            "for" | "select" | "case" => {
                self.open(if word == "case" { "in" } else { "done" }, script);
                return false;
            }
            "}" | "fi" | "done" | "esac" => self.close(word, script),
            "function" => self.next = Next::Ignored,
            "then" | "elif" | "else" | "do" | "!" => {}
            _ => return false,
        }
        true
    }

    pub(crate) fn end_command(&mut self, script: &mut Script, pipe: bool) {
        self.end_word(script);
        if let Some(command) = self.command.and_then(|at| script.commands.get_mut(at)) {
            command.upstream.extend(self.feeding());
            command.inner = std::mem::take(&mut self.inner);
        }
        // A line break behind a pipe or `&&` ends nothing.
        let ends = self.command.is_some() || self.closed.is_some();
        let mut upstream = std::mem::take(&mut self.upstream);
        let stage = match (self.closed, self.command) {
            (Some(from), _) => from..script.commands.len(),
            (None, Some(at)) => at..at + 1,
            (None, None) => 0..0,
        };
        if ends && (!pipe || !stage.is_empty()) {
            upstream.clear();
            upstream.extend(pipe.then_some(stage));
        }
        if pipe {
            if let Some(from) = self.closed {
                script.merge(from, self.flow);
            }
        } else if ends {
            self.flow = script.next_flow();
        }
        *self = Self {
            flow: self.flow,
            after: self.after && !ends,
            base: std::mem::take(&mut self.base),
            upstream,
            groups: std::mem::take(&mut self.groups),
            pending: std::mem::take(&mut self.pending),
            ..Self::default()
        };
    }
}
