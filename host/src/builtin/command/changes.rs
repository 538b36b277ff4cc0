//! The protected paths that a command names.

use std::path::PathBuf;

use hookbox_shell::{Arg, Sort, Use, is_in, unpacks};

use super::seen::without_variables;
use super::{Judge, Seen, pieces};
use crate::builtin::programs::is_hookbox;
use hookbox_system::limits;

/// Programs that make files under the names of their sources.
const COPIES: &str = "cp mv install ln rsync scp sftp docker podman kubectl wget curl stow";

/// Their options with the directory of the new files.
const INTO: &str = "-t --target-directory -P --directory-prefix --output-dir";

/// Returns a name in a path without its wildcards, if it has hardly any letters of its own.
fn plain_name(name: &str) -> String {
    let is_vague = name.chars().filter(char::is_ascii_alphanumeric).count() < 3;
    if is_vague { name.replace(['*', '?', '['], "\u{1}") } else { name.to_owned() }
}

impl Judge<'_> {
    /// Returns the protected path that a command names. Its program does not count, because a hook may be tried out.
    pub(super) fn changed(&self, seen: &Seen) -> Option<String> {
        let is_in = |it: &&PathBuf| self.protected.holds(it);
        if seen.used != Use::Reads {
            let own = if seen.is_there { seen.directories.get(..1) } else { seen.directories.get(..) };
            if let Some(directory) = own.into_iter().flatten().find(is_in) {
                return Some(directory.to_string_lossy().into_owned());
            }
        }
        let sources = sources(seen);
        let is_source = |at: &usize| sources.is_some_and(|last| *at < last);
        // A copy of the program is the program.
        let is_open = |word: &Arg| !word.is_plain() || is_hookbox(&word.text);
        let words = seen.words.iter().enumerate().skip(1);
        let words = words.filter(|(at, word)| !is_source(at) || is_open(word));
        let mut words = words.map(|(_, word)| word);
        words.find_map(|word| self.path_in(word, seen)).or_else(|| self.landed(seen)).or_else(|| {
            let program = seen.program();
            let texts = seen.scripts.iter();
            if matches!(program, "patch" | "git" | "apply_patch" | "applypatch") {
                texts.flat_map(|text| text.lines()).find_map(|line| self.patched(line, seen))
            } else if matches!(seen.used, Use::Shell | Use::Keeps) {
                None
            } else {
                texts
                    .flat_map(|text| pieces(text))
                    .find(|it| self.is_held(it, &seen.directories, false))
                    .map(str::to_owned)
            }
        })
    }

    /// Returns the protected path that a word is or contains. A text with spaces is read as a script for a shell, and
    /// ignored for a program that runs no words.
    pub(super) fn path_in(&self, word: &Arg, seen: &Seen) -> Option<String> {
        let held = |text: &&str| self.is_held(text, &seen.directories, word.sort == Sort::Pattern);
        if held(&word.text.as_str()) {
            return Some(word.text.clone());
        }
        // `cp $(which hookbox) x`
        if seen.used != Use::Reads && word.text == "/usr/bin/hookbox" {
            return Some("hookbox".to_owned());
        }
        let is_text = word.text.contains(char::is_whitespace);
        if is_text && matches!(seen.used, Use::Shell | Use::Keeps) && !word.text.contains("$(") {
            return None;
        }
        let value = word.text.strip_prefix('-').and_then(|rest| rest.get(1..)).filter(|it| !it.is_empty());
        pieces(&word.text).chain(value).find(held).map(str::to_owned)
    }

    /// Returns the protected path that a copy, a move, a link or a download makes or replaces in a directory, under the name of
    /// its source, or that may be in an archive.
    fn landed(&self, seen: &Seen) -> Option<String> {
        let args = seen.words.get(1..).unwrap_or_default();
        let paths =
            |to: &str| seen.directories.iter().map(|from| self.protected.path(to, from)).collect::<Vec<_>>();
        if let Some(into) = unpacks(seen.program(), args) {
            let found = paths(&into.text).into_iter().find(|it| self.protected.is_around_hookbox(it));
            return found.map(|it| it.to_string_lossy().into_owned());
        }
        if !is_in(COPIES, seen.program()) {
            return None;
        }
        let words: Vec<&Arg> = args.iter().collect();
        let named = words.iter().enumerate().filter_map(|(at, it)| match it.text.split_once('=') {
            Some((option, value)) => is_in(INTO, option).then_some((at, value)),
            None => words.get(at + 1).filter(|_| is_in(INTO, &it.text)).map(|it| (at + 1, it.text.as_str())),
        });
        let last = words.iter().rposition(|it| !it.text.starts_with('-'));
        let last = last.and_then(|at| Some((at, words.get(at)?.text.as_str())));
        let (at, target) = named.chain(last).next()?;
        let sources =
            words.iter().enumerate().filter(|(it, source)| *it != at && !source.text.starts_with('-'));
        sources.map(|(_, source)| source).find_map(|source| {
            // `host:hookbox`, `https://host/hookbox?x`
            let path = source.text.split(['?', '#']).next().unwrap_or_default();
            let name = path.rsplit(['/', ':']).next().unwrap_or_default();
            let is_whole = matches!(name, "" | "." | "*") && path.len() > name.len();
            // A copy of protected files is a backup, unless it replaces others.
            let is_backup = || self.is_held(path, &seen.directories, false);
            paths(target).into_iter().find_map(|into| {
                let made = into.join(name);
                let replaces = || self.protected.beneath(&made).next().is_some();
                let is_found = match is_whole {
                    true => self.protected.is_around_hookbox(&into),
                    false => !name.is_empty() && (replaces() || self.protected.holds(&made) && !is_backup()),
                };
                is_found.then(|| made.to_string_lossy().into_owned())
            })
        })
    }

    pub(super) fn is_held(&self, path: &str, directories: &[PathBuf], glob: bool) -> bool {
        if path.is_empty() || path.len() > limits::PATH {
            return false;
        }
        // A pattern in quotes is not one for file names, but may be one for texts.
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

    /// Returns the protected file that a line of a patch names.
    fn patched(&self, line: &str, seen: &Seen) -> Option<String> {
        let of_git =
            || ["+++ ", "--- ", "rename "].iter().find_map(|head| line.trim_start().strip_prefix(head));
        let path = hookbox_shell::patched(line).next().or_else(of_git)?;
        let path = path.trim().trim_start_matches("to ").trim_start_matches("from ");
        let path = path.split('\t').next().unwrap_or(path);
        self.is_held(path, &seen.directories, false).then(|| path.to_owned())
    }
}

/// Returns the index of the word behind the sources of `cp` and `rsync`, which they only read. A link shares its bytes with
/// the source, so that a `cp` that may make links has none.
fn sources(seen: &Seen) -> Option<usize> {
    let is_plain = |option: &str| {
        !option.starts_with('-')
            || (!option.starts_with("--") && !option.contains(['l', 's', 't']))
            || matches!(option, "--recursive" | "--archive" | "--force" | "--verbose" | "--")
    };
    let only_reads = match seen.program() {
        "cp" => seen.strings().all(is_plain),
        "rsync" => seen.strings().all(|it| !it.starts_with("--remove-") && !it.starts_with("--link-")),
        _ => false,
    };
    // An option may be behind the target.
    let last = seen.words.iter().rposition(|it| !it.text.starts_with('-'));
    last.filter(|at| only_reads && *at > 1)
}
