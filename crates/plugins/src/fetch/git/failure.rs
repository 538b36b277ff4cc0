//! The failures of git, in git's own words.

use std::fs::File;
use std::io;
use std::time::Duration;

use crate::{GitUrl, PluginError, PluginErrorKind};
use hookbox::internal::{redact, text};

/// The most lines and bytes of git's words in an error.
const MAX_LINES: usize = 3;
const MAX_BYTES: usize = 600;

/// Words of git that ran into a limit of memory, file size or processor time (SIGXCPU).
const EXCEEDED: [&str; 6] = ["out of memory", "allocate", "mmap", "create thread", "too large", "signal 24"];

/// A failure of git.
#[derive(Debug)]
pub(super) enum Failure {
    /// Git could not be started.
    NotStarted(io::Error),
    /// Git was ended at a limit.
    Limit(Limit),
    /// Git failed; its last lines.
    Git(Vec<String>),
    /// A file of its input or output cannot be used.
    Io(io::Error),
}

/// A reason for ending git.
#[derive(Debug)]
pub(super) enum Limit {
    /// This time is over.
    Time(Duration),
    /// Its output, which begins in this file, is longer than expected.
    Output(File),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Limit> for Failure {
    fn from(limit: Limit) -> Self {
        Self::Limit(limit)
    }
}

impl Failure {
    /// Returns true if git's last lines contain one of these.
    pub(super) fn contains(&self, any: &[&str]) -> bool {
        matches!(self, Self::Git(lines) if lines.iter().any(|line| any.iter().any(|it| line.contains(it))))
    }

    /// Returns the error about the repository of this address.
    pub(super) fn about(self, url: &GitUrl) -> PluginError {
        let shown = url.shown();
        let fetch = |what: String| PluginError::new(&shown, PluginErrorKind::Fetch(what));
        match self {
            Self::NotStarted(error) if error.kind() == io::ErrorKind::NotFound => {
                fetch("git is not installed, or not on PATH".to_owned())
                    .hint("install git; hookbox fetches repositories with it")
            }
            Self::NotStarted(error) => fetch(format!("git cannot be started: {error}")),
            Self::Io(error) => fetch(format!("the files of git cannot be used: {error}")),
            Self::Limit(Limit::Time(time)) => {
                fetch(format!("was not fetched within {} seconds", time.as_secs_f32()))
                    .hint("try `git ls-remote` with the address: perhaps the host does not answer")
            }
            Self::Limit(Limit::Output(_)) => {
                let what = "git's answer is longer than any honest one".to_owned();
                PluginError::new(&shown, PluginErrorKind::TooLarge(what))
            }
            Self::Git(lines) => {
                let all = lines.join("\n").to_lowercase();
                let excerpt = excerpt(&lines, url);
                if EXCEEDED.iter().any(|it| all.contains(it)) {
                    let what =
                        format!("needs more memory, disk or time than git may use for it (git: {excerpt})");
                    return PluginError::new(&shown, PluginErrorKind::TooLarge(what)).hint(
                        "if you trust its server, clone it with git and install it from that directory",
                    );
                }
                fetch(format!("git failed: {excerpt}")).hint(
                    "try `git ls-remote` with the address: git uses its own settings, credentials and ssh keys here",
                )
            }
        }
    }
}

/// Returns the most telling lines of git, without secrets, escaped.
fn excerpt(lines: &[String], url: &GitUrl) -> String {
    let is_message = |line: &&String| {
        ["fatal: ", "error: ", "remote: ", "ssh: ", "ERROR: "].iter().any(|it| line.starts_with(it))
    };
    let mut chosen: Vec<&str> = lines.iter().filter(is_message).map(String::as_str).collect();
    if chosen.is_empty() {
        chosen = lines.iter().map(String::as_str).collect();
    }
    if chosen.is_empty() {
        return "it printed no message".to_owned();
    }
    let chosen = chosen.split_off(chosen.len().saturating_sub(MAX_LINES)).join("; ");
    text::escape(&redact::text(&url.hide_in(&chosen)), MAX_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(url: &str) -> GitUrl {
        url.parse().unwrap()
    }

    #[test]
    fn an_error_has_the_words_of_git() {
        for (line, words, is_too_large) in [
            ("fatal: repository 'https://h/a/b/' not found", "git failed: fatal: repository", false),
            ("git@h: Permission denied (publickey).", "git failed: git@h: Permission denied", false),
            (
                "fatal: attempting to allocate 2147483521 over limit 536870912",
                "(git: fatal: attempting",
                true,
            ),
            ("fatal: Out of memory, realloc failed", "than git may use for it", true),
            ("fatal: write error: File too large", "than git may use for it", true),
            ("fatal: git was ended by signal 24", "than git may use for it", true),
        ] {
            let error = Failure::Git(vec![line.to_owned()]).about(&url("https://h/a/b"));
            assert!(error.to_string().starts_with("https://h/a/b: "), "{error}");
            assert!(error.to_string().contains(words) && error.hint.is_some(), "{error}");
            assert_eq!(matches!(error.kind, PluginErrorKind::TooLarge(_)), is_too_large, "{error}");
        }
        let silent = Failure::Git(Vec::new()).about(&url("https://h/a/b")).to_string();
        assert_eq!(silent, "https://h/a/b: git failed: it printed no message");
        let missing = Failure::NotStarted(io::ErrorKind::NotFound.into()).about(&url("https://h/a/b"));
        assert_eq!(missing.to_string(), "https://h/a/b: git is not installed, or not on PATH");
        assert!(missing.hint.unwrap().contains("install git"));
    }

    #[test]
    fn no_password_is_shown() {
        let url = url("https://me:s3cretpass@h/a/b");
        for line in [
            "fatal: unable to access 'https://me:s3cretpass@h/a/b/': x",
            "fatal: could not read Password for 'https://me:s3cretpass@h'",
            "remote: s3cretpass is wrong",
            "fatal: other 'https://ghp_0123456789abcdefghijABCDEFGHIJ456789@other/x'",
            "fatal: moved to http://u:s3@o/x",
        ] {
            let error = Failure::Git(vec![line.to_owned()]).about(&url).to_string();
            for secret in ["s3", "ghp_"] {
                assert!(!error.contains(secret), "{error}");
            }
        }
    }

    #[test]
    fn the_words_of_a_server_are_escaped_and_shortened() {
        let lines = vec![format!("remote: \u{1b}[31m{}", "x".repeat(5000)), "fatal: end".to_owned()];
        let error = Failure::Git(lines).about(&url("https://h/a/b")).to_string();
        assert!(error.contains("\\u{1b}[31mxxx") && error.len() < 1000, "{error}");
    }
}
