//! The values of variables and the directories that a line goes to. Each command is read with each of them.

use std::path::{Path, PathBuf};

use hookbox_shell::{Command, Use, Word, assignment, braces};

use super::expansion::{GIVEN, variables};
use super::{Judge, MAX_DEPTH, MAX_DIRECTORIES, MAX_LINE, MAX_WAYS, Seen, pieces};
use crate::builtin::programs::use_of;

/// Options that name a directory to go to.
const GOES: [&str; 7] = ["-C", "--chdir", "--directory", "--work-tree", "--cwd", "--prefix", "-t"];

/// Returns true for a word before a built-in command of the shell, such as `cd`, that leaves its effect.
fn is_before_builtin(word: &str) -> bool {
    assignment(word).is_some() || matches!(word, "command" | "builtin" | "time" | "eval")
}

impl Judge<'_> {
    /// Returns the command with each value of its variables, and applies its effects on the commands after it.
    pub(super) fn seen(&mut self, command: &Command) -> Vec<Seen> {
        let most = command.words.iter().chain(&command.outputs).map(|word| self.ways(&word.text)).max();
        let mut all = Vec::new();
        for way in 0..most.unwrap_or(1).clamp(1, MAX_WAYS) {
            let filled = |words: &[Word]| -> Vec<Word> {
                let words = words.iter().flat_map(|word| {
                    let text = self.fill(&word.text, way);
                    // The value of a variable may be several words.
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
                (strings.contains(&"tee"), strings.iter().position(|it| !is_before_builtin(it)));
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

    /// Notes the variables and the directory that a command sets.
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
                    // If it fails, the next command runs in the old directory.
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

    pub(super) fn assign(&mut self, name: &str, value: String) {
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

    /// Returns the number of values that the variables of a word have.
    fn ways(&self, text: &str) -> usize {
        variables(text).filter_map(|it| self.variables.get(it.name)).map(Vec::len).max().unwrap_or(1)
    }

    /// Replaces the known variables of a text, those with a default, and an alias.
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
}
