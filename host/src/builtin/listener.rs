//! Programs that would wait for commands: a shell without a script, a REPL, a login on another machine. Some agents let the
//! model write to a program that runs, by a tool that reaches no hook.
//!
//! A program that reads commands in a way of its own, such as an editor or a script of the model's, can still be one.

mod programs;

use std::collections::BTreeMap;

use hookbox_shell::{
    Command, Input, Script, ShellWords, Use, assignment, base_name, describes, unwrapped, use_of,
};

use self::programs::{SHELLS, SSH_VALUES, WRAPPERS, is_in, operands, passes_on, waits};

/// The depth of scripts within the arguments of programs.
const MAX_DEPTH: usize = 4;

/// The longest line that is read, in bytes. No program in a longer one is known not to wait.
const MAX_LINE: usize = 64 << 10;

/// Returns the program of a line that would wait for commands, in words.
pub(super) fn of(line: &str) -> Option<String> {
    let mut found = Search { variables: BTreeMap::new(), texts: 0 };
    found
        .script(line, false, 0)
        .map(|program| if program.contains(' ') { program } else { format!("`{program}`") })
}

/// The search in a line.
struct Search {
    /// The last values of variables.
    variables: BTreeMap<String, String>,
    /// The total length of the texts that were read, in bytes.
    texts: usize,
}

impl Search {
    /// Returns the program of a script that would wait. `is_fed`: the standard input of the script is not the line's.
    fn script(&mut self, text: &str, is_fed: bool, depth: usize) -> Option<String> {
        self.texts += text.len();
        if depth > MAX_DEPTH || self.texts > MAX_LINE {
            return Some("so long a line that it cannot be read to its end".to_owned());
        }
        let script = hookbox_shell::read(text);
        if script.unread {
            return Some("a program in so many substitutions that they cannot be read".to_owned());
        }
        let mut reads = false;
        for command in &script.commands {
            let words = self.words(command);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let is_fed = match command.input {
                Input::Named => false,
                Input::Given => true,
                Input::Inherited => is_fed || !command.upstream.is_empty(),
            };
            let mut found =
                self.command(&words, is_fed, depth).or_else(|| self.fed(&script, command, &words));
            if runs_text(&words) {
                found = found
                    .or_else(|| command.texts.iter().find_map(|text| self.script(text, true, depth + 1)));
            }
            if found.is_some() {
                return found;
            }
            let program = unwrapped(&words).first().copied().map_or("", base_name);
            if reads && words.iter().any(|word| word.contains('$')) && runs_text(&words) {
                return Some("read".to_owned());
            }
            reads |= !is_fed && matches!(program, "read" | "mapfile" | "readarray");
            let before = words.iter().take_while(|word| assignment(word).is_some());
            if before.clone().count() == words.len() {
                let values = before.filter_map(|word| assignment(word));
                self.variables.extend(values.map(|(name, value)| (name.to_owned(), value.to_owned())));
            }
        }
        None
    }

    /// Returns the words of a command, with the values of the variables that the line sets.
    fn words(&self, command: &Command) -> Vec<String> {
        let value = |word: &str| {
            let name = word.strip_prefix('$')?.trim_matches(['{', '}']);
            match name {
                "SHELL" | "BASH" => Some("$SHELL".to_owned()),
                name => self.variables.get(name).cloned(),
            }
        };
        let words = command.words.iter().flat_map(|word| match value(&word.text) {
            Some(value) => value.split_whitespace().map(str::to_owned).collect(),
            None => vec![word.text.clone()],
        });
        words.collect()
    }

    /// Returns the program that would wait, of a command with these words.
    fn command(&mut self, words: &[&str], is_fed: bool, depth: usize) -> Option<String> {
        let start = words.iter().position(|word| assignment(word).is_none())?;
        let words = words.get(start..).unwrap_or_default();
        let (first, rest) = words.split_first()?;
        let program = base_name(first);
        if !is_fed && waits(program, rest) {
            return Some(program.trim_start_matches("$").to_owned());
        }
        // `$(command -v bash)`
        if !is_fed
            && first.starts_with(['$', '`'])
            && ["which ", "command "].iter().any(|it| first.contains(it))
        {
            let named = first.split(|c: char| c.is_whitespace() || "`()/".contains(c));
            if let Some(shell) = named.rev().find(|it| waits(it, rest) && is_in(SHELLS, it)) {
                return Some(shell.to_owned());
            }
        }
        if program == "command" && describes(rest) {
            return None;
        }
        let is_container = !is_in("docker podman nerdctl docker-compose kubectl oc", program)
            || words.iter().any(|word| is_in("exec run", word));
        if is_in(WRAPPERS, program) && is_container {
            let mut at = 1;
            while let Some(inner) = words.get(at..).filter(|inner| !inner.is_empty()) {
                // An operand behind the program is the program's own.
                let is_known = |it: &&str| {
                    let it = base_name(it);
                    is_in(SHELLS, it) || is_in(WRAPPERS, it) || waits(it, &[]) || it == "su"
                };
                if inner.first().is_some_and(is_known) {
                    return self.command(inner, is_fed, depth);
                }
                at += 1;
            }
            if program == "ssh" {
                let line = operands(rest, SSH_VALUES).get(1..).unwrap_or_default().join(" ");
                return self.script(&line, is_fed, depth + 1);
            }
            return None;
        }
        let text = match program {
            "eval" => Some(rest.join(" ")),
            "trap" => rest.first().map(|it| (*it).to_owned()),
            _ if is_in(SHELLS, program) => {
                let shell = ShellWords::of(rest);
                shell.operands.first().filter(|_| shell.letters.contains('c')).map(|it| (*it).to_owned())
            }
            "su" | "script" | "runuser" => {
                let at = rest
                    .iter()
                    .position(|it| it.starts_with('-') && !it.starts_with("--") && it.ends_with('c'));
                at.and_then(|at| operands(rest.get(at + 1..)?, "-o -O").first().map(|it| (*it).to_owned()))
            }
            _ => None,
        };
        self.script(&text?, is_fed, depth + 1)
    }

    /// Returns the shell that would run what a filter reads from the terminal.
    fn fed(&self, script: &Script, command: &Command, words: &[&str]) -> Option<String> {
        let program = unwrapped(words).first().copied().map_or("", base_name);
        let is_shell =
            is_in(SHELLS, program) || matches!(program, "eval" | "source" | "." | "xargs" | "parallel");
        if !is_shell || command.input == Input::Given && command.inner.is_empty() {
            return None;
        }
        let sources =
            script.sources(command.upstream.iter().cloned().flatten().chain(command.inner.iter().copied()));
        let passes = sources.into_iter().filter_map(|at| script.commands.get(at)).any(|source| {
            let words = self.words(source);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let is_open =
                source.upstream.is_empty() && source.input != Input::Given || source.input == Input::Named;
            let reads = words.split_first().is_some_and(|(first, rest)| passes_on(base_name(first), rest));
            is_open && (reads || words.is_empty() && source.input == Input::Named)
        });
        passes.then(|| program.to_owned())
    }
}

/// Returns true if a command runs a text as a script.
fn runs_text(words: &[&str]) -> bool {
    use_of(words) == Use::Shell || words.first().is_some_and(|first| first.starts_with('$'))
}

#[cfg(test)]
mod tests;
