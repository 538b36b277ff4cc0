//! The texts of a line that a shell would run.

use std::collections::BTreeSet;

use crate::{Command, Script, Use, Word, assignment, base_name, braces, executes, unwrapped, use_of};

/// Programs that run one of their words as a script.
const RUNNERS: [&str; 13] =
    ["sh", "bash", "zsh", "dash", "ksh", "fish", "eval", "ssh", "su", "watch", "parallel", "xargs", "trap"];

/// Programs that join their words to a script.
const JOINERS: [&str; 3] = ["eval", "ssh", "watch"];

/// Programs that run their texts in another language.
const LANGUAGES: [&str; 8] = ["python", "python3", "node", "ruby", "perl", "php", "psql", "mysql"];

/// The depth of scripts in scripts.
const DEPTH: usize = 8;

/// The total length of these scripts, in bytes.
const MAX_TEXT: usize = 1 << 20;

/// A script, and the text that it was read from.
#[derive(Debug)]
pub struct Part {
    /// The text.
    pub text: String,
    /// The script in it.
    pub script: Script,
}

/// A line, and the scripts in it that a shell would run.
#[derive(Debug)]
pub struct Scripts {
    /// The line itself is among them.
    pub parts: Vec<Part>,
    /// True if not all of them could be read.
    pub unread: bool,
}

/// Returns the line, and the scripts in it that a shell would run: arguments, here-documents, and text that is fed to it.
pub fn scripts(line: &str) -> Scripts {
    let mut found = Scripts { parts: Vec::new(), unread: false };
    let (mut seen, mut length) = (BTreeSet::new(), 0);
    let mut waiting = vec![(line.to_owned(), 0)];
    while let Some((text, depth)) = waiting.pop() {
        if !seen.insert(text.clone()) {
            continue;
        }
        length += if depth > 0 { text.len() } else { 0 };
        if depth > DEPTH || length > MAX_TEXT {
            found.unread = true;
            break;
        }
        let script = expanded(&text);
        found.unread |= script.unread;
        let inner = script.commands.iter().flat_map(|command| texts(&script, command));
        waiting.extend(inner.map(|text| (text, depth + 1)));
        if script.odd {
            // A quote that is never closed may hide the rest.
            let letters = unquoted(&text);
            found.parts.push(Part { script: expanded(&letters), text: letters });
        }
        found.parts.push(Part { text, script });
    }
    found
}

/// Reads a script, with the words that braces make.
fn expanded(text: &str) -> Script {
    let mut script = crate::read(text);
    for command in &mut script.commands {
        let parts = |word: &Word| {
            let glob = word.glob;
            braces(&word.text).into_iter().map(move |text| Word { text, glob })
        };
        if command.words.iter().any(|word| word.text.contains('{')) {
            command.words = command.words.iter().flat_map(parts).collect();
        }
    }
    script
}

/// Returns the texts that a command runs as scripts.
fn texts(script: &Script, command: &Command) -> Vec<String> {
    let words = command.texts_of_words();
    let used = use_of(&words);
    let runs = used == Use::Shell || words.iter().any(|word| RUNNERS.contains(&base_name(word)));
    let is_foreign = words.iter().any(|word| LANGUAGES.contains(&base_name(word)));
    if matches!(used, Use::Reads | Use::Keeps) || is_foreign && !runs {
        return Vec::new();
    }
    let is_text = |word: &&&str| {
        word.contains('\n') || runs && word.contains(|c: char| c.is_whitespace() || ";|&(`".contains(c))
    };
    let mut found: Vec<String> = words.iter().filter(is_text).map(|word| (*word).to_owned()).collect();
    if let Some(at) = words.iter().position(|word| JOINERS.contains(&base_name(word))) {
        found.push(words.get(at + 1..).unwrap_or_default().join(" "));
    }
    found.extend(split_by_env(&words));
    found.extend(command.texts.iter().cloned());
    if runs {
        let sources = script.sources(command.upstream.iter().cloned().flatten());
        for source in sources.into_iter().filter_map(|at| script.commands.get(at)) {
            found.extend(source.texts.iter().cloned());
            let printed = source.texts_of_words();
            if matches!(printed.first(), Some(&("echo" | "printf"))) {
                found.push(printed.get(1..).unwrap_or_default().join(" "));
            }
        }
    }
    found
}

