//! What a shell line does to the protected files, as far as its letters show it. A program of its own, a text that it
//! decodes, or a name that it makes up can hide what it does: this is a guard rail, no sandbox.
//!
//! One rule: in commands that are not known to only read, `hookbox` next to the name of what only the user may run is a
//! change, and so is a path at or beneath a protected one; of programs that remove or move, also a path above one.

mod expansion;
mod removal;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use self::expansion::{GIVEN, braces, variables, without_variables};
use super::itself;
use super::programs::{self, Use, assignment, base_name, is_hookbox, use_of};
use super::protected::Protected;
use super::shell::{self, Command, Word};

/// A longer line is not read; it only must not mention what is protected.
const MAX_LINE: usize = 64 << 10;

/// How deep scripts may be in the arguments of programs.
const MAX_DEPTH: usize = 4;

/// How much text all of them may have.
const MAX_TEXT: usize = 3 * MAX_LINE;

/// In how many ways a word with braces, or a command with variables, is read.
const MAX_WAYS: usize = 16;

/// From how many directories relative paths are looked at.
const MAX_DIRECTORIES: usize = 16;

/// Options that name a directory to go to.
const GOES: [&str; 7] = ["-C", "--chdir", "--directory", "--work-tree", "--cwd", "--prefix", "-t"];

/// Why a line is not to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// It runs this subcommand of hookbox.
    Runs(&'static str),
    /// It may end a process of hookbox.
    Ends,
    /// It may change this path.
    Changes(String),
    /// It is too long or too odd to be read, and mentions this.
    Unclear(String),
}

/// What is wrong with this line of an agent that works in one of these directories.
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

/// What may be a path in a text.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || "'\"=:,()<>|&;`@".contains(c)).filter(|piece| !piece.is_empty())
}

/// What may be a word of a command in a text; `;` where one command may end.
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

/// A word without the brackets of a list around it; those of a pattern stay.
fn without_brackets(word: &str) -> &str {
    let word = if word.contains(']') { word } else { word.trim_start_matches('[') };
    if word.contains('[') { word } else { word.trim_end_matches(']') }
}

/// A name in a path, without the signs of a pattern that has hardly a letter of its own.
fn plain_name(name: &str) -> String {
    let is_vague = name.chars().filter(char::is_ascii_alphanumeric).count() < 3;
    if is_vague { name.replace(['*', '?', '['], "\u{1}") } else { name.to_owned() }
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

    /// Whether what it prints goes to a file, or may.
    fn writes(&self) -> bool {
        !self.outputs.is_empty()
    }
}

