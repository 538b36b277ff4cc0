//! A progress bar on the terminal, for what takes its time.

use std::io::IsTerminal as _;

use hookbox_plugins::{Observer, Step};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::error::say;

/// A bar on standard error, if that is a terminal.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// The name of the download, escaped.
    what: String,
}

/// The state of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Shown {
    /// The beginning, printed as a line: git and ssh may ask a question here.
    Begun(String),
    /// The progress is not known.
    Spinner(String),
    /// The done part, and the whole.
    Bar(String, u64, u64),
    /// No progress.
    Nothing,
}

impl Progress {
    /// A bar for this, which is escaped already.
    pub(crate) fn new(what: &str) -> Self {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let is_shown = std::io::stderr().is_terminal() && !is_dumb;
        let target = if is_shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(style(false));
        Self { bar, what: what.to_owned() }
    }

    /// Clears the bar, so that the next output has a line of its own.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Observer for Progress {
    fn step(&self, step: &Step<'_>) {
        match shown(step, &self.what) {
            Shown::Begun(text) => {
                if !self.bar.is_hidden() {
                    say(text);
                }
            }
            Shown::Spinner(text) => {
                if self.bar.length().is_some() {
                    self.bar.unset_length();
                    self.bar.set_style(style(false));
                }
                self.bar.set_message(text);
                self.bar.tick();
            }
            Shown::Bar(text, done, total) => {
                if self.bar.length().is_none() {
                    self.bar.set_style(style(true));
                }
                self.bar.set_length(total);
                self.bar.set_position(done);
                self.bar.set_message(text);
            }
            Shown::Nothing => self.clear(),
        }
    }
}

/// Returns the state that the terminal shows for a step.
fn shown(step: &Step<'_>, what: &str) -> Shown {
    match step {
        Step::Resolving => Shown::Begun(format!("looking for {what}")),
        Step::Fetching { done, total: Some(total) } if *total > 0 => {
            Shown::Bar(format!("fetching {what}"), (*done).min(*total), *total)
        }
        Step::Fetching { .. } => Shown::Spinner(format!("fetching {what}")),
        Step::Staging { entries, bytes } => {
            Shown::Spinner(format!("unpacking {what} ({entries} entries, {} KiB)", bytes.div_ceil(1024)))
        }
        _ => Shown::Nothing,
    }
}

/// Returns the style; without colours if `NO_COLOR` is set (<https://no-color.org>).
fn style(is_bar: bool) -> ProgressStyle {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|it| !it.is_empty());
    let template = match (is_bar, plain) {
        (true, true) => "{spinner} {msg} [{bar:24}] {percent}%",
        (true, false) => "{spinner:.cyan} {msg} [{bar:24.cyan}] {percent}%",
        (false, true) => "{spinner} {msg}",
        (false, false) => "{spinner:.cyan} {msg}",
    };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner());
    style.progress_chars("=> ").tick_chars("|/-\\ ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_says_what_is_done_and_how_far_it_is() {
        let spinner = |text: &str| Shown::Spinner(text.to_owned());
        for (step, want) in [
            (Step::Resolving, Shown::Begun("looking for a/b".to_owned())),
            (Step::Fetching { done: 5, total: None }, spinner("fetching a/b")),
            (Step::Fetching { done: 5, total: Some(0) }, spinner("fetching a/b")),
            (Step::Fetching { done: 5, total: Some(9) }, Shown::Bar("fetching a/b".to_owned(), 5, 9)),
            (Step::Fetching { done: 10, total: Some(9) }, Shown::Bar("fetching a/b".to_owned(), 9, 9)),
            (Step::Staging { entries: 3, bytes: 1025 }, spinner("unpacking a/b (3 entries, 2 KiB)")),
            (Step::Staged, Shown::Nothing),
        ] {
            assert_eq!(shown(&step, "a/b"), want, "{step:?}");
        }
    }
}
