//! What installing and uninstalling return.

use std::path::PathBuf;
use std::time::Duration;

use super::desired::{InstallOptions, UnknownEvent};
use super::error::InstallError;
use crate::bridge::config::{Level, Switch};
use crate::dialect::agent::Agent;

/// What became of a file when hookbox was installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// There was none.
    Created,
    /// Our entries are in it now.
    Changed,
    /// It said all that already.
    Unchanged,
}

/// What was installed, or would be.
#[derive(Clone, Debug)]
pub struct Installed {
    /// The file.
    pub path: PathBuf,
    /// What became of it.
    pub change: Change,
    /// The agent's own names of the events that reach hookbox now.
    pub events: Vec<String>,
    /// What stood in the file.
    pub before: Option<Vec<u8>>,
    /// What stands in it now.
    pub after: Vec<u8>,
    /// Where the original bytes are kept, if there were some.
    pub backup: Option<PathBuf>,
    /// Where an original of an earlier time is kept, which is not what stood in the file this time.
    pub earlier: Option<PathBuf>,
    /// What switches the hooks of this file off.
    pub switches: Vec<Switch>,
    /// How many other entries run hookbox for this agent, in a way of their own, which were left alone.
    pub handmade: usize,
}

/// What became of a file when hookbox was uninstalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undone {
    /// There was nothing of ours in it.
    Nothing,
    /// It was as install had left it, and is byte for byte what it was before.
    Restored,
    /// It was ours alone, and is gone.
    Deleted,
    /// It was changed since: our entries are gone, and all the rest stands as it stood.
    Removed,
}

/// What was uninstalled, or would be.
#[derive(Clone, Debug)]
pub struct Uninstalled {
    /// The file.
    pub path: PathBuf,
    /// What became of it.
    pub undone: Undone,
    /// The agent's own names of the events that reached hookbox.
    pub events: Vec<String>,
    /// What stood in the file.
    pub before: Option<Vec<u8>>,
    /// What stands in it now.
    pub after: Option<Vec<u8>>,
    /// Where the original bytes still are, where the file is not what it was before.
    pub original: Option<PathBuf>,
    /// How many other entries run hookbox for this agent, in a way of their own, which were left alone.
    pub handmade: usize,
}

/// Why nothing was installed.
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
    /// Nobody knows where the home directory is.
    #[error("expected the configuration of {} in the home directory, found no home directory", agent.title())]
    Home {
        /// The agent.
        agent: Agent,
    },
    /// The agent takes a plugin, whose events and time are what they are.
    #[error("{} runs hookbox by a plugin, whose events and time are fixed", agent.title())]
    Fixed {
        /// The agent.
        agent: Agent,
    },
    /// No agent is told to wait that long, or not at all.
    #[error("expected a deadline of up to {} s and not of 0, found {} s", InstallOptions::MAX_DEADLINE.as_secs(), found.as_secs_f64())]
    Deadline {
        /// What was asked for.
        found: Duration,
    },
    /// A variable of the agent's names a directory that is another one wherever the agent starts.
    #[error("expected an absolute path in {variable}, found {value:?}")]
    Variable {
        /// Its name.
        variable: &'static str,
        /// What it says, escaped.
        value: String,
    },
    /// A file says no.
    #[error(transparent)]
    File(#[from] InstallError),
}
