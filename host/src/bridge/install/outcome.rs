//! The results of installing and uninstalling.

use std::path::PathBuf;
use std::time::Duration;

use super::desired::{InstallOptions, UnknownEvent};
use super::error::InstallError;
use crate::bridge::config::{Level, Switch};
use crate::dialect::agent::Agent;

/// The change of a file by an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The file is new.
    Created,
    /// The file got our entries.
    Changed,
    /// The file had them already.
    Unchanged,
}

/// A finished installation, or one that a dry run reports.
#[derive(Clone, Debug)]
pub struct Installed {
    /// The file.
    pub path: PathBuf,
    /// The change.
    pub change: Change,
    /// The agent's own names of the events that reach hookbox now.
    pub events: Vec<String>,
    /// The contents before.
    pub before: Option<Vec<u8>>,
    /// The contents now.
    pub after: Vec<u8>,
    /// The path of the original bytes, if there was a file.
    pub backup: Option<PathBuf>,
    /// The path of an earlier original, which differs from the contents before.
    pub earlier: Option<PathBuf>,
    /// The settings that switch the hooks of this file off.
    pub switches: Vec<Switch>,
    /// The number of entries that run hookbox for this agent by another line, and were left alone.
    pub handmade: usize,
}

/// The change of a file by an uninstallation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undone {
    /// It had no entry of ours.
    Nothing,
    /// It was as install had left it, and has its original bytes again.
    Restored,
    /// It had our entries only, and is deleted.
    Deleted,
    /// It was changed since install: our entries are gone, and everything else stays.
    Removed,
}

/// A finished uninstallation, or one that a dry run reports.
#[derive(Clone, Debug)]
pub struct Uninstalled {
    /// The file.
    pub path: PathBuf,
    /// The change.
    pub undone: Undone,
    /// The agent's own names of the events that reached hookbox.
    pub events: Vec<String>,
    /// The contents before.
    pub before: Option<Vec<u8>>,
    /// The contents now.
    pub after: Option<Vec<u8>>,
    /// The path of the original bytes, if the file differs from them.
    pub original: Option<PathBuf>,
    /// The number of entries that run hookbox for this agent by another line, and were left alone.
    pub handmade: usize,
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
    /// The home directory is not known.
    #[error("expected the configuration of {} in the home directory, found no home directory", agent.title())]
    Home {
        /// The agent.
        agent: Agent,
    },
    /// The agent runs a plugin, whose events and time are fixed.
    #[error("{} runs hookbox by a plugin, whose events and time are fixed", agent.title())]
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
