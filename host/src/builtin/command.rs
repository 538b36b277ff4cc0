//! What a shell line does to the protected files, as far as its letters show it. Variables, globs and programs of
//! their own can hide what they do: this is a guard rail, no sandbox.

use std::path::Path;

use super::itself;
use super::programs::{Call, PRIVILEGED, base_name, is_assignment, starts};
use super::protected::Protected;
use super::shell::{self, Command, Script, Word};

/// A longer line is not read; it only must not mention what is protected.
const MAX_LINE: usize = 256 << 10;

/// How deep scripts may stand in the arguments of shells.
const MAX_DEPTH: usize = 4;

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

/// What is wrong with this line of an agent that works in `cwd`.
pub(super) fn judge(line: &str, protected: &Protected, cwd: &Path) -> Option<Finding> {
    let mut waiting = vec![(line.to_owned(), 0)];
    while let Some((text, depth)) = waiting.pop() {
        if text.len() > MAX_LINE || depth > MAX_DEPTH {
            if let Some(found) = mentioned(&text, protected, cwd) {
                return Some(found);
            }
            continue;
        }
        let script = shell::read(&text);
        if script.odd
            && let Some(found) = mentioned(&text, protected, cwd)
        {
            return Some(found);
        }
        let mut judge = Judge { protected, cwd, carried: None, named: None, inner: Vec::new() };
        if protected.holds_directory(cwd) {
            judge.carried = Some(cwd.to_string_lossy().into_owned());
        }
        if let Some(found) = judge.script(&script) {
            return Some(found);
        }
        waiting.extend(judge.inner.into_iter().map(|text| (text, depth + 1)));
    }
    None
}

/// Looks for what is protected without reading the text as a script.
fn mentioned(text: &str, protected: &Protected, cwd: &Path) -> Option<Finding> {
    let letters: String = text.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
    let mut since_hookbox = usize::MAX;
    for piece in pieces(text).chain(pieces(&letters)) {
        if protected.holds_word(piece, cwd) {
            return Some(Finding::Unclear(piece.to_owned()));
        }
        since_hookbox = since_hookbox.saturating_add(1);
        if base_name(piece).eq_ignore_ascii_case("hookbox") {
            since_hookbox = 0;
        } else if since_hookbox < 8
            && let Some(word) = PRIVILEGED.iter().find(|it| **it == piece)
        {
            return Some(Finding::Unclear(format!("hookbox {word}")));
        }
    }
    None
}

/// What may be a path in a text.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || "'\"=:,()<>|&;`".contains(c)).filter(|piece| !piece.is_empty())
}

struct Judge<'a> {
    protected: &'a Protected,
    cwd: &'a Path,
    /// A path that a command before this one went to, or kept in a variable.
    carried: Option<String>,
    /// A path that a command named which may feed this one.
    named: Option<String>,
    /// Scripts in arguments.
    inner: Vec<String>,
}

