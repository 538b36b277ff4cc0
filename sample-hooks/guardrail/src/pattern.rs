//! The patterns of denied commands.

use std::collections::BTreeSet;

use hookbox_shell::{
    Arg, Mode, Reading, Redirection, Run, ShellWords, Sort, Token, base_name, program_starts, tokens,
    unquoted,
};

/// A pattern.
#[derive(Debug, PartialEq)]
pub(crate) enum Pattern {
    /// These words, one after another in one command.
    Words(Vec<String>),
    /// Commands that start so, in this order in one pipeline. An empty one is any command.
    Pipeline(Vec<Vec<String>>),
    /// These words and operators, one after another.
    Tokens(Vec<Token>),
}

/// The shells.
const SHELLS: [&str; 6] = ["sh", "bash", "zsh", "dash", "ksh", "fish"];

impl Pattern {
    /// Reads a pattern: it is a piece of shell text.
    pub(crate) fn parse(text: &str) -> Self {
        let tokens = tokens(text).or_else(|| tokens(&unquoted(text))).unwrap_or_default();
        let is_or = |pair: &[Token]| pair.iter().all(|it| *it == Token::Operator('|'));
        if tokens.windows(2).any(is_or) {
            return Self::Tokens(tokens);
        }
        let mut stages = vec![Vec::new()];
        for token in &tokens {
            match (token, stages.last_mut()) {
                (Token::Word(word), Some(stage)) => stage.push(word.clone()),
                (Token::Operator('|'), _) => stages.push(Vec::new()),
                _ => return Self::Tokens(tokens),
            }
        }
        match stages.len() {
            1 => Self::Words(stages.pop().unwrap_or_default()),
            _ => Self::Pipeline(stages),
        }
    }

    /// Returns true if a line contains this pattern. An empty pattern matches nothing.
    pub(crate) fn matches(&self, line: &str, reading: &Reading) -> bool {
        match self {
            Self::Words(words) => reading.runs.iter().any(|run| runs(words, run)),
            Self::Pipeline(stages) => {
                let Some((last, before)) = stages.split_last() else { return false };
                reading.runs.iter().filter(|run| starts(last, run)).any(|run| {
                    let sources = read_by(run, reading);
                    let mut upstream = sources.into_iter().filter_map(|at| reading.runs.get(at));
                    before.iter().all(|stage| upstream.any(|run| stage.is_empty() || starts(stage, run)))
                })
            }
            Self::Tokens(tokens) => has_row(tokens, line, reading),
        }
    }
}

/// Returns whether a pattern may match a line with these letters (see [`hookbox_shell::unquoted`]): they contain each
/// of its words, flags apart. A pattern with quotes of its own may match any line.
pub(crate) fn may_match(pattern: &str, letters: &str) -> bool {
    pattern.contains(['\'', '"', '\\'])
        || pattern
            .split(|c: char| c.is_whitespace() || "|;&(){}`<>$#".contains(c))
            .filter(|word| !word.starts_with('-'))
            .all(|word| contains(letters.as_bytes(), word.as_bytes()))
}

/// Like `str::contains`, without its preparations: they cost more than a search for a short word.
fn contains(letters: &[u8], word: &[u8]) -> bool {
    let Some((first, rest)) = word.split_first() else { return true };
    let mut letters = letters;
    while let Some(at) = letters.iter().position(|letter| letter == first) {
        letters = letters.get(at + 1..).unwrap_or_default();
        if letters.starts_with(rest) {
            return true;
        }
    }
    false
}

/// Returns the words of a command, and those with the programs that start it.
fn rows(run: &Run) -> [Vec<&str>; 2] {
    [run.texts(), run.whole.iter().map(|it| it.text.as_str()).collect()]
}

/// Returns true if a command runs these words: a row of them, or `rm` with these flags.
fn runs(words: &[String], run: &Run) -> bool {
    let Some(first) = words.first() else { return false };
    rows(run).iter().any(|given| {
        program_starts(given, |name| name == first).into_iter().any(|at| {
            let rest = given.get(at + 1..).unwrap_or_default();
            begins(rest, words.get(1..).unwrap_or_default()) || is_rm(words) && rm_flags(rest, words)
        })
    })
}

/// Returns true if these words begin with those.
fn begins(words: &[&str], with: &[String]) -> bool {
    words.len() >= with.len() && words.iter().zip(with).all(|(word, wanted)| word == wanted)
}

