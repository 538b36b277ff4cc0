//! The patterns of denied commands.

use std::collections::BTreeSet;

use hookbox_shell::{
    Command, Input, Part, Script, ShellWords, Token, Use, Word, assignment, base_name, program_starts, use_of,
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

/// Words before a command that leave it a command.
const WRAPPERS: [&str; 24] = [
    "sudo", "doas", "env", "command", "exec", "builtin", "nohup", "time", "timeout", "nice", "ionice",
    "stdbuf", "setsid", "xargs", "busybox", "if", "then", "else", "elif", "while", "until", "do", "!",
    "chroot",
];

/// The shells.
const SHELLS: [&str; 6] = ["sh", "bash", "zsh", "dash", "ksh", "fish"];

impl Pattern {
    /// Reads a pattern: it is a piece of shell text.
    pub(crate) fn parse(text: &str) -> Self {
        let tokens = hookbox_shell::tokens(text);
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

    /// Returns true if the script contains this pattern. An empty pattern matches nothing.
    pub(crate) fn matches(&self, part: &Part) -> bool {
        let script = &part.script;
        match self {
            Self::Words(words) => script.commands.iter().any(|command| runs(words, command)),
            Self::Pipeline(stages) => {
                let Some((last, before)) = stages.split_last() else { return false };
                script.commands.iter().enumerate().any(|(index, command)| {
                    let Some(at) = start(last, command) else { return false };
                    let sources = read_by(at, index, script);
                    let mut upstream = sources.into_iter().filter_map(|at| script.commands.get(at));
                    before.iter().all(|stage| upstream.any(|command| start(stage, command).is_some()))
                })
            }
            Self::Tokens(tokens) => {
                hookbox_shell::tokens(&part.text).windows(tokens.len().max(1)).any(|window| window == tokens)
            }
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

/// Returns true if a command runs these words: a row of them, or `rm` with these flags.
fn runs(words: &[String], command: &Command) -> bool {
    let Some(first) = words.first() else { return false };
    let given = command.texts_of_words();
    program_starts(&given, |name| name == first).into_iter().any(|at| {
        let rest = given.get(at + 1..).unwrap_or_default();
        begins(rest, words.get(1..).unwrap_or_default()) || is_rm(words) && rm_flags(rest, words)
    })
}

/// Returns true if these words begin with those.
fn begins(words: &[&str], with: &[String]) -> bool {
    words.len() >= with.len() && words.iter().zip(with).all(|(word, wanted)| word == wanted)
}

/// Returns the place of a command of a pipeline at which it starts with these words.
fn start(words: &[String], command: &Command) -> Option<usize> {
    let given = command.texts_of_words();
    let position = given.iter().take_while(|word| assignment(word).is_some()).count();
    let matches = |at: &usize| {
        let rest = given.get(*at..).unwrap_or_default();
        rest.len() >= words.len()
            && rest.iter().zip(words).all(|(word, wanted)| word == wanted || base_name(word) == wanted)
    };
    let wrapped = given.get(position).is_some_and(|word| WRAPPERS.contains(&base_name(word)));
    let last = if wrapped { given.len() } else { position + 1 };
    (position..last.max(position + 1)).find(matches)
}

/// Returns the commands whose output the program at this place reads as its input or runs. A shell with a script of its own
/// does not run its input.
fn read_by(at: usize, index: usize, script: &Script) -> BTreeSet<usize> {
    let Some(command) = script.commands.get(index) else { return BTreeSet::new() };
    let given = command.texts_of_words();
    let arguments = given.get(at + 1..).unwrap_or_default();
    let is_shell = given.get(at).is_some_and(|word| SHELLS.contains(&base_name(word)));
    let replaced = replaced(given.get(..at).unwrap_or_default());
    let shell = ShellWords::of(arguments);
    let runs_input = shell.runs_input() || replaced.is_some_and(|it| runs_replaced(&shell, it));
    let mut direct = Vec::new();
    if !is_shell || runs_input {
        direct.extend(command.upstream.iter().cloned().flatten());
        if command.input == Input::Given {
            direct.extend(&command.inner);
        }
    }
    if !is_shell || arguments.iter().any(|word| runs_substitution(word)) {
        direct.extend(&command.inner);
    }
    script.sources(direct)
}

/// Returns the text that `xargs` replaces with its input, if it is among these words: `{}` in `xargs -I{}`.
fn replaced<'w>(words: &[&'w str]) -> Option<&'w str> {
    let at = words.iter().position(|word| base_name(word) == "xargs")?;
    let mut options = words.iter().skip(at + 1);
    let mut found = "{}";
    while let Some(option) = options.next() {
        match option.strip_prefix("-I").or_else(|| option.strip_prefix("--replace=")) {
            Some("") => found = options.next()?,
            Some(text) => found = text,
            None => {}
        }
    }
    Some(found)
}

/// Returns true if a shell runs words that `xargs` adds to its own, or puts in the place of a text.
fn runs_replaced(shell: &ShellWords<'_, '_>, replaced: &str) -> bool {
    if shell.only_checks() {
        return false;
    }
    let Some(script) = shell.operands.first() else { return true };
    let is_one = |word: &&str| word.contains('$') || word.contains(replaced);
    if !shell.letters.contains('c') {
        return script.contains(replaced);
    }
    hookbox_shell::read(script).commands.iter().any(|command| {
        let words = command.texts_of_words();
        let is_before = |word: &&str| assignment(word).is_some() || WRAPPERS.contains(&base_name(word));
        let program = words.iter().find(|word| !is_before(word));
        program.is_some_and(is_one) || use_of(&words) == Use::Shell && words.iter().any(is_one)
    })
}

/// Returns true if a shell runs the output of a substitution in this word.
fn runs_substitution(word: &str) -> bool {
    let is_substitution = |word: &Word| word.text.starts_with(['$', '`']) && word.text.contains(['(', '`']);
    word.starts_with("<(")
        || word.contains(['(', '`'])
            && hookbox_shell::read(word)
                .commands
                .iter()
                .any(|it| it.words.first().is_some_and(is_substitution))
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
