//! Finds shell lines that change protected files, as far as their text shows it. A program of its own, a decoded text or a
//! computed name can hide a change: this is a guard rail and not a sandbox.
//!
//! One rule: a command that is not known to only read is a change if it names `hookbox` beside a subcommand that only the
//! user may run, or a path at or beneath a protected one. For programs that remove or move, a path above one counts, too.
//! The commands that feed it count as its words.

mod changes;
mod removal;
mod seen;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use hookbox_shell::{Arg, Known, Reading, Run, Sort, Unread, Use, base_name, is_in, runs};

use self::seen::{Seen, without_variables};
use super::hookbox_process::{self, CommandLines};
use super::programs::{self, is_hookbox};
use super::protected::Protected;

/// The longest line that is read to its end, in bytes. A longer one is refused if it mentions a protected path.
const MAX_LINE: usize = 64 << 10;

/// The files that a shell reads when it starts.
const START_FILES: &str = ".bashrc .bash_profile .bash_login .profile .zshrc .zshenv .zprofile .zlogin .envrc config.fish \
    environment";

/// The variables by which hookbox finds the user's hooks, its records of trust and its own state.
const PLACES: &str = "HOME XDG_DATA_HOME HOOKBOX_DEPTH";

/// Parts of lines that go through all processes.
const ALL_PROCESSES: [&str; 6] = ["/proc/*", "/proc/[", "/proc/?", "ls /proc", "find /proc", "cd /proc"];

/// The depth of scripts within the arguments of programs.
const MAX_DEPTH: usize = 8;

/// The total length of these scripts, in bytes.
const MAX_TEXT: usize = 3 * MAX_LINE;

/// The reason why a line is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// The command runs this subcommand of hookbox.
    Runs(&'static str),
    /// The command may end a process of hookbox.
    Ends,
    /// The command may change this path.
    Changes(String),
    /// The line runs an agent without its hooks, or lets it run so later.
    WithoutHooks(&'static str),
    /// The text is too long or too malformed to be read, and mentions this.
    Unclear(String),
    /// The text has too many levels of substitutions and scripts to be read.
    Deep,
}

/// Judges a line of an agent that works in one of these directories.
pub(super) fn judge(line: &str, protected: &Protected, directories: &[PathBuf]) -> Option<Finding> {
    let mut judge = Judge { protected, read: BTreeSet::new(), text: 0, lines: None, sees_all: false };
    directories.iter().find_map(|from| judge.line(line, from, 0))
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

/// Returns true if a program is an agent's: by its name, or by that of its package (`npx @anthropic-ai/claude-code@2`).
fn is_agent(program: &str, agent: &str) -> bool {
    let name = program.split('@').next().unwrap_or(program);
    name.strip_prefix(agent).is_some_and(|rest| matches!(rest, "" | "-code" | "-cli" | "-ai"))
}

fn is_variable(word: &str) -> bool {
    word.bytes().all(|it| it.is_ascii_uppercase() || it == b'_')
}

/// Returns true if a shell reads a file when it starts.
pub(super) fn is_start_file(path: &str) -> bool {
    let in_directory = ["/conf.d/", "/profile.d/", "/environment.d/"].iter().any(|it| path.contains(it));
    in_directory || is_in(START_FILES, base_name(path))
}

/// Returns the program that a text in the start file of a shell would run without its hooks: as another program of its name,
/// or by a variable.
pub(super) fn started_without_hooks(text: &str, protected: &Protected) -> Option<&'static str> {
    let targets = || protected.targets.iter().copied();
    let is_renamed = |name: &str| {
        [format!("alias {name}="), format!("alias {name} "), format!("function {name}"), format!("{name}()")]
            .iter()
            .any(|it| text.contains(it))
    };
    let by_word = || {
        let mut all = protected.without_hooks.iter();
        all.find(|(name, word)| {
            if is_variable(word) { sets(text, word) } else { text.contains(name) && text.contains(word) }
        })
    };
    targets()
        .chain(["hookbox"])
        .find(|name| is_renamed(name))
        .or_else(|| by_word().map(|(name, _)| *name))
        .or_else(|| PLACES.split(' ').any(|it| sets(text, it)).then_some("hookbox"))
}

/// Returns true if a text sets a variable: `NAME=x`, `$env.NAME = x`, `set -gx NAME x`. A comment may name it.
fn sets(text: &str, name: &str) -> bool {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let mut places = lines.flat_map(|line| line.match_indices(name).map(|(at, _)| line.split_at(at)));
    places.any(|(before, named)| {
        let after = named.get(name.len()..).unwrap_or_default();
        let is_inside = before.ends_with(|it: char| it.is_ascii_alphanumeric() || "_${/".contains(it));
        let word = before.split_whitespace().next_back().unwrap_or_default().trim_start_matches(['\'', '"']);
        let is_set = after.starts_with(' ') && (word == "set" || word.starts_with('-'));
        !is_inside && (is_set || after.trim_start().starts_with('='))
    })
}

fn is_text(word: &str) -> bool {
    word.contains(|c: char| c.is_whitespace() || ";|&(`$<>".contains(c))
}

struct Judge<'a> {
    protected: &'a Protected,
    /// The scripts that were read, with the directories that they were read in.
    read: BTreeSet<(String, PathBuf)>,
    /// The total length of these scripts.
    text: usize,
    /// Made when a command ends processes.
    lines: Option<CommandLines>,
    /// True if a line goes through all processes.
    sees_all: bool,
}

