//! The steps of a change, for an observer.

use super::PluginName;

/// A step of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step<'a> {
    /// The source is being asked for the revision.
    Resolving,
    /// Bytes or objects are being received.
    Fetching {
        /// The number of those received.
        done: u64,
        /// The number of all, if it is known.
        total: Option<u64>,
    },
    /// The plugin is being written into its staging directory.
    Staging {
        /// The number of files, directories and symlinks written so far.
        entries: usize,
        /// The number of bytes written so far.
        bytes: u64,
    },
    /// The staged plugin is complete and synced to the disk.
    Staged,
    /// The change of a plugin begins.
    Begun(&'a PluginName),
    /// The new `plugins.lock` is written beside the old one.
    Prepared(&'a PluginName),
    /// The old plugin is moved aside, and the new one does not exist yet: only on a file system that cannot
    /// exchange two directories.
    Withdrawn(&'a PluginName),
    /// The new plugin has its name, or the removed one has it no longer.
    Exchanged(&'a PluginName),
    /// The new `plugins.lock` is in place.
    Locked(&'a PluginName),
    /// The staging directory is gone.
    Cleaned(&'a PluginName),
}

/// Observes the steps of a change, for a progress bar or a test.
pub trait Observer: Send + Sync {
    /// Observes a step. This is called often while bytes are received, so it must not block.
    fn step(&self, step: &Step<'_>);
}

/// An observer that does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn step(&self, _step: &Step<'_>) {}
}
