//! What is told of a change while it is under way.

use super::PluginName;

/// Where a change stands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step<'a> {
    /// The source is asked what is there.
    Resolving,
    /// Bytes, or objects, come in.
    Fetching {
        /// How many have come.
        done: u64,
        /// How many there are, where that is known.
        total: Option<u64>,
    },
    /// The plugin is written into its staging directory.
    Staging {
        /// How many files, directories and symlinks were written.
        entries: usize,
        /// How many bytes were written.
        bytes: u64,
    },
    /// It stands there whole, and is on the disk.
    Staged,
    /// What is about to change is written down.
    Journalled(&'a PluginName),
    /// The old plugin is away, and the new one not there yet: only where a file system cannot exchange the two.
    Withdrawn(&'a PluginName),
    /// The plugin stands under its name, or does not any more.
    Exchanged(&'a PluginName),
    /// `plugins.lock` says so.
    Locked(&'a PluginName),
    /// Nothing is left to repair.
    Settled(&'a PluginName),
    /// What was staged or replaced is gone.
    Cleaned(&'a PluginName),
}

/// Sees the steps of a change: a progress bar, or a test that stops the process at one of them.
pub trait Observer: Send + Sync {
    /// A step was reached. This is called often while bytes come in, and has to be quick.
    fn step(&self, step: &Step<'_>);
}

/// Sees nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn step(&self, _step: &Step<'_>) {}
}
