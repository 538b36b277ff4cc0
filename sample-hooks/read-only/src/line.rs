//! Judges the commands that a line would run.

use hookbox_sdk::shell::{Arg, Mode, Place, Reading, Redirection, Run, Sort, join_path};

use crate::options::is_option;
use crate::paths::{is_below, is_private, may_match_private};
use crate::programs::{self, Program, Reads, Rule};
use crate::text::is_harmless;

/// Returns true if every command of a line is known to only read.
pub(crate) fn only_reads(reading: &Reading, cwd: &str) -> bool {
    reading.unread.is_empty()
        && reading.code.is_empty()
        && !reading.multiplies
        && reading.runs.iter().any(|run| !run.words.is_empty())
        && reading.runs.iter().all(|run| is_reading(run, cwd))
}

fn is_reading(run: &Run, cwd: &str) -> bool {
    run.place == Place::Here
        && run.via.is_empty()
        && run.call.is_none()
        && run.assignments.iter().all(|(name, _)| is_harmless(name))
        && run.redirections.iter().all(|it| is_harmless_redirection(it, run, cwd))
        && (run.words.is_empty() || is_known(run, cwd))
}

/// Returns true for a redirection that writes to no file.
fn is_harmless_redirection(it: &Redirection, run: &Run, cwd: &str) -> bool {
    let target = it.target.text.as_str();
    match it.mode {
        Mode::Text => true,
        _ if !it.target.is_plain() => false,
        Mode::Read => is_inside(run, target, cwd) && !is_private_in(run, target),
        Mode::Write | Mode::Append => matches!(target, "/dev/null" | "/dev/stdout" | "/dev/stderr"),
        Mode::Copy => target == "-" || target.bytes().all(|it| it.is_ascii_digit()),
        Mode::Both => false,
    }
}

fn is_known(run: &Run, cwd: &str) -> bool {
    let Some(program) = run.words.first().filter(|it| it.is_plain()).and_then(|it| programs::find(&it.text))
    else {
        return false;
    };
    let Program { reads, rule, .. } = program;
    let (is_free, reads_words) = (matches!(rule, Rule::Any), *reads == Reads::Words);
    let is_fine = |arg: &Arg| match arg.sort {
        Sort::Plain => true,
        // It may become the name of a file that looks like an option.
        Sort::Pattern => is_free || !arg.text.starts_with(['*', '?', '[']),
        Sort::Unknown | Sort::Input => is_free && reads_words,
    };
    run.args().iter().all(is_fine) && rule.takes(run, cwd) && (reads_words || reads_near(run, *reads, cwd))
}

/// Returns true if a command reads only below the working directory, and no secrets.
fn reads_near(run: &Run, reads: Reads, cwd: &str) -> bool {
    let shows = reads != Reads::Names;
    let pattern = if reads == Reads::Searches { pattern(run.args()) } else { None };
    let is_near = |(at, arg): (usize, &Arg)| {
        let is_hidden = shows && arg.sort == Sort::Pattern && may_match_private(&arg.text);
        let is_near = |piece: &str| Some(at) == pattern || is_inside(run, piece, cwd);
        !is_hidden && pieces(&arg.text).all(|piece| is_near(piece) && !(shows && is_private_in(run, piece)))
    };
    is_inside(run, ".", cwd) && !is_private_in(run, "x") && run.args().iter().enumerate().all(is_near)
}

/// Returns the place of the pattern of a search, unless it is the value of an option.
fn pattern(args: &[Arg]) -> Option<usize> {
    let is_given = |it: &Arg| is_option(&it.text, "--regexp --file -e -f");
    let first = || args.iter().position(|it| !it.text.starts_with('-'));
    if args.iter().any(is_given) { None } else { first() }
}

/// Returns the parts of an argument that may be a path: `HEAD:a`, `--file=a`, `-fa`.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let value = text.strip_prefix('-').and_then(|rest| rest.get(1..));
    text.split(['=', ':', ',']).chain([text]).chain(value)
}

/// Returns the paths that a text may name: the directory of a command is not always known.
fn paths<'a>(run: &'a Run, text: &'a str) -> impl Iterator<Item = String> + 'a {
    run.directory.iter().chain(&run.elsewhere).map(move |it| join_path(it, text))
}

fn is_inside(run: &Run, text: &str, cwd: &str) -> bool {
    let is_harmless = matches!(text, "/dev/null" | "/dev/stdin") || text.starts_with("/dev/fd/");
    is_harmless || (run.directory.is_some() && paths(run, text).all(|it| is_below(&it, cwd)))
}

fn is_private_in(run: &Run, text: &str) -> bool {
    is_private(text) || paths(run, text).any(|it| is_private(&it))
}
