//! Whether an agent's hooks reach hookbox, and whether a guard fires there: the command line that the agent has
//! configured is run with a real payload of that agent, and what it prints is judged as the agent does.
//!
//! Nothing is changed, and no tool call is made: a payload only asks about one. The user's hooks see it, as a call of the
//! session `hookbox-doctor`.

mod configured;
mod entry_checks;
mod examine;
mod finding;
mod folder_trust;
mod guard_probe;
mod run_command;
mod trust;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use self::finding::{ConfiguredCommand, Examination, Finding, Status};

use crate::bridge::config::Surroundings;

/// The session of the payloads, for hooks that keep a record.
pub(super) const SESSION: &str = "hookbox-doctor";

/// The line that a guard has to block where nobody names another.
pub const LINE: &str = "rm -rf /";

/// How long the examination of one agent may take: more than a command needs that takes all of its usual deadline for
/// each thing that it is asked.
const LIMIT: Duration = Duration::from_secs(120);

/// With it OpenCode loads no plugin.
const PURE: &str = "OPENCODE_PURE";

/// What is examined, and against what.
#[derive(Clone, Debug)]
pub struct Doctor {
    surroundings: Surroundings,
    version: String,
    line: String,
    search: Vec<PathBuf>,
    variables: BTreeMap<&'static str, OsString>,
}

impl Doctor {
    /// For the configuration of these surroundings; `version` is what the `--version` of the configured program has to
    /// print.
    pub fn new(surroundings: Surroundings, version: impl Into<String>) -> Self {
        let search = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect());
        let known = folder_trust::VARIABLES.into_iter().chain([PURE]);
        Self {
            surroundings,
            version: version.into(),
            line: LINE.to_owned(),
            search: search.unwrap_or_default(),
            variables: known.filter_map(|name| Some((name, std::env::var_os(name)?))).collect(),
        }
    }

    /// The line of the shell tool that has to be blocked (default: [`LINE`]).
    #[must_use]
    pub fn line(self, line: impl Into<String>) -> Self {
        Self { line: line.into(), ..self }
    }

    /// A variable of this process that decides about an agent's hooks; an empty one counts as not set.
    fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(name).map(OsString::as_os_str).filter(|it| !it.is_empty())
    }

    fn project(&self) -> &Path {
        &self.surroundings.project
    }
}

/// The root of the repository around a directory.
fn root(directory: &Path) -> Option<&Path> {
    directory.ancestors().find(|it| it.join(".git").symlink_metadata().is_ok())
}
