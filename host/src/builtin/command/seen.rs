//! The commands of a line, each with every value that its variables may have. Nothing is evaluated.

use std::path::{Path, PathBuf};

use hookbox_shell::{Arg, Mode, Reading, Run, Sort, Use};

use super::Judge;
use crate::builtin::programs::use_of;

/// The number of readings of a command with variables.
const MAX_WAYS: usize = 16;

/// The number of directories that relative paths may be relative to.
const MAX_DIRECTORIES: usize = 16;

/// Options that name a directory to go to.
const GOES: [&str; 7] = ["-C", "--chdir", "--directory", "--work-tree", "--cwd", "--prefix", "-t"];

/// A command with its variables replaced.
pub(super) struct Seen {
    /// The place in the reading.
    pub(super) at: usize,
    /// The program and its arguments.
    pub(super) words: Vec<Arg>,
    /// The values of the variables that are set for it.
    pub(super) values: Vec<String>,
    /// The files that its output goes to.
    pub(super) outputs: Vec<Arg>,
    /// The texts that it is given, and its code.
    pub(super) scripts: Vec<String>,
    /// The directories that it may run in.
    pub(super) directories: Vec<PathBuf>,
    /// True if one directory is that of the command.
    pub(super) is_there: bool,
    pub(super) used: Use,
}

impl Seen {
    pub(super) fn strings(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(|word| word.text.as_str())
    }

    /// Returns the words and texts.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.strings().chain(self.values.iter().chain(&self.scripts).map(String::as_str))
    }

    pub(super) fn program(&self) -> &str {
        self.strings().next().map_or("", hookbox_shell::base_name)
    }
}

impl Judge<'_> {
    /// Returns the commands of a line.
    pub(super) fn seen(&self, reading: &Reading, from: &Path) -> Vec<Seen> {
        let mut all = Vec::new();
        for (at, run) in reading.runs.iter().enumerate() {
            let texts = run.words.iter().chain(run.redirections.iter().map(|it| &it.target));
            let texts = texts.filter(|it| !it.is_plain()).map(|it| it.text.as_str());
            let texts = texts.chain(run.elsewhere.iter().map(String::as_str));
            let count = |name: &str| reading.values.iter().filter(|(it, _)| it == name).count();
            let most = texts.flat_map(variables).map(|it| count(it.name)).max().unwrap_or_default();
            let ways = (0..=most.min(MAX_WAYS)).skip(usize::from(most > 0));
            all.extend(ways.map(|way| self.one(at, run, way, reading, from)));
        }
        all
    }

    /// Returns a command with one value of each variable.
    fn one(&self, at: usize, run: &Run, way: usize, reading: &Reading, from: &Path) -> Seen {
        let value = |name: &str| {
            let values = reading.values.iter().filter(|(it, _)| it == name).map(|(_, value)| value.as_str());
            let mut values = values.take(way);
            values.nth(way.checked_sub(1)?).or(values.last())
        };
        let filled = |arg: &Arg| -> Vec<Arg> {
            if arg.is_plain() || way == 0 {
                return vec![arg.clone()];
            }
            let text = with_values(&arg.text, value);
            let sort = match arg.sort {
                _ if text.contains(['$', '`']) => arg.sort,
                _ if text.contains(['*', '?', '[']) => Sort::Pattern,
                Sort::Unknown | Sort::Input if text != arg.text => Sort::Plain,
                sort => sort,
            };
            // The value of a variable may be several words.
            text.split_whitespace().map(|it| Arg { text: it.to_owned(), sort }).collect()
        };
        let words: Vec<Arg> = run.words.iter().flat_map(filled).collect();
        let is_output = |mode: Mode, target: &str| match mode {
            Mode::Write | Mode::Append | Mode::Both => true,
            Mode::Copy => !target.bytes().all(|it| it.is_ascii_digit() || it == b'-'),
            Mode::Read | Mode::Text => false,
        };
        let outputs = run.redirections.iter().filter(|it| is_output(it.mode, &it.target.text));
        let mut outputs: Vec<Arg> = outputs.flat_map(|it| filled(&it.target)).collect();
        let code = reading.code.iter().filter(|it| it.run == at).map(|it| it.text.as_str());
        let code = code.filter(|code| words.iter().all(|it| it.text != **code));
        let texts =
            run.redirections.iter().filter(|it| it.mode == Mode::Text).map(|it| it.target.text.as_str());
        let scripts = texts.chain(code).map(str::to_owned).collect();
        let set = run.assignments.iter().map(|(name, value)| format!("{name}={}", value.text));
        let values: Vec<String> = set.collect();
        let strings: Vec<&str> =
            values.iter().map(String::as_str).chain(words.iter().map(|it| it.text.as_str())).collect();
        let used = use_of(&strings);
        let mut filled_run = run.clone();
        (filled_run.words, filled_run.redirections) = (words.clone(), Vec::new());
        let named = |file: &str| words.iter().find(|it| it.text == file).cloned();
        let plain = |file: &str| Arg { text: file.to_owned(), sort: Sort::Plain };
        if matches!(filled_run.program(), Some("tee" | "curl" | "wget")) {
            outputs.extend(filled_run.writes().map(|file| named(file).unwrap_or_else(|| plain(file))));
        }
        let of_run = run.directory.iter().chain(&run.elsewhere).take(MAX_DIRECTORIES);
        let mut directories: Vec<PathBuf> =
            of_run.map(|it| self.protected.path(&with_values(it, value), from)).collect();
        if directories.is_empty() {
            directories.push(from.to_owned());
        }
        let goes = strings.iter().enumerate().filter_map(|(at, word)| {
            let (option, value) = word.split_once('=').unwrap_or((word, ""));
            let value = Some(value).filter(|it| !it.is_empty()).or(strings.get(at + 1).copied());
            value.filter(|_| GOES.contains(&option))
        });
        let goes: Vec<PathBuf> = goes
            .flat_map(|to| directories.iter().map(move |from| self.protected.path(to, from)))
            .take(MAX_DIRECTORIES)
            .collect();
        directories.extend(goes);
        let is_there = run.directory.is_some();
        Seen { at, words, values, outputs, scripts, directories, is_there, used }
    }
}

