//! Finds shell lines that change protected files, as far as their text shows it. A program of its own, a decoded text or a
//! computed name can hide a change: this is a guard rail and not a sandbox.
//!
//! One rule: a command that is not known to only read is a change if it names `hookbox` beside a subcommand that only the
//! user may run, or a path at or beneath a protected one. For programs that remove or move, a path above one counts, too.

mod changes;
mod expansion;
mod removal;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use hookbox_shell::{Use, Word, assignment, base_name};

use self::expansion::{GIVEN, without_variables};
use super::hookbox_process;
use super::programs::{self, is_hookbox};
use super::protected::Protected;

/// The longest line that is read, in bytes. A longer one is refused if it mentions a protected path.
const MAX_LINE: usize = 64 << 10;

/// The depth of scripts within the arguments of programs.
const MAX_DEPTH: usize = 8;

/// The total length of these scripts, in bytes.
const MAX_TEXT: usize = 3 * MAX_LINE;

/// The number of readings of a command with variables.
const MAX_WAYS: usize = 16;

/// The number of directories that relative paths may be relative to.
const MAX_DIRECTORIES: usize = 16;

/// The reason why a line is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// The command runs this subcommand of hookbox.
    Runs(&'static str),
    /// The command may end a process of hookbox.
    Ends,
    /// The command may change this path.
    Changes(String),
    /// The text is too long or too malformed to be read, and mentions this.
    Unclear(String),
    /// The text has too many levels of substitutions and scripts to be read.
    Deep,
}

/// Judges a line of an agent that works in one of these directories.
pub(super) fn judge(line: &str, protected: &Protected, directories: &[PathBuf]) -> Option<Finding> {
    let variables = protected.variables().iter().map(|(name, value)| (name.clone(), vec![value.clone()]));
    let mut judge = Judge {
        protected,
        directories: directories.to_vec(),
        variables: variables.collect(),
        read: BTreeSet::new(),
        text: 0,
    };
    if let Some(directory) = directories.first() {
        judge.assign("PWD", directory.to_string_lossy().into_owned());
    }
    let found = judge.script(line, 0);
    found.or_else(|| (judge.text > MAX_TEXT).then(|| judge.mentioned(line))?)
}

/// Returns the parts of a text that may be paths.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || "'\"=:,()<>|&;`@".contains(c)).filter(|piece| !piece.is_empty())
}

/// Returns the parts of a text that may be words of a command, and `;` if a command may end there.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let is_end = |c: char| ";|&".contains(c);
    let substitution = text.starts_with('`').then_some("`");
    let parts = text.split_inclusive(is_end).flat_map(move |part| {
        let (part, end) = part.strip_suffix(is_end).map_or((part, None), |part| (part, Some(";")));
        let between = |c: char| c.is_whitespace() || "'\"=:,()<>`+!\\@{}".contains(c);
        part.split(between).map(without_brackets).filter(|token| !token.is_empty()).chain(end)
    });
    substitution.into_iter().chain(parts)
}

/// Removes the brackets of a list around a word, but not those of a pattern.
fn without_brackets(word: &str) -> &str {
    let word = if word.contains(']') { word } else { word.trim_start_matches('[') };
    if word.contains('[') { word } else { word.trim_end_matches(']') }
}

fn is_text(word: &str) -> bool {
    word.contains(|c: char| c.is_whitespace() || ";|&(`$<>".contains(c))
}

/// A command with its variables replaced.
struct Seen {
    words: Vec<Word>,
    outputs: Vec<Word>,
    texts: Vec<String>,
    directories: Vec<PathBuf>,
    flow: usize,
    used: Use,
}

impl Seen {
    fn strings(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(|word| word.text.as_str())
    }

    fn program(&self) -> &str {
        self.strings().find(|word| assignment(word).is_none()).map_or("", base_name)
    }

