//! Reads shell text: the commands that a line would really run.
//!
//! [`runs`] follows a line as a shell does, as far as a text can be followed: into quotes, substitutions, wrappers
//! (`sudo`, `env`, `xargs`, `find -exec`, `ssh`, `docker exec`), scripts for shells and code for interpreters, with the
//! variables, directories, functions and files of the line.
//!
//! ```
//! use hookbox_shell::{Known, runs};
//!
//! let reading = runs("d=build; cd /srv && sudo sh -c \"rm -rf $d\"", &Known::default());
//! let run = reading.runs.iter().find(|it| it.program() == Some("rm")).unwrap();
//! assert_eq!(run.texts(), ["rm", "-rf", "build"]);
//! assert_eq!(run.directory.as_deref(), Some("/srv"));
//! ```
//!
//! Any text is read, with limited recursion; a text with an error, too. The crate has no dependencies and builds for
//! `wasm32-wasip2`, so that the host and a hook read a line in the same way.
//!
//! A parser of the whole grammar (brush-parser 0.4 was tried) returns nothing but an error for an open
//! quote or another shell's syntax, and overflows the stack at a thousand nested substitutions.

use std::ops::Range;
use std::sync::Arc;

mod aliases;
mod alternatives;
mod arithmetic;
mod braces;
mod builtins;
mod compound;
mod escapes;
mod files;
mod inside;
mod languages;
mod lex;
mod listener;
mod literals;
mod machine;
mod outputs;
mod parameters;
mod parse;
mod paths;
mod powershell;
mod programs;
mod redirects;
mod shell_words;
mod shells;
mod tokens;
mod tree;
mod words;
mod wrappers;

pub use self::files::{FileUse, UsedFile, git_parts, is_short, operands, patched, unpacks, used_in_patch};
pub use listener::{is_interpreter, runs_its_input, waits_for_commands};
use machine::Machine;
pub use paths::{base_name, is_terminal, join_path};
pub use programs::{Use, assignment, executes, fits, program_starts, use_of};
pub use shell_words::ShellWords;
pub use tokens::{Token, tokens, unquoted};
pub use tree::Mode;
pub use wrappers::{is_in, quoted};

/// The longest line that is read, in bytes.
const MAX_LINE: usize = 1 << 20;

/// Programs of GNU beside others of their names, each with a `g`.
const GNU: &str = "gtar gfind grm gcp gmv gln gsed gmake gxargs gtime gtimeout";

/// A function that returns the text of a file.
pub type Lookup = dyn Fn(&str) -> Option<String>;

/// The facts about the place where a line would run. Without them a home is `~`, and the directory is `.`.
#[derive(Clone, Copy, Default)]
pub struct Known<'a> {
    /// The working directory, absolute.
    pub cwd: Option<&'a str>,
    /// The user's home directory.
    pub home: Option<&'a str>,
    /// The variables of the environment that are known.
    pub variables: &'a [(&'a str, &'a str)],
    /// Returns the text of a file, by its path.
    pub lookup: Option<&'a Lookup>,
}

/// The knowledge about an argument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// The text is the argument.
    #[default]
    Plain,
    /// The text is a pattern for names of files.
    Pattern,
    /// A part of the text, as it was written, is a variable or a substitution with an unknown value.
    Unknown,
    /// It stands for what another command prints or finds, such as `{}` of `find -exec`.
    Input,
}

/// An argument of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arg {
    /// The text.
    pub text: String,
    /// The knowledge about the text.
    pub sort: Sort,
}

impl Arg {
    /// Makes an argument that is its text.
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), sort: Sort::Plain }
    }

    /// Returns true if the text is the argument.
    pub fn is_plain(&self) -> bool {
        self.sort == Sort::Plain
    }
}

/// The place where a command runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// On this machine.
    #[default]
    Here,
    /// On another machine (`ssh`).
    Remote,
    /// In a container that is already there (`docker exec`).
    Container,
    /// In a container that is made for it and has nothing of this machine (`docker run`).
    NewContainer,
}

/// A redirection of a command.
#[derive(Clone, Debug)]
pub struct Redirection {
    /// The number of the descriptor.
    pub descriptor: u32,
    /// The kind.
    pub mode: Mode,
    /// The file, or the text.
    pub target: Arg,
}

