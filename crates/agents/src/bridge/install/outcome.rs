//! The results of installing and uninstalling, and their errors.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hookbox::Hint;
use similar::{Algorithm, TextDiff};

use crate::agent::Agent;
use crate::config::{DocumentError, Switch};
use crate::text;
use hookbox_system::limits;

/// The kind of a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Change {
    /// Nothing had to be changed.
    #[default]
    Unchanged,
    /// The file is new.
    Created,
    /// The file got our entries.
    Changed,
    /// The file was as install had left it, and has its original bytes again.
    Restored,
    /// The file had our entries only, and is deleted.
    Deleted,
    /// The file was changed since install: our entries are gone, and everything else stays.
    Removed,
}

impl Change {
    /// Returns the word for it in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Restored => "restored",
            Self::Deleted => "deleted",
            Self::Removed => "removed",
        }
    }
}

/// The change of a file by an installation or an uninstallation, or the change that a dry run would make.
#[derive(Clone, Debug, Default)]
pub struct FileChange {
    /// The file.
    pub path: PathBuf,
    /// The kind of the change.
    pub change: Change,
    /// The agent's own names of the events that reach hookbox now, or did before the uninstallation.
    pub events: Vec<String>,
    /// The contents before.
    pub before: Option<Vec<u8>>,
    /// The contents now.
    pub after: Option<Vec<u8>>,
    /// The path of the original bytes, if there was a file and it differs from them.
    pub original: Option<PathBuf>,
    /// The path of an earlier original, which differs from the contents before.
    pub earlier: Option<PathBuf>,
    /// The settings that switch the hooks of this file off.
    pub switches: Vec<Switch>,
    /// The number of entries that run hookbox for this agent by another line, and were left alone.
    pub handmade: usize,
    /// The next steps for the user after an installation.
    pub next: Vec<String>,
}

impl FileChange {
    /// Returns the change as a unified diff, made safe for a terminal; it is empty if nothing changes.
    pub fn diff(&self) -> String {
        unified(&self.path.to_string_lossy(), self.before.as_deref(), self.after.as_deref())
    }
}

/// The reason why nothing was installed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallFailure {
    /// The agent runs a plugin, whose events, time and hooks are fixed.
    #[error("{} runs hookbox by a plugin, whose events, time and hooks are fixed", agent.title())]
    Fixed {
        /// The agent.
        agent: Agent,
    },
    /// The agent has no such file or event, or an option is wrong.
    #[error("{what}")]
    Options {
        /// The problem.
        what: String,
        /// The next step for the user.
        hint: Hint,
    },
    /// A file cannot be changed.
    #[error(transparent)]
    File(#[from] InstallError),
}

impl InstallFailure {
    pub(crate) fn options(what: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self::Options { what: what.into(), hint: hint.into() }
    }
}

/// A configuration was not changed, and neither was anything else.
#[derive(Debug, thiserror::Error)]
#[error("{}: {what}", text::escape(&path.to_string_lossy(), 1000))]
pub struct InstallError {
    /// The file, or the directory.
    pub path: PathBuf,
    /// The problem.
    pub what: String,
    /// The next step for the user.
    pub hint: Hint,
}

impl InstallError {
    pub(crate) fn new(path: &Path, what: impl ToString, hint: impl Into<Hint>) -> Self {
        Self { path: path.to_owned(), what: what.to_string(), hint: hint.into() }
    }

    pub(crate) fn io(path: &Path, error: &io::Error) -> Self {
        let hint = match error.kind() {
            io::ErrorKind::PermissionDenied => "see who may write there",
            io::ErrorKind::ReadOnlyFilesystem => {
                "another program may manage it: let that one write the entries that --dry-run shows"
            }
            _ => "nothing was changed",
        };
        Self::new(path, text::escape(&error.to_string(), 500), hint)
    }

    pub(crate) fn document(path: &Path, error: DocumentError) -> Self {
        Self::new(path, error.what, error.hint)
    }
}

/// The time for comparing lines one by one; after that the rest counts as replaced.
const MAX_TIME: Duration = Duration::from_secs(1);

/// Returns a unified diff, made safe for a terminal; it is empty if nothing changes. `None` is a file that
/// does not exist.
pub(super) fn unified(path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> String {
    if before == after {
        return String::new();
    }
    let path = text::escape(path, 4096);
    let name = |bytes: Option<&[u8]>| if bytes.is_some() { path.as_str() } else { "/dev/null" };
    let [old, new] = [before, after].map(|it| String::from_utf8_lossy(it.unwrap_or_default()));
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).timeout(MAX_TIME).diff_lines(&*old, &*new);
    let diff = diff.unified_diff().header(name(before), name(after)).to_string();
    let safe = |line: &str| {
        let parts: Vec<_> = line.split('\t').map(|it| text::escape(it, limits::MESSAGE)).collect();
        parts.join("\t") + "\n"
    };
    diff.lines().map(safe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_reads_like_that_of_diff() {
        let diff = |a: &str, b: &str| unified("f", Some(a.as_bytes()), Some(b.as_bytes()));
        assert_eq!(diff("a\n", "a\n"), "");
        assert_eq!(unified("f", None, Some(b"a\n")), "--- /dev/null\n+++ f\n@@ -0,0 +1 @@\n+a\n");
        assert_eq!(
            unified("f", Some(b"a"), None),
            "--- f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n\\ No newline at end of file\n"
        );
        let lines = |range: std::ops::Range<u32>| range.map(|it| format!("{it}\n")).collect::<String>();
        let (old, new) = (lines(0..30), format!("{}x\n{}y\n{}", lines(0..10), lines(11..25), lines(25..30)));
        let want = "--- f\n+++ f\n@@ -8,7 +8,7 @@\n 7\n 8\n 9\n-10\n+x\n 11\n 12\n 13\n@@ -23,6 +23,7 @@\n 22\n 23\n 24\n+y\n 25\n 26\n 27\n";
        assert_eq!(diff(&old, &new), want);
        assert!(diff("\u{1b}[31m\n", "x\ty\n").contains("-\\u{1b}[31m\n+x\ty\n"));
    }

    #[test]
    fn files_that_have_nothing_in_common_are_compared_in_bounded_time() {
        let old: String = (0..50_000).map(|it| format!("{it}\n")).collect();
        let new: String = (0..50_000).map(|it| format!("new {it}\n")).collect();
        assert_eq!(unified("f", Some(old.as_bytes()), Some(new.as_bytes())).lines().count(), 100_003);
    }
}
