//! The tree of a shell text, with its quotes.

use std::rc::Rc;

/// A piece of a word.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// Text without quotes: a tilde, braces and patterns in it are alive.
    Bare(String),
    /// Text in quotes, or behind a backslash.
    Quoted(String),
    /// `$x` or `${x…}`. The flag is true in double quotes.
    Parameter(Box<Parameter>, bool),
    /// `$(…)` or backquotes, with the text as it was written. The flag is true in double quotes.
    Substitution(Rc<List>, Rc<str>, bool),
    /// `<(…)` and `>(…)`. The flag is true for the first.
    Process(Rc<List>, bool),
    /// `$((…))`: the expansions in it, and its other text.
    Arithmetic(Vec<Part>),
}

/// A parameter and its expansion.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    /// The expansions in its index, and behind them the index.
    pub(crate) place: Word,
    /// The operator, such as `:-`; empty without one.
    pub(crate) operator: String,
    pub(crate) operand: Word,
}

/// A word.
#[derive(Clone, Debug, Default)]
pub(crate) struct Word {
    pub(crate) parts: Vec<Part>,
}

impl Word {
    /// Returns the text of a word that has no quotes and no expansion: it may be a keyword.
    pub(crate) fn bare(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Bare(text)] => Some(text),
            _ => None,
        }
    }
}

/// The kind of a redirection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// `<`
    Read,
    /// `>`, `>|`, `&>`: the file is emptied first.
    Write,
    /// `>>`, `&>>`
    Append,
    /// `<>`
    Both,
    /// `<<` and `<<<`: the target is the text.
    Text,
    /// `>&` and `<&`: the target is a number.
    Copy,
}

/// A redirection.
#[derive(Clone, Debug)]
pub(crate) struct Redirect {
    pub(crate) descriptor: Option<u32>,
    pub(crate) mode: Mode,
    pub(crate) target: Word,
    /// The number of a here-document whose text comes later.
    pub(crate) document: Option<usize>,
}

/// An assignment.
#[derive(Clone, Debug)]
pub(crate) struct Assign {
    pub(crate) name: String,
    /// The text in brackets, which bash evaluates.
    pub(crate) index: Option<Word>,
    pub(crate) appends: bool,
    /// One word, or those of an array.
    pub(crate) values: Vec<Word>,
    pub(crate) is_array: bool,
}

/// A command.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Simple {
        assigns: Vec<Assign>,
        words: Vec<Word>,
    },
    Group(List),
    Subshell(List),
    /// The condition with its commands, each; the last one has no condition.
    If(Vec<(List, List)>),
    Loop(List, List),
    For {
        name: String,
        words: Option<Vec<Word>>,
        body: List,
    },
    Case {
        word: Word,
        arms: Vec<(Vec<Word>, List)>,
    },
    Function {
        name: String,
        body: Rc<Stage>,
    },
    /// `[[ … ]]` and `((…))`: only substitutions run, also those in the texts that are numbers.
    Test(Vec<Word>),
}

/// A command with its redirections.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub(crate) node: Node,
    pub(crate) redirects: Vec<Redirect>,
}

/// Commands between pipes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pipeline {
    pub(crate) stages: Vec<Stage>,
    /// True if it runs only after a failure (`||`).
    pub(crate) after_failure: bool,
    /// True if it runs only after a success (`&&`).
    pub(crate) after_success: bool,
    /// True if it runs in the background.
    pub(crate) background: bool,
    /// True if it succeeds when its last command fails (`!`).
    pub(crate) is_negated: bool,
}

/// Pipelines, one after another.
#[derive(Clone, Debug, Default)]
pub(crate) struct List {
    pub(crate) pipelines: Vec<Pipeline>,
}
