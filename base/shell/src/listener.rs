//! Programs that would wait for commands: a shell without a script, a REPL, a login on another machine. Some agents let the
//! model write to a program that runs, by a tool that reaches no hook.
//!
//! A program that reads commands in a way of its own, such as an editor or a script of the model's, can still be one.

mod programs;

use super::{Known, Mode, Reading, Run, Sort, Unread, Use, base_name, is_terminal, runs, use_of};

use self::programs::{SHELLS, STARTERS, passes_on, waits};
use crate::is_in;

/// The longest line that is read, in bytes. No program in a longer one is known not to wait.
const MAX_LINE: usize = 64 << 10;

/// The variables that name the user's shell.
const VARIABLES: [(&str, &str); 2] = [("SHELL", "/bin/sh"), ("BASH", "/bin/bash")];

/// Returns the program of a line that would wait for commands, in words.
pub fn waits_for_commands(line: &str) -> Option<String> {
    let long = || Some("so long a line that it cannot be read to its end".to_owned());
    if line.len() > MAX_LINE {
        return long();
    }
    let reading = runs(line, &Known { variables: &VARIABLES, ..Known::default() });
    if reading.unread.contains(&Unread::Limit) {
        return long();
    }
    reading.runs.iter().find_map(|run| waiting(run, &reading)).map(|program| format!("`{program}`"))
}

/// Returns the interpreter of a line that would run its standard input as code: a shell or another language without a
/// script. Whoever writes that input owns the machine.
pub fn runs_its_input(line: &str) -> Option<String> {
    let reading = runs(line, &Known { variables: &VARIABLES, ..Known::default() });
    let runs_input = |run: &&Run| {
        let program = run.program().unwrap_or_default();
        !run.is_fed && is_interpreter(program) && waits(program, run.texts().get(1..).unwrap_or_default())
    };
    reading.runs.iter().find(runs_input).and_then(Run::program).map(str::to_owned)
}

/// Returns true if a program of this name, of any version, runs code that it reads.
pub fn is_interpreter(program: &str) -> bool {
    programs::is_interpreter(program)
}

impl Run {
    /// Returns the script that the command runs by an interpreter, if its words are known so far.
    pub fn script(&self) -> Option<&str> {
        let is_known = |it: &super::Arg| it.is_plain();
        if !self.words.iter().all(is_known) {
            return None;
        }
        programs::script(self.program()?, self.texts().get(1..)?)
    }
}

/// Returns the program that would wait, of a command.
fn waiting(run: &Run, reading: &Reading) -> Option<String> {
    if run.is_fed {
        return None;
    }
    let words = run.texts();
    let (program, rest) = (run.program().unwrap_or_default(), words.get(1..).unwrap_or_default());
    if waits(program, rest) {
        return Some(program.to_owned());
    }
    let starts = !is_in("kubectl oc docker-compose heroku fly flyctl", program)
        || rest.iter().any(|it| is_in("exec run ssh debug", it));
    if is_in(STARTERS, program) && starts {
        // An operand behind the program is the program's own.
        let mut named = rest.iter().enumerate().map(|(at, word)| (base_name(word), at));
        return named
            .find(|(it, at)| is_in(SHELLS, it) && waits(it, rest.get(at + 1..).unwrap_or_default()))
            .map(|(it, _)| it.to_owned());
    }
    let is_of_find = !run.input.is_empty();
    if run.via.iter().any(|it| it == "xargs") && !is_of_find {
        return Some("xargs".to_owned());
    }
    let runs_text = |run: &Run| run.program().is_none() || use_of(&run.texts()) == Use::Shell;
    if !is_of_find && runs_text(run) && run.words.iter().any(|it| it.sort == Sort::Input) {
        return Some("read".to_owned());
    }
    // A shell that runs what a filter reads.
    let is_unread = reading.unread.iter().any(|it| matches!(it, Unread::Script | Unread::Program));
    let is_terminals =
        |run: &Run| run.redirections.iter().any(|it| it.mode == Mode::Read && is_terminal(&it.target.text));
    let passes = passes_on(program, rest) || run.words.is_empty() && is_terminals(run);
    let shell = reading.runs.iter().find(|it| !it.words.is_empty() && runs_text(it));
    (is_unread && passes).then(|| shell.and_then(Run::program).unwrap_or("eval").to_owned())
}

#[cfg(test)]
mod tests;