impl Judge<'_> {
    /// Judges a line in a directory.
    fn line(&mut self, line: &str, from: &Path, depth: usize) -> Option<Finding> {
        if !self.read.insert((line.to_owned(), from.to_owned())) {
            return None;
        }
        self.text += line.len();
        self.sees_all |= ALL_PROCESSES.iter().any(|it| line.contains(it));
        let cwd = from.to_string_lossy();
        let variables: Vec<(&str, &str)> =
            self.protected.variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let home = self.protected.home();
        let reading = runs(line, &Known { cwd: Some(&cwd), home, variables: &variables, lookup: None });
        let is_cut = line.len() > MAX_LINE || self.text > MAX_TEXT;
        let is_odd = reading.unread.iter().any(|it| matches!(it, Unread::Syntax | Unread::Values));
        if (is_cut || is_odd)
            && let Some(found) = self.mentioned(line, &reading, from)
        {
            return Some(found);
        }
        if self.text > MAX_TEXT {
            return None;
        }
        if reading.unread.contains(&Unread::Limit) || depth > MAX_DEPTH {
            return Some(Finding::Deep);
        }
        if let Some(program) = self.without_hooks(&reading) {
            return Some(Finding::WithoutHooks(program));
        }
        let seen = self.seen(&reading, from);
        seen.iter().find_map(|it| self.command(it, &seen, &reading, depth))
    }

    /// Returns the agent that a line runs without its hooks, or that would run so by the start file of a shell.
    fn without_hooks(&self, reading: &Reading) -> Option<&'static str> {
        let text = |run: &Run| run.whole.iter().flat_map(|it| [it.text.as_str(), " "]).collect::<String>();
        let fed =
            |run: &Run| run.input.iter().filter_map(|at| reading.runs.get(*at)).map(text).collect::<String>();
        let written = reading.runs.iter().filter(|run| run.writes().any(is_start_file));
        let written: Vec<String> = written.map(|run| text(run) + &fed(run)).collect();
        let agent = |run: &'_ Run| {
            run.program().and_then(|name| self.protected.targets.iter().find(|it| is_agent(name, it)))
        };
        let started: Vec<(&Run, &str)> =
            reading.runs.iter().filter_map(|run| Some((run, *agent(run)?))).collect();
        // Nearly every line has neither.
        if written.is_empty() && started.is_empty() {
            return None;
        }
        // Another home directory has no hooks, and another user has others.
        let moves = |run: &Run| {
            let is_home = |it: &Arg| it.text == "HOME" || it.text.starts_with("HOME=");
            let sets = matches!(run.program(), Some("export" | "unset" | "declare" | "typeset" | "readonly"));
            run.assignments.iter().any(|(name, _)| name == "HOME") || sets && run.args().iter().any(is_home)
        };
        let is_elsewhere = |run: &Run| {
            let starts = |name: &str| run.whole.first().is_some_and(|it| base_name(&it.text) == name);
            let clears = |it: &Arg| matches!(it.text.as_str(), "-" | "-i" | "--ignore-environment");
            starts("sudo") || starts("env") && run.whole.iter().any(clears)
        };
        let moved = reading.runs.iter().any(moves);
        if let Some((_, agent)) = started.iter().find(|(run, _)| moved || is_elsewhere(run)) {
            return Some(agent);
        }
        let whole: Vec<String> = reading.runs.iter().map(text).collect();
        let found = self.protected.without_hooks.iter().find(|(name, word)| {
            let mut runs = started.iter().filter(|(_, agent)| agent == name);
            if is_variable(word) {
                // A command before may set it.
                let is_set = |text: &String| text.contains(&format!("{word}="));
                return runs.next().is_some() && whole.iter().any(is_set);
            }
            runs.any(|(run, _)| text(run).contains(word))
        });
        found
            .map(|(name, _)| *name)
            .or_else(|| written.iter().find_map(|it| started_without_hooks(it, self.protected)))
    }

    /// Searches a text for protected paths and subcommands without judging its commands.
    fn mentioned(&self, text: &str, reading: &Reading, from: &Path) -> Option<Finding> {
        let letters: String = text.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
        // The words as the shell reads them: `$'…'` has other letters in the text.
        let words: String =
            reading.runs.iter().flat_map(|it| &it.words).flat_map(|it| [&it.text, " "]).collect();
        let all = [text, &letters, &words].into_iter();
        let pieces: BTreeSet<&str> = all.clone().flat_map(pieces).collect();
        let from = [from.to_owned()];
        let path = pieces.into_iter().find(|piece| self.is_held(piece, &from, false));
        let run = || all.clone().find_map(|text| self.run_in(&[(text, false)]));
        path.map(str::to_owned).or_else(|| run().map(|word| format!("hookbox {word}"))).map(Finding::Unclear)
    }

    /// Judges a command with those that feed it.
    fn command(&mut self, seen: &Seen, all: &[Seen], reading: &Reading, depth: usize) -> Option<Finding> {
        if let Some(path) = seen.outputs.iter().find_map(|output| self.path_in(output, seen)) {
            return Some(Finding::Changes(path));
        }
        if hookbox_process::is_replaced(seen.program(), seen.strings().skip(1)) {
            return Some(Finding::Changes("hookbox".to_owned()));
        }
        let is_unread = reading.unread.iter().any(|it| matches!(it, Unread::Script | Unread::Program));
        let may_change = match seen.used {
            // A script that is read is judged by its commands.
            Use::Shell => is_unread,
            Use::Reads => seen.outputs.iter().any(|it| it.sort == Sort::Unknown) || is_used(seen, all),
            Use::Keeps | Use::Any => true,
        };
        if !may_change {
            return None;
        }
        let feeding = reading.runs.get(seen.at).map(|run| reading.feeding(run)).unwrap_or_default();
        let feeds = |it: &&Seen| it.at == seen.at || feeding.get(it.at) == Some(&true);
        let flow: Vec<&Seen> = all.iter().filter(feeds).collect();
        if seen.used != Use::Keeps && self.selects_hookbox(&flow, all) {
            return Some(Finding::Ends);
        }
        self.flow(&flow, seen.used != Use::Keeps, depth)
    }

    /// Returns true if commands that feed each other end processes, and may select hookbox. A search counts if its output
    /// reaches the command that ends them, also by a substitution.
    fn selects_hookbox(&mut self, flow: &[&Seen], all: &[Seen]) -> bool {
        let ends = |it: &&&Seen| it.used != Use::Keeps && it.texts().flat_map(tokens).any(programs::ends);
        let Some(end) = flow.iter().find(ends) else { return false };
        if self.sees_all && end.words.iter().skip(1).any(|it| !it.is_plain()) {
            return true;
        }
        let inner: Vec<&str> =
            end.strings().filter(|word| word.contains("$(") || word.contains('`')).collect();
        let is_inner = |it: &&Seen| {
            hookbox_process::is_search(&it.words) && inner.iter().any(|text| text.contains(it.program()))
        };
        let searches = all.iter().filter(|_| !inner.is_empty()).filter(is_inner);
        let live = flow.iter().copied().filter(|it| it.used != Use::Keeps).chain(searches);
        let lines = self.lines.get_or_insert_with(|| CommandLines::new(&self.protected.targets));
        live.into_iter().any(|it| lines.has(&it.words))
    }

    /// Judges commands that feed one that may change something, or run words.
    fn flow(&mut self, flow: &[&Seen], runs: bool, depth: usize) -> Option<Finding> {
        let speaking = || flow.iter().filter(|it| runs && it.used != Use::Keeps);
        let all = || speaking().flat_map(|it| it.texts()).flat_map(tokens);
        if all().any(programs::ends)
            && all().any(|word| word.to_ascii_lowercase().replace(['[', ']'], "").contains("hookbox"))
        {
            return Some(Finding::Ends);
        }
        for seen in speaking() {
            let words =
                seen.words.iter().map(|it| if it.sort == Sort::Input { "$" } else { it.text.as_str() });
            let texts = seen.values.iter().chain(&seen.scripts).map(|it| (it.as_str(), false));
            let words = words.map(|it| (it, true)).chain(texts);
            if let Some(subcommand) = self.run_in(&words.collect::<Vec<_>>()) {
                return Some(Finding::Runs(subcommand));
            }
            let words = seen.strings().skip(1);
            if seen.used == Use::Any
                && let Some(subcommand) =
                    hookbox_process::installs(seen.program(), words, &self.protected.targets)
            {
                return Some(Finding::Runs(subcommand));
            }
        }
        for seen in flow {
            if let Some(path) = self.changed(seen).or_else(|| self.taken(seen, flow)) {
                return Some(Finding::Changes(path));
            }
        }
        speaking().find_map(|seen| {
            // The commands of a substitution are judged on their own.
            let is_read =
                |word: &str| word.starts_with("$(") && word.ends_with(')') && word.matches("$(").count() == 1;
            let texts = seen.strings().filter(|word| is_text(word) && !is_read(word));
            let texts: Vec<&str> = texts.chain(seen.scripts.iter().map(String::as_str)).collect();
            let all = seen.directories.iter().flat_map(|from| texts.iter().map(move |text| (from, *text)));
            all.collect::<Vec<_>>().into_iter().find_map(|(from, text)| self.line(text, from, depth + 1))
        })
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
            // `npm run hookbox:trust` runs a script of this name, and `docker run hookbox:1` an image.
            let is_name = |word: &str| word.starts_with("hookbox:") && !is_text(word);
            let named = words.iter().filter(|(word, whole)| !*whole || !is_name(word));
            let split = named.flat_map(|(word, whole)| {
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

/// Returns true if another command of the line names a file that this one writes, and may run it.
fn is_used(seen: &Seen, all: &[Seen]) -> bool {
    let is_of =
        |file: &str, piece: &str| piece == file || piece.len() > 2 && base_name(piece) == base_name(file);
    let live = || all.iter().filter(|it| it.used != Use::Reads);
    seen.outputs
        .iter()
        .any(|file| live().flat_map(Seen::strings).flat_map(pieces).any(|piece| is_of(&file.text, piece)))
}

#[cfg(test)]
mod tests;
