//! Reads shell text: its simple commands, with those in substitutions, and which of them feed each other.
//!
//! It reads any text in one pass, with limited recursion, and finds the commands of a text with an error, too
//! ([`Script::odd`]). It has no dependencies and builds for `wasm32-wasip2`, so that the host and a hook read a line
//! in the same way.
//!
//! ```
//! let script = hookbox_shell::read("curl -s example.com | sudo bash");
//! let words: Vec<_> = script.commands[1].words.iter().map(|word| word.text.as_str()).collect();
//! assert_eq!(words, ["sudo", "bash"]);
//! ```
//!
//! [`runs`] follows a line further: to the commands that it would really run, with their variables and directories.
//!
//! A parser of the whole grammar (brush-parser 0.4 was tried) returns nothing but an error for an open
//! quote or another shell's syntax, and overflows the stack at a thousand nested substitutions.

use std::collections::BTreeSet;
use std::ops::Range;

mod braces;
mod list;
mod parts;
mod programs;
mod reader;
pub mod runs;
mod scripts;
mod shell_words;

pub use braces::braces;
pub use list::is_terminal;
pub use programs::{Use, assignment, base_name, describes, executes, unwrapped, use_of};
pub use reader::{Token, read, tokens};
pub use scripts::{Part, Scripts, program_starts, scripts, unquoted};
pub use shell_words::ShellWords;

/// The depth of nested substitutions.
const MAX_DEPTH: usize = 16;

/// The longest substitution that stays in its word as it was written, in bytes. Its commands are read in any case.
const MAX_RAW: usize = 16 << 10;

/// The number of bytes in which the ends of `((` are searched.
const MAX_SEARCHED: usize = 1 << 20;

/// A word without its quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// The text; variables and substitutions stay as they were written.
    pub text: String,
    /// True if it is a pattern for file names.
    pub glob: bool,
}

/// The redirection of a standard input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Input {
    /// It is a pipe, or that of the line.
    #[default]
    Inherited,
    /// It is a file or a text.
    Given,
    /// It is the terminal or the standard input of the line, by its name.
    Named,
}

/// A simple command.
#[derive(Debug, Default)]
pub struct Command {
    /// Assignments, the program, arguments.
    pub words: Vec<Word>,
    /// The files that its output goes to.
    pub outputs: Vec<Word>,
    /// The here-documents and here-strings.
    pub texts: Vec<String>,
    /// The commands whose output is its standard input: the one or the group before it in its pipeline. Commands of a group
    /// have those before the group.
    pub upstream: Vec<Range<usize>>,
    /// The commands in its substitutions, whose output is in its words, its input or its here-documents.
    pub inner: Vec<usize>,
    /// The redirection of its standard input.
    pub input: Input,
    /// The number that it shares with the commands that it may feed or be fed by: those of its pipeline, its
    /// substitutions, and the compound command whose end has a pipe or a redirection.
    pub flow: usize,
    /// True if it runs only after the previous one succeeded (`&&`).
    pub after: bool,
    /// The number of subshells and substitutions around it.
    pub level: usize,
}

impl Command {
    /// Returns the texts of its words.
    pub fn texts_of_words(&self) -> Vec<&str> {
        self.words.iter().map(|word| word.text.as_str()).collect()
    }
}

/// A piece of shell text.
#[derive(Debug, Default)]
pub struct Script {
    /// The commands; those of a substitution are beside the one that it belongs to.
    pub commands: Vec<Command>,
    /// True if it was not understood to its end (an open quote or document), or if shells read it in different ways.
    pub odd: bool,
    /// True if a part was not read, because it has too many levels. It may have other commands.
    pub unread: bool,
    /// The number of bytes in which the ends of `((` were searched.
    searched: usize,
    flows: usize,
    level: usize,
}

impl Script {
    fn next_flow(&mut self) -> usize {
        self.flows += 1;
        self.flows
    }

    /// Returns the commands whose output reaches one of these, directly or through others, in the order of the text.
    pub fn sources(&self, of: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
        let (mut found, mut waiting) = (BTreeSet::new(), of.into_iter().collect::<Vec<_>>());
        let mut groups = BTreeSet::new();
        while let Some(at) = waiting.pop() {
            if found.insert(at)
                && let Some(command) = self.commands.get(at)
            {
                let upstream = command.upstream.iter().filter(|it| groups.insert((it.start, it.end)));
                waiting.extend(upstream.cloned().flatten().chain(command.inner.iter().copied()));
            }
        }
        found
    }

    /// Makes the commands from this one on feed each other.
    fn merge(&mut self, from: usize, flow: usize) {
        self.commands.iter_mut().skip(from).for_each(|it| it.flow = flow);
    }
}

#[cfg(test)]
mod tests;
