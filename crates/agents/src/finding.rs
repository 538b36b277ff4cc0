//! The findings of an examination, and the files and variables around an agent's configuration, as the doctor reads and
//! shows them.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use hookbox::Hint;

use crate::files::{FileAccess, explain};
use crate::text;
use hookbox_system::limits;

/// The status of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It is as it should be.
    Ok,
    /// It lets nothing through by itself, but the user should know it.
    Warning,
    /// It would let a call through that should be blocked.
    Failed,
}

/// One thing between the agent and a guard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The status.
    pub status: Status,
    /// The subject, in one word: `agent`, `configuration`, `event`, `switch`, `trust`, `matcher`, `timeout`,
    /// `command`, `version`, `heartbeat`, `path`, `input`, `lines`, `guard` or `failure`.
    pub about: &'static str,
    /// The message; text from outside is escaped.
    pub message: String,
    /// The next step for the user.
    pub hint: Option<Hint>,
}

/// A command of hookbox that an agent runs at an event.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConfiguredCommand {
    /// The agent's own name of the event.
    pub event: String,
    /// The event of hookbox, if it has this one.
    pub hookbox_event: Option<&'static str>,
    /// The level of its configuration: `user`, `project` or `local`.
    pub level: &'static str,
    /// The file, escaped.
    pub file: String,
    /// The command line, escaped.
    pub command: String,
    /// The matcher of the tools, escaped; absent for all tools.
    pub matcher: Option<String>,
    /// The time that the agent waits for it, in milliseconds.
    pub timeout_ms: u64,
}

/// The examination of one agent. Serialised, it is an object of `hookbox doctor --json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Examination {
    /// The agent, such as `claude`.
    pub agent: &'static str,
    /// Its name in a sentence.
    pub title: &'static str,
    /// Its program, if it is on `PATH`.
    pub program: Option<PathBuf>,
    /// True if its configuration calls hookbox anywhere.
    pub configured: bool,
    /// True if it does, and nothing was found that would let a call through.
    pub guarded: bool,
    /// The time of the last event that hookbox answered for it (RFC 3339), up to five minutes too early. `None` if none
    /// was seen, and for an agent that is not configured.
    pub last_event: Option<String>,
    /// The number of its sessions since without an event, up to 256. `None` if hookbox does not read its session files.
    pub sessions_since: Option<usize>,
    /// The commands that its configuration has for hookbox.
    pub events: Vec<ConfiguredCommand>,
    /// The findings, in order from the agent to the guard.
    pub findings: Vec<Finding>,
}

impl Examination {
    pub(crate) fn new(agent: &'static str, title: &'static str) -> Self {
        Self { agent, title, ..Self::default() }
    }

    fn add(&mut self, status: Status, about: &'static str, message: impl Into<String>, hint: Option<Hint>) {
        let finding = Finding { status, about, message: message.into(), hint };
        // A command at two events reports the same fault once.
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    pub(crate) fn ok(&mut self, about: &'static str, message: impl Into<String>) {
        self.add(Status::Ok, about, message, None);
    }

    pub(crate) fn warn(&mut self, about: &'static str, message: impl Into<String>, hint: impl Into<Hint>) {
        self.add(Status::Warning, about, message, Some(hint.into()));
    }

    pub(crate) fn fail(&mut self, about: &'static str, message: impl Into<String>, hint: impl Into<Hint>) {
        self.add(Status::Failed, about, message, Some(hint.into()));
    }

    pub(crate) fn finish(mut self) -> Self {
        self.guarded = self.configured && self.findings.iter().all(|it| it.status != Status::Failed);
        self
    }
}

/// Returns a time in milliseconds.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Returns a variable of this process, if it is set and not empty.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|it| !it.is_empty())
}

/// Returns true if a variable of this process has this value.
pub(crate) fn has(name: &str, value: &str) -> bool {
    variable(name).is_some_and(|it| it == value)
}

/// Reads a regular file; `None` if it does not exist. Any other error is a finding.
pub(crate) fn contents(path: &Path, found: &mut Examination) -> Option<Vec<u8>> {
    contents_of(path).map_err(|error| report_unread(path, &error, found)).ok()
}

/// Reads a regular file of usual size.
pub(crate) fn contents_of(path: &Path) -> std::io::Result<Vec<u8>> {
    FileAccess::Anywhere.read(path, limits::FILE)
}

/// Adds a finding about a file that cannot be read, unless it does not exist.
pub(crate) fn report_unread(path: &Path, error: &std::io::Error, found: &mut Examination) {
    if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) {
        let message = format!("{} {}", shown(path), explain(error));
        found.fail("configuration", message, "make it a file of usual size that you can read");
    }
}

/// Returns a path for a person, escaped.
pub(crate) fn shown(path: &Path) -> String {
    text::escape(&path.to_string_lossy(), 500)
}

/// Returns a path without symlinks, if it exists.
pub(crate) fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Returns the root of the repository around a directory.
pub(crate) fn repository_root(directory: &Path) -> Option<&Path> {
    directory.ancestors().find(|it| it.join(".git").symlink_metadata().is_ok())
}
