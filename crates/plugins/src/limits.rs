//! The limits of a plugin from any source. [`Stage`](super::Stage) enforces them.

use hookbox::internal::tree;

/// The most files, directories and symlinks of a plugin: as many as the digest of a native hook covers.
pub const MAX_ENTRIES: usize = tree::MAX_FILES;

/// The most bytes of all files: enough for several components with an interpreter (18 MB each).
pub const MAX_BYTES: u64 = 256 << 20;

/// The most bytes of one file: as many as a component may have.
pub const MAX_FILE: u64 = hookbox::internal::wasm::MAX_COMPONENT;

/// The most nested directories.
pub const MAX_DEPTH: usize = 32;

/// The most bytes of a path in a plugin.
pub(crate) const MAX_PATH: usize = 1024;

/// The most bytes of the target of a symlink.
pub(crate) const MAX_TARGET: usize = 1024;

/// The limits of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Files, directories and symlinks. [`MAX_ENTRIES`].
    pub entries: usize,
    /// Bytes of all files. [`MAX_BYTES`].
    pub bytes: u64,
    /// Bytes of one file. [`MAX_FILE`].
    pub file: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { entries: MAX_ENTRIES, bytes: MAX_BYTES, file: MAX_FILE }
    }
}