    /// Returns true if its output goes to a file.
    fn writes(&self) -> bool {
        !self.outputs.is_empty()
    }
}

struct Judge<'a> {
    protected: &'a Protected,
    /// The directories that the line may be in.
    directories: Vec<PathBuf>,
    variables: BTreeMap<String, Vec<String>>,
    /// The scripts that were read, with the directories that they were read in.
    read: BTreeSet<(String, Vec<PathBuf>)>,
    /// The total length of these scripts.
    text: usize,
}

impl Judge<'_> {
    fn script(&mut self, text: &str, depth: usize) -> Option<Finding> {
        if !self.read.insert((text.to_owned(), self.directories.clone())) {
            return None;
        }
        self.text += text.len();
        if self.text > MAX_TEXT {
            return None;
        }
        if text.len() > MAX_LINE {
            return self.mentioned(text);
        }
        let script = hookbox_shell::read(text);
        if script.odd
            && let Some(found) = self.mentioned(text)
        {
            return Some(found);
        }
        if script.unread || depth > MAX_DEPTH {
            return Some(Finding::Deep);
        }
        let mut flows = BTreeMap::<usize, Vec<Seen>>::new();
        let mut outside = Vec::new();
        for command in &script.commands {
            // A subshell does not change the directory of the commands after it.
            while outside.len() > command.level {
                self.directories = outside.pop().unwrap_or_default();
            }
            outside.resize(command.level, self.directories.clone());
            for seen in self.seen(command) {
                flows.entry(seen.flow).or_default().push(seen);
            }
        }
        let is_quiet =
            |it: &Seen| it.used == Use::Reads && !it.outputs.iter().any(|it| it.text.contains(['$', '`']));
        let (quiet, live): (Vec<_>, Vec<_>) = flows.into_values().partition(|flow| flow.iter().all(is_quiet));
        for seen in quiet.iter().flatten() {
            if let Some(path) = seen.outputs.iter().find_map(|output| self.path_in(output, seen)) {
                return Some(Finding::Changes(path));
            }
        }
        // Text that is written to a file counts only if the line uses the file later.
        let written = |flow: &&Vec<Seen>| {
            let outputs = flow.iter().flat_map(|it| &it.outputs).map(|it| it.text.as_str());
            let uses = |file: &str| {
                let seen = live.iter().flatten();
                let is_file =
                    |piece: &str| piece == file || piece.len() > 2 && base_name(piece) == base_name(file);
                seen.flat_map(Seen::strings).any(|word| pieces(word).any(is_file))
            };
            outputs.take(MAX_DIRECTORIES).any(uses)
        };
        let used = quiet.iter().filter(|flow| flow.iter().any(Seen::writes)).filter(written);
        live.iter().chain(used).find_map(|flow| self.flow(flow, depth))
    }

    /// Searches a text for protected paths and subcommands without judging its commands.
    fn mentioned(&self, text: &str) -> Option<Finding> {
        let letters: String = text.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
        // The words as the shell reads them: `$'…'` has other letters in the text.
        let script = hookbox_shell::read(text);
        let words = script.commands.iter().flat_map(|it| &it.words);
        let words: String = words.flat_map(|word| [&word.text, " "]).collect();
        let all = [text, &letters, &words].into_iter();
        let pieces: BTreeSet<&str> = all.clone().flat_map(pieces).collect();
        let path = pieces.into_iter().find(|piece| self.is_held(piece, &self.directories, false));
        let run = || all.clone().find_map(|text| self.run_in(&[(text, false)]));
        path.map(str::to_owned).or_else(|| run().map(|word| format!("hookbox {word}"))).map(Finding::Unclear)
    }

    /// Judges commands that may feed each other, if one of them is not known to only read.
    fn flow(&mut self, flow: &[Seen], depth: usize) -> Option<Finding> {
        let runs = flow
            .iter()
            .any(|it| matches!(it.used, Use::Shell | Use::Any) || it.used == Use::Reads && it.writes());
        let speaking = || flow.iter().filter(|it| runs && it.used != Use::Keeps);
        let all = || {
            speaking().flat_map(|it| it.strings().chain(it.texts.iter().map(String::as_str))).flat_map(tokens)
        };
        if all().any(programs::ends)
            && all().any(|word| word.to_ascii_lowercase().replace(['[', ']'], "").contains("hookbox"))
        {
            return Some(Finding::Ends);
        }
        for seen in speaking() {
            let mut words: Vec<(&str, bool)> = seen.strings().map(|word| (word, true)).collect();
            let is_named = words.last().is_some_and(|(word, _)| is_hookbox(word));
            words.extend(seen.texts.iter().map(|text| (text.as_str(), false)));
            if is_named {
                let fed = flow.iter().filter(|other| !std::ptr::eq(*other, seen));
                words.extend(
                    fed.flat_map(|it| it.strings().skip(1).chain(it.texts.iter().map(String::as_str)))
                        .map(|it| (it, false)),
                );
            }
            if let Some(subcommand) = self.run_in(&words) {
                return Some(Finding::Runs(subcommand));
            }
            let words = || seen.strings().skip_while(|word| assignment(word).is_some());
            if seen.used == Use::Any
                && let Some(subcommand) =
                    hookbox_process::installs(seen.program(), words().skip(1), self.protected.targets())
            {
                return Some(Finding::Runs(subcommand));
            }
        }
        for seen in flow {
            if let Some(path) = self.changed(seen).or_else(|| self.taken(seen, flow)) {
                return Some(Finding::Changes(path));
            }
        }
        for seen in flow.iter().filter(|it| runs && it.used != Use::Keeps) {
            // The commands of a substitution are judged on their own.
            let is_read = |word: &&str| {
                word.starts_with("$(") && word.ends_with(')') && word.matches("$(").count() == 1
            };
            let scripts = seen.strings().filter(|word| is_text(word) && !is_read(word)).map(str::to_owned);
            let joined =
                (seen.program() == "eval").then(|| seen.strings().skip(1).collect::<Vec<_>>().join(" "));
            let all: Vec<String> = scripts.chain(seen.texts.iter().cloned()).chain(joined).collect();
            let before = (self.directories.clone(), self.variables.clone());
            self.directories.clone_from(&seen.directories);
            let given = seen.strings().skip(1).filter(|word| !is_text(word));
            given.for_each(|word| self.assign(GIVEN, word.to_owned()));
            let found = all.iter().find_map(|text| self.script(text, depth + 1));
            (self.directories, self.variables) = before;
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Returns the subcommand that only the user may run, if `hookbox` is next to it in these words. The flag of each is
    /// true for a word of its own, and false for a text.
    fn run_in(&self, words: &[(&str, bool)]) -> Option<&'static str> {
        let bare: Vec<String> = words
            .iter()
            .map(|(word, _)| {
                without_variables(word).replace("\\n", " ").replace("\\t", " ").replace(['"', '\'', '\\'], "")
            })
            .collect();
        let bare: Vec<(&str, bool)> =
            words.iter().zip(&bare).map(|((_, whole), word)| (word.as_str(), *whole)).collect();
        [words, &bare].into_iter().find_map(|words| {
            let split = words.iter().flat_map(|(word, whole)| {
                tokens(word).map(move |token| (token, *whole && token.len() == word.len()))
            });
            let split: Vec<(&str, bool)> = split.collect();
            let named = split.iter().enumerate().filter(|(_, (token, _))| is_hookbox(token));
            named.map(|(at, _)| split.get(at + 1..).unwrap_or_default()).find_map(|rest| {
                let end = rest.iter().position(|(token, _)| *token == ";").unwrap_or(rest.len());
                programs::privileged(rest.get(..end.min(64)).unwrap_or_default())
            })
        })
    }
}

#[cfg(test)]
mod tests;
