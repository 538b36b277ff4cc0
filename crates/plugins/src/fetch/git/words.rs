//! Git's words: its progress and its messages on standard error, which goes to a file, and the errors for users.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use crate::{GitUrl, PluginError, PluginErrorKind};
use hookbox::internal::text;
use hookbox::redact;

/// The bytes that are read from the end of the file: git reports its failure last.
const TAIL: u64 = 4096;

/// The starts of lines that only report progress.
const PROGRESS: [&str; 7] = [
    "Enumerating objects: ",
    "Counting objects: ",
    "Compressing objects: ",
    "Receiving objects: ",
    "Unpacking objects: ",
    "Resolving deltas: ",
    "Total ",
];

/// The most lines and bytes of git's words in an error.
const MAX_LINES: usize = 3;
const MAX_BYTES: usize = 600;

/// Words of git that ran into a limit of memory, file size or processor time (SIGXCPU).
const EXCEEDED: [&str; 6] = ["out of memory", "allocate", "mmap", "create thread", "too large", "signal 24"];

/// Returns the objects that git has received so far, and their total.
pub(super) fn received(errors: &Path) -> Option<(u64, u64)> {
    lines(errors).ok()?.iter().rev().find_map(|line| count(line))
}

/// Returns the last lines that are not progress.
pub(super) fn messages(errors: &Path) -> Vec<String> {
    let mut lines = lines(errors).unwrap_or_default();
    lines.retain(|line| {
        let line = line.strip_prefix("remote: ").unwrap_or(line);
        !PROGRESS.iter().any(|start| line.starts_with(start))
    });
    lines
}

fn lines(errors: &Path) -> io::Result<Vec<String>> {
    let mut file = File::open(errors)?;
    let start = file.metadata()?.len().saturating_sub(TAIL);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.split(['\n', '\r']).map(str::trim_end).filter(|line| !line.is_empty());
    Ok(lines.map(str::to_owned).collect())
}

/// Reads a line such as `Receiving objects:  45% (9/20), 1 MiB`.
fn count(line: &str) -> Option<(u64, u64)> {
    let rest = line.strip_prefix("Receiving objects: ").or(line.strip_prefix("Unpacking objects: "))?;
    let (done, total) = rest.split_once('(')?.1.split_once(')')?.0.split_once('/')?;
    Some((done.parse().ok()?, total.parse().ok()?))
}

/// Returns the error for a git that failed with these last lines.
pub(super) fn error(lines: &[String], url: &GitUrl) -> PluginError {
    let all = lines.join("\n").to_lowercase();
    let excerpt = excerpt(lines, url);
    if EXCEEDED.iter().any(|it| all.contains(it)) {
        let what = format!("needs more memory, disk or time than git may use for it (git: {excerpt})");
        return PluginError::new(url.shown(), PluginErrorKind::TooLarge(what))
            .hint("if you trust its server, clone it with git and install it from that directory");
    }
    PluginError::new(url.shown(), PluginErrorKind::Fetch(format!("git failed: {excerpt}"))).hint(
        "try `git ls-remote` with the address: git uses its own settings, credentials and ssh keys here",
    )
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
            let error = error(&[line.to_owned()], &url("https://h/a/b"));
            assert!(error.to_string().starts_with("https://h/a/b: "), "{error}");
            assert!(error.to_string().contains(words) && error.hint.is_some(), "{error}");
            assert_eq!(matches!(error.kind, PluginErrorKind::TooLarge(_)), is_too_large, "{error}");
        }
        let silent = error(&[], &url("https://h/a/b")).to_string();
        assert_eq!(silent, "https://h/a/b: git failed: it printed no message");
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
            let error = super::error(&[line.to_owned()], &url).to_string();
            for secret in ["s3", "ghp_"] {
                assert!(!error.contains(secret), "{error}");
            }
        }
    }

    #[test]
    fn the_words_of_a_server_are_escaped_and_shortened() {
        let lines = vec![format!("remote: \u{1b}[31m{}", "x".repeat(5000)), "fatal: end".to_owned()];
        let error = error(&lines, &url("https://h/a/b")).to_string();
        assert!(error.contains("\\u{1b}[31mxxx") && error.len() < 1000, "{error}");
    }

    #[test]
    fn a_line_is_progress_or_a_message() {
        let temp = tempfile::NamedTempFile::new().unwrap();
        for (line, count, is_message) in [
            ("Receiving objects:  45% (9/20), 1.20 MiB | 2 MiB/s", Some((9, 20)), false),
            ("Receiving objects: 100% (20/20), done.", Some((20, 20)), false),
            ("remote: Counting objects:  10% (1/10)", None, false),
            ("remote: Total 10 (delta 0), reused 0 (delta 0)", None, false),
            ("Resolving deltas: 100% (3/3)", None, false),
            ("Receiving objects: all", None, false),
            ("Receiving objects: 1% (x/y)", None, false),
            ("Receiving objects: 1% (1/99999999999999999999)", None, false),
            ("fatal: couldn't find remote ref x", None, true),
            ("", None, false),
        ] {
            std::fs::write(temp.path(), format!("{line}\r\n")).unwrap();
            assert_eq!(received(temp.path()), count, "{line}");
            assert_eq!(messages(temp.path()), if is_message { vec![line] } else { vec![] }, "{line}");
        }
    }

    #[test]
    fn of_many_lines_the_last_ones_are_read() {
        let temp = tempfile::NamedTempFile::new().unwrap();
        let mut text = b"first\r\n".to_vec();
        text.extend(b"x".repeat(100_000));
        (0..1000).for_each(|n| text.extend(format!("line {n}\n").bytes()));
        text.extend(b"\nReceiving objects: 1% (1/9)\rReceiving objects: 2% (2/9)\r");
        text.extend(b"fatal: \xff end");
        std::fs::write(temp.path(), text).unwrap();
        let messages = messages(temp.path());
        assert_eq!(messages.last().unwrap(), "fatal: \u{fffd} end");
        assert!(messages.iter().map(String::len).sum::<usize>() < 5000);
        assert_eq!(received(temp.path()), Some((2, 9)));
        assert_eq!(received(Path::new("/nowhere")), None);
    }
}
