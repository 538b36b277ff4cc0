//! The protected paths that a command names.

use std::path::PathBuf;

use hookbox_shell::{Use, Word, base_name};

use super::expansion::without_variables;
use super::{Judge, Seen, pieces, tokens};
use crate::builtin::programs::is_hookbox;

/// Returns a name in a path without its wildcards, if it has hardly any letters of its own.
fn plain_name(name: &str) -> String {
    let is_vague = name.chars().filter(char::is_ascii_alphanumeric).count() < 3;
    if is_vague { name.replace(['*', '?', '['], "\u{1}") } else { name.to_owned() }
}

impl Judge<'_> {
    /// Returns the protected path that a command names. Its program does not count, because a hook may be tried out.
    pub(super) fn changed(&self, seen: &Seen) -> Option<String> {
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

    /// Returns the protected path that a word is or contains. A text with spaces is read as a script for a shell, and
    /// ignored for a program that runs no words.
    pub(super) fn path_in(&self, word: &Word, seen: &Seen) -> Option<String> {
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

    pub(super) fn is_held(&self, path: &str, directories: &[PathBuf], glob: bool) -> bool {
        if path.is_empty() {
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