/// Returns true if a command of a pipeline starts with these words. A text that a shell computes is the shell's.
fn starts(words: &[String], run: &Run) -> bool {
    let is_first = |given: &Vec<&str>| {
        given.len() >= words.len()
            && given.iter().zip(words).all(|(word, wanted)| word == wanted || base_name(word) == wanted)
    };
    rows(run).iter().any(is_first) || is_computed(run) && matches!(words, [one] if shell(run) == Some(one))
}

/// Returns the shell whose script has a command.
fn shell(run: &Run) -> Option<&str> {
    run.via.iter().rev().map(String::as_str).find(|it| SHELLS.contains(it))
}

/// Returns true if the program of a command is a text that another command prints.
fn is_computed(run: &Run) -> bool {
    let is_replaced = |it: &Arg| it.text.contains("{}") && run.via.iter().any(|it| it == "xargs");
    run.words.first().is_some_and(|it| !it.is_plain() || is_replaced(it))
}

/// Returns the commands whose output a program reads as its input or runs. A shell with a script of its own does not run
/// its input.
fn read_by(run: &Run, reading: &Reading) -> BTreeSet<usize> {
    let given = run.texts();
    let is_shell = run.program().is_some_and(|it| SHELLS.contains(&it));
    let is_input = |it: &Redirection| matches!(it.mode, Mode::Read | Mode::Text);
    let has_input = run.redirections.iter().any(is_input);
    let words = ShellWords::of(given.get(1..).unwrap_or_default());
    let script = run.words.get(run.words.len() - words.operands.len());
    let is_fed = script.is_some_and(|it| it.sort == Sort::Input) && !words.only_checks();
    let mut direct: Vec<usize> = Vec::new();
    if !is_shell || words.runs_input() || is_fed {
        direct.extend(&run.input);
        direct.extend(run.inner.clone().filter(|_| has_input));
    }
    if !is_shell || script.is_some_and(|it| it.text.starts_with("/dev/fd/")) {
        direct.extend(run.inner.clone());
    }
    sources(reading, direct)
}

/// Returns the commands whose output reaches one of these, directly or through others, in the order of the line.
fn sources(reading: &Reading, of: Vec<usize>) -> BTreeSet<usize> {
    let (mut found, mut waiting) = (BTreeSet::new(), of);
    while let Some(at) = waiting.pop() {
        if let Some(run) = reading.runs.get(at).filter(|_| found.insert(at)) {
            waiting.extend(run.input.iter().copied().chain(run.inner.clone()));
        }
    }
    found
}

/// Returns true if a text, or a script in the words or the input of a shell, has a row of words and operators.
fn has_row(row: &[Token], line: &str, reading: &Reading) -> bool {
    let has = |text: &str| {
        let tokens = tokens(text).or_else(|| tokens(&unquoted(text))).unwrap_or_default();
        tokens.windows(row.len().max(1)).any(|window| window == row)
    };
    let shells = reading.runs.iter().filter(|it| it.program().is_some_and(|it| SHELLS.contains(&it)));
    let texts = |run: &Run| -> Vec<String> {
        let targets = run.redirections.iter().map(|it| &it.target.text);
        run.args().iter().map(|it| &it.text).chain(targets).cloned().collect()
    };
    has(line) || shells.flat_map(texts).any(|it| it.contains(char::is_whitespace) && has(&it))
}

/// Returns whether a pattern is `rm` with flags, which are compared by their meaning.
fn is_rm(words: &[String]) -> bool {
    words.len() > 1
        && words
            .iter()
            .enumerate()
            .all(|(at, word)| if at == 0 { word == "rm" } else { word.starts_with('-') })
}

/// Returns whether the arguments of `rm` have every flag of the pattern, in any order, spelling and position.
fn rm_flags(arguments: &[&str], pattern: &[String]) -> bool {
    let given: String =
        arguments.iter().take_while(|word| **word != "--").map(|word| letters(word)).collect();
    let wanted: String = pattern.iter().skip(1).map(|word| letters(word)).collect();
    wanted.chars().all(|flag| given.contains(flag))
}

/// The flags in a word, as lower-case letters.
fn letters(word: &str) -> String {
    match word {
        // A long option may be abbreviated.
        _ if word.len() > 2 && "--recursive".starts_with(word) => "r".to_owned(),
        _ if word.len() > 2 && "--force".starts_with(word) => "f".to_owned(),
        _ if word.starts_with("--") => String::new(),
        _ => word.strip_prefix('-').unwrap_or_default().replace('R', "r"),
    }
}