/// A variable in a text.
struct Variable<'t> {
    name: &'t str,
    from: usize,
    to: usize,
}

/// Returns the variables of a text: `$NAME`, `${NAME…}`, `$1`.
fn variables(text: &str) -> impl Iterator<Item = Variable<'_>> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices('$').filter_map(move |(from, _)| {
        let rest = text.get(from + 1..)?;
        let (inside, is_braced) = rest.strip_prefix('{').map_or((rest, false), |it| (it, true));
        let inside = if is_braced { inside.split('}').next()? } else { inside };
        let named = inside.trim_start_matches(['!', '#']);
        let mut end = named.find(|c| !is_of_name(c)).unwrap_or(named.len());
        if named.starts_with(|c: char| c.is_ascii_digit() || "@*".contains(c)) {
            end = 1;
        }
        let name = named.get(..end).filter(|name| !name.is_empty())?;
        let to = from + 1 + if is_braced { inside.len() + 2 } else { end };
        Some(Variable { name, from, to })
    })
}

/// Replaces the variables of a text that have a value.
fn with_values<'v>(text: &str, value: impl Fn(&str) -> Option<&'v str>) -> String {
    let (mut filled, mut end) = (String::new(), 0);
    for it in variables(text) {
        let Some(value) = value(it.name).filter(|_| it.from >= end) else { continue };
        filled.push_str(text.get(end..it.from).unwrap_or_default());
        filled.push_str(value);
        end = it.to;
    }
    filled + text.get(end..).unwrap_or_default()
}

/// Returns a text as it is if its variables are empty.
pub(super) fn without_variables(text: &str) -> String {
    with_values(text, |_| Some(""))
}
