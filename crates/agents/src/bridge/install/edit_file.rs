//! The edits of an agent's file in the format that it has at its level.

use super::desired::DesiredEntry;
use super::{edit, edit_list, edit_toml};
use crate::agent::bridge_command::{is_ours, mentions};
use crate::agent::{Agent, Level};
use crate::config::{Configuration, DocumentError, json_value, read, read_toml, toml_text, without_comments};
use crate::spec::places::Holds;
use crate::text;

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

    fn is_toml(self) -> bool {
        self.is_block || self.agent.spec().config.is_toml
    }

    /// Returns the file with these entries of ours and no others.
    pub(super) fn merge(self, bytes: &[u8], desired: &[DesiredEntry]) -> Result<Vec<u8>, DocumentError> {
        let agent = self.agent;
        // Otherwise each installation would add it again.
        if let Some(line) = desired.iter().map(|it| it.line(agent)).find(|line| !is_ours(agent, line)) {
            let what = format!(
                "expected a command line that hookbox knows again, found {}",
                text::escape(line, 300)
            );
            return Err(DocumentError::new(what, "give another path with --program; nothing was changed"));
        }
        let text = toml_text(bytes)?;
        let merged = if self.is_block {
            edit_toml::merge_block(text, desired)?
        } else if self.is_toml() {
            edit_toml::merge(agent, text, desired)?
        } else if agent.spec().config.entry.is_list {
            edit_list::merge(agent, text, desired)?
        } else {
            edit::merge(agent, bytes, desired, self.has_switches)?
        };
        Ok(written(bytes, &merged))
    }

    /// Returns the file without our entries and switches. The switches of the original `before` stay.
    pub(super) fn remove(self, bytes: &[u8], before: Option<&[u8]>) -> Result<Vec<u8>, DocumentError> {
        let text = toml_text(bytes)?;
        let left = if self.is_block {
            edit_toml::remove_block(text)?
        } else if self.is_toml() {
            edit_toml::remove(self.agent, text)?
        } else if self.agent.spec().config.entry.is_list {
            edit_list::remove(self.agent, text)?
        } else {
            let kept_on = || before.map(|it| self.read(it).kept_on).unwrap_or_default();
            edit::remove(self.agent, bytes, self.has_switches.then(kept_on))?
        };
        Ok(written(bytes, &left))
    }

    /// Returns true if a file has nothing that anybody could have written for a purpose.
    pub(super) fn is_bare(self, bytes: &[u8]) -> bool {
        let text = toml_text(bytes).unwrap_or_default();
        let is_version = |key: &String| self.agent.spec().config.entry.has_version && key == "version";
        let is_empty = || json_value(bytes).as_object().is_some_and(|it| it.keys().all(is_version));
        text.trim().is_empty() || !self.is_toml() && without_comments(text) == text && is_empty()
    }

    /// Returns the contents of the file; nothing of one that cannot be read.
    pub(super) fn read(self, bytes: &[u8]) -> Configuration {
        let read = if self.is_block { read_toml } else { read };
        read(self.agent, bytes).unwrap_or_default()
    }

    /// Returns the events that have an entry of ours, as the file names them, each once.
    pub(super) fn events(self, bytes: &[u8]) -> Vec<String> {
        let mut entries = self.read(bytes).entries;
        entries.retain(|it| is_ours(self.agent, &it.command));
        let mut names: Vec<String> = entries.into_iter().map(|it| it.event).collect();
        names.dedup();
        names
    }

    /// Counts the entries that run hookbox for this agent. `is_counted` gets true for a line that
    /// `hookbox install` writes.
    pub(super) fn calls(self, configuration: &Configuration, is_counted: fn(bool) -> bool) -> usize {
        let lines = configuration.entries.iter().map(|it| it.command.as_str());
        let calls = lines.filter(|line| mentions(self.agent.as_str(), line));
        calls.filter(|line| is_counted(is_ours(self.agent, line))).count()
    }
}

/// Returns a new text with the byte order mark of the old one.
fn written(bytes: &[u8], text: &str) -> Vec<u8> {
    let mark = "\u{feff}".as_bytes();
    let mark = if bytes.starts_with(mark) { mark } else { b"" };
    [mark, text.as_bytes()].concat()
}