/// A command that would run.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// The program and its arguments, without wrappers; empty if there are only redirections.
    pub words: Vec<Arg>,
    /// The variables that are set for it.
    pub assignments: Vec<(String, Arg)>,
    /// Its redirections.
    pub redirections: Vec<Redirection>,
    /// The directory in which it runs: absolute, or relative to the line's, which is `.`; `None` if that is unknown.
    pub directory: Option<String>,
    /// Other directories in which it may run: a `cd` before it may fail, is skipped, or has a target that is not known.
    pub elsewhere: Vec<String>,
    /// The place where it runs.
    pub place: Place,
    /// The programs that start it, outermost first.
    pub via: Vec<String>,
    /// The places in [`Reading::runs`] of the commands that feed it: before it in the pipe, or the `find` that starts it.
    pub input: Vec<usize>,
    /// True if its standard input is not the line's: it is a pipe, a file or a text.
    pub is_fed: bool,
    /// The places in [`Reading::runs`] of the commands in its substitutions, whose output is in its words or its input.
    pub inner: Range<usize>,
    /// The place in [`Reading::runs`] of the last command that must have succeeded before this one runs: it is in front of
    /// `&&`. That one may need another one.
    pub needs: Option<usize>,
    /// True if it surely runs, and once, unless a command before it ends the line.
    pub is_sure: bool,
    /// The command as the line has it: assignments, the programs that start this one with their words, and its words.
    /// Commands that are started by the same words share it.
    pub whole: Arc<[Arg]>,
    /// The call in another language that has the same effect, if it is one: `shutil.rmtree`.
    pub call: Option<String>,
}

impl Run {
    /// Returns the name of the program, without its directory, if it is known. A program with several names has one here.
    pub fn program(&self) -> Option<&str> {
        let name = base_name(&self.words.first().filter(|it| it.is_plain())?.text);
        Some(match name.strip_suffix(".exe").unwrap_or(name) {
            "bsdtar" => "tar",
            "bfs" => "find",
            "fdfind" => "fd",
            "7za" | "7zz" => "7z",
            name if name.starts_with('g') && is_in(GNU, name) => name.get(1..).unwrap_or(name),
            name => name,
        })
    }

    /// Returns the texts of its words.
    pub fn texts(&self) -> Vec<&str> {
        self.words.iter().map(|it| it.text.as_str()).collect()
    }

    /// Returns the arguments.
    pub fn args(&self) -> &[Arg] {
        self.words.get(1..).unwrap_or_default()
    }
}

/// Code that a program other than a shell would run.
#[derive(Clone, Debug)]
pub struct Code {
    /// The program, without its directory and version: `python`, `psql`.
    pub language: String,
    /// The code.
    pub text: String,
    /// The place of the program in [`Reading::runs`].
    pub run: usize,
}

/// A reason for which a part of a line was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unread {
    /// A shell does not accept the text, or reads it in another way.
    Syntax,
    /// There are too many commands, or too many levels.
    Limit,
    /// A loop has more values than are followed.
    Values,
    /// A shell would run a text that only the running line has.
    Script,
    /// The program is a variable or a substitution with an unknown value.
    Program,
}

/// The commands that a line would run.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The commands, in the order of the line.
    pub runs: Vec<Run>,
    /// Code in other languages.
    pub code: Vec<Code>,
    /// The values of variables that differ between the branches of the line, each with its variable.
    pub values: Vec<(String, String)>,
    /// The reasons for which parts were not read, each once.
    pub unread: Vec<Unread>,
    /// True if a function starts itself more than once.
    pub multiplies: bool,
}

impl Reading {
    /// Returns for each command whether its output reaches this one, directly or through others.
    pub fn feeding(&self, run: &Run) -> Vec<bool> {
        let (mut found, mut waiting) = (vec![false; self.runs.len()], run.input.clone());
        while let Some(at) = waiting.pop() {
            if found.get_mut(at).is_some_and(|it| !std::mem::replace(it, true)) {
                waiting.extend(self.runs.get(at).into_iter().flat_map(|it| &it.input));
            }
        }
        found
    }

    fn miss(&mut self, reason: Unread) {
        if !self.unread.contains(&reason) {
            self.unread.push(reason);
        }
    }
}

/// Returns the commands that a line would run. For a carriage return, which bash takes as a letter and others as a part of a
/// line's end, these are the commands of both readings.
pub fn runs(line: &str, known: &Known<'_>) -> Reading {
    let mut machine = Machine::new(known);
    if line.len() > MAX_LINE {
        machine.reading.miss(Unread::Limit);
        return machine.reading;
    }
    // Bash leaves it out of a script from a file or a pipe.
    let line = line.replace('\0', "");
    machine.apart(|it| it.script(&line));
    if line.contains('\r') {
        machine.script(&line.replace("\r\n", "\n").replace('\r', " "));
    }
    machine.reading
}

/// Returns true for the name of a variable.
fn is_name(text: &str) -> bool {
    !text.starts_with(|it: char| it.is_ascii_digit())
        && !text.is_empty()
        && text.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_')
}

/// Returns true for the builtins whose arguments are assignments.
fn is_declaration(word: &str) -> bool {
    matches!(word, "export" | "declare" | "typeset" | "local" | "readonly")
}

#[cfg(test)]
mod tests;
