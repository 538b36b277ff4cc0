//! The file of an agent at a level, and the record of its installation.

use std::path::PathBuf;

use super::config_file::{ConfigFile, Contents};
use super::edit_file::FileFormat;
use super::outcome::{Change, InstallError};
use super::record::{Record, Store, digest};
use crate::agent::Agent;
use crate::bridge::plugin_file::{self, Origin};
use crate::config::{DocumentError, Level};
use crate::spec::PluginFile;
use crate::spec::places::{Holds, HookPlace};

/// The file of an agent at a level, as it is now, with the record of its installation.
pub(super) struct Site {
    pub(super) agent: Agent,
    pub(super) level: Level,
    pub(super) path: PathBuf,
    pub(super) file: ConfigFile,
    pub(super) format: FileFormat,
    pub(super) store: Store,
    pub(super) found: Option<Contents>,
    pub(super) record: Option<Record>,
}

impl Site {
    pub(super) fn now(&self) -> Option<&[u8]> {
        self.found.as_ref().map(|it| it.bytes.as_slice())
    }

    pub(super) fn document(&self, error: DocumentError) -> InstallError {
        InstallError::document(&self.path, error)
    }

    /// Returns the path of the original of the record.
    pub(super) fn original(&self) -> Option<PathBuf> {
        self.store.original(&self.path, self.record.as_ref()?)
    }

    /// Returns the bytes of the original of the record.
    pub(super) fn kept(&self) -> Option<Vec<u8>> {
        self.store.kept(&self.path, self.record.as_ref()?)
    }

    /// Returns true if the file is as install wrote it.
    pub(super) fn is_as_written(&self) -> bool {
        let written = self.record.as_ref().map(|it| it.after.as_str());
        written.is_some() && written == self.now().map(digest).as_deref()
    }

    /// Returns the agent's own names of the events that reach hookbox by this file: all of them by a plugin.
    pub(super) fn served(&self, bytes: &[u8]) -> Vec<String> {
        match self.agent.spec().plugin {
            Some(_) => self.agent.events().iter().map(|it| it.name.to_owned()).collect(),
            None => self.format.events(bytes),
        }
    }

    /// Refuses to replace a plugin that somebody else has written or changed.
    pub(super) fn check_untouched(&self, plugin: &PluginFile) -> Result<(), InstallError> {
        match self.now().and_then(|now| plugin_file::recognize(plugin, now).problem()) {
            Some(problem) if !self.is_as_written() => {
                let hint = "move the file away, and run the command again";
                Err(InstallError::new(&self.path, problem, hint))
            }
            _ => Ok(()),
        }
    }

    /// Returns the file without hookbox, and the kind of that change.
    pub(super) fn without_ours(&self) -> Result<(Change, Option<Vec<u8>>), InstallError> {
        let Some(now) = self.now() else { return Ok((Change::Unchanged, None)) };
        if let Some(plugin) = &self.agent.spec().plugin {
            if plugin_file::recognize(plugin, now) == Origin::Others {
                return Ok((Change::Unchanged, Some(now.to_vec())));
            }
            return self.check_untouched(plugin).map(|()| (Change::Deleted, None));
        }
        // Only hookbox gives a file of such a directory this name.
        let is_own = has_directory_of_files(self.agent, self.level);
        let was_there = self.record.as_ref().map_or(!is_own, |it| it.before.is_some());
        let original = self.kept();
        if self.is_as_written() && was_there == original.is_some() {
            let change = if was_there { Change::Restored } else { Change::Deleted };
            return Ok((change, original));
        }
        let left = self.format.remove(now, original.as_deref()).map_err(|error| self.document(error))?;
        Ok(if left == now {
            (Change::Unchanged, Some(left))
        } else if !was_there && self.format.is_bare(&left) {
            (Change::Deleted, None)
        } else {
            (Change::Removed, Some(left))
        })
    }

    /// Keeps the original of a file that gets this text: after an earlier installation the file without hookbox.
    /// Returns the path of an earlier original, which differs.
    pub(super) fn keep(&mut self, after: &[u8]) -> Result<Option<PathBuf>, InstallError> {
        let before = match &self.record {
            // A plugin of ours is not an original that has to come back.
            _ if self.agent.spec().plugin.is_some() => None,
            Some(_) => self.without_ours()?.1,
            None => self.now().map(<[u8]>::to_vec),
        };
        let earlier = self.original();
        let (missing, known) =
            (self.file.missing_directories(), self.record.as_ref().map_or(0, |it| it.made));
        let record = Record {
            path: self.path.to_string_lossy().into_owned(),
            before: before.as_deref().map(digest),
            after: digest(after),
            made: if missing > 0 { missing } else { known },
        };
        self.store.put(&self.path, &record, before.as_deref())?;
        self.record = Some(record);
        Ok(earlier.filter(|it| self.original().as_ref() != Some(it) && it.exists()))
    }
}

/// Returns true if the agent reads every file of a directory at a level, so that hookbox has a file of its own there.
pub(super) fn has_directory_of_files(agent: Agent, level: Level) -> bool {
    let mut places = agent.spec().places_at(level);
    let is_ours = |place: &&HookPlace| place.has_hooks() || matches!(place.holds, Holds::Plugins);
    places.find(is_ours).is_some_and(HookPlace::is_directory)
}
