//! The edits of an agent's file in the format that it has at its level.

use super::desired::DesiredEntry;
use super::left::Left;
use super::{edit, edit_block};
use crate::agent::{Agent, Level};
use crate::config::{Configuration, DocumentError, read, read_toml};
use crate::spec::places::Holds;

/// A file of an agent.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileFormat {
    agent: Agent,
    /// True for the file of Codex's requirements.
    is_block: bool,
    /// True if the file sets the switches, so that no repository switches its hooks off.
    has_switches: bool,
}

impl FileFormat {
    /// Returns the format of the file at a level.
    pub(super) fn new(agent: Agent, level: Level) -> Self {
        let mut places = agent.spec().places_at(level);
        let is_block = places.any(|place| matches!(place.holds, Holds::TomlHooks));
        let has_switches = level == Level::System && !is_block && !agent.spec().config.keeps_system_hooks;
        Self { agent, is_block, has_switches }
    }

    /// Returns true if the agent reads the file as it reads the user's.
    pub(super) fn is_usual(self) -> bool {
        !self.is_block
    }

    /// Returns the file with these entries of ours and no others. `before` is the original, if it is known.
    pub(super) fn merge(
        self,
        bytes: &[u8],
        desired: &[DesiredEntry],
        before: Option<&[u8]>,
    ) -> Result<Vec<u8>, DocumentError> {
        if self.is_block {
            return edit_block::merge(bytes, desired);
        }
        let merged = edit::merge(self.agent, bytes, desired, before)?;
        if self.has_switches { edit::switch_on(self.agent, &merged) } else { Ok(merged) }
    }

    /// Returns the file without our entries and switches.
    pub(super) fn remove(self, bytes: &[u8], before: Option<&[u8]>) -> Result<Left, DocumentError> {
        if self.is_block {
            return edit_block::remove(bytes);
        }
        if self.has_switches && !self.events(bytes).is_empty() {
            let bytes = edit::unswitch(self.agent, bytes, before)?;
            return edit::remove(self.agent, &bytes, before);
        }
        edit::remove(self.agent, bytes, before)
    }

    /// Returns the contents of the file; nothing of one that cannot be read.
    pub(super) fn read(self, bytes: &[u8]) -> Configuration {
        let read = if self.is_block { read_toml } else { read };
        read(self.agent, bytes).unwrap_or_default()
    }

    /// Returns the events that have an entry of ours.
    pub(super) fn events(self, bytes: &[u8]) -> Vec<String> {
        edit::events(self.agent, &self.read(bytes))
    }
}