impl Judge<'_> {
    fn script(&mut self, script: &Script) -> Option<Finding> {
        let mut before: Option<&Command> = None;
        for command in &script.commands {
            if command.fresh {
                self.named = None;
            }
            if let Some(found) = self.command(command, before) {
                return Some(found);
            }
            before = Some(command);
        }
        None
    }

    fn command(&mut self, command: &Command, before: Option<&Command>) -> Option<Finding> {
        let starts = starts(&command.words);
        let calls: Vec<(&Word, Call<'_>)> = starts
            .iter()
            .filter_map(|at| {
                let words = command.words.get(*at..)?;
                Some((words.first()?, Call::new(words)?))
            })
            .collect();
        for (program, call) in &calls {
            if let Some(subcommand) = call.privileged(program) {
                return Some(Finding::Runs(subcommand));
            }
            if !call.only_reads()
                && !call.is_wrapper()
                && let Some(subcommand) = itself::installs(call.name(), call.words())
            {
                return Some(Finding::Runs(subcommand));
            }
            let feeding = before.filter(|_| command.piped).into_iter().flat_map(|it| &it.words);
            if itself::is_ended(call.name(), call.words().chain(feeding.map(|word| word.text.as_str()))) {
                return Some(Finding::Ends);
            }
        }
        if calls.iter().any(|(_, call)| call.is_shell()) {
            self.scripts_of(command, before);
        }
        for output in &command.outputs {
            if let Some(path) = self.names(output, false) {
                return Some(Finding::Changes(path));
            }
        }
        let own: Vec<&Call<'_>> =
            calls.iter().map(|(_, call)| call).filter(|call| !call.is_wrapper()).collect();
        let reads = own.iter().all(|call| call.only_reads());
        let carries = own.is_empty() || own.iter().any(|call| call.is_carrier());
        if let Some(path) = self.names_any(command, &calls, starts.first().copied()) {
            if carries {
                self.carried = Some(path);
            } else if reads {
                self.named = Some(path);
            } else {
                return Some(Finding::Changes(path));
            }
        }
        let is_harmless = reads || carries || own.iter().all(|call| is_grammar(call));
        if let Some(path) = &self.carried {
            let writes = command.outputs.iter().any(|output| !is_nowhere(&output.text));
            if writes || !is_harmless {
                return Some(Finding::Changes(path.clone()));
            }
        }
        match &self.named {
            Some(path) if command.piped && !is_harmless => Some(Finding::Changes(path.clone())),
            _ => None,
        }
    }

    /// Keeps what a shell runs: its arguments, what it reads, and what the command before it prints for it.
    fn scripts_of(&mut self, command: &Command, before: Option<&Command>) {
        let texts =
            |words: &[Word]| words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
        // `eval` joins its words.
        self.inner.push(texts(command.words.get(1..).unwrap_or_default()));
        let arguments = command.words.iter().skip(1).map(|word| &word.text);
        let scripts =
            arguments.filter(|text| text.contains(|c: char| c.is_whitespace() || ";|&(`$".contains(c)));
        self.inner.extend(scripts.cloned());
        self.inner.extend(command.texts.iter().cloned());
        if let Some(before) = before.filter(|_| command.piped) {
            self.inner.push(texts(before.words.get(1..).unwrap_or_default()));
            self.inner.extend(before.texts.iter().cloned());
        }
    }

    /// The protected path that a command names, if it names one, beside the program itself: a hook may be tried.
    fn names_any(
        &self,
        command: &Command,
        calls: &[(&Word, Call<'_>)],
        program: Option<usize>,
    ) -> Option<String> {
        let is_code = calls.iter().any(|(_, call)| call.is_interpreter());
        let words = command.words.iter().enumerate().filter(|(at, _)| Some(*at) != program);
        let named = words.map(|(_, word)| word).find_map(|word| self.names(word, is_code));
        named.or_else(|| {
            let texts = command.texts.iter();
            if is_code {
                texts.flat_map(|text| pieces(text)).find(|piece| self.is_protected(piece)).map(str::to_owned)
            } else if calls.iter().any(|(_, call)| call.is_patcher()) {
                texts.flat_map(|text| text.lines()).find_map(|line| self.patched(line))
            } else {
                None
            }
        })
    }

    /// The protected file that a line of a patch is about.
    fn patched(&self, line: &str) -> Option<String> {
        let path = [
            "*** Add File:",
            "*** Update File:",
            "*** Delete File:",
            "*** Move to:",
            "+++ ",
            "--- ",
            "rename ",
        ]
        .iter()
        .find_map(|head| line.trim_start().strip_prefix(head))?;
        let path = path.trim().trim_start_matches("to ").trim_start_matches("from ");
        let path = path.split('\t').next().unwrap_or(path);
        self.is_protected(path).then(|| path.to_owned())
    }

    /// The protected path that a word is, or that stands in it. A message or another text for people (it has white
    /// space, and no interpreter reads it) is only a path as a whole.
    fn names(&self, word: &Word, is_code: bool) -> Option<String> {
        if self.is_protected(&word.text) {
            return Some(word.text.clone());
        }
        let is_prose = word.text.contains(char::is_whitespace) && !word.substitutes && !is_code;
        if is_prose && !is_assignment(&word.text) {
            return None;
        }
        pieces(&word.text).find(|piece| self.is_protected(piece)).map(str::to_owned)
    }

    fn is_protected(&self, path: &str) -> bool {
        self.protected.holds_word(path, self.cwd)
    }
}

/// Words of the shell's grammar that run nothing.
fn is_grammar(call: &Call<'_>) -> bool {
    call.is_named(&["done", "fi", "esac", "in", "break", "continue", "exit", "return", "}", "]]"])
}

fn is_nowhere(path: &str) -> bool {
    matches!(path, "/dev/null" | "-" | "/dev/stdout" | "/dev/stderr")
        || path.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests;