/// Returns the command that `env -S TEXT` makes of a text and the words behind it.
fn split_by_env(words: &[&str]) -> Option<String> {
    let env = words.iter().position(|word| base_name(word) == "env")?;
    let rest = words.get(env + 1..).unwrap_or_default();
    rest.iter().enumerate().find_map(|(at, word)| {
        let letters = word.strip_prefix('-').filter(|it| !it.starts_with('-'));
        let text = match word.strip_prefix("--split-string") {
            Some(text) => text.strip_prefix('=').unwrap_or(text),
            None => letters?.split_once('S')?.1,
        };
        let text = spaced(text);
        let more = rest.get(at + 1..).unwrap_or_default().iter().copied();
        Some([text.as_str()].into_iter().chain(more).collect::<Vec<_>>().join(" "))
    })
}

/// Returns a text of `env -S` with a space for each `\_` outside single quotes, as `env` reads it.
pub(crate) fn spaced(text: &str) -> String {
    let (mut found, mut letters) = (String::with_capacity(text.len()), text.chars());
    let (mut is_single, mut is_double) = (false, false);
    while let Some(letter) = letters.next() {
        match letter {
            '\'' if !is_double => is_single = !is_single,
            '"' if !is_single => is_double = !is_double,
            '\\' if !is_single => {
                match letters.next() {
                    // Between double quotes the space does not end the word, for a shell as well.
                    Some('_') => found.push(' '),
                    next => found.extend(['\\'].into_iter().chain(next)),
                }
                continue;
            }
            _ => {}
        }
        found.push(letter);
    }
    found
}

/// Returns the letters of a line without quotes, escapes and line continuations: a word is in one piece, with
/// any quoting.
pub fn unquoted(line: &str) -> String {
    let mut letters = String::with_capacity(line.len());
    let mut is_escaped = false;
    for piece in line.split_inclusive(['\'', '"', '\\']) {
        let piece = piece.strip_prefix('\n').filter(|_| is_escaped).unwrap_or(piece);
        is_escaped = piece.ends_with('\\');
        // `$"…"` and `$'…'` have a `$` before the quote.
        let plain = piece.strip_suffix(['\'', '"']).map(|it| it.strip_suffix('$').unwrap_or(it));
        letters.push_str(plain.or_else(|| piece.strip_suffix('\\')).unwrap_or(piece));
    }
    letters
}

/// Returns the places of programs in a command whose words are only read: the program's, those of programs that run it, and
/// those that `find` runs. `None` if any word may be a program.
fn program_places(words: &[&str]) -> Option<Vec<usize>> {
    if matches!(use_of(words), Use::Shell | Use::Any) {
        return None;
    }
    let program = |from: usize| {
        let rest = words.get(from..).unwrap_or_default();
        from..=from + rest.len() - unwrapped(rest).len()
    };
    let started = words.iter().enumerate().filter(|(_, word)| executes(word)).map(|(at, _)| at + 1);
    Some(started.chain([0]).flat_map(program).collect())
}

/// Returns the places in a command at which a program may start whose name, with or without its directory, is wanted.
/// Behind a program that is not known any word may be a program, and a path only if it is one of programs.
pub fn program_starts(words: &[&str], is_wanted: impl Fn(&str) -> bool) -> Vec<usize> {
    let places = program_places(words);
    let is_first = |at: usize| words.iter().take(at).all(|word| assignment(word).is_some());
    let starts = |(at, word): &(usize, &&str)| {
        let is_program = || places.is_some() || is_first(*at) || word.contains("bin/");
        places.as_ref().is_none_or(|places| places.contains(at))
            && (is_wanted(word) || is_wanted(base_name(word)) && is_program())
    };
    words.iter().enumerate().filter(starts).map(|(at, _)| at).collect()
}
