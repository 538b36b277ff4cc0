//! The patterns of denied commands.

use crate::shell::{self, Command, Script, Token, base_name};

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

impl Pattern {
    /// Reads a pattern: it is a piece of shell text.
    pub(crate) fn parse(text: &str) -> Self {
        let (tokens, _) = shell::tokens(text);
        let mut stages = vec![Vec::new()];
        for token in &tokens {
            match (token, stages.last_mut()) {
                (Token::Word(word), Some(stage)) => stage.push(word.clone()),
                (Token::Operator("|"), _) => stages.push(Vec::new()),
                _ => return Self::Tokens(tokens),
            }
        }
        match stages.len() {
            1 => Self::Words(stages.pop().unwrap_or_default()),
            _ => Self::Pipeline(stages),
        }
    }

    /// Returns whether the script contains this pattern. An empty pattern matches nothing.
    pub(crate) fn matches(&self, script: &Script) -> bool {
        match self {
            Self::Words(words) => script.commands.iter().any(|command| anywhere(words, command)),
            Self::Pipeline(stages) => {
                let Some((last, before)) = stages.split_last() else { return false };
                script.commands.iter().any(|command| {
                    if !start(last, command) {
                        return false;
                    }
                    let mut upstream = command.upstream.iter().filter_map(|at| script.commands.get(*at));
                    before.iter().all(|stage| upstream.any(|command| start(stage, command)))
                })
            }
            Self::Tokens(tokens) => script.tokens.windows(tokens.len().max(1)).any(|window| window == tokens),
        }
    }
}

/// Returns whether a pattern may match a line with these letters (see [`shell::unquoted`]): they contain each
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

/// Returns whether a command contains these words.
fn anywhere(words: &[String], command: &Command) -> bool {
    let Some(first) = words.first() else { return false };
    let position = command_position(command);
    (0..command.words.len()).any(|at| {
        let rest = command.words.get(at..).unwrap_or_default();
        let names = |word: &String| {
            word == first || base_name(word) == first && (at <= position || word.contains("bin/"))
        };
        rest.first().is_some_and(names)
            && (rest.get(1..).unwrap_or_default().starts_with(words.get(1..).unwrap_or_default())
                || is_rm(words) && rm_flags(rest.get(1..).unwrap_or_default(), words))
    })
}

/// Returns whether a command of a pipeline starts with these words.
fn start(words: &[String], command: &Command) -> bool {
    if words.is_empty() {
        return true;
    }
    let position = command_position(command);
    let here = command.words.get(position..).unwrap_or_default();
    let matches = |rest: &[String]| {
        rest.len() >= words.len()
            && rest.iter().zip(words).all(|(word, wanted)| word == wanted || base_name(word) == wanted)
    };
    let wrapped = here.first().is_some_and(|word| WRAPPERS.contains(&base_name(word)));
    matches(here) || wrapped && (1..here.len()).any(|at| matches(here.get(at..).unwrap_or_default()))
}

/// The place of the command's name: behind `A=1`.
fn command_position(command: &Command) -> usize {
    let assigns = |word: &&String| {
        word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '+')
        })
    };
    command.words.iter().take_while(assigns).count()
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
fn rm_flags(arguments: &[String], pattern: &[String]) -> bool {
    let given: String = arguments.iter().take_while(|word| *word != "--").map(|word| letters(word)).collect();
    let wanted: String = pattern.iter().skip(1).map(|word| letters(word)).collect();
    wanted.chars().all(|flag| given.contains(flag))
}

/// The flags in a word, as lower-case letters.
fn letters(word: &str) -> String {
    match word {
        "--recursive" => "r".to_owned(),
        "--force" => "f".to_owned(),
        _ if word.starts_with("--") => String::new(),
        _ => word.strip_prefix('-').unwrap_or_default().replace('R', "r"),
    }
}
