//! Paths that a command removes or moves, and that a protected path is beneath.

use std::path::Path;

use hookbox_shell::{Arg, Sort, Use, base_name, executes, git_parts, is_short, operands};

use super::{Judge, Seen};
use crate::builtin::protected::is_match;
use crate::builtin::{hookbox_process, programs};

impl Judge<'_> {
    /// Returns a path that a command removes or moves, if a protected path is at it or beneath it.
    pub(super) fn taken(&self, seen: &Seen, flow: &[&Seen]) -> Option<String> {
        let words: Vec<&str> = seen.strings().collect();
        let program = seen.program();
        let at = words.iter().position(|word| programs::destroys(word));
        let named = |words: &[&str]| -> Vec<String> {
            words
                .iter()
                .filter(|word| !word.starts_with('-') && !word.is_empty())
                .map(|it| (*it).to_owned())
                .collect()
        };
        let has = |option: &str| words.iter().any(|word| word.starts_with(option));
        let rest = words.get(at.map_or(1, |at| at + 1)..).unwrap_or_default();
        // A package may bring a program of the same name.
        let roots = hookbox_process::roots(program, &words);
        let taken = match program {
            "find" => {
                let feeds = flow.iter().any(|it| it.strings().any(programs::destroys));
                let takes = words.iter().any(|word| *word == "-delete" || executes(word));
                return (feeds || seen.used != Use::Reads && takes).then(|| self.found(&words, seen))?;
            }
            "git" => git_takes(&seen.words)?,
            _ if !roots.is_empty() => roots,
            "rsync" if has("--delete") || has("--remove-source-files") => named(rest),
            "tar" if has("--remove-files") => named(rest),
            "zip" if has("-m") || has("--move") => named(rest),
            "chmod"
                if rest.iter().any(|mode| {
                    mode.trim_matches('0').is_empty() || mode.contains("a-") || mode.starts_with("-r")
                }) =>
            {
                named(rest)
            }
            _ if seen.used == Use::Keeps
                && at.is_some_and(|at| base_name(words.get(at).unwrap_or(&"")) == "mv") =>
            {
                let mut all = named(rest);
                if !words.iter().any(|word| is_short(word, 't')) && !has("--target-directory") {
                    all.pop();
                }
                all
            }
            _ if at.is_some() => {
                let is_fed = seen.words.iter().any(|it| matches!(it.sort, Sort::Input | Sort::Unknown));
                let fed = flow.iter().filter(|_| is_fed).flat_map(|it| {
                    let prints = matches!(it.program(), "echo" | "printf");
                    it.strings()
                        .skip(1)
                        .filter(move |_| prints)
                        .chain(it.scripts.iter().flat_map(|text| text.split_whitespace()))
                });
                fed.map(str::to_owned).chain(named(rest)).collect()
            }
            _ => return None,
        };
        let globs = |path: &str| seen.words.iter().any(|it| it.sort == Sort::Pattern && it.text == path);
        taken.into_iter().find(|path| {
            let is_pattern = path.contains(['*', '?', '[']) && !globs(path);
            !is_pattern && seen.directories.iter().any(|from| self.is_above(&self.protected.path(path, from)))
        })
    }

    fn is_above(&self, path: &Path) -> bool {
        self.protected.beneath(path).next().is_some()
    }

    /// Returns a directory that `find` searches, if it may find a protected path there.
    fn found(&self, words: &[&str], seen: &Seen) -> Option<String> {
        let rest = words.iter().skip_while(|word| base_name(word) != "find").skip(1);
        let rest: Vec<&str> = rest.copied().collect();
        let end = rest.iter().position(|it| it.starts_with(['-', '(', '!'])).unwrap_or(rest.len());
        let (starts, tests) = rest.split_at(end);
        let starts = if starts.is_empty() { &["."] } else { starts };
        let value = |option: &str| {
            tests.iter().position(|it| *it == option).and_then(|at| tests.get(at + 1)).copied()
        };
        let is_not = |at: usize| {
            at.checked_sub(1).and_then(|at| tests.get(at)).is_some_and(|it| matches!(*it, "!" | "-not"))
        };
        let patterns = |names: &'static [&str]| {
            let at = tests.iter().enumerate().filter(move |(at, it)| names.contains(it) && !is_not(*at));
            at.filter_map(|(at, _)| tests.get(at + 1)).copied().collect::<Vec<&str>>()
        };
        let (names, paths) = (patterns(&["-name", "-iname"]), patterns(&["-path", "-ipath", "-wholename"]));
        let depth = value("-maxdepth").and_then(|it| it.parse().ok()).unwrap_or(usize::MAX);
        if tests.contains(&"-empty") || matches!(value("-type").or(value("-xtype")), Some("l" | "p" | "s")) {
            return None;
        }
        let is_found = |place: &Path, start: &Path| {
            let beneath = place.components().skip(start.components().count());
            let parts: Vec<&str> = beneath.filter_map(|it| it.as_os_str().to_str()).collect();
            let seen = parts.get(..depth.min(parts.len())).unwrap_or_default();
            let is_cut = seen.len() < parts.len();
            let by_name = names.is_empty()
                || seen.iter().any(|part| {
                    names.iter().any(|it| {
                        is_match(it, part) || is_match(&format!(".{it}"), part) && it.starts_with('*')
                    })
                });
            let by_path = paths.is_empty()
                || paths.iter().any(|it| is_match(&it.replace("./", "*/"), &place.to_string_lossy()));
            by_name && by_path && !(is_cut && value("-type") == Some("f"))
        };
        let from = starts
            .iter()
            .flat_map(|start| seen.directories.iter().map(|from| self.protected.path(start, from)));
        let found =
            from.into_iter().find(|start| self.protected.beneath(start).any(|place| is_found(place, start)));
        found.map(|it| it.to_string_lossy().into_owned())
    }
}

/// Returns the paths that git removes: untracked files, or those that it is told to remove. A checkout of another commit
/// is not among them, for it changes hooks as it changes everything.
fn git_takes(words: &[Arg]) -> Option<Vec<String>> {
    let (sub, args, _) = git_parts(words.get(1..)?)?;
    let has = |letter: char, long: &str| args.iter().any(|it| is_short(&it.text, letter) || it.text == long);
    let takes = match sub {
        "clean" => has('f', "--force") && !has('n', "--dry-run"),
        "rm" => !has('n', "--cached"),
        _ => false,
    };
    let mut paths: Vec<String> =
        operands(args, "-e --exclude").into_iter().map(|it| it.text.clone()).collect();
    if paths.is_empty() && sub == "clean" {
        paths.push(".".to_owned());
    }
    takes.then_some(paths)
}