struct Judge<'a> {
    protected: &'a Protected,
    /// Where the line may be.
    directories: Vec<PathBuf>,
    variables: BTreeMap<String, Vec<String>>,
    /// What was read, from which directories.
    read: BTreeSet<(String, Vec<PathBuf>)>,
    /// How much that was.
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
        if text.len() > MAX_LINE || depth > MAX_DEPTH {
            return self.mentioned(text);
        }
        let script = shell::read(text);
        if script.odd
            && let Some(found) = self.mentioned(text)
        {
            return Some(found);
        }
        let depth = if script.odd { MAX_DEPTH } else { depth };
        let mut flows = BTreeMap::<usize, Vec<Seen>>::new();
        let mut outside = Vec::new();
        for command in &script.commands {
            // A subshell goes nowhere for those that come after it.
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
        // A text that goes to a file is only a text, unless the line goes on to use the file.
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

    /// Looks for what is protected without reading the text as a script.
    fn mentioned(&self, text: &str) -> Option<Finding> {
        let letters: String = text.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
        let all = [text, &letters].into_iter();
        let pieces: BTreeSet<&str> = all.clone().flat_map(pieces).collect();
        let path = pieces.into_iter().find(|piece| self.is_held(piece, &self.directories, false));
        let run = || all.clone().find_map(|text| self.run_in(&[(text, false)]));
        path.map(str::to_owned).or_else(|| run().map(|word| format!("hookbox {word}"))).map(Finding::Unclear)
    }

    /// What a command is with each value of its variables, and what it does to those that come after.
    fn seen(&mut self, command: &Command) -> Vec<Seen> {
        let most = command.words.iter().chain(&command.outputs).map(|word| self.ways(&word.text)).max();
        let mut all = Vec::new();
        for way in 0..most.unwrap_or(1).clamp(1, MAX_WAYS) {
            let filled = |words: &[Word]| -> Vec<Word> {
                let words = words.iter().flat_map(|word| {
                    let text = self.fill(&word.text, way);
                    // What a variable holds may be more than one word.
                    let is_variable = word.text.starts_with('$') && !word.text.contains(char::is_whitespace);
                    let parts = if is_variable {
                        text.split_whitespace().map(str::to_owned).collect()
                    } else {
                        vec![text]
                    };
                    let texts: Vec<String> = parts.iter().flat_map(|part| braces(part)).collect();
                    texts.into_iter().map(|text| Word { text, glob: word.glob })
                });
                words.collect()
            };
            let (words, outputs) = (filled(&command.words), filled(&command.outputs));
            let texts = command.texts.iter().map(|text| self.fill(text, way)).collect();
            let strings: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
            let used = use_of(&strings);
            let mut seen =
                Seen { words: Vec::new(), outputs, texts, directories: Vec::new(), flow: command.flow, used };
            let goes = strings.iter().enumerate().filter_map(|(at, word)| {
                let (option, value) = word.split_once('=').unwrap_or((word, ""));
                let value = Some(value).filter(|it| !it.is_empty()).or(strings.get(at + 1).copied());
                value.filter(|_| GOES.contains(&option))
            });
            let goes: Vec<PathBuf> = goes.flat_map(|to| self.all_paths(to)).collect();
            let (is_tee, program) =
                (strings.contains(&"tee"), strings.iter().position(|it| assignment(it).is_none()));
            seen.words = words;
            if is_tee && used == Use::Reads {
                seen.outputs
                    .extend(seen.words.iter().filter(|it| !it.text.starts_with('-')).skip(1).cloned());
            }
            self.carry(&seen, program.unwrap_or(seen.words.len()), command.after);
            seen.directories = self.directories.iter().cloned().chain(goes).take(MAX_DIRECTORIES).collect();
            all.push(seen);
        }
        all
    }

    /// Takes note of the variables and the directory that a command sets.
    fn carry(&mut self, seen: &Seen, program: usize, after: bool) {
        let words: Vec<&str> = seen.strings().collect();
        let (before, words) = words.split_at(program);
        let Some((program, words)) = words.split_first() else {
            for (word, (name, value)) in before.iter().filter_map(|word| Some((word, assignment(word)?))) {
                let known = self.variables.get(name).and_then(|values| values.last());
                let longer = known.filter(|_| word.contains("+=")).map(|before| format!("{before} {value}"));
                let joined = known.filter(|_| word.contains("+=")).map(|before| format!("{before}{value}"));
                longer
                    .into_iter()
                    .chain(joined)
                    .chain([value.to_owned()])
                    .for_each(|value| self.assign(name, value));
            }
            return;
        };
        let texts = || seen.texts.iter().map(String::as_str);
        let mut plain = words.iter().copied().filter(|word| !word.starts_with('-'));
        match *program {
            "cd" | "pushd" => {
                let home = self.protected.variables().get("HOME").map_or("~", String::as_str);
                let to = plain.next().unwrap_or(home);
                let mut to: Vec<PathBuf> = self.all_paths(to);
                // `cd "$(dirname x)"`
                for piece in words
                    .iter()
                    .filter(|word| word.contains(['`', '(']))
                    .flat_map(|word| pieces(word))
                    .take(MAX_DEPTH)
                {
                    let named = self.all_paths(piece);
                    to.extend(
                        named.iter().filter_map(|path| path.parent()).map(Path::to_owned).collect::<Vec<_>>(),
                    );
                    to.extend(named);
                }
                if !after && (self.directories.len() > 1 || *program == "pushd") {
                    self.directories.extend(to);
                } else {
                    let from = std::mem::replace(&mut self.directories, to);
                    // It may not work, and what comes next run all the same.
                    self.directories.extend(from.into_iter().take(usize::from(!after)));
                }
                self.directories.truncate(MAX_DIRECTORIES);
            }
            "for" | "select" => {
                let name = plain.next().unwrap_or_default();
                plain.filter(|word| *word != "in").for_each(|value| self.assign(name, value.to_owned()));
            }
            "read" | "mapfile" | "readarray" => {
                for name in plain {
                    texts().for_each(|text| self.assign(name, text.trim().to_owned()));
                }
            }
            "set" => {
                self.assign(GIVEN, words.join(" "));
                words.iter().for_each(|word| self.assign(GIVEN, (*word).to_owned()));
            }
            "export" | "declare" | "local" | "readonly" | "typeset" | "alias" => {
                plain.filter_map(assignment).for_each(|(name, value)| self.assign(name, value.to_owned()));
            }
            "printf" if words.first() == Some(&"-v") => {
                let name = words.get(1).copied().unwrap_or_default();
                words.iter().skip(2).for_each(|value| self.assign(name, (*value).to_owned()));
            }
            _ => {}
        }
    }

    fn assign(&mut self, name: &str, value: String) {
        let values = self.variables.entry(name.to_owned()).or_default();
        if value.len() > MAX_LINE >> 4 || values.contains(&value) {
            return;
        }
        if values.len() < MAX_WAYS {
            values.push(value);
        } else if let Some(last) = values.last_mut().filter(|last| last.len() < MAX_LINE >> 4) {
            last.push(' ');
            last.push_str(&value);
        }
    }

    fn all_paths(&self, word: &str) -> Vec<PathBuf> {
        self.directories.iter().map(|from| self.protected.path(word, from)).collect()
    }

    /// How many values the variables of a word have.
    fn ways(&self, text: &str) -> usize {
        variables(text).filter_map(|it| self.variables.get(it.name)).map(Vec::len).max().unwrap_or(1)
    }

    /// A text with the variables that are known, those with a default, and an alias, replaced.
    fn fill(&self, text: &str, way: usize) -> String {
        if let Some(values) = self.variables.get(text).filter(|_| !text.contains('/'))
            && let Some(value) = values.last().filter(|value| value.contains("hookbox"))
        {
            return value.clone();
        }
        // A default may have variables of its own.
        (0..3).fold(text.to_owned(), |text, _| self.fill_once(&text, way))
    }

    fn fill_once(&self, text: &str, way: usize) -> String {
        let (mut filled, mut end) = (String::new(), 0);
        for it in variables(text) {
            let values = self.variables.get(it.name);
            let value = values
                .and_then(|values| values.get(way).or(values.last()))
                .map(String::as_str)
                .or(it.default);
            let value = value.filter(|value| it.from >= end && value.len() + filled.len() < MAX_LINE);
            if let Some(value) = value {
                filled.push_str(text.get(end..it.from).unwrap_or_default());
                filled.push_str(value);
                end = it.to;
            }
        }
        filled + text.get(end..).unwrap_or_default()
    }

    /// What is wrong with commands that may feed each other, of which one is not known to only read.
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
                && let Some(subcommand) = itself::installs(seen.program(), words().skip(1))
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
            // The commands of a substitution are there already.
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

    /// The subcommand that only the user may run, where `hookbox` is next to it in these words. With each goes whether it
    /// is a word of its own, or a text.
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

    /// The protected path that a command names, beside the program itself: a hook may be tried.
    fn changed(&self, seen: &Seen) -> Option<String> {
        let is_in = |it: &&PathBuf| self.protected.holds(it);
        if seen.used != Use::Reads
            && let Some(directory) = seen.directories.first().into_iter().find(is_in)
        {
            return Some(directory.to_string_lossy().into_owned());
        }
        let first = usize::from(
            matches!(seen.used, Use::Any | Use::Shell) && seen.words.len() > 1 || seen.used == Use::Any,
        );
        let sources = sources(seen);
        let is_source = |at: &usize| sources.is_some_and(|last| *at < last);
        let words = seen.words.iter().enumerate().skip(first);
        // A copy of the program is the program.
        let is_open = |word: &Word| word.glob || word.text.contains(['$', '`']) || is_hookbox(&word.text);
        let words = words.filter(|(at, word)| !is_source(at) || is_open(word));
        let mut words = words.map(|(_, word)| word).chain(&seen.outputs);
        words.find_map(|word| self.path_in(word, seen)).or_else(|| {
            let program = seen.program();
            let texts = seen.texts.iter();
            if matches!(program, "patch" | "git" | "apply_patch" | "applypatch") {
                texts.flat_map(|text| text.lines()).find_map(|line| self.patched(line, seen))
            } else if seen.used == Use::Shell || seen.used == Use::Keeps && !matches!(program, "xargs") {
                None
            } else {
                texts
                    .flat_map(|text| pieces(text))
                    .find(|it| self.is_held(it, &seen.directories, false))
                    .map(str::to_owned)
            }
        })
    }

    /// The protected path that a word is, or has in it. Of a shell a text is read as a script, of a program that runs no
    /// words it is only a text.
    fn path_in(&self, word: &Word, seen: &Seen) -> Option<String> {
        let held = |text: &&str| self.is_held(text, &seen.directories, word.glob);
        if held(&word.text.as_str()) {
            return Some(word.text.clone());
        }
        // `cp $(which hookbox) x`
        let mut found =
            tokens(&word.text).skip_while(|it| !matches!(*it, "which" | "command" | "type" | "whereis"));
        if word.text.contains(['$', '`']) && seen.used != Use::Reads && found.any(is_hookbox) {
            return Some("hookbox".to_owned());
        }
        let is_text = word.text.contains(char::is_whitespace);
        if is_text && matches!(seen.used, Use::Shell | Use::Keeps) && !word.text.contains("$(") {
            return None;
        }
        let value = word.text.strip_prefix('-').and_then(|rest| rest.get(1..)).filter(|it| !it.is_empty());
        pieces(&word.text).chain(value).find(held).map(str::to_owned)
    }

    fn is_held(&self, path: &str, directories: &[PathBuf], glob: bool) -> bool {
        if path.is_empty() {
            return false;
        }
        // What is no pattern for files may be one for texts.
        let path = if glob {
            path.to_owned()
        } else {
            path.split('/').map(plain_name).collect::<Vec<_>>().join("/")
        };
        let bare = without_variables(&path);
        [&path, &bare]
            .into_iter()
            .any(|path| directories.iter().any(|from| self.protected.holds(&self.protected.path(path, from))))
    }

    /// The protected file that a line of a patch is about.
    fn patched(&self, line: &str, seen: &Seen) -> Option<String> {
        let heads = [
            "*** Add File:",
            "*** Update File:",
            "*** Delete File:",
            "*** Move to:",
            "+++ ",
            "--- ",
            "rename ",
        ];
        let path = heads.iter().find_map(|head| line.trim_start().strip_prefix(head))?;
        let path = path.trim().trim_start_matches("to ").trim_start_matches("from ");
        let path = path.split('\t').next().unwrap_or(path);
        self.is_held(path, &seen.directories, false).then(|| path.to_owned())
    }
}

/// Returns the index of the word behind the sources of `cp`, which it only reads. A link shares its bytes with the
/// source, so that a `cp` that may make links has none.
fn sources(seen: &Seen) -> Option<usize> {
    let first = seen.words.first().filter(|first| base_name(&first.text) == "cp")?;
    let is_plain = |option: &str| {
        !option.starts_with('-')
            || (!option.starts_with("--") && !option.contains(['l', 's', 't']))
            || matches!(option, "--recursive" | "--archive" | "--force" | "--verbose" | "--")
    };
    let is_read = seen.words.len() > 2 && !first.glob && seen.strings().all(is_plain);
    is_read.then(|| seen.words.len() - 1)
}

#[cfg(test)]
mod tests;
