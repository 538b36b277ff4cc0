//! Checks that an agent's hooks reach hookbox, and that a guard fires. It runs the command line that the
//! agent has configured, with a real payload of that agent, and judges the output as the agent does.
//!
//! Nothing is changed, and no tool call is made: a payload only asks about one. The user's hooks see it as a
//! call of the session `hookbox-doctor`.

mod configured;
mod examine;
mod guard_probe;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use crate::finding::{ConfiguredCommand, Examination, Finding, Status};

use crate::config::Surroundings;

/// The session of the payloads, for hooks that keep a record.
pub(super) const SESSION: &str = "hookbox-doctor";

/// The default line that a guard has to block.
pub const LINE: &str = "rm -rf /";

/// The time for the examination of one agent: enough for a command that uses all of its usual deadline for
/// each question.
const LIMIT: Duration = Duration::from_secs(120);

/// Examines the agents of one user and project.
#[derive(Clone, Debug)]
pub struct Doctor {
    surroundings: Surroundings,
    version: String,
    line: String,
    trials: Vec<Trial>,
    search: Vec<PathBuf>,
}

/// A call for which a hook has to speak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The full name of the hook.
    pub hook: String,
    /// The line of the shell tool, or the output of one.
    pub text: String,
    /// True for an output.
    pub is_output: bool,
}

impl Doctor {
    /// Creates a doctor for the configuration of these surroundings. `version` is the output of `--version`
    /// that is expected of the configured program.
    pub fn new(surroundings: Surroundings, version: impl Into<String>) -> Self {
        let search = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect());
        Self {
            surroundings,
            version: version.into(),
            line: LINE.to_owned(),
            trials: Vec::new(),
            search: search.unwrap_or_default(),
        }
    }

    /// Sets the line of the shell tool that has to be blocked (default: [`LINE`]).
    #[must_use]
    pub fn line(self, line: impl Into<String>) -> Self {
        Self { line: line.into(), ..self }
    }

    /// Sets the calls that are tried, each for one hook (default: none). A hook that does not run is left out.
    #[must_use]
    pub fn trials(self, trials: Vec<Trial>) -> Self {
        Self { trials, ..self }
    }

    fn project(&self) -> &Path {
        &self.surroundings.project
    }
}
