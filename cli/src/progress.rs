//! A progress bar on the terminal, for what takes its time.

use std::io::IsTerminal as _;
use std::time::Duration;

use hookbox::manager;
use hookbox_plugins::{Observer, Step};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::error::{is_coloured, say};

/// A bar on standard error, if that is a terminal.
pub(crate) struct Progress {
    bar: ProgressBar,
    /// The name of the download, escaped.
    what: String,
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

    /// Shows how many of the hooks are examined.
    fn count(&self, hooks: &manager::Progress) {
        let (examined, found) = (hooks.examined() as u64, hooks.found() as u64);
        if found < 2 {
            return self.spin("looking for hooks (a new component is compiled once)".to_owned());
        }
        self.reach(examined, found, format!("examined {examined} of {found} hooks (compiling new ones)"));
    }

    fn spin(&self, text: String) {
        if self.bar.length().is_some() {
            self.bar.unset_length();
            self.bar.set_style(style(false));
        }
        self.bar.set_message(text);
        self.bar.tick();
    }

    /// Shows how much of all is done.
    fn reach(&self, done: u64, all: u64, text: String) {
        if self.bar.length().is_none() {
            self.bar.set_style(style(true));
        }
        self.bar.set_length(all);
        self.bar.set_position(done.min(all));
        self.bar.set_message(text);
        self.bar.tick();
    }
}

/// Waits for work, and shows on the terminal how far it is, from `wait` on.
async fn shown<T>(work: impl Future<Output = T>, mut wait: Duration, show: impl Fn(&Progress)) -> T {
    let progress = Progress::new("");
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = tokio::time::sleep(wait) => show(&progress),
        }
        wait = TICK;
    }
}

/// Finds hooks, and shows on the terminal how far that is, if it takes its time: a new component is compiled first.
pub(crate) async fn looking<T>(found: &manager::Progress, work: impl Future<Output = T>) -> T {
    shown(work, PATIENCE, |it| it.count(found)).await
}

/// Shows on the terminal what is being done, if it takes its time.
pub(crate) async fn working<T>(what: &str, work: impl Future<Output = T>) -> T {
    shown(work, TICK, |it| it.spin(what.to_owned())).await
}

/// Shows on the terminal how much of the bytes is read, if it takes its time.
pub(crate) async fn measured<T>(
    what: &str,
    all: u64,
    read: impl Fn() -> u64,
    work: impl Future<Output = T>,
) -> T {
    shown(work, TICK, |it| it.reach(read(), all, what.to_owned())).await
}

/// The time in which a person does not ask what a program is doing.
const PATIENCE: Duration = Duration::from_secs(1);

/// The time between two pictures of the spinner.
const TICK: Duration = Duration::from_millis(120);

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for Progress {
    fn step(&self, step: &Step<'_>) {
        let what = &self.what;
        match step {
            // A line of its own: git and ssh may ask a question here.
            Step::Resolving if self.bar.is_hidden() => {}
            Step::Resolving => say(format_args!("looking for {what}")),
            Step::Fetching { done, total: Some(total) } if *total > 0 => {
                self.reach(*done, *total, format!("fetching {what}"));
            }
            Step::Fetching { .. } => self.spin(format!("fetching {what}")),
            Step::Staging { entries, bytes } => {
                self.spin(format!("unpacking {what} ({entries} entries, {} KiB)", bytes.div_ceil(1024)));
            }
            Step::Staged => self.spin(format!("examining {what} (new components are compiled once)")),
            // The next output has a line of its own.
            _ => self.bar.finish_and_clear(),
        }
    }
}

/// Returns the style, with colors if they are wanted.
fn style(is_bar: bool) -> ProgressStyle {
    let plain = !is_coloured(&std::io::stderr());
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
        let progress = Progress::new("a/b");
        for (step, text, length) in [
            (Step::Fetching { done: 5, total: None }, "fetching a/b", None),
            (Step::Fetching { done: 5, total: Some(0) }, "fetching a/b", None),
            (Step::Fetching { done: 10, total: Some(9) }, "fetching a/b", Some(9)),
            (Step::Staging { entries: 3, bytes: 1025 }, "unpacking a/b (3 entries, 2 KiB)", None),
        ] {
            progress.step(&step);
            assert_eq!((&*progress.bar.message(), progress.bar.length()), (text, length), "{step:?}");
            assert!(length.is_none_or(|length| progress.bar.position() == length), "{step:?}");
        }
    }
}
