//! The results of installing and uninstalling, and their errors.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hookbox::Hint;
use similar::{Algorithm, TextDiff};

use super::desired::{InstallOptions, UnknownEvent};
use crate::agent::Agent;
use crate::config::{DocumentError, Level, Switch};
use crate::files::LockError;
use crate::files::private_dir::PrivateErrorKind;
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
    /// The agent has no such event.
    #[error(transparent)]
    Event(#[from] UnknownEvent),
    /// The agent has no such level.
    #[error("{} has no configuration of hooks at the {level} level", agent.title())]
    Level {
        /// The agent.
        agent: Agent,
        /// The level.
        level: Level,
    },
    /// The directory contains the home directory, so it is not a project.
    #[error("{} is not a project: it contains the home directory, or the whole system", text::escape(&directory.to_string_lossy(), 1000))]
    Project {
        /// The level.
        level: Level,
        /// The directory.
        directory: PathBuf,
    },
    /// The home directory is not known.
    #[error("expected the configuration of {} in the home directory, found no home directory", agent.title())]
    Home {
        /// The agent.
        agent: Agent,
    },
    /// The agent runs a plugin, whose events, time and hooks are fixed.
    #[error("{} runs hookbox by a plugin, whose events, time and hooks are fixed", agent.title())]
    Fixed {
        /// The agent.
        agent: Agent,
    },
    /// The deadline is 0 or too long.
    #[error("expected a deadline of up to {} s and not of 0, found {} s", InstallOptions::MAX_DEADLINE.as_secs(), found.as_secs_f64())]
    Deadline {
        /// The deadline in the options.
        found: Duration,
    },
    /// A variable of the agent has a relative path, which is another directory wherever the agent starts.
    #[error("expected an absolute path in {variable}, found {value:?}")]
    Variable {
        /// Its name.
        variable: &'static str,
        /// Its value, escaped.
        value: String,
    },
    /// A file cannot be changed.
    #[error(transparent)]
    File(#[from] InstallError),
}

/// A configuration was not changed, and neither was anything else.
#[derive(Debug, thiserror::Error)]
#[error("{}: {kind}", text::escape(&path.to_string_lossy(), 1000))]
pub struct InstallError {
    /// The file, or the directory.
    pub path: PathBuf,
    /// The kind of error.
    #[source]
    pub kind: InstallErrorKind,
    /// The next step for the user.
    pub hint: Hint,
}

/// The kinds of [`InstallError`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallErrorKind {
    /// The text of the file cannot be used.
    #[error(transparent)]
    Document(DocumentError),
    /// The file cannot be changed as it is: its place, its mode, or its contents.
    #[error("{0}")]
    Refused(String),
    /// Another process changed the file since it was read.
    #[error("somebody else changed it just now")]
    Changed,
    /// The file belongs to others, and hookbox may not give it back to them.
    #[error("belongs to user {user} and group {group}, which cannot be kept: {source}")]
    Owner {
        /// The user.
        user: u32,
        /// The group.
        group: u32,
        /// The error.
        source: io::Error,
    },
    /// The private data directory cannot be used.
    #[error(transparent)]
    Private(#[from] PrivateErrorKind),
    /// Another installation runs.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The system refused.
    #[error("{}", text::escape(&.0.to_string(), 500))]
    Io(#[source] io::Error),
}

impl InstallError {
    pub(crate) fn new(path: &Path, kind: impl Into<InstallErrorKind>, hint: impl Into<Hint>) -> Self {
        Self { path: path.to_owned(), kind: kind.into(), hint: hint.into() }
    }

    pub(crate) fn refused(path: &Path, what: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self::new(path, InstallErrorKind::Refused(what.into()), hint)
    }

    pub(crate) fn io(path: &Path, error: io::Error) -> Self {
        let hint = match error.kind() {
            io::ErrorKind::PermissionDenied => "see who may write there",
            io::ErrorKind::ReadOnlyFilesystem => {
                "another program may manage it: let that one write the entries that --dry-run shows"
            }
            _ => "nothing was changed",
        };
        Self::new(path, InstallErrorKind::Io(error), hint)
    }

    pub(crate) fn document(path: &Path, error: DocumentError) -> Self {
        let hint = error.hint.clone();
        Self::new(path, InstallErrorKind::Document(error), hint)
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
