//! The results of installing and uninstalling.

use std::path::PathBuf;
use std::time::Duration;

use super::desired::{InstallOptions, UnknownEvent};
use super::diff::unified;
use super::error::InstallError;
use crate::agent::Agent;
use crate::config::{Level, Switch};
use crate::text;

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
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
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
