//! Errors for people: the fault in one line, and `hint:` with the remedy.

use std::fmt;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::interrupt::Interrupted;
use crate::{help, screen};
use anstyle::{AnsiColor, Style};
use clap::error::{ContextKind, ContextValue};
use hookbox::manager::Manager;
use hookbox::{Hint, escape, escape_lines};
use hookbox_plugins::PluginError;

/// Wrong usage or input.
pub(crate) const EXIT_USAGE: u8 = 2;
/// Anything else that failed.
pub(crate) const EXIT_FAILED: u8 = 1;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// Wrong usage or input: the fault in one line, and a hint.
#[derive(Debug)]
pub(crate) struct InputError {
    what: String,
    hint: Hint,
    exit: u8,
    /// True if the user said no: that is not an error.
    is_declined: bool,
}

impl InputError {
    pub(crate) fn new(what: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self { what: what.into(), hint: hint.into(), exit: EXIT_USAGE, is_declined: false }
    }

    /// Makes the error about a change that only a human may make. The exit code is that of a failure: the
    /// command line is right.
    pub(crate) fn refused(what: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self { exit: EXIT_FAILED, ..Self::new(what, hint) }
    }

    /// Makes the end of a command to whose question the user said no.
    pub(crate) fn declined() -> Self {
        Self { is_declined: true, ..Self::refused("nothing was changed", "") }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for InputError {}

/// Prints an error and returns the exit code.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    if let Some(interrupted) = error.downcast_ref::<Interrupted>() {
        return ExitCode::from(interrupted.exit_code());
    }
    complain(error);
    let of_input = error.downcast_ref::<InputError>().map(|it| it.exit);
    let is_usage = error.downcast_ref::<PluginError>().is_some_and(PluginError::is_usage);
    ExitCode::from(of_input.unwrap_or(if is_usage { EXIT_USAGE } else { EXIT_FAILED }))
}

/// Prints an error and its hint.
pub(crate) fn complain(error: &anyhow::Error) {
    if error.downcast_ref::<InputError>().is_some_and(|it| it.is_declined) {
        return say(error);
    }
    say(format_args!("{ERROR}error:{ERROR:#} {}", shown(whole(error))));
    if let Some(error) = error.downcast_ref::<InputError>() {
        remedy(&error.hint);
    } else if let Some(error) = error.downcast_ref::<PluginError>() {
        match &error.hint {
            None if error.is_usage() => remedy("see `hookbox plugin --help`"),
            next => next.iter().for_each(remedy),
        }
    }
}

/// Returns an error with its causes. A message that contains its cause has it once.
fn whole(error: &anyhow::Error) -> String {
    let causes = error.chain().skip(1).map(ToString::to_string);
    causes.fold(error.to_string(), |said, it| if said.contains(&it) { said } else { format!("{said}: {it}") })
}

/// Returns a message without terminal escapes: file names and texts of others are in it.
fn shown(text: impl fmt::Display) -> String {
    escape_lines(&text.to_string(), usize::MAX)
}

/// Writes a line to standard error, in lines that fit the terminal. A failure is ignored: the data on standard output still
/// counts.
pub(crate) fn say(line: impl fmt::Display) {
    let _ = writeln!(anstream::stderr(), "{}", screen::for_stderr(&line.to_string()));
}

/// True after `--quiet`: standard error has only errors and questions.
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Leaves out warnings, notes and hints from now on.
pub(crate) fn be_quiet() {
    IS_QUIET.store(true, Ordering::Relaxed);
}

/// Prints a line that `--quiet` leaves out.
fn aside(line: impl fmt::Display) {
    if !IS_QUIET.load(Ordering::Relaxed) {
        say(line);
    }
}

/// Returns true if text for this stream may have colors: `--color`, `NO_COLOR`, and a terminal.
pub(crate) fn is_coloured(stream: &impl anstream::stream::RawStream) -> bool {
    anstream::AutoStream::choice(stream) != anstream::ColorChoice::Never
}

/// Prints a warning.
pub(crate) fn warn(text: impl fmt::Display) {
    aside(format_args!("{WARNING}warning:{WARNING:#} {}", shown(text)));
}

/// Prints a warning and its hint.
pub(crate) fn warn_with_hint(text: impl fmt::Display, next: Option<&Hint>) {
    warn(text);
    next.into_iter().for_each(hint);
}

/// Prints the problems of finding hooks.
pub(crate) fn warn_of_problems(manager: &Manager) {
    manager.problems().iter().for_each(|it| warn_with_hint(it, it.hint.as_ref()));
}

/// Prints a note.
pub(crate) fn note(text: impl fmt::Display) {
    aside(format_args!("{HINT}note:{HINT:#} {}", shown(text)));
}

/// Prints a hint.
pub(crate) fn hint(text: impl fmt::Display) {
    aside(format_args!("{HINT}hint:{HINT:#} {}", shown(text)));
}

/// Prints the hint of an error.
fn remedy(text: impl fmt::Display) {
    say(format_args!("{HINT}hint:{HINT:#} {}", shown(text)));
}

/// Returns the arguments of the command line, also those that are not UTF-8.
fn arguments() -> impl Iterator<Item = String> {
    std::env::args_os().skip(1).map(|it| it.to_string_lossy().into_owned())
}

/// Returns the word that is not a command of the program's, if this is the error.
fn unknown_command(error: &clap::Error) -> Option<String> {
    let ContextValue::String(word) = error.get(ContextKind::InvalidSubcommand)? else { return None };
    let is_first = arguments().find(|it| !it.starts_with('-')).as_ref() == Some(word);
    is_first.then(|| word.clone())
}

/// Returns the error with the arguments that it quotes made safe for a terminal.
fn without_escapes(mut error: clap::Error) -> clap::Error {
    let quoted: Vec<_> = error.context().map(|(kind, value)| (kind, value.clone())).collect();
    for (kind, value) in quoted {
        let value = match value {
            ContextValue::String(text) => ContextValue::String(shown(text)),
            ContextValue::Strings(texts) => ContextValue::Strings(texts.iter().map(shown).collect()),
            other => other,
        };
        error.insert(kind, value);
    }
    error
}

/// Prints the message of the argument parser. Help and version are not errors.
pub(crate) fn usage(error: clap::Error) -> ExitCode {
    if !error.use_stderr() {
        return match error.print().and_then(|()| std::io::stdout().flush()) {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => report(&error.into()),
            _ => ExitCode::SUCCESS,
        };
    }
    if let Some(word) = unknown_command(&error) {
        say(format_args!("{ERROR}error:{ERROR:#} hookbox has no command `{}`", escape(&word, 80)));
        remedy(help::instead_of(&word));
        return ExitCode::from(EXIT_USAGE);
    }
    let text = without_escapes(error).render().ansi().to_string();
    // The hint repeats this.
    let text = text.split("\nFor more information").next().unwrap_or(&text);
    say(text.trim_end());
    remedy(format_args!("see `{} --help`", help::named_command(arguments())));
    ExitCode::from(EXIT_USAGE)
}
